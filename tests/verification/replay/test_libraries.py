"""Libraries: what is known of them without installing them."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from rdpkit.cli import main
from rdpkit.verification.blackbox.options import VerificationOptions
from rdpkit.verification.replay import libraries, library_replays
from rdpkit.verification.replay.findings import LEAST_PAIRS, ReplayVerdict, not_examined
from rdpkit.verification.replay.libraries import LIBRARIES, Library, library_of
from rdpkit.verification.replay.library_replays import (
    ImplementationRecord,
    on_record,
    read_register,
    replay_library,
    write_register,
)


def test_a_library_is_found_by_name_and_version():
    assert (
        library_of("diffprivlib").requirement == f"diffprivlib=={LIBRARIES['diffprivlib'].version}"
    )
    assert library_of("diffprivlib==0.6.5").version == "0.6.5"
    for wrong in ("diffprivlibs", "diffprivlib==", ""):
        with pytest.raises(ValueError, match="--library"):
            library_of(wrong)


@pytest.mark.parametrize("name", LIBRARIES)
def test_targets_are_listed_without_the_library(name):
    found = LIBRARIES[name].targets()
    assert found
    assert len(set(found)) == len(found)


TARGETS = """
from . import REMOVE, target

@target(REMOVE)
def right(data, rng):
    return len(data) + rng.laplace(scale=1.0)

@target(REMOVE)
def wrong(data, rng):
    return len(data)

@target(REMOVE)
def ends(data, rng):
    __import__("os")._exit(3)

@target(REMOVE)
def gone(data, rng):
    return 0

del gone
"""


@pytest.fixture
def made_up():
    """A library whose targets need nothing but numpy."""
    file = Path(libraries._TARGETS) / "of_made_up.py"
    file.write_text(TARGETS)
    yield Library(name="made-up", version="1", what="tests", module="of_made_up")
    file.unlink()


@pytest.mark.thorough
def test_all_targets_are_replayed_in_a_process_and_share_the_rate(made_up):
    told = []
    options = VerificationOptions(seed=1)
    found = replay_library(
        made_up, options=options, jobs=2, python=Path(sys.executable),
        progress=lambda *step: told.append(step),
    )  # fmt: skip
    assert {name: one.verdict for name, one in found.items()} == {
        "right": ReplayVerdict.NOTHING_FOUND,
        "wrong": ReplayVerdict.REFUTED,
        "ends": ReplayVerdict.NOT_EXAMINED,
        "gone": ReplayVerdict.NOT_EXAMINED,
    }
    assert sum(one.false_alarm_rate for one in found.values()) == pytest.approx(0.05 * 2 / 4)
    assert told[-1][:2] == (4, 4)
    assert "--library made-up==1 wrong" in found["wrong"].command
    with pytest.raises(ValueError, match="TARGET"):
        replay_library(made_up, names=["nothing"], options=options, python=Path(sys.executable))


@pytest.mark.thorough
def test_an_interrupted_run_goes_on_unless_the_library_has_changed(made_up, monkeypatch, tmp_path):
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    monkeypatch.setitem(LIBRARIES, "made-up", made_up)
    monkeypatch.setattr(libraries, "environment", lambda library: python)
    asked = []

    def stops(library, name, agents, options):
        # Both processes of the first target are compared; there is one for each of the others.
        assert len(agents) == 1 + (name == "right")
        for one in agents:
            one.close()
        asked.append(name)
        if name == "wrong" and asked.count(name) == 1:
            raise KeyboardInterrupt
        return not_examined(name, "no time", seed=1, command="")

    monkeypatch.setattr(library_replays, "_replayed", stops)
    words = ["verify", "--library", "made-up", "--format", "json", "--jobs", "1"]
    assert CliRunner().invoke(main, words).exit_code != 0
    again = CliRunner().invoke(main, words)
    assert again.exit_code == 1, again.output
    assert (asked.count("right"), asked.count("wrong")) == (1, 2)
    assert len(json.loads(again.stdout)["targets"]) == 4
    # It has ended, so that the next one begins anew.
    CliRunner().invoke(main, words)
    assert asked.count("right") == 2


RECORD = ImplementationRecord(
    library="made-up", version="1", target="mean", claim="(1, 0)-DP", verdict="nothing found",
    finding="", reported=(), because="", pairs=3, seconds=0.5, examined="2026-01-01", command="",
)  # fmt: skip
REPORT = ("https://example.org/issues/1",)


@pytest.mark.parametrize(
    ("changes", "public"),
    [
        ({}, True),
        ({"verdict": "refuted", "finding": "x"}, False),
        ({"verdict": "refuted", "finding": "x", "because": "y"}, False),
        ({"verdict": "refuted", "finding": "x", "reported": REPORT}, True),
        ({"verdict": "unaccounted", "finding": "x"}, False),
        ({"verdict": "unaccounted", "finding": "x", "because": "y"}, True),
    ],
)
def test_what_nobody_reported_is_not_published(tmp_path, changes, public):
    entry = dataclasses.replace(RECORD, **changes)
    write_register([entry], tmp_path / "r.json")
    assert read_register(tmp_path / "r.json") == ([entry] if public else [])


def test_a_library_is_summed_up_in_a_line():
    entries = [RECORD, dataclasses.replace(RECORD, verdict="refuted", reported=REPORT)]
    assert on_record(entries, "made-up") == "1, 2026-01-01: 1 nothing found, 1 refuted"
    assert on_record(entries, "other") == ""


@pytest.mark.thorough
def test_the_shipped_register_is_of_libraries_and_targets_that_are_there():
    entries = read_register()
    assert entries
    for one in entries:
        assert one.target in LIBRARIES[one.library].targets(), one
        assert one.is_public
        assert all(link.startswith("https://") for link in one.reported)
    correct = [one for one in entries if one.verdict == "nothing found"]
    assert len(correct) > len(entries) / 2
    assert all(one.pairs >= LEAST_PAIRS for one in correct)
