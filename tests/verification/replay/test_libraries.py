"""Libraries: what is known of them without installing them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rdpkit.verification.blackbox.options import VerificationOptions
from rdpkit.verification.replay import libraries
from rdpkit.verification.replay.findings import ReplayVerdict
from rdpkit.verification.replay.libraries import LIBRARIES, Library, library_of, replay_library


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
    verdicts = {one.target: one.verdict for one in found}
    assert verdicts == {
        "made-up==1 right": ReplayVerdict.NOTHING_FOUND,
        "made-up==1 wrong": ReplayVerdict.REFUTED,
    }
    assert sum(one.false_alarm_rate for one in found) == pytest.approx(0.05)
    assert told[-1][:2] == (2, 2)
    assert "--library made-up==1 wrong" in found[1].command
    with pytest.raises(ValueError, match="TARGET"):
        replay_library(made_up, names=["nothing"], options=options, python=Path(sys.executable))
