"""Plans: the best of what was tried, certified, and what its numbers mean."""

import csv
import io
import json
import math

import numpy as np
import pytest

import rdpkit
from rdpkit.events import MECHANISMS
from rdpkit.planning import OBJECTIVES
from tests.events import of_papers, unit

ADD, REPLACE = "add_or_remove_one", "replace_one"
CDA = of_papers.dpcda([900, 1000], 50, 1, noise=1.0, label_noise=0.3, clip_norm=2.0)
DPMIX = of_papers.dpmix(1000, 40, 1, noise=1.0, shape=(30, 10))
EVENTS = {
    "dpcda": CDA,
    "dpmix": DPMIX,
    "class_wise_dpmix": of_papers.class_wise_dpmix(
        [900, 1000], 50, 1, noise=1.0, label_noise=1.0, shape=(30, 10)
    ),
    "ldpdc": of_papers.ldpdc([900, 1000], 50, 1, noise=1.0, dimension=30, value_bound=3.0),
    "ndpdc": of_papers.ndpdc([900, 1000], 50, 1, noise=1.0),
}
TARGET = {"target_epsilon": 1.0, "delta": 1e-5}
# Certified loss distributions take fifteen times as long, and are asked for where they matter.
QUICK = {"target_epsilon": 1.0, "delta": 1e-5, "bound": "best-rdp"}
BOUNDS = ["best-rdp", pytest.param("best", marks=pytest.mark.slow)]


def test_every_mechanism_that_mixes_is_here():
    assert {name for name, kind in MECHANISMS.items() if kind.mixing} == set(EVENTS)


# Certified loss distributions plan one mechanism in the fast suite, and all of them in the slow.
PLANNED = [(name, "best-rdp") for name in EVENTS] + [
    pytest.param(name, "best", marks=[] if name == "dpmix" else pytest.mark.slow) for name in EVENTS
]


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "bound"), PLANNED)
def test_the_best_is_the_best_and_meets_the_target(name, bound):
    asking = {"delta": 1e-5, "adjacency": ADD, "bound": bound}
    found = rdpkit.plan(EVENTS[name], target_epsilon=1.0, orders_of_mixture=[2, 32, 128], **asking)
    assert found.guarantee.epsilon <= 1.0
    assert found.guarantee.enclosure.rigorous
    assert len(found.choices) == 3
    assert found.best.score == max(choice.score for choice in found.choices)
    assert all(choice.epsilon <= 1.0 for choice in found.choices)
    # The event is that of the best choice, and its epsilon is what the library says of it.
    mixing = found.event.mixing
    assert getattr(found.event, mixing.mixed) == found.best.order_of_mixture
    assert getattr(found.event, mixing.noise) == found.best.noise
    asked = rdpkit.epsilon(found.event, **asking)
    assert asked.epsilon <= 1.0


@pytest.mark.thorough
@pytest.mark.parametrize("name", EVENTS)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_objectives_are_what_they_say(name, objective):
    found = rdpkit.plan(
        EVENTS[name], **QUICK, adjacency=ADD, objective=objective, orders_of_mixture=[4, 40]
    )
    for choice in found.choices:
        l = choice.order_of_mixture
        scale = {"dpcda": 2.0, "ldpdc": 3.0}.get(name, 1.0)
        is_sum = name in ("ldpdc", "ndpdc")
        noise = choice.noise / l if is_sum else choice.noise
        mean = (scale / noise) ** 2
        population = 1000 if name == "dpmix" else 900
        if name == "dpmix":
            # Half of the weight is on the labels.
            mean = math.sqrt(mean / choice.label_noise**2)
        count = 40 if name == "dpmix" else 50
        assert choice.noise_of_mean == pytest.approx(noise, rel=1e-12)
        assert choice.mean == pytest.approx(mean, rel=1e-12)
        assert choice.variation == pytest.approx(mean * (1.0 / l - 1.0 / population), rel=1e-12)
        assert choice.total_mean == pytest.approx(count * mean, rel=1e-12)
        assert choice.total_variation == pytest.approx(count * choice.variation, rel=1e-12)
        assert choice.score == getattr(choice, objective.replace("-", "_"))


@pytest.mark.thorough
@pytest.mark.parametrize("bound", BOUNDS)
def test_the_search_ends_at_a_choice_that_its_neighbours_do_not_beat(bound):
    ask = {**TARGET, "adjacency": ADD, "bound": bound}
    found = rdpkit.plan(CDA, **ask)
    scores = {choice.order_of_mixture: choice.score for choice in found.choices}
    best = found.best.order_of_mixture
    assert scores[best] == max(scores.values())
    assert {best - 1, best + 1} <= set(scores)
    assert 1 < best < 900
    # And it is the best of a finer list around it.
    near = rdpkit.plan(CDA, **ask, orders_of_mixture=range(best - 3, best + 4))
    assert near.best.order_of_mixture == best


