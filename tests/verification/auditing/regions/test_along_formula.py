"""Regions while a formula sets the noise: by a stand-in for the bounds, and in earnest."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdpkit import Adjacency, calibrate
from rdpkit.calibration.search_variable import with_value
from rdpkit.verification.auditing.regions.along_formula import CLOSE, Formula, bands_along
from rdpkit.verification.auditing.regions.boundary import within
from rdpkit.verification.auditing.regions.compute import region_of
from rdpkit.verification.auditing.regions.monotone import variable_of
from tests.events import of_papers
from tests.verification.auditing.regions.completed_claims import audited, incomplete

FORMULA = Formula(bound="dpcda-theorem1", calibrated=("feature_noise", "label_noise"))
EVENT = of_papers.dpcda([300, 300, 300, 300], 1, 16, noise=1.0, label_noise=1.0)
ALONG = 'meets = "dpcda-theorem1"\ncalibrated = ["feature_noise", "label_noise"]\n'
PARAMETERS = "class_sizes = [300, 300, 300, 300]\nclip_norm = 1.0\norder_of_mixture = 16\n"


def about(search):
    return incomplete(
        search, mechanism="dpcda", parameters=PARAMETERS, epsilon="10.0", adjacency="replace_one"
    )


def noise_at(count):
    return calibrate(
        with_value(EVENT, "samples_per_class", count),
        target_epsilon=10.0, delta=1e-5, adjacency="replace_one", bound="dpcda-theorem1",
        parameter={"feature_noise": 1.0, "label_noise": 1.0},
    ).value  # fmt: skip


@dataclass
class Stand:
    """A claim whose loss is a simple function: count^power / noise^other."""

    power: float
    other: float
    upper: float
    lower: float
    claimed: float = 10.0
    delta: float = 1e-5
    adjacency: Adjacency = Adjacency.REPLACE_ONE

    def loss(self, event):
        return self.power * math.log(event.samples_per_class) - self.other * math.log(
            event.feature_noise
        )

    def excess(self, event):
        return self.loss(event) - self.upper

    def shown(self, event):
        return self.loss(event) - self.lower


NOISES = {count: noise_at(count) for count in (1, 3, 10, 31, 100, 316, 1000)}


LOSSES = {
    "power": st.floats(0.1, 3.0),
    "other": st.floats(0.1, 30.0),
    "crossing": st.sampled_from(sorted(NOISES)),
    "gap": st.floats(0.0, 0.5),
}


@pytest.mark.parametrize("examples", [5, pytest.param(150, marks=pytest.mark.slow)])
def test_bands_are_true_of_every_value(examples):
    settings(max_examples=examples)(given(**LOSSES)(true_of_every_value))()


def true_of_every_value(power, other, crossing, gap):
    """The loss along the curve may rise, fall, or do both."""
    stand = Stand(power=power, other=other, upper=0.0, lower=0.0)
    along = {
        count: power * math.log(count) - other * math.log(noise) for count, noise in NOISES.items()
    }
    stand.upper, stand.lower = along[crossing] - 1e-9, along[crossing] + gap
    variable = within(variable_of(EVENT, ("samples_per_class",))[0], 1.0, 1000.0)
    bands = bands_along(stand, variable, FORMULA)
    assert bands[0].low == 1.0
    assert bands[-1].high == 1000.0
    assert all(a.high + 1.0 == b.low for a, b in itertools.pairwise(bands))
    for count, loss in along.items():
        (band,) = [band for band in bands if band.holds(count)]
        if band.verdict.value == "true":
            assert loss <= stand.upper + 1e-4 * other
        if band.verdict.value == "refuted":
            assert loss > stand.lower - 1e-4 * other


def test_a_rising_loss_is_bounded_closely():
    stand = Stand(power=1.0, other=1.0, upper=0.0, lower=0.0)
    stand.upper = stand.lower = math.log(100) - math.log(noise_at(100))
    variable = within(variable_of(EVENT, ("samples_per_class",))[0], 1.0, 1e6)
    bands = bands_along(stand, variable, FORMULA)
    assert [band.verdict.value for band in bands] == ["true", "open", "refuted"]
    assert 100 / (1.0 + 3.0 * CLOSE) <= bands[0].high <= 100
    assert 100 <= bands[2].low <= 100 * (1.0 + 3.0 * CLOSE) + 1


@pytest.mark.slow
def test_every_value_of_a_region_and_its_ends():
    claim = about('search = "samples_per_class"\nfrom = 190\nto = 260\n' + ALONG)
    (row,) = region_of(claim).rows
    for count in (*range(190, 261, 5), row.true.high, row.refuted.low):
        case, noise = claim.unknown.cases[0], noise_at(int(count))
        for name in FORMULA.calibrated:
            case = type(case)(
                values=case.values, delta=case.delta, event=with_value(case.event, name, noise)
            )
        said = {"sound": "true", "refuted": "refuted", "unproven": "open"}
        found = said[audited(claim, case, count)]
        assert row.at(count).value in (found, "open")


@pytest.mark.parametrize(
    ("unknown", "message"),
    [
        ('search = "samples_per_class"\n' + ALONG, "Expected from and to beside meets"),
        (
            'search = "samples_per_class"\n' + ALONG.replace("theorem1", "nonsense"),
            "Expected meets to be one of 'dpcda-theorem1', 'dpcda-theorem1-class'",
        ),
        (
            'search = "feature_noise"\nmeets = "dpcda-theorem1"\ncalibrated = "label_noise"\n',
            "Expected search to be a number of releases",
        ),
    ],
)
def test_what_cannot_be_searched_along_a_formula(unknown, message):
    values = "" if "samples_per_class" in unknown else "samples_per_class = 5\n"
    claim = incomplete(
        unknown, mechanism="dpcda", parameters=PARAMETERS + values, adjacency="replace_one"
    )
    with pytest.raises(ValueError, match=message):
        region_of(claim)
