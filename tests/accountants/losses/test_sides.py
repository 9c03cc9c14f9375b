"""Upper rules are never used as what is attained: by types, and by the four numbers that were."""

import contextlib
import math

import pytest

import rdpkit
from rdpkit.accountants.losses.steps import alternatives, attained_alternatives
from rdpkit.events.composition import composed_of
from rdpkit.events.losses import NoLossDistributionError
from tests.events import unit
from tests.processes import ran

ADD = rdpkit.Adjacency.ADD_OR_REMOVE_ONE
REPLACE = rdpkit.Adjacency.REPLACE_ONE
ZERO = rdpkit.Adjacency.ZERO_OUT
GAUSSIAN = unit.gaussian()
PROFILE = rdpkit.CustomProfile(epsilons=[0.1], deltas=[1e-3], adjacency=ADD)


def stated(epsilon, delta, adjacency=ADD):
    return rdpkit.EpsilonDelta(epsilon=epsilon, delta=delta, adjacency=adjacency)


MISTAKES = {
    "epsilon_below(alternatives(event, relation)[0].releases, delta=1e-5)": "arg-type",
    "epsilon_above(attained_alternatives(event, relation)[0].releases, delta=1e-5)": "arg-type",
    "attains_what(event.dominating(relation))": "arg-type",
    "bounds_what(event.attained(relation))": "arg-type",
    "epsilon_above(alternatives(event, relation)[0].releases, delta=1e-5)": "",
    "epsilon_below(attained_alternatives(event, relation)[0].releases, delta=1e-5)": "",
}


@pytest.mark.slow
def test_a_type_checker_tells_the_two_sides_apart(tmp_path):
    lines = [
        "from rdpkit.accountants.loss_distributions import epsilon_above, epsilon_below",
        "from rdpkit.accountants.losses.steps import alternatives, attained_alternatives",
        "from rdpkit.adjacency import Adjacency",
        "from rdpkit.events import Event",
        "from rdpkit.events.losses import Attained, Dominating",
        "def attains_what(losses: Attained) -> None: ...",
        "def bounds_what(losses: Dominating) -> None: ...",
        "def use(event: Event, relation: Adjacency) -> None:",
        *(f"    {line}" for line in MISTAKES),
    ]
    path = tmp_path / "mixed_up.py"
    path.write_text("\n".join(lines) + "\n")
    # The packages are laid out as they are installed only there; one of them is enough here.
    words = ["-m", "mypy", "--ignore-missing-imports", "--follow-imports=silent", path]
    environment = {"MYPYPATH": str(rdpkit.__path__[0].removesuffix("rdpkit")), "PATH": ""}
    found = ran(*words, status=None, cwd=tmp_path, env=environment)
    for number, (line, error) in enumerate(MISTAKES.items(), len(lines) - len(MISTAKES) + 1):
        told = [text for text in found.stdout.splitlines() if f"mixed_up.py:{number}:" in text]
        assert bool(told) == bool(error), (line, found.stdout, found.stderr)
        assert all(f"[{error}]" in text for text in told if "error" in text)


@pytest.mark.parametrize(
    ("event", "delta", "adjacency"),
    [
        (rdpkit.Parallel(events=(stated(0.1, 1e-3), GAUSSIAN)), 1e-5, ADD),
        (rdpkit.Parallel(events=(PROFILE, GAUSSIAN)), 1e-5, ADD),
        (
            rdpkit.Parallel(
                events=(stated(0.1, 1e-3, REPLACE), GAUSSIAN), record_keeps_its_part=True
            ),
            1e-5,
            REPLACE,
        ),
        (rdpkit.Parallel(events=(stated(0.1, 1e-7), unit.poisson())) * 20, 1e-6, ADD),
        (rdpkit.Parallel(events=(GAUSSIAN, stated(1e-3, 1e-3))) + GAUSSIAN, 1e-5, ADD),
    ],
)
def test_a_part_that_may_fail_more_often_than_delta_has_no_epsilon(event, delta, adjacency):
    assert rdpkit.epsilon(event, delta=delta, adjacency=adjacency).epsilon == float("inf")
    for composition in ("renyi", "basic", "fixed-schedule"):
        budget = rdpkit.PrivacyFilter(
            epsilon=100.0, delta=delta, adjacency=adjacency, composition=composition
        )
        with pytest.raises(ValueError, match=r"budget|left of epsilon"):
            budget.spend(event)


@pytest.mark.thorough
def test_the_same_parts_spent_twice_may_be_parts_of_other_partitions():
    parts = (
        unit.laplace(1.0),
        rdpkit.PoissonSampled(event=unit.laplace(1 / 14.46), sampling_probability=1e-5),
    )
    event = rdpkit.Parallel(events=parts)
    budget = rdpkit.PrivacyFilter(
        epsilon=3.0, delta=1e-6, adjacency=ADD, composition="fixed-schedule"
    )
    budget.spend(event)
    with pytest.raises(rdpkit.BudgetExceededError):
        budget.spend(event)
    # A record may be in the first part once and in the second part once.
    attained = rdpkit.lower_bound(parts[0] + parts[1], delta=1e-6, adjacency=ADD)[0]
    twice = composed_of({event: 2})
    assert rdpkit.epsilon(twice, delta=1e-6, adjacency=ADD) >= attained
    assert rdpkit.epsilon(event * 2, delta=1e-6, adjacency=ADD) < attained


