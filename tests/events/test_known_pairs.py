"""Every event with a known pair: lower <= a peer's number <= upper over random parameters."""

import math

import pytest
from dp_accounting.pld import privacy_loss_distribution as peer
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit.calibration import CalibrationError
from rdpkit.events.losses import NoLossDistributionError
from tests.bounds.strategies import log_uniform

ADD, REPLACE = "add_or_remove_one", "replace_one"
NOISE = log_uniform(0.3, 300.0)
COUNTS = st.sampled_from([1, 2, 7, 30, 200, 1000])
DELTAS = log_uniform(1e-9, 1e-2)


def mixture(sizes):
    total = math.fsum(weight for _, weight in sizes)
    return {
        "sensitivities": tuple(size for size, _ in sizes),
        "probabilities": tuple(weight / total for _, weight in sizes),
    }


LAPLACE = st.builds(lambda b: rdpkit.Laplace(noise_scale=b, record_norm=1.0), NOISE)
EVENTS = {
    "laplace": (LAPLACE, (ADD, REPLACE)),
    "discrete_laplace": (
        st.builds(
            lambda b, n: rdpkit.DiscreteLaplace(noise_scale=b, record_norm=n),
            NOISE,
            st.integers(1, 10),
        ),
        (ADD, REPLACE),
    ),
    "discrete_gaussian": (
        st.builds(
            lambda s, n: rdpkit.DiscreteGaussian(sigma=s, record_norm=n), NOISE, st.integers(1, 5)
        ),
        (ADD, REPLACE),
    ),
    "randomized_response": (
        st.builds(
            lambda p, k: rdpkit.RandomizedResponse(noise_parameter=p, num_buckets=k),
            st.floats(0.01, 1.0),
            st.integers(2, 30),
        ),
        (REPLACE,),
    ),
    "mixture_of_gaussians": (
        st.builds(
            lambda s, sizes: rdpkit.MixtureOfGaussians(noise_std=s, **mixture(sizes)),
            NOISE,
            st.lists(st.tuples(st.floats(0.1, 4), st.floats(0.01, 1)), min_size=1, max_size=4),
        ),
        (ADD,),
    ),
    "exponential": (
        st.builds(
            lambda e, m: rdpkit.Exponential(epsilon=e, monotone_scores=m),
            log_uniform(0.01, 5.0),
            st.booleans(),
        ),
        (ADD, REPLACE),
    ),
    "permute_and_flip": (
        st.builds(lambda e: rdpkit.PermuteAndFlip(epsilon=e), log_uniform(0.01, 5.0)),
        (ADD, REPLACE),
    ),
    "report_noisy_max": (
        st.builds(
            lambda b, kind: rdpkit.ReportNoisyMax(noise_scale=b, sensitivity=1.0, noise=kind),
            NOISE,
            st.sampled_from(["laplace", "gumbel", "exponential"]),
        ),
        (ADD, REPLACE),
    ),
    "above_threshold": (
        st.builds(
            lambda b, c: rdpkit.AboveThreshold(
                threshold_noise_scale=b, query_noise_scale=2.0 * b, sensitivity=1.0, most_above=c
            ),
            NOISE,
            st.integers(1, 5),
        ),
        (ADD, REPLACE),
    ),
    "epsilon_delta": (
        st.builds(
            lambda e: rdpkit.EpsilonDelta(epsilon=e, delta=0.0, adjacency=REPLACE),
            log_uniform(0.001, 5.0),
        ),
        (REPLACE,),
    ),
    "poisson_sampled": (
        st.builds(
            lambda event, q: rdpkit.PoissonSampled(event=event, sampling_probability=q),
            LAPLACE,
            log_uniform(1e-4, 1.0),
        ),
        (ADD, REPLACE),
    ),
    "group": (
        st.builds(
            lambda z, q, k: rdpkit.Group(
                event=rdpkit.PoissonSampledGaussian(
                    noise_std=z, record_norm=1.0, sampling_probability=q
                ),
                size=k,
            ),
            log_uniform(1.0, 30.0),
            log_uniform(1e-4, 0.5),
            st.integers(2, 6),
        ),
        (ADD,),
    ),
}


def check(name, data):
    """The sandwich at a random event, count, delta and relation; and the Renyi bound above."""
    events, relations = EVENTS[name]
    event = data.draw(events)
    adjacency = data.draw(st.sampled_from(relations))
    count, delta = data.draw(COUNTS), data.draw(DELTAS)
    many = event if count == 1 else rdpkit.Repeated(event=event, count=count)
    upper = rdpkit.epsilon(many, delta=delta, adjacency=adjacency)
    assert upper.kind is rdpkit.Kind.UPPER
    assert upper.enclosure is None or upper.enclosure.rigorous
    try:
        lower = rdpkit.lower_bound(many, delta=delta, adjacency=adjacency)[0]
    except NoLossDistributionError:
        lower = None
    if lower is not None:
        assert lower.epsilon <= upper.epsilon
    by_orders = rdpkit.epsilon(many, delta=delta, adjacency=adjacency, bound="best-rdp")
    assert lower is None or lower.epsilon <= by_orders.epsilon
    theirs = of_peer(event, adjacency)
    if theirs is not None and upper.epsilon < 100.0:
        pessimistic, optimistic = theirs
        # The peer's grid and its truncation move epsilon by more than its floats do.
        ceiling = pessimistic.self_compose(count).get_epsilon_for_delta(delta)
        floor = optimistic.self_compose(count).get_epsilon_for_delta(delta)
        assert lower is None or lower.epsilon <= ceiling * (1.0 + 1e-6) + 1e-9
        assert upper.epsilon >= floor * (1.0 - 1e-6) - 1e-9


