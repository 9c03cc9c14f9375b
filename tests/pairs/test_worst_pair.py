"""The data sets behind lower bounds: neighbours, inside the domain, and as leaky as they say."""

import math
from collections import Counter

import numpy as np
import pytest

import rdpkit
from rdpkit.events.losses import NoLossDistributionError
from tests.events import of_papers

ADD, REPLACE = "add_or_remove_one", "replace_one"
DIMENSION = 6

DPCDA = of_papers.dpcda([40, 50], 3, 5, noise=0.4, clip_norm=1.5)
CLASS_WISE = of_papers.class_wise_dpmix([40, 50], 3, 5, noise=0.4, shape=(DIMENSION, 2))
DPMIX = of_papers.dpmix(40, 3, 5, noise=0.5, shape=(DIMENSION, 2))
LDPDC = of_papers.ldpdc([40, 50], 3, 4, noise=3.0, dimension=DIMENSION)
NDPDC = rdpkit.NDPDC(class_sizes=[40, 50], group_size=4, iterations=3, noise_std=1.5, clip_norm=2.0)
GAUSSIAN = rdpkit.Gaussian(noise_std=2.0, record_norm=1.0)
POISSON = rdpkit.Repeated(
    event=rdpkit.PoissonSampledGaussian(noise_std=1.0, record_norm=1.0, sampling_probability=0.2),
    count=4,
)
FIXED = rdpkit.FixedSizeSampledGaussian(
    noise_std=0.5, record_norm=1.0, sample_size=4, population_size=30, release="mean"
)
EVENTS = {
    "dpcda": DPCDA,
    "class-wise": CLASS_WISE,
    "dpmix": DPMIX,
    "ldpdc": LDPDC,
    "ndpdc": NDPDC,
    "gaussian": GAUSSIAN,
    "poisson": POISSON,
    "fixed": FIXED,
}


def pair_of(event, adjacency):
    return rdpkit.worst_pair(event, adjacency=adjacency, delta=1e-3)


def rows(data):
    """The records as a multiset."""
    features, labels = data
    return Counter((tuple(np.round(x, 9)), int(label)) for x, label in zip(features, labels))


@pytest.mark.thorough
@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
@pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS)
def test_they_are_neighbours(event, adjacency):
    pair = pair_of(event, adjacency)
    first, second = pair.datasets(DIMENSION)
    for features, labels in (first, second):
        assert features.shape == (len(labels), DIMENSION)
        assert labels.dtype == np.int64
    sizes = len(pair.first), len(pair.second)
    assert sizes == (len(first[1]), len(second[1]))
    one, two = rows(first), rows(second)
    only_first, only_second = one - two, two - one
    if adjacency == ADD:
        assert sorted([only_first.total(), only_second.total()]) == [0, 1]
    else:
        assert sizes[0] == sizes[1]
        assert only_first.total() == only_second.total() == 1


@pytest.mark.thorough
@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
@pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS)
def test_records_lie_where_the_mechanism_takes_them(event, adjacency):
    pair = pair_of(event, adjacency)
    for features, labels in pair.datasets(DIMENSION):
        norms = np.linalg.norm(features, axis=1)
        inner = event.event if isinstance(event, rdpkit.Repeated) else event
        if isinstance(event, (rdpkit.DPMix, rdpkit.ClassWiseDPMix)):
            assert (features >= 0.0).all()
            assert (features <= 1.0 + 1e-12).all()
            assert labels.max(initial=0) < event.label_dimension
        elif isinstance(event, rdpkit.LDPDC):
            assert np.abs(features).max(initial=0.0) <= event.value_bound * (1.0 + 1e-12)
        elif isinstance(event, rdpkit.DPCDA):
            assert (norms <= event.clip_norm * (1.0 + 1e-12)).all()
        else:
            assert (norms <= inner.record_norm * (1.0 + 1e-12)).all()


@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
@pytest.mark.parametrize("event", [DPCDA, CLASS_WISE], ids=["dpcda", "class-wise"])
def test_class_sizes_are_the_events(event, adjacency):
    """Those of the larger data set; a joined class has one record more in the other one."""
    pair = pair_of(event, adjacency)
    sizes = [np.bincount(labels, minlength=2) for _, labels in pair.datasets(DIMENSION)]
    larger = sizes[0] if len(pair.first) >= len(pair.second) else sizes[1]
    assert tuple(larger) == event.class_sizes


@pytest.mark.thorough
def test_the_distance_is_the_largest_there_is():
    for event, adjacency, distance in (
        (GAUSSIAN, REPLACE, 2.0),
        (POISSON, REPLACE, 2.0),
        (FIXED, REPLACE, 2.0),
        (DPCDA, ADD, 3.0),
        (CLASS_WISE, ADD, math.sqrt(DIMENSION)),
        (NDPDC, ADD, 2.0),
        (LDPDC, ADD, math.sqrt(DIMENSION)),
    ):
        (first, _), (second, _) = pair_of(event, adjacency).datasets(DIMENSION)
        every = np.vstack([first, second])
        found = np.linalg.norm(every[:, None] - every[None, :], axis=2).max()
        assert found == pytest.approx(distance, rel=1e-12)


