"""Curves behind a claim, its region and its training, as drawings."""

import dataclasses
import math
import re
from itertools import pairwise
from xml.etree import ElementTree as Xml

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdpkit import Adjacency, epsilon, lower_bound
from rdpkit.verification.auditing.audit import audit
from rdpkit.verification.auditing.regions.region import Region
from rdpkit.verification.blackbox.mistakes import Mistake, MistakeKind
from rdpkit.verification.claims.reading import loads
from rdpkit.verification.outputs.html.curves import (
    answer,
    curves,
    questions,
)
from rdpkit.verification.outputs.html.figures import (
    FigureScale,
    close_up,
    profile_figure,
    region_drawing,
    training_view,
)
from rdpkit.verification.outputs.html.page import worst_first
from rdpkit.verification.outputs.terminal import explanation
from rdpkit.verification.outputs.training_drawing import (
    histogram,
    sandwich_lines,
    training_lines,
)
from rdpkit.verification.training.results import (
    CanaryScores,
    CheckResult,
    TrainingLowerBound,
    TrainingVerification,
)
from tests.verification.auditing.regions.test_sentences import region
from tests.verification.claim_files import text
from tests.verification.finding_examples import HOSTILE, finding

SAMPLED = text(
    id='"sampled"', mechanism='"dpsgd"', epsilon="2.0", bound='"best-rdp"',
    parameters="{ dataset_size = 10000, batch_size = 100, steps = 100, noise_multiplier = 1.0 }",
)  # fmt: skip


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
    laplace = "{ noise_scale = 1.0, record_norm = 1.0 }"
    pure = text(mechanism='"laplace"', epsilon="1.0", delta="0.0", parameters=laplace)
    (finding,) = audit(loads(pure))
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
    places = [float(place[:-1]) for _, place, _ in view["rows"]]
    assert places == sorted(places)
    assert [text for *_, text in view["rows"]] == [str(value) for value in sorted(values)]


def test_one_number_is_not_put_side_by_side():
    assert close_up([("claimed", 1.0, "1"), ("upper", math.inf, "inf")]) is None


BANDS = [("true", 1, 1200), ("open", 1201, 1299), ("refuted", 1300, 1e6)]


def drawn_region(found):
    return Xml.fromstring(f"<div>{region_drawing(found)}</div>")


def rectangles(bar):
    found = []
    for one in bar.iter("rect"):
        left = float(one.get("x").rstrip("%"))
        found.append((one.get("class"), left, left + float(one.get("width").rstrip("%"))))
    return found


def test_a_bar_for_each_row_with_its_sentence():
    found = region(((("delta", 1e-5),), BANDS), ((("delta", 1e-6),), BANDS[1:]))
    bars = [bar for bar in drawn_region(found).iter("svg") if bar.get("role") == "img"]
    assert [bar.get("aria-label") for bar in bars] == list(found.sentences)
    (opened, true, refuted), (_, also_refuted) = map(rectangles, bars)
    assert [one[0] for one in (opened, true, refuted)] == [
        *("band-open", "band-true", "band-refuted")
    ]
    # The open band lies behind the others, and is seen between them.
    assert opened[1] == true[1]
    assert true[2] < refuted[1]
    assert refuted[2] == pytest.approx(opened[2])
    assert also_refuted[0] == "band-refuted"


def test_what_was_not_looked_at_is_not_drawn():
    found = region(((), [("true", 1, 300), ("refuted", 301, 60_000)]))
    (bar,) = [bar for bar in drawn_region(found).iter("svg") if bar.get("role") == "img"]
    assert max(right for _, _, right in rectangles(bar)) < 99.0


@given(
    st.lists(st.floats(1e-40, 1e40), min_size=2, max_size=4, unique=True).map(sorted),
    st.sampled_from(["true", "open", "refuted"]),
)
def test_any_bands_are_inside_of_the_drawing(ends, first):
    verdicts = ["true", "open", "refuted"]
    start = verdicts.index(first)
    bands = [
        (verdicts[(start + place) % 3], low, high)
        for place, (low, high) in enumerate(pairwise(ends))
    ]
    found = region(((), bands), whole=False, search=("noise_std",))
    for bar in drawn_region(found).iter("svg"):
        for _, left, right in rectangles(bar):
            assert -0.01 <= left <= right <= 100.3


