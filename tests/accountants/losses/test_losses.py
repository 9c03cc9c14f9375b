"""Loss distributions: against an oracle of another kind, exact profiles, a peer, and each other."""

import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as peer
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import rdpkit
from rdpkit.accountants import loss_distributions as losses
from rdpkit.accountants.losses.above import from_above
from rdpkit.accountants.losses.layout import arrange
from rdpkit.analysis import check_sandwich
from rdpkit.events.losses import NoLossDistributionError, Step
from tests.bounds.strategies import log_uniform
from tests.events import of_papers, unit
from tests.oracles import loss_distributions as oracle
from tests.oracles.table import load

ADD = "add_or_remove_one"


def step(kind, z, q=1.0):
    """A step; "opposed" and "gaussian" are kinds of "replaced" that are pairs."""
    kinds = {"opposed": ("replaced", -1.0), "gaussian": ("replaced", 0.0)}
    name, other = kinds.get(kind, (kind, 0.0))
    return Step(kind=name, noise_multiplier=z, sampling_probability=q, other=other)


def releases(kind, z, q=1.0, count=1):
    return ((step(kind, z, q), count),)


ORACLE = load("loss_distributions")


def rows():
    """All of the table; those whose transforms have a million points and more digits are slow."""
    for row in ORACLE:
        hard = row["q"] <= 1e-4 and row["count"] > 1
        marks = [pytest.mark.slow] if hard else []
        yield pytest.param(row, id="-".join(str(v) for v in row.values()), marks=marks)


@pytest.mark.thorough
@pytest.mark.parametrize("row", list(rows()))
def test_lower_oracle_upper(row):
    """1e-8 is what the oracle knows; single releases and Gaussians are closed forms here, too."""
    one = releases(row["kind"], row["z"], row["q"], row["count"])
    exact = float(row["epsilon"])
    above = losses.epsilon_above(one, delta=row["delta"])
    below = losses.epsilon_below(one, delta=row["delta"])
    assert below.value <= exact * (1.0 + 1e-8)
    assert above.value >= exact * (1.0 - 1e-8)
    assert above.other_end <= above.value
    tight = 1e-9 if row["count"] == 1 or row["kind"] == "gaussian" else 1e-3
    assert above.value <= exact * (1.0 + tight)
    assert below.value >= exact * (1.0 - 2.0 * tight)


@pytest.mark.slow
@pytest.mark.parametrize("row", ORACLE, ids=lambda r: "-".join(str(v) for v in r.values()))
def test_the_oracle_gives_the_stored_digits(row):
    setting = [row[name] for name in ("kind", "z", "q", "count", "delta")]
    assert oracle.entry(*setting) == row


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("epsilon", "row"),
    [(0.97, 7), (1.05, 8), (0.9, 12), (0.99, 16)],
)
def test_delta_beside_the_oracle(epsilon, row):
    """Delta where the oracle has another one, by its own integral."""
    entry = ORACLE[row]
    at = epsilon * float(entry["epsilon"])
    pair = oracle.Pair(entry["kind"], entry["z"], entry["q"], dx=0.011)
    exact = math.exp(oracle.log_delta(pair, entry["count"], at, points=4000, fine=130.0))
    one = releases(entry["kind"], entry["z"], entry["q"], entry["count"])
    above = losses.delta_above(one, epsilon=at).value
    below = losses.delta_below(one, epsilon=at).value
    # The oracle's epsilons are good to 1e-8; its deltas to that times the slope.
    assert below <= exact * (1.0 + 1e-5)
    assert above >= exact * (1.0 - 1e-5)
    assert above <= 1.35 * exact
    assert below >= exact / 1.5


@pytest.mark.parametrize(
    ("z", "q", "count"), [(1.0, 0.01, 200), (0.8, 0.1, 10), (5.0, 0.5, 50), (2.0, 1e-3, 5000)]
)
def test_the_peer_agrees(z, q, count):
    """dp-accounting's own construction of the sampled Gaussian, both directions, at 1e-5."""
    theirs = peer.from_gaussian_mechanism(
        standard_deviation=z,
        sampling_prob=q,
        use_connect_dots=True,
        value_discretization_interval=min(1e-3, q / 10.0),
    ).self_compose(count)
    exact = theirs.get_epsilon_for_delta(1e-5)
    ours, below = (
        max(ask(releases(kind, z, q, count), delta=1e-5).value for kind in ("removed", "added"))
        for ask in (losses.epsilon_above, losses.epsilon_below)
    )
    # Theirs is an upper bound within 1e-3 (relative) and a grid step of the truth.
    assert_allclose(ours, exact, rtol=2e-3, atol=1e-3)
    assert below <= min(ours, exact * (1.0 + 1e-9))


PAIRS = st.sampled_from(["removed", "added", "opposed", "gaussian"])


