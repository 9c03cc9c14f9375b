"""What mends a claim: the edits are applied to the claim, and the claim is audited again."""

from __future__ import annotations

import dataclasses
import functools
import math
from decimal import Decimal

import pytest

import rdpkit
from rdpkit import Adjacency
from rdpkit.calibration.search_variable import value_at, with_value
from rdpkit.events import MECHANISMS, event_from_parameters, parameters_of
from rdpkit.verification.auditing import remedies as module
from rdpkit.verification.auditing.audit import audit
from rdpkit.verification.auditing.findings import Reproduction, Side, Soundness, refuted_by
from rdpkit.verification.auditing.remedies import (
    _of_settings,
    calibrated_unasked,
    needs_noise,
    obstacles,
    remedies,
)
from rdpkit.verification.claims.editing import ClaimsText
from rdpkit.verification.claims.reading import load_files, loads, shipped_files
from tests.cli.commands import EVENTS
from tests.verification.finding_examples import finding, one_of_each, unproven

GAUSSIAN = """
mechanism = "gaussian"
adjacency = "replace_one"
{}
[claim.parameters]
noise_std = 5.0
record_norm = 1.0
"""
PART = """
[[claim.parameters.events]]
mechanism = "gaussian"
noise_std = {}
record_norm = 1
"""


@functools.cache
def audited(about, *, head='id = "a"\nsource = "here"'):
    (claim,) = loads(f"[[claim]]\n{head}\n{about}")
    (found,) = audit([claim])
    return found


def mended(found, remedy):
    """The finding about the claim with the edits of a remedy."""
    claim = found.claim
    changes: dict[str, object] = {}
    samples: dict[str, object] = {}
    event = claim.event
    for key, _, new in remedy.edits:
        if key == claim.quantity:
            changes["epsilon"] = Decimal(new)
        elif key.startswith("parameters."):
            path = key.removeprefix("parameters.")
            if path in ("sampling", "max_batch_size"):
                samples[path] = new.strip('"') or None
            else:
                event = with_value(event, path, type(value_at(event, path))(new))
        elif key == "adjacency":
            changes[key] = Adjacency(new.strip('"'))
        else:
            changes[key] = new.strip('"') or None
    changed = dataclasses.replace(claim, event=dataclasses.replace(event, **samples), **changes)
    (again,) = audit([changed])
    return again


def assert_mended(found, kinds):
    every = remedies(found)
    # A weaker relation, or fewer releases, may prove a number as well.
    others = {"relation", "count"}.difference(kinds)
    assert [one.kind for one in every if one.kind not in others] == kinds
    for remedy in every:
        again = mended(found, remedy)
        assert again.soundness is Soundness.SOUND, remedy
        assert again.reproduction is not Reproduction.DIFFERS, remedy
        if remedy.kind == "noise":
            assert again.claim.epsilon == found.claim.epsilon
            assert again.slack < 1.01
    return every


@pytest.mark.thorough
def test_the_false_claim_of_a_paper_is_mended_by_the_lines_that_are_named():
    wanted = "dpcda-theorem1-l128-t10000"
    claims = [claim for claim in load_files(shipped_files()) if claim.id == wanted]
    (found,) = audit(claims)
    noisier, raised = assert_mended(found, ["noise", "claim"])
    assert raised.lines == ("epsilon = 14.28", 'bound = "pld-upper"')
    assert raised.sentence == 'raise the claim: epsilon = 14.28, bound = "pld-upper"'
    assert noisier.lines == ("feature_noise = 0.0118", "label_noise = 0.0118")
    assert noisier.edits[-1] == ("bound", '"dpcda-theorem1"', "")
    assert noisier.sentence.endswith("and take out bound")
    assert obstacles(found) == ()


@pytest.mark.parametrize(
    "about",
    [
        "epsilon = 1.0\ndelta = 1e-5",
        'epsilon = 1.0\ndelta = 1e-5\nbound = "best"',
        'epsilon = 1.0\ndelta = 1e-5\nbound = "gaussian"\nconversion = "mironov2017"',
        "epsilon = 0.1\norder = 4.0",
        "epsilon = 1.0\norder = 4.0\ndelta = 1e-5",
        "mu = 0.2",
        "mu = 0.2\ndelta = 1e-6",
        "advantage = 0.1",
        "tpr = 0.012\nfpr = 0.01",
        "rho = 0.05",
    ],
)
def test_a_false_number_of_any_kind_is_mended_by_a_larger_one_and_by_more_noise(about):
    found = audited(GAUSSIAN.format(about))
    assert found.soundness is not Soundness.SOUND
    assert_mended(found, ["noise", "claim"])


