"""What a line is computed from."""

from __future__ import annotations

import linecache

import pytest

from rdpkit.verification.replay.agent.slices import (
    assigned_before,
    makes_seed,
    picks_records,
)

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
    assert assigned_before(file, 8)[0].shown.endswith("code.py:7  share = epsilon / 2")


def test_a_file_that_is_no_python_has_no_lines(tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("def (")
    assert assigned_before(str(path), 1) == []
    assert assigned_before("nowhere.py", 1) == []


@pytest.mark.parametrize(
    ("picks", "code"),
    [
        (True, "taken = rng.random(len(x)) < 0.5 #\n    return x[taken].sum() / taken.sum()"),
        (True, "places = rng.choice(len(x), 3) #\n    return x[places]"),
        (True, "places = rng.choice(len(x), 3) #\n    return [x[one] for one in places]"),
        (False, "places = rng.choice(len(x), 3) #\n    return [one for one in places]"),
        (True, "return x[torch.rand(len(x)) < 0.5].sum() #"),
        (True, "return [one for one in x if rng.random() < 0.5] #"),
        # Randomised responses, in which the draw is the noise.
        (False, "flips = rng.random(len(x)) < 0.5 #\n    x[flips] = 1 - x[flips]\n    return x"),
        (False, "flips = rng.random(len(x)) < 0.5 #\n    return np.where(flips, x, 1 - x)"),
        (False, "flips = rng.random(len(x)) < 0.5 #\n    for one in flips:\n        pass"),
        (False, "x[rng.random(len(x)) < 0.5] = 0.0 #\n    return x"),
        (False, "return sum(1 for one in x if rng.random() < one) #"),
        (False, "return x[0] if rng.random() < 0.5 else 1 - x[0] #"),
    ],
)
def test_draws_that_only_choose_records(tmp_path, picks, code):
    path = tmp_path / "draws.py"
    path.write_text(f"def release(x, rng):\n    {code}\n")
    line = next(n for n, text in enumerate(path.read_text().splitlines(), 1) if "#" in text)
    many = "return [one for one in x" not in code and "else" not in code
    assert picks_records(str(path), line, many) is picks


@pytest.mark.parametrize(
    ("seeds", "code"),
    [
        (True, "own = np.random.default_rng(rng.integers(9)) #\n    return own.laplace()"),
        (True, "seed = rng.integers(9) #\n    torch.manual_seed(seed)"),
        (False, "seed = rng.integers(9) #\n    torch.manual_seed(seed)\n    return seed"),
        (False, "return x + rng.integers(9) #"),
    ],
)
def test_draws_that_are_seeds(tmp_path, seeds, code):
    path = tmp_path / "draws.py"
    path.write_text(f"def release(x, rng):\n    {code}\n")
    assert makes_seed(str(path), 2) is seeds
