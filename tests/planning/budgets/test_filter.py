"""Budgets: what is charged, what is refused, and how that compares with ordinary composition."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit.planning.budgets import BudgetLeft, order_mixture, rules
from tests.bounds.strategies import log_uniform
from tests.events import unit

ADD, REPLACE = rdpkit.Adjacency.ADD_OR_REMOVE_ONE, rdpkit.Adjacency.REPLACE_ONE
QUERY = unit.gaussian(20.0)
STEP = unit.poisson(1.0, 0.01)
PURE = rdpkit.CustomProfile(epsilons=(0.1,), deltas=(0.0,), adjacency=ADD)
ADAPTIVE = ("renyi", "zcdp", "gaussian", "basic")


def budget(composition="renyi", **changes):
    options = {"epsilon": 1.0, "delta": 1e-5, "adjacency": ADD, "composition": composition}
    return rdpkit.PrivacyFilter(**{**options, **changes})


def test_spending_is_counted_and_what_exceeds_is_refused():
    found = budget()
    times = found.affordable(QUERY)
    for k in range(times):
        assert found.affordable(QUERY) == times - k
        spent = found.spend(QUERY, label=f"query {k}")
        assert (spent.event, spent.count, spent.label) == (QUERY, 1, f"query {k}")
    used = found.used
    with pytest.raises(
        rdpkit.BudgetExceededError, match=r"Nothing was spent\. One Gaussian"
    ) as error:
        found.spend(QUERY)
    assert "0 times" not in str(error.value)
    assert found.used == used <= found.epsilon
    assert len(found.spendings) == times
    # What still fits is allowed after a refusal.
    left = found.remaining
    small = unit.gaussian(left.noise_multiplier)
    assert found.affordable(small) == 1
    almost = unit.gaussian(left.noise_multiplier * 0.999)
    assert found.affordable(almost) == 0
    found.spend(small)
    assert found.remaining.epsilon < 1e-6


def test_all_of_several_or_none():
    found = budget()
    most = found.affordable(QUERY)
    with pytest.raises(rdpkit.BudgetExceededError, match=f"It could be spent {most} times"):
        found.spend(QUERY, count=most + 1)
    assert found.spendings == ()
    assert found.used == 0.0
    found.spend(QUERY, count=most)
    assert found.affordable(QUERY) == 0


@pytest.mark.thorough
@pytest.mark.parametrize("composition", ADAPTIVE)
@settings(max_examples=5)
@given(
    st.lists(st.tuples(log_uniform(5.0, 200.0), st.integers(1, 4)), min_size=1, max_size=5),
    log_uniform(0.2, 8.0),
    log_uniform(1e-9, 1e-2),
)
def test_never_more_than_ordinary_composition_allows(composition, releases, epsilon, delta):
    """Gaussians, whose composition is known exactly."""
    share = delta / 100 if composition == "basic" else 0.0
    found = budget(composition, epsilon=epsilon, delta=delta, delta_for_events=50 * share)
    kept = 0.0
    for noise, count in releases:
        event = unit.gaussian(noise)
        try:
            found.spend(event, count=count, delta=share)
        except rdpkit.BudgetExceededError:
            continue
        kept += count / noise**2
    assert found.used <= epsilon * (1.0 + 1e-12)
    if kept:
        whole = unit.gaussian(1.0 / math.sqrt(kept * (1.0 - 1e-12)))
        exact = rdpkit.epsilon(whole, delta=delta, adjacency=ADD).epsilon
        assert exact <= epsilon * (1.0 + 1e-9)


@pytest.mark.parametrize("delta", [1e-5, 1e-12])
@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_gaussians_cost_nothing_more_where_they_are_counted_as_gaussians(epsilon, delta):
    adaptive = budget("gaussian", epsilon=epsilon, delta=delta)
    fixed = budget("fixed-schedule", epsilon=epsilon, delta=delta)
    event = unit.gaussian(300.0)
    assert 0 <= fixed.affordable(event) - adaptive.affordable(event) <= 1
    others = [budget(kind, epsilon=epsilon, delta=delta) for kind in ("zcdp", "renyi")]
    zcdp, renyi = (other.affordable(event) for other in others)
    assert 0.6 * adaptive.affordable(event) < renyi < zcdp < adaptive.affordable(event)


def test_a_single_order_that_was_planned_loses_nothing_against_that_order():
    plan = STEP * 1000
    bound = {"bound": "best-rdp", "conversion": "balle2020"}
    best = rdpkit.epsilon(plan, delta=1e-5, adjacency=ADD, **bound)
    found = budget(epsilon=best.epsilon * (1.0 + 1e-6), planned=plan)
    assert found.affordable(STEP) == 1000
    # Several orders cost something, and here less than half of the releases.
    several = budget(epsilon=best.epsilon * (1.0 + 1e-6))
    assert 500 < several.affordable(STEP) < 1000


def test_running_epsilon_holds_at_all_times_and_costs_more():
    found = budget(epsilon=3.0)
    assert found.running_epsilon() == 0.0
    last = 0.0
    for _ in range(2):
        found.spend(STEP, count=300)
        running = found.running_epsilon()
        assert found.fixed_schedule_epsilon() < found.used < running
        assert running > last
        last = running
    with pytest.raises(ValueError, match="Expected composition to be 'renyi'"):
        budget("zcdp").running_epsilon()


@pytest.mark.parametrize("composition", ["renyi", "zcdp", "basic"])
def test_events_with_a_delta_of_their_own(composition):
    """(0.05, 1e-7)-DP, ten times: epsilon and delta are both paid for."""
    event = rdpkit.CustomProfile(epsilons=(0.05,), deltas=(1e-7,), adjacency=ADD)
    found = budget(composition, delta_for_events=1e-6)
    found.spend(event, count=8, delta=1e-7)
    assert found.remaining.delta == pytest.approx(2e-7)
    assert found.affordable(event, delta=1e-7) == 2
    with pytest.raises(rdpkit.BudgetExceededError, match="left for releases with a delta"):
        found.spend(event, count=3, delta=1e-7)
    if composition == "basic":
        assert found.used == pytest.approx(0.4)


def test_advanced_composition_with_its_constants_or_better():
    """epsilon >= sqrt(2 log(1/delta) sum e^2) + sum e^2 / 2 allows 100 releases at 0.05 here."""
    pure = rdpkit.CustomProfile(epsilons=(0.05,), deltas=(0.0,), adjacency=ADD)
    square = 100 * 0.05**2
    epsilon = math.sqrt(2.0 * math.log(1e5) * square) + square / 2.0
    assert budget("zcdp", epsilon=epsilon).affordable(pure) >= 100
    assert budget("basic", epsilon=epsilon).affordable(pure) < 60


def test_order_of_spending_does_not_matter():
    events = [QUERY, PURE, rdpkit.ZeroConcentrated(rho=1e-3, adjacency=ADD), QUERY]
    one, two = budget(), budget()
    for event in events:
        one.spend(event)
    for event in reversed(events):
        two.spend(event)
    assert one.used == two.used
    assert one.remaining == two.remaining


@pytest.mark.parametrize(
    ("composition", "event", "message"),
    [
        ("renyi", rdpkit.CustomProfile(epsilons=(1.0,), deltas=(0.1,), adjacency=ADD), "no Renyi"),
        (
            "zcdp",
            rdpkit.EpsilonDelta(epsilon=0.1, delta=0.01, adjacency=ADD),
            "no rho is known",
        ),
        ("zcdp", rdpkit.ZeroConcentrated(rho=0.1, xi=0.1, adjacency=ADD), "no rho is known"),
        ("gaussian", STEP, "not made of Gaussian events alone"),
        ("basic", QUERY, "no finite epsilon is known"),
        (
            "renyi",
            rdpkit.ZeroConcentrated(rho=0.1, adjacency="replace_one"),
            "no Renyi divergence of it is known",
        ),
    ],
)
def test_events_that_cannot_be_charged_for(composition, event, message):
    found = budget(composition)
    with pytest.raises(ValueError, match=message) as error:
        found.spend(event)
    assert not isinstance(error.value, rdpkit.BudgetExceededError)
    assert found.spendings == ()


def test_compositions_inside_of_events():
    several = rdpkit.Composed(events=[QUERY * 3, QUERY])
    for composition in ("renyi", "zcdp", "gaussian"):
        one, two = budget(composition), budget(composition)
        one.spend(several)
        two.spend(QUERY, count=4)
        assert one.used == pytest.approx(two.used, rel=1e-9)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epsilon": 0.0}, "Expected epsilon to be a finite number > 0"),
        ({"epsilon": math.inf}, "Expected epsilon to be a finite number > 0"),
        ({"delta": 0.0}, r"Expected delta in \(0, 1\)"),
        ({"delta": 1.0}, r"Expected delta in \(0, 1\)"),
        ({"adjacency": "neighbours"}, "Expected adjacency"),
        ({"composition": "renji"}, "Did you mean 'renyi'"),
        ({"delta_for_events": 1e-5}, "Expected delta_for_events to be below delta"),
        ({"orders": [1.0]}, "Expected orders"),
        ({"orders": [2.0], "planned": QUERY}, "at most one of orders and planned"),
        ({"composition": "zcdp", "orders": [2.0]}, "only where composition is 'renyi'"),
        ({"planned": 3}, "Expected planned to be Event"),
    ],
)
def test_bad_budgets(changes, message):
    with pytest.raises(ValueError, match=message):
        budget(**{"composition": "renyi", **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"count": 0}, "Expected count to be an integer >= 1"),
        ({"delta": 1.0}, r"Expected delta in \[0, 1\)"),
        ({"label": 3}, "Expected label to be str"),
        ({"event": 3}, "Expected event to be Event"),
    ],
)
def test_bad_spending(changes, message):
    with pytest.raises(ValueError, match=message):
        budget().spend(**{"event": QUERY, **changes})


def test_fixed_schedules_take_no_delta_of_their_own():
    with pytest.raises(ValueError, match="not 'fixed-schedule'"):
        budget("fixed-schedule").spend(QUERY, delta=1e-7)


@pytest.mark.parametrize(
    ("composition", "delta"),
    [
        ("renyi", 1e-100),
        ("zcdp", 1e-5),
        pytest.param("zcdp", 1e-100, marks=pytest.mark.slow),
        ("gaussian", 1e-100),
    ],
)
def test_far_past_the_range_of_use(composition, delta):
    event = unit.gaussian(1e6)
    found = budget(composition, delta=delta)
    found.spend(event, count=10**8)
    assert 0.0 < found.used <= 1.0
    assert isinstance(found.remaining, BudgetLeft)
    with pytest.raises(rdpkit.BudgetExceededError):
        found.spend(event, count=10**15)


def test_it_shows_itself():
    found = budget()
    found.spend(QUERY, count=2)
    assert "1 charge, 0." in repr(found)
    assert "of epsilon used" in repr(found)


def test_an_odometer_has_no_limit():
    odometer = rdpkit.PrivacyOdometer(delta=1e-5, adjacency=ADD)
    assert odometer.epsilon == 0.0
    first = odometer.spend(STEP, count=500)
    second = odometer.spend(QUERY)
    third = odometer.spend(QUERY, count=10**7)
    assert 0.0 < first < second < third < math.inf
    plan = STEP * 500
    fixed = rdpkit.epsilon(plan, delta=1e-5, adjacency=ADD).epsilon
    assert fixed < first < 2.5 * fixed
    single = rdpkit.PrivacyOdometer(delta=1e-5, adjacency=ADD, orders=7.0)
    assert fixed < single.spend(STEP, count=500) < first
    with pytest.raises(ValueError, match="Expected event to have a certified Renyi divergence"):
        odometer.spend(rdpkit.ZeroConcentrated(rho=0.1, adjacency="replace_one"))


GUARANTEE = rdpkit.EpsilonDelta(epsilon=1.0, delta=1e-6, adjacency=ADD)


@pytest.mark.parametrize(
    ("event", "adjacency", "delta", "rho"),
    [
        (GUARANTEE, ADD, 1e-6, 0.5),
        (unit.gaussian(1.0), REPLACE, 0.0, 2.0),
        (unit.gaussian(1.0) * 3, rdpkit.Adjacency.ZERO_OUT, 0.0, 1.5),
        *(
            (rdpkit.ZeroConcentrated(rho=0.5, **more), REPLACE, 0.0, math.inf)
            for more in (
                {"adjacency": ADD},
                {"adjacency": REPLACE, "delta": 1e-3},
                {"adjacency": REPLACE, "xi": 0.1},
            )
        ),
    ],
    ids=str,
)
def test_the_rho_of_a_charge(event, adjacency, delta, rho):
    assert rules.concentrated(event, adjacency, delta) == pytest.approx(rho, rel=1e-9)
    if rho == 2.0:
        assert rules.squared_mu(event, adjacency) == 4.0


def test_the_sums_of_a_mixture():
    assert order_mixture.charged([0, 1.0], (math.inf, 0.5), 2) == [math.inf, 2.0]
    assert order_mixture.equal_weights([2.0, 4.0]).weights == (0.5, 0.5)
    found = order_mixture.odometer_epsilon(order_mixture.equal_weights([3.0]), [0.5], delta=1e-5)
    assert found == pytest.approx(0.5 + math.log(1e5) / 2.0, rel=1e-9)


@pytest.mark.parametrize("composition", ["zcdp", "gaussian", "fixed-schedule"])
def test_no_less_is_used_than_is_released(composition):
    found = budget(composition, epsilon=3.0)
    event = unit.gaussian(4.0)
    for count in (1, 2):
        found.spend(event)
        released = rdpkit.epsilon(event * count, delta=1e-5, adjacency=ADD)
        assert found.used >= released.epsilon * (1 - 1e-9)
    noise = found.remaining.noise_multiplier
    if noise is not None:
        found.spend(unit.gaussian(noise * (1 + 1e-9)))
        with pytest.raises(rdpkit.BudgetExceededError):
            found.spend(event)


def test_what_is_kept_for_events_is_not_spent_twice():
    assert budget(delta_for_events=4e-6).entries()[0]["delta_for_rule"] <= 6e-6