@pytest.mark.parametrize(
    "about",
    [
        "epsilon = 3.0\ndelta = 1e-5",
        "epsilon = 3.0\norder = 4.0",
        "mu = 2.0",
        "advantage = 0.9",
        "tpr = 0.5\nfpr = 0.01",
        "rho = 1.0",
    ],
)
def test_a_true_number_with_slack_is_said_better(about):
    found = audited(GAUSSIAN.format(about))
    assert found.soundness is Soundness.SOUND
    (remedy,) = remedies(found)
    assert remedy.kind == "tighter"
    assert mended(found, remedy).soundness is Soundness.SOUND
    assert mended(found, remedy).slack < 1.06


@pytest.mark.thorough
def test_nothing_is_calibrated_for_a_true_claim_or_one_that_cannot_be_computed(monkeypatch):
    monkeypatch.setattr(module, "_calibrated", None)
    for claim in load_files(shipped_files())[:2]:
        (found,) = audit([dataclasses.replace(claim, epsilon=Decimal(100))])
        assert found.soundness is Soundness.SOUND or claim.event is None
        remedies(found)
    nothing = audited('mechanism = "unmodelled"\nadjacency = "replace_one"\nmissing = ["x"]')
    assert obstacles(nothing) == ("give what is missing: x",)


TRAINING = """
mechanism = "dpsgd"
adjacency = "add_or_remove_one"
epsilon = {}
delta = 1e-5
[claim.parameters]
noise_multiplier = 1.0
dataset_size = 6000
batch_size = 60
steps = 300
{}
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    "sampling", ['sampling = "shuffle"', 'sampling = "truncated-poisson"\nmax_batch_size = 70']
)
def test_another_sampling_comes_before_more_noise(sampling):
    found = audited(TRAINING.format("1.2", sampling))
    assert found.soundness is not Soundness.SOUND
    first, *_ = assert_mended(found, ["sampling", "noise", "claim"])
    assert 'sampling = "poisson"' in first.lines
    assert "proves 1.0" in first.sentence
    # A number that Poisson sampling does not prove either needs noise.
    assert remedies(audited(TRAINING.format("0.9", sampling)))[0].kind in ("count", "noise")


MISTAKES = [
    ("fixed-size samples", {"more": 'sampling = "fixed-size"'}, "sampling"),
    ("clipped averages", {"more": "microbatch_size = 6"}, "clipping"),
    ("wrong relation", {"adjacency": "replace_one"}, "relation"),
    ("delta of another data set", {"delta": "1e-9"}, "delta"),
    ("another accountant", {"epsilon": "1.069", "bound": "best-rdp"}, "accountant"),
    ("more steps than counted", {"steps": "3000"}, "count"),
    ("a larger batch", {"batch": "90"}, "count"),
    ("noise on the mean", {"noise": "0.016666666666666666", "steps": "1"}, "unit"),
]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("about", "kind"), [row[1:] for row in MISTAKES], ids=[r[0] for r in MISTAKES]
)
def test_the_first_remedy_keeps_noise_and_number_where_one_does(about, kind):
    given = {"adjacency": "add_or_remove_one", "epsilon": "1.2", "delta": "1e-5", **about}
    text = TRAINING.format(given["epsilon"], given.get("more", ""))
    text = text.replace("add_or_remove_one", given["adjacency"]).replace("1e-5", given["delta"])
    text = text.replace("noise_multiplier = 1.0", f"noise_multiplier = {given.get('noise', '1.0')}")
    text = text.replace("steps = 300", f"steps = {given.get('steps', '300')}")
    text = text.replace("batch_size = 60", f"batch_size = {given.get('batch', '60')}")
    if "bound" in given:
        text = text.replace("[claim.p", f'bound = "{given["bound"]}"\n[claim.p')
    found = audited(text)
    # What is sought of other settings comes before all the rest, which takes longer.
    first = remedies(found)[0] if kind in ("count", "accountant") else _of_settings(found)[0]
    assert first.kind == kind
    whole = f'[[claim]]\nid = "a"\nsource = "here"\n{text}'
    (again,) = audit(loads(ClaimsText(whole).edited("a", first.edits)))
    assert again.claim.epsilon == found.claim.epsilon
    assert again.soundness is Soundness.SOUND


@pytest.mark.parametrize(
    ("number", "kinds"),
    [("3.34", ["claim", "count", "noise"]), ("1.0", ["count", "noise", "claim"])],
)
def test_a_composition_is_released_less_often_unless_a_digit_mends_it(number, kinds):
    found = audited(
        'mechanism = "repeated"\nadjacency = "add_or_remove_one"\ndelta = 1e-5\n'
        f"epsilon = {number}\n[claim.parameters]\ncount = 10\n[claim.parameters.event]\n"
        'mechanism = "gaussian"\nnoise_std = 4.0\nrecord_norm = 1.0\n'
    )
    every = {one.kind: one for one in assert_mended(found, kinds)}
    assert every["count"].lines == ("count = 9" if number == "3.34" else "count = 1",)


def test_several_noises_keep_their_ratio():
    parts = "".join(PART.format(noise) for noise in (5.0, 10.0))
    found = audited(
        f'mechanism = "composed"\nadjacency = "replace_one"\nepsilon = 1.0\ndelta = 1e-5\n'
        f"[claim.parameters]\n{parts}"
    )
    noisier = next(one for one in remedies(found) if one.kind == "noise")
    first, second = (float(edit.new) for edit in noisier.edits)
    assert [edit.key for edit in noisier.edits] == [
        "parameters.events[0].noise_std",
        "parameters.events[1].noise_std",
    ]
    assert second == pytest.approx(2 * first, rel=1e-3)
    assert value_at(found.claim.event, "events[1].noise_std") == 10.0
    assert_mended(found, ["noise", "claim"])


@pytest.mark.parametrize("delta", ["1e-9", "0"])
def test_a_mechanism_without_noise_loses_less_in_its_parts(delta):
    found = audited(
        f'mechanism = "exponential"\nadjacency = "replace_one"\nepsilon = 0.5\ndelta = {delta}\n'
        "[claim.parameters]\nepsilon = 1.0\n"
    )
    less, _ = assert_mended(found, ["noise", "claim"])
    assert less.sentence.startswith("lower the loss of its parts: epsilon = ")


def test_a_target_that_no_noise_reaches_is_told():
    found = audited(GAUSSIAN.format("epsilon = 0\ndelta = 1e-5"))
    assert [one.kind for one in remedies(found)] == ["claim"]
    assert "no noise is known that makes it true" in obstacles(found)[0]


def test_what_the_code_or_the_release_refutes_is_not_mended_by_a_number():
    found = refuted_by(audited(GAUSSIAN.format("epsilon = 3.0\ndelta = 1e-5")), ["a row changed"])
    assert remedies(found) == ()
    assert obstacles(found) == (
        "correct the code or the release that the claim points at, or the claim",
    )


def test_an_uncertified_bound_proves_no_number():
    assert remedies(unproven(upper=Side(bound="floats", epsilon=1.0))) == ()
    assert "is not certified" in obstacles(unproven(upper=Side(bound="floats", epsilon=1.0)))[0]


def test_a_formula_that_gives_another_true_number_gives_the_number_to_print():
    (remedy,) = remedies(finding(reproduction=Reproduction.DIFFERS, epsilon="1.05"))
    assert remedy.lines == ("epsilon = 1.10",)
    low = finding(
        reproduction=Reproduction.DIFFERS,
        epsilon="1.05",
        published=Side(bound="gaussian", epsilon=0.5),
    )
    assert remedies(low)[0].kind == "claim"


def test_an_audit_of_many_claims_calibrates_for_the_first_ones():
    found = audited(GAUSSIAN.format("epsilon = 1.0\ndelta = 1e-5"))
    many = [
        dataclasses.replace(found, claim=dataclasses.replace(found.claim, id=f"c{place}"))
        for place in range(100)
    ]
    assert needs_noise(found)
    assert calibrated_unasked(many) == {f"c{place}" for place in range(module.MOST_CALIBRATED)}
    assert [one.kind for one in remedies(found, noise=False)] == ["claim"]


def test_every_kind_of_finding_has_an_answer():
    for one in one_of_each():
        for remedy in remedies(one):
            assert remedy.as_dict()["edits"][0].keys() == {"key", "old", "new"}
        assert remedies(one) or obstacles(one) or one.soundness is Soundness.SOUND


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", sorted(EVENTS))
def test_a_false_claim_about_any_mechanism_is_mended_by_what_is_said(mechanism):
    parameters = dict(EVENTS[mechanism])
    if "adjacency" in {one.name for one in parameters_of(MECHANISMS[mechanism])}:
        parameters["adjacency"] = "replace_one"
    event = event_from_parameters(mechanism, parameters)
    for adjacency in Adjacency:
        try:
            best = rdpkit.epsilon(event, delta=1e-6, adjacency=adjacency).epsilon
        except ValueError:
            continue
        if not 0.0 < best < math.inf:
            continue
        claim = dataclasses.replace(
            finding().claim,
            mechanism=mechanism,
            event=event,
            delta=1e-6,
            adjacency=adjacency,
            epsilon=Decimal(f"{0.6 * best:.2g}"),
        )
        (found,) = audit([claim])
        assert found.soundness is not Soundness.SOUND
        every = remedies(found)
        assert every[-1].kind == "claim"
        assert "noise" in [one.kind for one in every] or obstacles(found)
        for remedy in every:
            again = mended(found, remedy)
            assert again.soundness is Soundness.SOUND, remedy
            assert again.reproduction is not Reproduction.DIFFERS, remedy