def test_any_choice_of_parts_is_an_alternative():
    parts = (unit.poisson(1.0, 0.1), unit.poisson(2.0, 0.2))
    event = rdpkit.Parallel(events=parts, fixed_partition=True)
    fresh = rdpkit.Repeated(event=event, count=3, same_partition=False)
    written_out = rdpkit.Composed(events=(event,) * 3)
    for every in (alternatives, attained_alternatives):
        found = {one.releases for one in every(fresh, ADD)}
        assert found == {one.releases for one in every(written_out, ADD)}
        assert len(found) == 4


def test_a_rule_for_groups_is_attained_only_where_that_is_known():
    group = rdpkit.Group(event=stated(1.0, 0.0), size=2)
    with pytest.raises(NoLossDistributionError):
        rdpkit.lower_bound(group, epsilon=0.0, adjacency=ADD)
    # The largest delta over all chains of three data sets is 1 - 1/e at epsilon 0.
    assert rdpkit.check(group, epsilon=1.5, delta=0.3, adjacency=ADD).soundness != "refuted"


@pytest.mark.parametrize("size", [2, 40, pytest.param(300, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("delta", [1e-5, 1e-292])
def test_large_groups_of_samples_are_enclosed(size, delta):
    group = rdpkit.Group(event=unit.poisson(0.5, 1e-3), size=size)
    lower = rdpkit.lower_bound(group, delta=delta, adjacency=ADD)[0].epsilon
    upper = rdpkit.epsilon(group, delta=delta, adjacency=ADD, bound="pld-upper").epsilon
    assert lower <= upper <= lower * (1.0 + 1e-3)
    assert upper < 60_000.0


def test_under_zero_out_the_special_record_is_in_the_second_data_set_of_every_event():
    fixed = unit.fixed_size(1.0, 10, 100)
    both = unit.poisson() + fixed
    for bound in ("pld-upper", "pair-lower"):
        found = rdpkit.epsilon(both, delta=1e-5, adjacency=ZERO, bound=bound).epsilon
        alone = [
            rdpkit.epsilon(one, delta=1e-5, adjacency=ZERO, bound=bound).epsilon
            for one in (unit.poisson(), fixed)
        ]
        assert max(alone) < found < sum(alone)
    assert fixed.neighbours(ZERO, ()).second.groups[-1].label == -1


@pytest.mark.parametrize("count", [10**10, 10**12, 10**13, 10**15])
def test_the_default_is_never_above_the_bound_from_divergences(count):
    event = unit.poisson(1.0, 1e-6) * count
    best = rdpkit.epsilon(event, delta=1e-5, adjacency=ADD)
    by_orders = rdpkit.epsilon(event, delta=1e-5, adjacency=ADD, bound="best-rdp")
    assert best <= by_orders


def test_a_partition_may_be_chosen_after_earlier_outputs_unless_it_is_fixed():
    first = stated(0.9222574290196014, 0.0)
    parts = (stated(2.1027069569669083, 0.0), stated(0.30301403243439656, 0.40289491982827697))
    # Randomised response, then the part with the larger divergence at what is left of epsilon.
    p = 1.0 / (1.0 + math.exp(-first.epsilon))

    def left(part, epsilon):
        gain = max(math.exp(part.epsilon) - math.exp(epsilon), 0.0) / (1 + math.exp(part.epsilon))
        return part.delta + (1.0 - part.delta) * gain

    branches = [
        (share, [left(part, 2.0 - loss) for part in parts])
        for share, loss in ((p, first.epsilon), (1.0 - p, -first.epsilon))
    ]
    for fixed in (True, False):
        event = rdpkit.Parallel(events=parts, fixed_partition=fixed)
        found = rdpkit.delta(first + event, epsilon=2.0, adjacency=ADD).delta
        if fixed:
            exact = max(sum(share * of[k] for share, of in branches) for k in range(2))
        else:
            exact = sum(share * max(of) for share, of in branches)
        assert exact <= found <= exact * (1.0 + 1e-3)
    # Several releases from one part have no such curve; divergences bound every choice.
    twice = rdpkit.Parallel(events=(parts[0] * 2, GAUSSIAN))
    found = rdpkit.epsilon(GAUSSIAN + twice, delta=1e-5, adjacency=ADD)
    assert "fixed_partition" in " ".join(found.notes)
    assert found.order is not None


def test_delta_may_equal_what_is_infinite():
    for event, delta, exact in (
        (stated(0.1, 0.5) * 2, 0.75, 0.2),
        (stated(0.1, 0.5) + stated(0.2, 0.25), 0.625, 0.3),
    ):
        found = rdpkit.epsilon(event, delta=delta, adjacency=ADD).epsilon
        assert exact <= found <= exact * (1.0 + 1e-9)


@pytest.mark.parametrize("noise", [1e-300, 1e-160])
@pytest.mark.parametrize("delta", [0.0, 1e-300, 1e-5])
def test_noise_too_small_for_floats_is_an_error_in_words(noise, delta):
    event = rdpkit.PoissonSampled(event=unit.laplace(noise), sampling_probability=0.1)
    for ask in (rdpkit.epsilon, rdpkit.lower_bound):
        with contextlib.suppress(ValueError):
            assert ask(event, delta=delta, adjacency=ADD)
