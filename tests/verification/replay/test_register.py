"""The register of implementations: what is published, and what is not."""

from __future__ import annotations

import dataclasses

import pytest

from rdpkit.verification.replay.findings import LEAST_PAIRS
from rdpkit.verification.replay.libraries import LIBRARIES
from rdpkit.verification.replay.register import (
    ImplementationRecord,
    on_record,
    read_register,
    write_register,
)

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