def test_releases_and_totals():
    found = rdpkit.plan(
        CDA,
        **QUICK,
        adjacency=ADD,
        objective="total-variation",
        orders_of_mixture=[4, 16, 64],
        releases=[10, 40, 160],
    )
    assert len(found.choices) == 9
    best = {
        count: max(c.total_variation for c in found.choices if c.releases == count)
        for count in (10, 40, 160)
    }
    assert best[10] < best[40] < best[160]
    one = {
        count: max(c.variation for c in found.choices if c.releases == count)
        for count in (10, 40, 160)
    }
    assert one[10] > one[40] > one[160]


def test_labels_of_dpmix_get_the_share_that_is_best():
    """The product of both ratios is largest where each part leaks in proportion to its weight."""
    for weight in (0.2, 0.5):
        shares = sorted({weight, 0.05, 0.35, 0.65})
        found = rdpkit.plan(
            DPMIX,
            **QUICK,
            adjacency=ADD,
            orders_of_mixture=[16],
            label_shares=shares,
            label_weight=weight,
        )
        assert found.best.label_share == weight
        event = found.event
        labels = 2.0 / event.label_noise**2
        whole = labels + event.feature_dimension / event.feature_noise**2
        assert labels / whole == pytest.approx(weight, rel=1e-9)


def test_labels_that_are_known_get_no_noise_unless_a_published_theorem_counts_it():
    sound = rdpkit.plan(CDA, **QUICK, adjacency=ADD, orders_of_mixture=[16])
    assert sound.event.label_noise == 0.0
    published = rdpkit.plan(
        CDA,
        target_epsilon=10.0,
        delta=1e-5,
        adjacency=REPLACE,
        orders_of_mixture=[16],
        bound="dpcda-theorem1",
    )
    ratio = published.event.label_noise / published.event.feature_noise
    assert ratio == pytest.approx(0.3, rel=1e-12)


def test_choices_out_of_reach_are_rows_with_a_reason():
    found = rdpkit.plan(CDA, **QUICK, adjacency=ADD, orders_of_mixture=[16, 900])
    last = found.choices[-1]
    assert (last.order_of_mixture, last.noise, last.score) == (900, math.inf, 0.0)
    assert "infinite however large" in last.reason
    with pytest.raises(rdpkit.UnreachableTargetError, match="No choice meets the target"):
        rdpkit.plan(CDA, **TARGET, adjacency=ADD, orders_of_mixture=[900])


def test_tables():
    found = rdpkit.plan(CDA, **QUICK, adjacency=ADD, orders_of_mixture=[16, 900])
    columns = found.columns()
    assert columns["order_of_mixture"].tolist() == [16.0, 900.0]
    assert np.isnan(columns["label_share"]).all()
    rows = list(csv.DictReader(io.StringIO(found.as_csv())))
    assert float(rows[0]["noise"]) == found.choices[0].noise
    assert rows[1]["noise"] == "inf"
    shown = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert shown["best"]["order_of_mixture"] == 16
    assert shown["choices"][1]["noise"] == "inf"
    assert shown["guarantee"]["epsilon"] <= 1.0


@pytest.mark.thorough
def test_progress_is_told():
    told = []
    found = rdpkit.plan(
        CDA, **QUICK, adjacency=ADD, progress=lambda done, total: told.append((done, total))
    )
    assert [done for done, _ in told] == list(range(1, len(found.choices) + 1))
    assert all(done <= total for done, total in told)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"event": unit.gaussian(1.0)}, "Expected event to be DPMix"),
        ({"objective": "noise"}, "Expected objective to be one of 'variation', 'mean'"),
        ({"orders_of_mixture": [0]}, r"Expected orders_of_mixture\[0\] to be an integer >= 1"),
        ({"orders_of_mixture": [901]}, r"Expected orders_of_mixture to be integers in \[1, 900\]"),
        ({"releases": [0]}, r"Expected releases\[0\] to be an integer >= 1"),
        ({"label_shares": [0.5]}, "Expected label_shares to be None: the labels of dpcda"),
        ({"event": DPMIX, "label_shares": [1.0]}, r"Expected label_shares\[0\] in \(0, 1\)"),
        ({"event": DPMIX, "label_shares": []}, "Expected label_shares to be numbers"),
        ({"label_weight": 0.0}, r"Expected label_weight in \(0, 1\)"),
        ({"target_epsilon": -1.0}, "Expected target_epsilon"),
        ({"delta": 1.0}, "Expected delta"),
        ({"bound": "nothing"}, "Expected bound"),
    ],
)
def test_bad_input(changes, message):
    ask = {"event": CDA, **TARGET, "adjacency": ADD, "orders_of_mixture": [4], **changes}
    event = ask.pop("event")
    with pytest.raises(ValueError, match=message):
        rdpkit.plan(event, **ask)