@pytest.mark.thorough
@settings(max_examples=9, deadline=None)
@given(
    st.lists(
        st.tuples(
            PAIRS,
            log_uniform(0.3, 100.0),
            log_uniform(1e-5, 0.999),
            log_uniform(1.0, 1e9).map(int),
        ),
        min_size=1,
        max_size=3,
    ),
    log_uniform(1e-100, 0.1),
    log_uniform(1e-3, 100.0),
)
def test_lower_is_below_upper_for_random_compositions(steps, delta, epsilon):
    """All kinds of pairs, counts to 1e9 and deltas to 1e-100; refusals are allowed, and say why."""
    many = tuple(
        (step(kind, z, 1.0 if kind == "gaussian" else q), count) for kind, z, q, count in steps
    )
    with rdpkit.limits(seconds=1.0):
        try:
            above = losses.epsilon_above(many, delta=delta).value
            below = losses.epsilon_below(many, delta=delta).value
            most = losses.delta_above(many, epsilon=epsilon).value
            least = losses.delta_below(many, epsilon=epsilon).value
        except NoLossDistributionError as error:
            assert "privacy loss distribution" in str(error) or "resolve" in str(error)  # noqa: PT017
            return
    assert 0.0 <= below <= above
    assert 0.0 <= least <= most <= 1.0


@pytest.mark.slow
def test_what_floats_once_got_wrong():
    """Upper bounds of 1.701 and 6.4919 stood here, and lower ones of 1.744 and 6.6361."""
    for z, q, count, delta, exact in (
        (0.614, 4.0802e-5, 10**5, 1.1e-10, 1.7106),
        (1000.0, 1.0 - 1e-9, 10**6, 1.01e-10, 6.546353),
    ):
        below = losses.epsilon_below(releases("removed", z, q, count), delta=delta).value
        above = losses.epsilon_above(releases("removed", z, q, count), delta=delta).value
        assert below <= exact + 5e-5
        assert above >= exact - 5e-5
        assert above - below <= 2e-3 * exact


def test_counts_of_ten_billion_take_no_memory():
    """27 GiB were asked for here once."""
    many = releases("removed", 1e5, 0.999, 10**10)
    exact = losses.epsilon_below(releases("gaussian", 1.0 / 0.999), delta=1e-5).value
    above = losses.epsilon_above(many, delta=1e-5).value
    # A sampled release that is nearly always drawn is nearly the Gaussian with q times the shift.
    assert (
        exact <= above <= 1.01 * losses.epsilon_above(releases("gaussian", 1.0), delta=1e-5).value
    )


def test_work_beyond_the_limits_is_not_begun():
    hard = releases("removed", 0.7, 1e-4, 10**6)
    with rdpkit.limits(seconds=0.01), pytest.raises(NoLossDistributionError, match=r"0\.01 s"):
        losses.epsilon_above(hard, delta=1e-10)
    with rdpkit.limits(memory=1e5), pytest.raises(NoLossDistributionError, match="bytes"):
        losses.epsilon_below(hard, delta=1e-10)
    event = unit.poisson(0.7, 1e-4) * 10**6
    with rdpkit.limits(seconds=0.01):
        found = rdpkit.epsilon(event, delta=1e-10, adjacency=ADD)
    assert found.bound == "mironov2019"
    assert found.enclosure.rigorous
    assert "no privacy loss distribution" in found.notes[-1]
    with pytest.raises(ValueError, match="seconds"), rdpkit.limits(seconds=0.0):
        pass


def test_limits_of_the_environment(monkeypatch):
    hard = releases("removed", 0.7, 1e-4, 10**6)
    monkeypatch.setenv("RDPKIT_MAX_SECONDS", "0.02")
    with pytest.raises(NoLossDistributionError, match=r"0\.02 s"):
        losses.epsilon_above(hard, delta=1e-10)
    monkeypatch.setenv("RDPKIT_MAX_SECONDS", "soon")
    with pytest.raises(ValueError, match="RDPKIT_MAX_SECONDS to be a positive number, got 'soon'"):
        losses.epsilon_above(hard, delta=1e-10)


def test_nothing_released_leaks_nothing():
    for ask in (losses.epsilon_above, losses.epsilon_below):
        assert ask((), delta=1e-5).value == 0.0
        assert ask((), delta=0.0).value == 0.0
    for ask in (losses.delta_above, losses.delta_below):
        assert ask((), epsilon=1.0).value == 0.0


def test_delta_zero_is_pure_privacy():
    """Bounded losses add up; a Gaussian has none, and an addition is bounded from below, too."""
    assert losses.epsilon_above(releases("gaussian", 5.0), delta=0.0).value == math.inf
    assert losses.epsilon_above(releases("removed", 5.0, 0.1), delta=0.0).value == math.inf
    below = losses.epsilon_below(releases("added", 5.0, 0.1, 7), delta=0.0).value
    assert_allclose(below, -7.0 * math.log1p(-0.1), rtol=1e-12)
    laplace = rdpkit.CustomProfile(epsilons=(1.0,), deltas=(0.0,), adjacency=ADD)
    half = rdpkit.CustomProfile(epsilons=(0.5,), deltas=(0.0,), adjacency=ADD)
    event = rdpkit.Composed(events=(laplace * 3, half * 2))
    for delta in (0.0, 1e-300, 1e-9):
        assert rdpkit.epsilon(event, delta=delta, adjacency=ADD).epsilon <= 4.0
    assert rdpkit.epsilon(event, delta=0.0, adjacency=ADD).epsilon == 4.0
    assert rdpkit.delta(event, epsilon=4.0, adjacency=ADD).delta == 0.0
    gaussian = unit.gaussian(1.0)
    assert rdpkit.epsilon(gaussian, delta=0.0, adjacency=ADD).epsilon == math.inf


