"""The report's curves: proven where they say so, and through the numbers of the audit."""

import dataclasses
import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdpkit import epsilon, lower_bound
from rdpkit.verification.auditing.audit import audit
from rdpkit.verification.claims.reading import loads
from rdpkit.verification.outputs.html.curves import (
    answer,
    curves,
    questions,
)
from rdpkit.verification.outputs.html.drawing import FigureScale, close_up, profile_figure
from rdpkit.verification.outputs.html.words import worst_first
from tests.verification.claim_files import text

SAMPLED = """
[[claim]]
id = "sampled"
source = "a test"
mechanism = "dpsgd"
adjacency = "add_or_remove_one"
epsilon = 2.0
delta = 1e-5
bound = "best-rdp"
parameters = { dataset_size = 10000, batch_size = 100, steps = 100, noise_multiplier = 1.0 }
"""


@pytest.fixture(scope="module")
def sampled():
    (finding,) = audit(loads(SAMPLED))
    return finding


@pytest.fixture(scope="module")
def drawn(sampled):
    return curves(sampled)


def of_kind(found, kind):
    (one,) = [series for series in found if series.kind == kind]
    return dict(one.points)


@pytest.mark.thorough
def test_curves_go_through_the_numbers_of_the_audit(sampled, drawn):
    assert drawn.notes == ()
    for kind in ("upper", "lower", "published"):
        value = getattr(sampled, kind).epsilon
        shown = of_kind(drawn.profile, kind)[1e-5]
        # Six digits, rounded to the safe side. A lower curve may say a little more than one number.
        assert shown == pytest.approx(value, rel=2e-4 if kind == "lower" else 2e-5)
        assert shown <= sampled.upper.epsilon if kind == "lower" else shown >= value


@pytest.mark.thorough
def test_curves_bound_what_the_accountant_says_at_every_delta(sampled, drawn):
    event, relation = sampled.claim.event, sampled.claim.adjacency
    upper, lower = (of_kind(drawn.profile, kind) for kind in ("upper", "lower"))
    assert min(upper) == pytest.approx(1e-7)
    assert max(upper) == pytest.approx(1e-3)
    for delta in list(upper)[::16]:
        attained = lower_bound(event, delta=delta, adjacency=relation)[0].epsilon
        proven = epsilon(event, delta=delta, adjacency=relation).epsilon
        assert lower[delta] <= proven
        assert attained <= upper[delta]
        # And both are close to what one question about that delta alone would have got.
        assert upper[delta] <= 1.01 * proven
        assert lower[delta] >= 0.97 * attained


def test_curves_of_the_gaussian_enclose_its_closed_form():
    (finding,) = audit(loads(text(adjacency='"add_or_remove_one"')))
    found = curves(finding)
    upper, lower = (of_kind(found.profile, kind) for kind in ("upper", "lower"))
    for delta in upper:
        exact = epsilon(finding.claim.event, delta=delta, adjacency=finding.claim.adjacency)
        assert lower[delta] <= exact.epsilon <= upper[delta] <= 1.001 * exact.epsilon
    for order, value in of_kind(found.rdp, "upper").items():
        exact = order / (2.0 * 25.0)
        assert exact * (1.0 - 1e-12) <= value <= exact * 1.00001


@pytest.mark.thorough
def test_an_audit_by_renyi_divergences_is_drawn_by_them(sampled):
    (by_rdp,) = audit([sampled.claim], bounds="rdp")
    found = curves(by_rdp, bounds="rdp")
    assert [one.kind for one in found.profile] == ["upper", "published"]
    points = found.profile[0].points
    assert dict(points)[1e-5] == pytest.approx(by_rdp.upper.epsilon, rel=2e-5)
    # A stair: what is proven at a delta holds for larger ones, so it never falls below a bound.
    for (x, y), (further, lower) in pairwise(points):
        assert x == further or y == lower


@pytest.mark.thorough
def test_claims_about_one_event_share_their_curves(sampled):
    changed = dataclasses.replace(sampled.claim, delta=1e-6, order=3.0)
    other = dataclasses.replace(sampled, claim=changed)
    (question, first), (again, second) = questions([sampled, other], [0, 1])
    assert question == again
    assert question.deltas == (1e-6, 1e-5)
    found = answer(question)
    assert set(found) == {first, second}
    # Both have the same proven curves, and each its own formula.
    assert found[first].profile[:2] == found[second].profile[:2]
    assert found[first].profile[2] != found[second].profile[2]
    nothing = dataclasses.replace(sampled, claim=dataclasses.replace(sampled.claim, event=None))
    assert questions([nothing], [0]) == [None]


@pytest.mark.thorough
def test_profiles_are_drawn_for_the_worst_claims_alone(sampled):
    (second,) = audit(loads(text()), bounds="rdp")
    refuted = audit(loads(text(epsilon="0.1")))
    findings = [sampled, second, *refuted]
    order = worst_first(findings)
    assert order[0] == 2
    asked = questions(findings, order, most=1)
    routes = [question.route for question, _ in asked]
    # The third claim is about the same event as the second.
    assert routes == ["none", "losses", "losses"]
    question, formula = asked[0]
    found = answer(question)[formula]
    assert found.profile == ()
    assert "worst claims only" in found.notes[0]


@pytest.mark.thorough
def test_what_cannot_be_computed_is_named(sampled, monkeypatch):
    def fails(*args, **options):
        raise ArithmeticError("no digits are left")

    monkeypatch.setattr("rdpkit.accountants.profiles.proven", fails)
    found = curves(sampled)
    assert [one.kind for one in found.profile] == ["lower", "published"]
    assert found.notes == ("the upper curve is not drawn: no digits are left",)


def test_a_claim_of_pure_privacy_has_no_place_on_an_axis_of_deltas():
    (finding,) = audit(
        loads(
            """
[[claim]]
id = "pure"
source = "a test"
mechanism = "laplace"
adjacency = "add_or_remove_one"
epsilon = 1.0
delta = 0.0
parameters = { noise_scale = 1.0, record_norm = 1.0 }
"""
        )
    )
    found = curves(finding)
    assert found.profile == ()
    assert profile_figure(found, []) is None


sizes = st.floats(min_value=1e-12, max_value=1e12)


@given(st.lists(sizes, min_size=1, max_size=5), st.sampled_from([0.13, 0.22]))
def test_labels_are_apart_and_round(values, apart):
    scale = FigureScale.around(values)
    ticks = scale.ticks(apart)
    places = sorted(float(tick.place[:-1]) / 100.0 for tick in ticks)
    assert all(b - a >= apart - 1e-3 for a, b in pairwise(places))
    assert ticks
    for value in values:
        assert 0.0 <= scale.share(value) <= 1.0
    assert scale.share(min(values)) <= scale.share(max(values))


@given(st.lists(sizes, min_size=2, max_size=4))
def test_numbers_side_by_side_stand_in_their_order(values):
    view = close_up([("upper", value, str(value)) for value in values])
    places = [float(place[:-1]) for _, place, _ in view.rows]
    assert places == sorted(places)
    assert [text for *_, text in view.rows] == [str(value) for value in sorted(values)]


def test_one_number_is_not_put_side_by_side():
    assert close_up([("claimed", 1.0, "1"), ("upper", math.inf, "inf")]) is None
