"""The audit measurement: every claim is counted, and looks are taken on the way."""

import json

import pytest
from click.testing import CliRunner

from benchmarks.audit import main


@pytest.mark.thorough
def test_a_small_audit(tmp_path):
    cache = str(tmp_path / "cache")
    arguments = ["--claims", "20", "--workers", "1", "--cache", cache]
    first, again = (
        json.loads(CliRunner().invoke(main, arguments, catch_exceptions=False).stdout)
        for _ in range(2)
    )
    assert first["sound"] + first["unproven"] == 20
    assert [look["audited"] for look in first["looks"]] == [0, 4, 8, 12, 16, 20]
    assert all(look["peak_mib"] > 0 for look in first["looks"])
    seconds = [look["seconds"] for look in first["looks"]]
    assert seconds == sorted(seconds)
    assert (again["sound"], again["unproven"]) == (first["sound"], first["unproven"])