def test_gaussians_are_their_closed_form_rounded_up():
    """A hundred million of them at once: one Gaussian, to the last digits."""
    many = unit.gaussian(2e5) * 10**8
    one = unit.gaussian(20.0)
    found, same = (rdpkit.epsilon(e, delta=1e-5, adjacency=ADD).epsilon for e in (many, one))
    assert_allclose(found, same, rtol=1e-13)
    exact = oracle.closed("removed", 20.0, 1.0, 1e-5)
    assert exact <= same <= exact * (1.0 + 1e-12)


def test_the_theorem_of_dpcda_is_refuted():
    """Theorem 1 with p = l/N claims epsilon 10; an explicit pair of one class exceeds 11.5."""
    event = of_papers.dpcda([6000] * 10, 1000, 128, noise=0.01022, label_noise=0.01022)
    claimed = rdpkit.epsilon(event, delta=1e-5, adjacency="replace_one", bound="dpcda-theorem1")
    assert claimed.kind is rdpkit.Kind.PUBLISHED
    assert claimed.epsilon == pytest.approx(10.0, rel=5e-3)
    lower = rdpkit.epsilon(event, delta=1e-5, adjacency="replace_one", bound="pair-lower")
    assert lower.kind is rdpkit.Kind.LOWER
    assert lower.epsilon > 11.5
    assert lower.enclosure.rigorous
    delta = rdpkit.delta(event, epsilon=10.0, adjacency="replace_one", bound="pair-lower").delta
    assert delta > 9e-5


def test_a_lower_bound_above_an_upper_bound_raises():
    event = unit.gaussian(1.0)
    upper = rdpkit.epsilon(event, delta=1e-5, adjacency=ADD, bound="best-rdp")
    lower = rdpkit.epsilon(event, delta=1e-5, adjacency=ADD, bound="pair-lower")
    check_sandwich([upper], [lower])
    with pytest.raises(ArithmeticError, match="one of them is false"):
        check_sandwich([lower], [upper])


def step_event(q):
    return unit.poisson(2.0, q)


@pytest.mark.thorough
def test_a_million_classes_are_counted_once():
    event = rdpkit.Parallel(events=(step_event(0.1),) * 1_000_000)
    found = rdpkit.epsilon(event, delta=1e-6, adjacency=ADD)
    alone = rdpkit.epsilon(step_event(0.1), delta=1e-6, adjacency=ADD)
    assert found.epsilon == alone.epsilon


@pytest.mark.parametrize("kind", ["removed", "added", "opposed"])
def test_a_finer_grid_is_tighter_from_both_sides(kind):
    one = releases(kind, 1.0, 0.05, 100)
    gaps = []
    for accuracy in (3e-3, 3e-4):
        above = losses.epsilon_above(one, delta=1e-5, accuracy=accuracy).value
        below = losses.epsilon_below(one, delta=1e-5, accuracy=accuracy).value
        gaps.append(above - below)
    assert 0.0 < gaps[1] < gaps[0]


@pytest.mark.thorough
@pytest.mark.parametrize("count", [300, 10**6])
def test_delta_far_from_where_the_losses_are(count):
    """Far from where the answer was expected bounds are wide, but true."""
    one = releases("removed", 1.0, 0.3, count)
    mean = losses.epsilon_above(one, delta=0.5).value
    for part in (0.3, 0.7, 0.9, 0.99, 1.01, 1.3):
        above = losses.delta_above(one, epsilon=part * mean).value
        below = losses.delta_below(one, epsilon=part * mean).value
        assert 0.0 <= below <= above <= 1.0
        if part < 1.0:
            assert above >= 0.5
    found = from_above(arrange(one, delta=None, epsilon=mean))
    assert float(found.delta_at(0.0)[1]) >= 0.9
    assert found.delta_at(0.0)[0] <= 1.0
    assert 0.0 <= float(found.delta_at(3.0 * mean)[1]) <= 0.1


def test_no_pair_has_a_symmetric_profile():
    with pytest.raises(TypeError, match="No pair"):
        losses.epsilon_below(
            ((Step(kind="replaced", noise_multiplier=1.0, sampling_probability=0.5), 3),),
            delta=1e-5,
        )


def test_values_are_plain_floats():
    found = losses.epsilon_above(releases("removed", 1.0, 0.1, 10), delta=1e-5)
    assert all(type(v) is float for v in (found.value, found.other_end, found.step))
    assert not np.isnan(found.step)


def test_rare_losses_are_seen_from_below():
    """A few releases of a small sample: delta comes from one rare loss, far from the usual tilt."""
    rare = releases("removed", 1.09, 3.5e-4, 14)
    above = losses.delta_above(rare, epsilon=0.01).value
    below = losses.delta_below(rare, epsilon=0.01).value
    assert 0.8 * above <= below <= above