def test_describe_says_what_is_seen_in_words():
    response = rdpkit.RandomizedResponse(noise_parameter=0.5, num_buckets=4)
    first, second, third = pair_of(response, REPLACE).describe()[1:4]
    assert ("u +1 v" in first, " v" in second) == (True, False)
    assert third == (
        "seen along u and v: 1 x [Randomised response: losses of epsilon, 0 and -epsilon; "
        "noise_parameter = 0.5, num_buckets = 4]"
    )
    allocated = rdpkit.RandomAllocationGaussian(noise_std=1.0, record_norm=1.0, batches=234)
    empty, sampled = pair_of(allocated, ADD).describe()[2:4]
    assert empty == "D': no records"
    assert (sampled[:14], "Pair(" in sampled) == ("seen along u: ", False)


def test_unit_vectors():
    assert pair_of(GAUSSIAN, ADD).unit_vector(3).tolist() == [1.0, 0.0, 0.0]
    assert np.linalg.norm(pair_of(LDPDC, ADD).unit_vector(7)) == pytest.approx(1.0, rel=1e-15)
    with pytest.raises(ValueError, match="dimension"):
        pair_of(GAUSSIAN, ADD).unit_vector(0)


def test_what_has_no_data_sets():
    parts = rdpkit.Composed(events=(GAUSSIAN, FIXED))
    with pytest.raises(NoLossDistributionError, match="composed"):
        pair_of(parts, ADD)


def along_direction(event, data, unit, *, rng, runs, part):
    """One release of the mechanism itself, ``runs`` times: its component along the unit vector."""
    features, labels = data
    inner = event.event if isinstance(event, rdpkit.Repeated) else event
    if isinstance(inner, (rdpkit.DPCDA, rdpkit.ClassWiseDPMix)):
        members = features[labels == part]
        draws, noise = inner.order_of_mixture, inner.feature_noise
    elif isinstance(inner, rdpkit.FixedSizeSampledGaussian):
        members, draws, noise = features, inner.sample_size, inner.noise_std
    else:
        members = features[labels == part]
        noise = inner.noise_std
        probability = (
            inner.sampling_probability
            if isinstance(inner, rdpkit.PoissonSampledGaussian)
            else inner.group_size / inner.class_sizes[part]
        )
        joined = rng.random((runs, len(members))) < probability
        return joined @ (members @ unit) + noise * rng.standard_normal(runs)
    order = rng.random((runs, len(members))).argsort(axis=1)[:, :draws]
    return (members @ unit)[order].mean(axis=1) + noise * rng.standard_normal(runs)


CASES = {
    "dpcda": (DPCDA, ADD),
    "class-wise": (CLASS_WISE, ADD),
    "fixed": (FIXED, REPLACE),
    "poisson": (POISSON, REPLACE),
    "ldpdc": (LDPDC, ADD),
    "ndpdc": (NDPDC, ADD),
}


@pytest.mark.statistical
@pytest.mark.parametrize(("event", "adjacency"), CASES.values(), ids=CASES)
def test_one_release_of_the_mechanism_is_the_step(event, adjacency):
    """False alarms: below 1e-6 in all together (Hoeffding's bound at 12 x 5 thresholds, seeded).

    Along u, centred at what the unchanged records give and divided by the step's distance, one
    release on D is (1-q) N(0) + q N(1) and on D' the other member. Its distribution function is
    compared at five thresholds.
    """
    from scipy.special import ndtr

    rng = np.random.default_rng(20250923)
    runs = 40_000
    pair = pair_of(event, adjacency)
    ((step, _),) = pair.alternative.releases
    z, q = step.noise_multiplier, step.sampling_probability
    unit = pair.unit_vector(DIMENSION)
    part = pair.alternative.touched[0] if pair.alternative.touched else 0
    inner = event.event if isinstance(event, rdpkit.Repeated) else event
    noise = getattr(inner, "noise_std", None) or inner.feature_noise
    distance = noise / z
    means = {
        "removed": (1.0, 0.0),
        "added": (0.0, 1.0),
        "opposed": (1.0, -1.0),
    }[step.kind]
    # The half-width that a mean of bounded variables exceeds with probability below 1e-8.
    width = math.sqrt(math.log(2.0 / 1e-8) / (2.0 * runs))
    for (features, labels), mean in zip(pair.datasets(DIMENSION), means):
        # What is released when the changed record is not drawn: all other records are equal.
        common = Counter(np.round(features[labels == part] @ unit, 9)).most_common(1)
        sampled_mean = isinstance(
            inner, (rdpkit.DPCDA, rdpkit.ClassWiseDPMix, rdpkit.FixedSizeSampledGaussian)
        )
        centre = common[0][0] if sampled_mean else 0.0
        seen = along_direction(event, (features, labels), unit, rng=rng, runs=runs, part=part)
        seen = (seen - centre) / distance
        for threshold in (-1.0, 0.0, 0.5, 1.0, 2.0):
            expected = (1.0 - q) * ndtr(threshold / z) + q * ndtr((threshold - mean) / z)
            assert (seen <= threshold).mean() == pytest.approx(expected, abs=width)
