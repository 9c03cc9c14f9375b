"""A replay is the same whoever asks for it: the command, pytest, a claims file, Python."""

import json
import sys

import pytest

from rdpkit.verification.auditing.tested_code import run_code
from rdpkit.verification.claims.reading import loads
from tests.cli import commands
from tests.verification.claim_files import text

MODULE = """
def right(dataset, rng):
    return len(dataset) + rng.laplace(scale=1.0)

def wrong(dataset, rng):
    return len(dataset)

for one in (right, wrong):
    one.columns, one.adjacency = {"x": [0.0, 1.0]}, "add_or_remove_one"
right.epsilon = wrong.epsilon = 1.0

import numpy as np

FIXED = np.random.default_rng(7)

def seeded_at_import(dataset, rng):
    return len(dataset) + FIXED.laplace(scale=1.0)

seeded_at_import.columns, seeded_at_import.adjacency = right.columns, right.adjacency
seeded_at_import.epsilon = 1.0
"""
CODE = '[claim.code]\ncallable = "code_to_replay:{}"\nreplay = true\nseed = 1\n'
PARAMETERS = {"noise_scale": "1.0", "record_norm": "1.0"}


@pytest.fixture(autouse=True)
def module(tmp_path, monkeypatch):
    (tmp_path / "code_to_replay.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield
    sys.modules.pop("code_to_replay", None)


def run(*words):
    return commands.run("verify", *words, "--seed", "1")


@pytest.mark.thorough
def test_the_command_ends_with_its_status_and_repeats():
    good = run("code_to_replay:right", "--replay")
    assert (good.exit_code, "nothing found" in good.output) == (0, True), good.output
    bad = run("code_to_replay:wrong", "--replay", "--format", "json")
    assert bad.exit_code == 1
    table = json.loads(bad.stdout)
    assert table["verdict"] == "refuted"
    again = run(*table["repeat"].split()[2:-2], "--format", "json")
    assert json.loads(again.stdout)["findings"] == table["findings"]


@pytest.mark.thorough
def test_a_generator_that_is_seeded_at_import_is_found():
    table = json.loads(
        run("code_to_replay:seeded_at_import", "--replay", "--format", "json").stdout
    )
    (finding,) = table["findings"]
    (difference,) = finding["differences"]
    assert (table["verdict"], difference["kind"]) == ("unaccounted", "seed")
    assert "FIXED.laplace" in difference["code"]
    good = json.loads(run("code_to_replay:right", "--replay", "--format", "json").stdout)
    assert good["findings"] == []


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "problems"), [("right", False), ("wrong", True)])
def test_a_claims_file_asks_for_a_replay(name, problems):
    about = {"mechanism": '"laplace"', "epsilon": "1.0", "delta": "0.0", "parameters": PARAMETERS}
    (claim,) = loads(text(**about, after=CODE.format(name)))
    found = run_code(claim)
    assert bool(found.problems) is problems
    assert "by record and replay" in found.summary


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--library", "nothing"], "--library"),
        (["--library", "diffprivlib", "nothing"], "TARGET"),
        (["code_to_replay:right", "--replay", "--evidence", "e.jsonl"], "--evidence"),
    ],
)
def test_wrong_words_are_refused(words, message):
    found = run(*words)
    assert found.exit_code == 2
    assert message in found.output


def test_libraries_are_listed():
    found = run("--library", "list", "--format", "json")
    names = [one["name"] for one in json.loads(found.stdout)["libraries"]]
    assert "diffprivlib" in names