def test_nothing_of_a_claims_file_is_markup():
    for hostile in HOSTILE:
        found = region(((("x", hostile),), BANDS), because=hostile)
        content = str(region_drawing(found))
        tags = set(re.findall(r"<(\w+)", content))
        assert tags <= {"figure", "ul", "li", "p", "svg", "rect", "text", "figcaption"}
    none = Region(mechanism="x", search=(), whole=False, rows=(), because=HOSTILE[0])
    assert "<script" not in region_drawing(none)


def bound(epsilon, *, delta=1e-5, given="canaries are independent"):
    about = {"adjacency": Adjacency.ADD_OR_REMOVE_ONE, "confidence": 0.95, "given": given}
    return TrainingLowerBound(epsilon=epsilon, delta=delta, **about)


def checked(*, name="m:make", given="canaries are independent", scores=None, mistakes=()):
    run = CheckResult(
        name="run",
        false_alarm_rate=0.0025,
        bounds=(bound(0.44449, given=given), bound(0.2, given=given), bound(9.0, delta=0.1)),
        scores=scores or CanaryScores(inside=(1.0, 2.0, 3.0), outside=(-1.0, 0.0, 1.0)),
    )
    step = CheckResult(
        name="step", false_alarm_rate=0.0025, bounds=(bound(0.7),), mistakes=mistakes
    )
    result = TrainingVerification(
        name=name,
        event="an event",
        claim="a claim",
        false_alarm_rate=0.01,
        checks=(step, run),
        seed=1,
        seconds=2.0,
    )
    return dataclasses.replace(finding(), training=result)


def test_every_number_is_there_with_what_it_is():
    found = [(one.kind, one.digits) for one in sandwich_lines(checked())]
    assert found == [
        *(("upper", "1.000"), ("claimed", "1.10"), ("lower", "0.9900")),
        *(("empirical", "0.7000"), ("empirical", "0.4444")),
    ]
    words = [one.words for one in sandwich_lines(checked())]
    assert "confidence 0.95" in words[3]
    assert "check of the step" in words[3]
    assert "check of the run" in words[4]


def test_the_explanation_has_the_drawing():
    lines = explanation(checked())
    assert any("0.4444  from the check of the run" in line for line in lines)
    assert any("3 canaries in the training" in line for line in lines)
    assert not training_lines(finding())
    assert training_view(finding()) is None


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_of_code_is_markup(text):
    mistake = Mistake(kind=MistakeKind.NO_NOISE, message=text, advice=text)
    drawn = str(training_view(checked(name=text, given=text, mistakes=(mistake,))))
    assert "<script" not in drawn
    assert "<img" not in drawn
    # What is not well-formed does not parse, and every drawing says in words what it shows.
    tree = Xml.fromstring(drawn)
    pictures = [one for one in tree.iter("svg") if one.get("aria-hidden") is None]
    assert len(pictures) == 5 + 2
    assert all(one.get("role") == "img" and one.get("aria-label") for one in pictures)


any_scores = st.lists(st.floats(), max_size=30).map(tuple)


@given(any_scores, any_scores)
def test_every_finite_score_is_counted_once(inside, outside):
    found = histogram(CanaryScores(inside=inside, outside=outside))
    finite = [sum(map(math.isfinite, scores)) for scores in (inside, outside)]
    if found is None:
        assert finite == [0, 0]
        return
    assert [sum(found.inside), sum(found.outside)] == finite
    assert len(found.inside) == len(found.outside)
    assert found.words.startswith("Scores from ")


def test_scores_are_where_they_belong():
    found = histogram(CanaryScores(inside=(3.0, 4.0), outside=(0.0, 1.9)), bars=4)
    assert (found.low, found.high) == (0.0, 4.0)
    assert found.inside == (0, 0, 0, 2)
    assert found.outside == (1, 1, 0, 0)
