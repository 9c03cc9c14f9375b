"""Boundaries against the audit itself: inside of bands, beside them, and on a whole grid."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdpkit import Adjacency, Gaussian
from rdpkit.calibration.search_variable import search_variable
from rdpkit.verification.auditing.regions import boundary
from rdpkit.verification.auditing.regions.boundary import TOLERANCE, RegionQuestion, bands
from rdpkit.verification.auditing.regions.compute import region_of
from rdpkit.verification.auditing.regions.region import RegionVerdict
from tests.verification.auditing.regions.completed_claims import COUNTED, audited, incomplete

WORDS = {"sound": "true", "refuted": "refuted", "unproven": "open"}


def only_row(claim):
    (row,) = region_of(claim).rows
    return row


def limits(row, *, low=1e-3, high=1e3):
    """The bands, cut off where nobody looks."""
    return [(band, max(band.low, low), min(band.high, high)) for band in row.bands]


CLAIMS = {
    "epsilon": st.floats(0.05, 30.0),
    "delta": st.floats(2.0, 15.0).map(lambda digits: 10.0**-digits),
    "adjacency": st.sampled_from([one.value for one in Adjacency]),
    "share": st.floats(0.0, 1.0),
}


@pytest.mark.parametrize("examples", [4, pytest.param(150, marks=pytest.mark.slow)])
def test_the_audit_agrees_inside_of_every_band(examples):
    settings(max_examples=examples)(given(**CLAIMS)(agrees_inside))()


def agrees_inside(*, epsilon, delta, adjacency, share):
    claim = incomplete(
        'search = "noise_std"', epsilon=repr(epsilon), delta=repr(delta), adjacency=adjacency
    )
    row = only_row(claim)
    assert [band.verdict.value for band in row.bands][::2] == ["refuted", "true"]
    for band, low, high in limits(row):
        if band.verdict is not RegionVerdict.OPEN and low < high:
            value = math.exp((1.0 - share) * math.log(low) + share * math.log(high))
            value = min(max(value, low), high)
            assert WORDS[audited(claim, claim.unknown.cases[0], value)] == band.verdict.value
            assert row.at(value) is band.verdict


@pytest.mark.parametrize("adjacency", ["add_or_remove_one", "replace_one"])
def test_beside_a_boundary_the_audit_says_nothing_more(adjacency):
    claim = incomplete('search = "noise_std"', adjacency=adjacency)
    row, case = only_row(claim), claim.unknown.cases[0]
    assert audited(claim, case, row.true.low) == "sound"
    assert audited(claim, case, row.true.low * (1.0 - 1.5 * TOLERANCE)) != "sound"
    assert audited(claim, case, row.refuted.high) == "refuted"
    assert audited(claim, case, row.refuted.high * (1.0 + 1.5 * TOLERANCE)) != "refuted"


def test_every_number_of_releases_of_a_grid():
    claim = incomplete('search = "count"', mechanism="repeated", parameters=COUNTED, epsilon="3.0")
    row, case = only_row(claim), claim.unknown.cases[0]
    counts = range(40, 56)
    found = [WORDS[audited(claim, case, count)] for count in counts]
    assert found == [row.at(count).value for count in counts]
    assert {"true", "refuted"} <= set(found)


def test_every_sampling_rate_of_a_grid():
    claim = incomplete(
        'search = "sampling_probability"\nfrom = 0.01\nto = 1.0',
        mechanism="poisson_sampled_gaussian",
        parameters="noise_std = 2.0\nrecord_norm = 1.0\n",
    )
    row, case = only_row(claim), claim.unknown.cases[0]
    for value in (0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9, 1.0):
        assert WORDS[audited(claim, case, value)] == row.at(value).value
    assert row.true.low == 0.01
    assert row.refuted.high == 1.0


@pytest.mark.parametrize("search", ["epsilon", "delta"])
def test_the_claims_own_numbers(search):
    given_ = {"epsilon": "1.0", "delta": "1e-5"} | {search: None}
    parameters = "noise_std = 3.0\nrecord_norm = 1.0\n"
    claim = incomplete(f'search = "{search}"', parameters=parameters, **given_)
    row, case = only_row(claim), claim.unknown.cases[0]
    refuted, true = row.refuted.high, row.true.low
    assert 0.9 * true < refuted < true
    for value in (refuted, refuted / 2, refuted / 100):
        assert audited(claim, case, value) == "refuted"
    for value in (true, max(true, math.sqrt(true)), max(true, 0.99)):
        assert audited(claim, case, value) == "sound"
    assert audited(claim, case, refuted * 1.02) != "refuted"
    assert audited(claim, case, true * 0.98) != "sound"


@pytest.mark.parametrize(
    ("epsilon", "delta", "noise"),
    [
        pytest.param("1e-3", "1e-100", "1e6", marks=pytest.mark.slow),
        ("5.0", "1e-12", "3000.0"),
    ],
)
def test_far_past_the_range_of_use(epsilon, delta, noise):
    claim = incomplete(
        'search = "count"\nto = 1000000000',
        mechanism="repeated",
        parameters=f"event = {{mechanism = 'gaussian', noise_std = {noise}, record_norm = 1.0}}\n",
        epsilon=epsilon,
        delta=delta,
    )
    row, case = only_row(claim), claim.unknown.cases[0]
    assert row.bands[0].low == 1
    assert row.bands[-1].high == 10**9
    assert row.true.high > 1000
    assert audited(claim, case, row.true.high) == "sound"
    assert audited(claim, case, row.true.high + 1) != "sound"


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(10.0, 20.0, "true"), (10.0, 10.0, "true"), (1e44, 1e45, "true"), (0.1, 0.2, "refuted")],
)
def test_a_range_in_which_everything_is_true_or_refuted(low, high, verdict):
    claim = incomplete(f'search = "noise_std"\nfrom = {low}\nto = {high}')
    (band,) = only_row(claim).bands
    assert (band.verdict.value, band.low, band.high) == (verdict, low, high)


def test_without_a_bound_everything_is_open():
    claim = incomplete(
        'search = ["feature_noise", "label_noise"]',
        mechanism="dpcda",
        parameters="class_sizes = [50]\nsamples_per_class = 5\norder_of_mixture = 2\n"
        "clip_norm = 1.0\npreprocessing = 'exact-z-score'\n",
    )
    row = only_row(claim)
    assert [band.verdict for band in row.bands] == [RegionVerdict.OPEN]
    assert "unaccounted release" in row.notes[0]


def test_bounds_that_contradict_each_other_are_an_error(monkeypatch):
    question = RegionQuestion(claimed=1.0, delta=1e-5, adjacency=Adjacency.ADD_OR_REMOVE_ONE)
    variable = search_variable(Gaussian(noise_std=1.0, record_norm=1.0), "noise_std")
    monkeypatch.setattr(boundary, "_lower", lambda event, *_: 1e9 / event.noise_std)
    with pytest.raises(ArithmeticError, match="one of the bounds is false"):
        bands(question, variable)


def test_a_range_outside_of_that_of_the_parameter():
    with pytest.raises(ValueError, match="from and to"):
        region_of(incomplete('search = "noise_std"\nfrom = 1e-60\nto = 1e-50\n'))
