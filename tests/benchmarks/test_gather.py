"""The bandwidth benchmark: it counts what it moves, and prints a row for every case."""

import json

import numpy as np
from click.testing import CliRunner

from benchmarks import gather


def test_bytes_are_counted_once_for_each_record_of_a_mean(monkeypatch):
    runs = []

    def second(run, rounds):
        runs.append(run())
        return 0.5

    monkeypatch.setattr(gather, "best", second)
    monkeypatch.setattr(gather, "_RECORDS", 50)
    speed = gather.gather_speed(
        np.float32, order=10, clipped=True, workers=2, size=5 * 10 * 784 * 4
    )
    assert runs[0] == 5
    assert speed == 2 * 5 * 10 * 784 * 4
    assert gather.copy_speed(3, size=1000) == 2000
    assert len(runs[1]) == 3


def test_the_command_prints_a_line_for_each_case(monkeypatch):
    monkeypatch.setattr(gather, "copy_speed", lambda workers: 2e9)
    monkeypatch.setattr(gather, "gather_speed", lambda kind, **how: 1e9 * how["order"])
    result = CliRunner().invoke(gather.main, ["--orders", "1,3", "--workers", "2"])
    rows = [json.loads(line) for line in result.output.splitlines()]
    assert rows[0] == {"workers": 2, "copy_gb_per_s": 2.0}
    assert [row["gather_over_copy"] for row in rows[1:]] == [0.5, 1.5] * 6
