"""What a line is computed from."""

from __future__ import annotations

import linecache

import pytest

from rdpkit.verification.replay.agent.slices import assigned_before, shown

CODE = """
def helper(x):
    return max(x)

def release(values, epsilon):
    low = min(values)
    share = epsilon / 2
    scale = (1 - low) / share
    other = 3
    return add(scale, helper(values))
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "code.py"
    path.write_text(CODE)
    linecache.checkcache(str(path))
    return str(path)


def test_lines_that_assign_what_a_line_reads(file):
    lines = [one.line for one in assigned_before(file, 10)]
    assert lines == [8, 3, 7, 6]
    assert [one.line for one in assigned_before(file, 10, 1)] == [8, 3]
    assert shown(assigned_before(file, 8)[0]).endswith("code.py:7  share = epsilon / 2")


def test_a_file_that_is_no_python_has_no_lines(tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("def (")
    assert assigned_before(str(path), 1) == []
    assert assigned_before("nowhere.py", 1) == []
