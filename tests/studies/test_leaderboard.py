"""The leaderboard: what is ranked, what stands beside it, and what is left out."""

import html
import json

import pytest
from leaderboard import leaderboard

from rdpkit.mechanisms.cli.evaluate import evaluate
from rdpkit.mechanisms.experiments.runner import finished_runs
from tests.cli.commands import printed_by
from tests.mechanisms.conftest import NOISELESS, digits  # noqa: F401 - a fixture


@pytest.mark.thorough
def test_what_was_measured_is_ranked(digits, tmp_path):  # noqa: F811
    printed_by(evaluate, digits(*NOISELESS), "--results", tmp_path / "r", "--device", "cpu")
    ranked = json.loads(printed_by(leaderboard, tmp_path / "r", "--format", "json"))
    means = [entry["mean_accuracy"] for entry in ranked]
    assert means == sorted(means, reverse=True)
    assert len(means) == 2
    markdown = printed_by(leaderboard, tmp_path / "r", "--markdown").splitlines()
    assert len(markdown) == 4
    assert len({line.count("|") for line in markdown}) == 1
    assert "no guarantee" in printed_by(leaderboard, tmp_path / "r")
    (path,) = (tmp_path / "r").rglob("rows.journal")
    kept = path.read_bytes()
    journal = finished_runs(path.parent)
    for key in journal:
        row = journal.get(key)
        row["varied"] = {"model.name": "<img src=x>|`a` [b](c)"} | row["varied"]
        journal.add(key, row, name=key)
    escaped = printed_by(leaderboard, tmp_path / "r", "--markdown").splitlines()
    assert len(escaped) == 4
    assert {line.count("|") for line in escaped} == {13}
    assert not any(c in "".join(escaped[2:]) for c in "<>`[(")
    path.write_bytes(kept[:-9])
    short = printed_by(leaderboard, tmp_path / "r")
    assert f"left out: {path}, line 4" in short.replace("\n", "")
    path.write_bytes(kept[:9])
    assert "got none of 0" in printed_by(leaderboard, tmp_path / "r", status=2)
    (path.parent / "rows").mkdir()
    assert "earlier version" in printed_by(leaderboard, tmp_path / "r", status=2)


def _row(**changes):
    row = {
        "experiment": "e", "dataset": "digits", "mechanism": "dpcda", "model": "mlp",
        "adjacency": "replace_one", "delta": 1e-5, "target_epsilon": 1.0, "epsilon": 0.9,
        "private": True, "published_accuracy": None, "varied": {}, "seed": 0, "accuracy": 0.5,
        "kind": "synthetic records", "failed_checks": [],
    }  # fmt: skip
    return row | changes


def test_ceilings_stand_beside_releases_with_what_is_private(tmp_path):
    none = {"target_epsilon": None, "epsilon": None, "private": False}
    kinds = [
        {"cell": "a", "accuracy": 0.6},
        {"cell": "a", "accuracy": 0.7, "seed": 1},
        {"cell": "b", "accuracy": 0.8, "private": False, "failed_checks": ["secret_noise"]},
        {"cell": "c", "adjacency": "add_or_remove_one", "kind": "classifier", "accuracy": 0.85},
        {"cell": "d", "mechanism": "original", "kind": "real records", "accuracy": 0.97, **none},
        {"cell": "e", "mechanism": "noiseless-mixing", "accuracy": 0.9, **none},
    ]
    folder = tmp_path / "r" / "e"
    folder.mkdir(parents=True)
    journal = finished_runs(folder)
    for number, changes in enumerate(kinds):
        journal.add(str(number), _row(**changes), name=str(number))
    lines = [
        [html.unescape(cell.strip()) for cell in line.strip("|").split("|")]
        for line in printed_by(leaderboard, tmp_path / "r", "--markdown").splitlines()
    ]
    table = [dict(zip(lines[0], line, strict=True)) for line in lines[2:]]
    found = [(e["mechanism"], e["adjacency"], e["private"], e["accuracy"]) for e in table]
    assert found == [
        ("original", "", "no guarantee", "0.9700"),
        ("dpcda", "add_or_remove_one", "yes", "0.8500"),
        ("original", "", "no guarantee", "0.9700"),
        ("dpcda", "replace_one", "no: noise not secret", "0.8000"),
        ("dpcda", "replace_one", "yes", "0.6500 +- 0.0707"),
        ("noiseless-mixing", "", "no guarantee", "0.9000"),
    ]
    assert [e["releases"] for e in table][:2] == ["real records", "classifier"]
    # A ceiling stays beside what an option admits, and is not admitted by it.
    some = printed_by(leaderboard, tmp_path / "r", "--markdown", "--epsilon", 1).splitlines()
    assert len(some) == 7
    assert len(json.loads(printed_by(leaderboard, tmp_path / "r", "--format", "json"))) == 5
    text = printed_by(leaderboard, tmp_path / "r")
    assert text.count("original") == 2
    table = printed_by(leaderboard, tmp_path / "r", "--overview").splitlines()
    assert table[0] == "**digits**"
    found = [[html.unescape(cell.strip()) for cell in row.split("|")[1:-1]] for row in table[2:]]
    assert found[0][-2:] == ["add or remove, 1", "replace, 1"]
    # Ceilings come first, and stand in every column, as what else has no guarantee.
    assert found[2] == ["real records", "original", "mlp", "no guarantee", *["0.9700 (1)"] * 2]
    assert ["classifier", "dpcda", "mlp", "yes", "0.8500 (1)", ""] in found
    assert ["synthetic records", "dpcda", "mlp", "yes", "", "0.6500 ± 0.0707 (2)"] in found


def test_no_results():
    assert "to have results of rdpkit evaluate, got none" in printed_by(
        leaderboard, "no-folder", status=2
    )
