"""Lower bounds are below upper bounds, over random events of every kind and both adjacencies."""

import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit.events.losses import NoLossDistributionError
from tests.bounds.strategies import log_uniform
from tests.events import of_papers

ADJACENCIES = [member.value for member in rdpkit.Adjacency]


def build(kind, z, q, count, sizes):
    """An event of that kind; ``z`` is a noise multiplier, ``q`` a sampling rate, roughly."""
    largest = max(sizes)
    subset = max(1, min(int(q * min(sizes)), min(sizes) - 1))
    per_class = {"class_sizes": list(sizes), "samples_per_class": count}
    match kind:
        case "gaussian":
            event = rdpkit.Gaussian(noise_std=z * math.sqrt(count), record_norm=1.0)
        case "poisson":
            event = rdpkit.PoissonSampledGaussian(
                noise_std=z, record_norm=1.0, sampling_probability=q
            )
        case "fixed":
            event = rdpkit.FixedSizeSampledGaussian(
                noise_std=z,
                record_norm=0.5,
                sample_size=subset,
                population_size=largest,
                release="sum",
            )
        case "dpmix":
            noise = z * math.sqrt(8.0) / subset
            event = of_papers.dpmix(largest, count, subset, noise=noise, shape=(6, 2))
        case "class_wise_dpmix":
            event = rdpkit.ClassWiseDPMix(
                order_of_mixture=subset,
                feature_dimension=6,
                label_dimension=2,
                feature_noise=z * math.sqrt(6.0) / subset,
                label_noise=0.0,
                **per_class,
            )
        case "dpcda":
            event = rdpkit.DPCDA(
                order_of_mixture=subset,
                clip_norm=1.0,
                feature_noise=2.0 * z / subset,
                label_noise=0.0,
                **per_class,
            )
        case "ldpdc":
            event = rdpkit.LDPDC(
                group_size=q * min(sizes),
                noise_std=3.0 * z,
                value_bound=1.0,
                dimension=9,
                **per_class,
            )
        case "ndpdc":
            event = rdpkit.NDPDC(
                class_sizes=list(sizes),
                group_size=q * min(sizes),
                iterations=count,
                noise_std=z,
                clip_norm=1.0,
            )
        case "composed":
            event = rdpkit.Composed(
                events=(build("poisson", z, q, 1, sizes), build("gaussian", 3.0 * z, q, 1, sizes))
            )
        case _:
            event = rdpkit.Parallel(
                events=(build("poisson", z, q, 1, sizes), build("fixed", z, q, 1, sizes)),
                record_keeps_its_part=largest % 2 == 0,
            )
    single = ("poisson", "fixed", "composed", "parallel")
    return rdpkit.Repeated(event=event, count=count) if kind in single else event


KINDS = [
    "gaussian",
    "poisson",
    "fixed",
    "dpmix",
    "class_wise_dpmix",
    "dpcda",
    "ldpdc",
    "ndpdc",
    "composed",
    "parallel",
]


def check(event, adjacency, delta, *, certify):
    """Lower <= both uppers; which of the two distributions exist is returned."""
    options = {"delta": delta, "adjacency": adjacency}
    upper = rdpkit.epsilon(event, bound="best-rdp", certify=certify, **options)
    assert not math.isnan(upper.epsilon)
    try:
        above = rdpkit.epsilon(event, bound="pld-upper", **options).epsilon
        below = rdpkit.epsilon(event, bound="pair-lower", **options).epsilon
    except NoLossDistributionError:
        return False
    # Proven numbers need no tolerance; without a certificate the Renyi bound is one of floats.
    slack = 0.0 if certify else 1e-9
    assert below <= upper.epsilon * (1.0 + slack) + slack, (event, adjacency, delta)
    assert below <= above, (event, adjacency, delta)
    return True


@pytest.mark.thorough
@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.builds(
        build,
        st.sampled_from(KINDS),
        log_uniform(0.7, 10.0),
        log_uniform(0.01, 0.5),
        st.integers(1, 30),
        st.tuples(st.integers(50, 400), st.integers(50, 400)),
    ),
    st.sampled_from(ADJACENCIES),
    st.sampled_from([1e-2, 1e-4, 1e-6]),
)
def test_lower_is_below_upper(event, adjacency, delta):
    check(event, adjacency, delta, certify=False)
