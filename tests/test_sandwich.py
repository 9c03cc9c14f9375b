"""Lower bounds are below upper bounds, over random events of every kind and both adjacencies."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit import pld
from rdpkit.loss import NoLossDistributionError, alternatives
from tests.bounds.strategies import log_uniform

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
            event = rdpkit.DPMix(
                population_size=largest,
                releases=count,
                order_of_mixture=subset,
                feature_dimension=6,
                label_dimension=2,
                feature_noise=noise,
                label_noise=noise,
            )
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
    # 1e-9: the float sums of the distributions.
    assert below <= upper.epsilon * (1.0 + 1e-9) + 1e-12, (event, adjacency, delta)
    assert below <= above * (1.0 + 1e-9) + 1e-12, (event, adjacency, delta)
    return True


@settings(max_examples=24, suppress_health_check=[HealthCheck.too_slow])
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


def check_coarsely(event, adjacency, delta):
    """The same on first grids, without refining them: any grid gives a bound."""
    relation = rdpkit.Adjacency(adjacency)
    by_divergence = rdpkit.epsilon(
        event,
        delta=delta,
        adjacency=adjacency,
        bound="best-rdp",
        conversion="balle2020",
        certify=False,
    ).epsilon
    if not 1e-6 < by_divergence < 256.0:
        return False
    options = {"delta": delta, "scale": by_divergence, "refinements": 0}
    try:
        above, below = (
            max(
                ask(direction.releases, **options).value
                for found in alternatives(event, relation, attained=attained)
                for direction in (found, found.reversed())
            )
            for ask, attained in ((pld.epsilon_above, False), (pld.epsilon_below, True))
        )
    except NoLossDistributionError:
        return False
    # 1e-9: the float sums of the distributions.
    for upper in (above, by_divergence):
        assert below <= upper * (1.0 + 1e-9) + 1e-12, (event, adjacency, delta)
    return True


@pytest.mark.slow
def test_lower_is_below_upper_over_ten_thousand_events(capsys):
    """Seeded; on coarse grids, every hundredth in full, and half of those certified.

    Prints how many of each kind were compared, and of how many there is no distribution. About half
    an hour on one core.
    """
    rng = np.random.default_rng(20251004)
    compared, refused = Counter(), Counter()
    for number in range(10_000):
        kind = KINDS[number % len(KINDS)]
        event = build(
            kind,
            float(np.exp(rng.uniform(math.log(0.7), math.log(10.0)))),
            float(np.exp(rng.uniform(math.log(0.01), math.log(0.5)))),
            int(rng.integers(1, 30)),
            tuple(int(size) for size in rng.integers(50, 400, 2)),
        )
        adjacency = ADJACENCIES[int(rng.integers(2))]
        delta = float(10.0 ** rng.uniform(-7.0, -1.0))
        done = check_coarsely(event, adjacency, delta)
        (compared if done else refused)[kind] += 1
        # 101 and 10 have no common factor: every kind has its turn.
        if number % 101 == 0:
            check(event, adjacency, delta, certify=number % 202 == 0)
    with capsys.disabled():
        print(f"\ncompared {dict(compared)}, no distribution {dict(refused)}")
    assert compared.total() >= 9_000
