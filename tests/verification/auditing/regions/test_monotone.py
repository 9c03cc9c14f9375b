"""In which parameters an event is proven to be monotone, and that its bounds are."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit.analysis import lower_bound
from rdpkit.calibration.search_variable import paths
from rdpkit.verification.auditing.regions.compute import region_of
from rdpkit.verification.auditing.regions.monotone import variable_of, why
from tests.events import of_papers
from tests.verification.auditing.regions.completed_claims import incomplete

DPCDA = of_papers.dpcda([60, 50], 5, 4, noise=0.5, label_noise=0.5)
SGD = rdpkit.DPSGD(noise_multiplier=1.0, dataset_size=1000, batch_size=20, steps=50)
EVENTS = [
    rdpkit.Gaussian(noise_std=2.0, record_norm=1.0),
    rdpkit.Repeated(event=rdpkit.Gaussian(noise_std=9.0, record_norm=1.0), count=4),
    rdpkit.PoissonSampledGaussian(noise_std=1.0, record_norm=1.0, sampling_probability=0.1),
    rdpkit.LDPDC(
        class_sizes=[80], group_size=8, samples_per_class=3, noise_std=5.0, value_bound=1.0,
        dimension=4,
    ),
    rdpkit.NDPDC(class_sizes=[80], group_size=8, iterations=3, noise_std=2.0, clip_norm=1.0),
    DPCDA,
    SGD,
]  # fmt: skip
PAIRS = [(e, p) for e in EVENTS for p in paths(e) if why(e, p) is not None]


@pytest.mark.parametrize(
    ("event", "path"),
    [
        (DPCDA, "order_of_mixture"),
        (DPCDA, "class_sizes"),
        (rdpkit.Laplace(noise_scale=1.0, record_norm=1.0), "noise_scale"),
        (rdpkit.DPSGD(noise_multiplier=1.0, dataset_size=100, batch_size=10, steps=5,
                      sampling="shuffle"), "batch_size"),
        (rdpkit.FixedSizeSampledGaussian(noise_std=1.0, record_norm=1.0, sample_size=5,
                                         population_size=50, release="sum"), "sample_size"),
    ],
)  # fmt: skip
def test_what_is_not_proven_is_refused(event, path):
    assert why(event, path) is None
    with pytest.raises(ValueError, match="is proven to be monotone"):
        variable_of(event, (path,))


def test_a_claim_about_such_a_parameter_has_no_region():
    claim = incomplete(
        'search = "order_of_mixture"',
        mechanism="dpcda",
        parameters="class_sizes = [50]\nsamples_per_class = 5\nclip_norm = 1.0\n"
        "feature_noise = 1.0\nlabel_noise = 0.0\n",
    )
    with pytest.raises(ValueError, match="Expected search to name parameters"):
        region_of(claim)


@pytest.mark.slow
@settings(max_examples=120)
@given(st.sampled_from(PAIRS), st.floats(1.05, 4.0), st.sampled_from(list(rdpkit.Adjacency)))
def test_bounds_follow_the_direction_that_is_said(pair, factor, adjacency):
    """Not a proof, which is on the theory page: a test of the table."""
    event, path = pair
    variable = variable_of(event, (path,))[0]
    start = min(max(variable.start, variable.lowest), variable.highest)
    other = min(start * factor, variable.highest)
    if variable.whole:
        other = math.ceil(other)
    few, many = variable.at(start), variable.at(other)
    private, less = (many, few) if variable.private > 0 else (few, many)
    upper = [rdpkit.epsilon(e, delta=1e-6, adjacency=adjacency).epsilon for e in (private, less)]
    lower = [lower_bound(e, delta=1e-6, adjacency=adjacency)[0].epsilon for e in (private, less)]
    assert upper[0] <= upper[1] * (1.0 + 1e-3)
    assert lower[0] <= lower[1] * (1.0 + 1e-3) + 1e-12
    assert lower[0] <= upper[1]


def test_reasons_are_sentences():
    reasons = {why(event, path) for event, path in PAIRS}
    assert len(reasons) == 4
    for reason in reasons:
        assert not reason.endswith(".")
