"""A release calls itself private only for stated reasons, and never against its own numbers."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import rdpkit
from rdpkit.mechanisms.parts.checks import CHECK_NAMES, PrivacyCheck
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.parts.records import public_scaling
from rdpkit.mechanisms.releases.manifest import Manifest
from rdpkit.mechanisms.releases.release import release, release_without_guarantee
from rdpkit.mechanisms.releases.verdict import (
    complete,
    delta_check,
    epsilon_check,
    is_private,
    stated_records,
    verdict_lines,
)
from tests.events import of_papers

# What version 0.2 noted of counts.
EXACT_SIZES = "class sizes are the data's exact counts, taken as public"
EXACT_POPULATION = "the number of records is the data's exact one, taken as public"

SYNTHESIS = rdpkit.GaussianSynthesis(records=10**7, outputs=1, dimension=2, min_eigenvalue=0.5)
MIXED = of_papers.dpmix(1000, 5, 10, noise=1.0, shape=(4, 2))


def made(event=None, *, noise_std=4.0, notes=(), checks=(), **privacy):
    given = {"delta": 1e-5, "adjacency": "add_or_remove_one", "noise": NoiseSource.system()}
    return release(
        np.zeros((3, 2)),
        np.zeros(3, dtype=np.int64),
        event=event or rdpkit.Gaussian(noise_std=noise_std, record_norm=1.0),
        privacy=Privacy(**{**given, **privacy}),
        parameters={},
        notes=notes,
        checks=checks,
    ).manifest


def status(manifest, name):
    return [check.status for check in manifest.checks if check.name == name]


def sentence(manifest, name):
    return " ".join(check.sentence for check in manifest.checks if check.name == name)


def test_a_private_release_gives_each_reason():
    manifest = made()
    assert manifest.private
    assert [check.name for check in manifest.checks] == list(CHECK_NAMES)
    assert status(manifest, "secret_noise") == status(manifest, "epsilon") == ["holds"]
    # The manifest does not know where the parameters come from, and how many records there are.
    assert status(manifest, "public_parameters") == status(manifest, "delta") == ["depends"]
    assert "fewer than 100000 records" in sentence(manifest, "delta")
    assert status(manifest, "code_path") == ["depends"]
    assert "floating-point noise is not covered" in sentence(manifest, "code_path")


@pytest.mark.parametrize(
    ("changes", "name", "why"),
    [
        ({"noise": NoiseSource.seeded(1)}, "secret_noise", "drawn from a seed"),
        ({"delta": 0.9}, "delta", "not below 0.1"),
        ({"delta": 0.1}, "delta", "not below 0.1"),
        ({"event": MIXED, "delta": 1e-3}, "delta", "releases 1 records outright"),
        ({"noise_std": 0.0746}, "epsilon", "protects almost nobody"),
        ({"event": SYNTHESIS}, "preconditions", "releases one neighbour and refuses the other"),
    ],
)
def test_what_fails_is_not_private_and_is_named(changes, name, why):
    manifest = made(**changes)
    assert not manifest.private
    assert "fails" in status(manifest, name)
    assert why in sentence(manifest, name)
    (first, second, *_) = verdict_lines(manifest.private, manifest.checks)
    assert first.split() == ["verdict", "NOT", "PRIVATE"]
    assert second.strip().startswith("fails")


def test_delta_is_compared_with_a_public_number_of_records():
    assert made(MIXED, delta=9.99e-4).private
    assert not made(MIXED, delta=1e-3).private
    assert stated_records(MIXED) == 1000
    assert stated_records(rdpkit.Gaussian(noise_std=1.0, record_norm=1.0)) is None
    both = rdpkit.Composed(events=(MIXED, rdpkit.Gaussian(noise_std=1.0, record_norm=1.0)))
    assert stated_records(both) == 1000
    assert stated_records(rdpkit.Parallel(events=(MIXED, MIXED))) == 2000
    assert stated_records(rdpkit.Repeated(event=MIXED, count=3)) == 1000
    assert delta_check(1e-5, 99_999).status == "holds"
    assert delta_check(1e-5, 100_000).status == "fails"
    assert delta_check(0.05, None).status == "depends"


def test_the_code_path_names_what_tests_it_and_where_it_ran():
    given = {"event": rdpkit.Gaussian(noise_std=4.0, record_norm=1.0), "parameters": {}}
    given["privacy"] = Privacy(delta=1e-5, adjacency="replace_one", noise=NoiseSource.system())
    rows = np.zeros((3, 2)), np.zeros(3, dtype=np.int64)
    tested = release(*rows, **given, tested_as="dpcda", device="cuda").manifest
    assert "`rdpkit verify dpcda` tests the code" in sentence(tested, "code_path")
    assert "the release was computed on cuda" in sentence(tested, "code_path")
    for device in (None, "cpu"):
        there = release(*rows, **given, device=device).manifest
        assert "was computed on" not in sentence(there, "code_path")


def guarantee(epsilon, kind="upper", computed=None):
    kinds = {"upper": rdpkit.Kind.UPPER, "published": rdpkit.Kind.PUBLISHED}
    return rdpkit.Guarantee(
        epsilon=epsilon,
        delta=1e-5,
        adjacency=rdpkit.Adjacency.REPLACE_ONE,
        bound="x",
        kind=kinds[kind],
        computed=computed,
    )


def test_epsilon_is_judged_in_words_and_large_ones_need_consent():
    assert "weak" not in epsilon_check(guarantee(10.0), None).sentence
    assert "weak" in epsilon_check(guarantee(10.1), None).sentence
    assert epsilon_check(guarantee(20.0), None).status == "holds"
    assert epsilon_check(guarantee(20.1), None).status == "fails"
    assert epsilon_check(guarantee(20.1), 20.0).status == "fails"
    assert epsilon_check(guarantee(20.1), 21.0).status == "depends"
    assert "accepted an epsilon of up to 21" in epsilon_check(guarantee(20.1), 21.0).sentence
    assert epsilon_check(guarantee(math.inf), math.inf).status == "fails"
    assert epsilon_check(guarantee(1.0, "published"), None).status == "fails"
    assert epsilon_check(None, 100.0).status == "fails"


def test_an_epsilon_that_is_not_certified_depends_on_its_rounding():
    uncertified = rdpkit.UncertifiedEnclosure(lower=1.0, upper=1.1)
    found = epsilon_check(guarantee(1.0, computed=uncertified), None)
    assert found.status == "depends"
    assert "rounding errors are not bounded" in found.sentence


def test_constants_are_public_if_whoever_scaled_says_the_truth():
    (said,) = public_scaling(factor=1 / 255).checks()
    assert said.status == "depends"
    assert "calls public" in said.sentence
    (said,) = public_scaling().checks()
    assert said.status == "holds"


def test_a_large_epsilon_is_private_only_with_consent_and_says_so():
    assert not made(noise_std=0.2).private
    manifest = made(noise_std=0.2, accept_epsilon=50.0)
    assert manifest.private
    assert manifest.accept_epsilon == 50.0
    assert "accepted an epsilon of up to 50" in sentence(manifest, "epsilon")
    assert Manifest.from_dict(json.loads(json.dumps(manifest.as_dict()))) == manifest
    table = {**manifest.as_dict(), "accept_epsilon": None}
    with pytest.raises(ValueError, match="Expected the check 'epsilon' to fail"):
        Manifest.from_dict(table)


def test_no_statement_takes_the_place_of_a_failure():
    good = tuple(
        PrivacyCheck(name=name, status="holds", sentence="trust me") for name in CHECK_NAMES
    )
    assert not made(checks=good, noise=NoiseSource.seeded(1)).private
    assert not made(checks=good, delta=0.5).private
    bad = PrivacyCheck(name="preconditions", status="fails", sentence="the data were looked at")
    fine = replace(bad, status="holds")
    assert [one for one in complete([fine], [bad]) if one in (fine, bad)] == [bad, fine]
    assert not made(checks=(*good, bad)).private
    assert made(checks=good).private


def test_a_statement_takes_the_place_of_a_computed_condition():
    stated = PrivacyCheck(name="delta", status="holds", sentence="three public records")
    manifest = made(checks=(stated,))
    assert [check for check in manifest.checks if check.name == "delta"] == [stated]


def test_what_is_unknown_is_not_private():
    found = complete((), ())
    assert {check.status for check in found} == {"unknown"}
    assert not is_private(found)
    given = {"mechanism": "x", "parameters": {}, "notes": (), "noise": NoiseSource.system()}
    manifest = release_without_guarantee(np.zeros((2, 2)), np.zeros(2), **given).manifest
    assert not manifest.private
    assert status(manifest, "epsilon") == ["fails"]


def old(manifest, **changes):
    """The manifest as version 0.4 wrote it."""
    table = manifest.as_dict()
    for key in ("checks", "accept_epsilon", "dataset", "schema", "files"):
        del table[key]
    del table["parameters"]["public"]
    return {**table, "format": 1, **changes}


def test_a_manifest_of_an_older_version_is_read_and_says_what_is_unknown():
    manifest = Manifest.from_dict(old(made()))
    assert manifest.private
    assert status(manifest, "public_parameters") == status(manifest, "code_path") == ["unknown"]
    assert "as far as is known" in verdict_lines(True, manifest.checks)[0]
    assert Manifest.from_dict(manifest.as_dict()) == manifest
    assert not Manifest.from_dict(old(made(), private=False)).private


def test_notes_of_an_older_version_about_exact_counts_are_checks():
    for note in (EXACT_SIZES, EXACT_POPULATION):
        manifest = Manifest.from_dict(old(made(notes=(note,)), private=False))
        assert "fails" in status(manifest, "public_parameters")
        assert "one record more or less changes" in sentence(manifest, "public_parameters")
    replaced = Manifest.from_dict(old(made(notes=(EXACT_SIZES,), adjacency="replace_one")))
    assert status(replaced, "public_parameters") == ["depends"]


@pytest.mark.parametrize(
    "changes",
    [
        {"delta": 0.9},
        {"noise_std": 0.0746},
        {"notes": (EXACT_SIZES,)},
        {"event": MIXED, "delta": 1e-3},
    ],
)
def test_a_manifest_of_an_older_version_is_no_better_than_its_numbers(changes):
    table = old(made(**changes), private=True)
    assert not Manifest.from_dict(table).private


def test_an_edited_manifest_cannot_say_better_than_its_numbers():
    table = made(delta=0.9).as_dict()
    for check in table["checks"]:
        check["status"] = "holds"
    with pytest.raises(ValueError, match="Expected the check 'delta' to fail"):
        Manifest.from_dict({**table, "private": True})
    table["checks"] = []
    with pytest.raises(ValueError, match="Expected private to be false: the check 'delta' fails"):
        Manifest.from_dict({**table, "private": True})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "luck"}, "name"),
        ({"status": "maybe"}, "status"),
        ({"sentence": " "}, "sentence"),
    ],
)
def test_a_check_is_checked(changes, message):
    with pytest.raises(ValueError, match=f"Expected {message}"):
        PrivacyCheck(**{"name": "delta", "status": "holds", "sentence": "because", **changes})
