"""The numbers and the scores of a checked training, in letters and on the page."""

import dataclasses
import math
from xml.etree import ElementTree as Xml

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdpkit.verification.blackbox.mistakes import Mistake, MistakeKind
from rdpkit.verification.outputs.html.training_view import training_view
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
from tests.verification.finding_examples import HOSTILE, finding


def bound(epsilon, *, delta=1e-5, given="canaries are independent"):
    return TrainingLowerBound(epsilon=epsilon, delta=delta, confidence=0.95, given=given)


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