def of_peer(event, adjacency):
    """The peer's distributions from above and below, where it has the event."""
    # Mixtures take the peer half a minute on the finer grid.
    step = 1e-2 if isinstance(event, rdpkit.MixtureOfGaussians) else 1e-3
    options = {"value_discretization_interval": step}

    def both(make, **given):
        return [make(pessimistic_estimate=side, **options, **given) for side in (True, False)]

    match event:
        case rdpkit.Laplace():
            size = event.sensitivity(rdpkit.Adjacency(adjacency))
            return both(peer.from_laplace_mechanism, parameter=event.noise_scale, sensitivity=size)
        case rdpkit.DiscreteLaplace():
            return both(
                peer.from_discrete_laplace_mechanism,
                parameter=1.0 / event.noise_scale,
                sensitivity=event.sensitivity(rdpkit.Adjacency(adjacency)),
            )
        case rdpkit.DiscreteGaussian():
            return both(
                peer.from_discrete_gaussian_mechanism,
                sigma=event.sigma,
                sensitivity=int(event.sensitivity(rdpkit.Adjacency(adjacency))),
            )
        case rdpkit.MixtureOfGaussians():
            return both(
                peer.from_mixture_gaussian_mechanism,
                standard_deviation=event.noise_std,
                sensitivities=event.sensitivities,
                sampling_probs=event.probabilities,
            )
    return None


@pytest.mark.thorough
@pytest.mark.parametrize("name", EVENTS)
@settings(max_examples=4, deadline=None)
@given(data=st.data())
def test_lower_peer_upper(name, data):
    check(name, data)


@pytest.mark.slow
@pytest.mark.parametrize("name", EVENTS)
@settings(max_examples=1000, deadline=None)
@given(data=st.data())
def test_lower_peer_upper_a_thousand_times(name, data):
    check(name, data)


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in EVENTS if name != "group"])
@settings(max_examples=2, deadline=None)
@given(data=st.data())
def test_calibration_never_exceeds_its_target(name, data):
    events, relations = EVENTS[name]
    event, adjacency = data.draw(events), data.draw(st.sampled_from(relations))
    target, delta = data.draw(log_uniform(0.05, 5.0)), data.draw(DELTAS)
    parameter = next(iter(event.free_parameters()))
    try:
        found = rdpkit.calibrate(
            event, target_epsilon=target, delta=delta, adjacency=adjacency, parameter=parameter
        )
    except CalibrationError:
        return
    again = rdpkit.epsilon(found.event, delta=delta, adjacency=adjacency)
    assert again.epsilon <= target
    assert found.guarantee.epsilon <= target


@pytest.mark.thorough
@pytest.mark.parametrize("name", EVENTS)
def test_far_past_the_range_of_use(name):
    """A billion releases at delta = 1e-100: an answer from above, and none below it."""
    event, relations = SMALL[name], EVENTS[name][1]
    many = rdpkit.Repeated(event=event, count=10**9)
    upper = rdpkit.epsilon(many, delta=1e-100, adjacency=relations[0])
    assert upper.epsilon > 0.0
    assert rdpkit.delta(event, epsilon=1e-12, adjacency=relations[0]).delta <= 1.0


SMALL = {
    "laplace": rdpkit.Laplace(noise_scale=1e6, record_norm=1.0),
    "discrete_laplace": rdpkit.DiscreteLaplace(noise_scale=1e6, record_norm=1),
    "discrete_gaussian": rdpkit.DiscreteGaussian(sigma=1e5, record_norm=1),
    "randomized_response": rdpkit.RandomizedResponse(noise_parameter=0.99999, num_buckets=2),
    "mixture_of_gaussians": rdpkit.MixtureOfGaussians(
        noise_std=1e4, sensitivities=(0.0, 1.0), probabilities=(0.9, 0.1)
    ),
    "exponential": rdpkit.Exponential(epsilon=1e-5),
    "permute_and_flip": rdpkit.PermuteAndFlip(epsilon=1e-5),
    "report_noisy_max": rdpkit.ReportNoisyMax(noise_scale=1e6, sensitivity=1.0, noise="laplace"),
    "above_threshold": rdpkit.AboveThreshold(
        threshold_noise_scale=1e6, query_noise_scale=2e6, sensitivity=1.0
    ),
    "epsilon_delta": rdpkit.EpsilonDelta(epsilon=1e-5, delta=0.0, adjacency=REPLACE),
    "poisson_sampled": rdpkit.PoissonSampled(
        event=rdpkit.Laplace(noise_scale=1e3, record_norm=1.0), sampling_probability=0.01
    ),
    "group": rdpkit.Group(
        event=rdpkit.PoissonSampledGaussian(
            noise_std=1e4, record_norm=1.0, sampling_probability=0.1
        ),
        size=3,
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("q", [1e-300, 1e-40, 1.0 - 1e-16])
@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_hardly_any_sample_and_nearly_all_records(q, relation):
    laplace = rdpkit.Laplace(noise_scale=1.0, record_norm=1.0)
    sampled = rdpkit.PoissonSampled(event=laplace, sampling_probability=q)
    upper = rdpkit.epsilon(10 * sampled, delta=1e-5, adjacency=relation)
    lower = rdpkit.lower_bound(10 * sampled, delta=1e-5, adjacency=relation)[0]
    whole = rdpkit.epsilon(10 * laplace, delta=1e-5, adjacency=relation)
    assert lower.epsilon <= upper.epsilon <= whole.epsilon * (1.0 + 1e-3)
