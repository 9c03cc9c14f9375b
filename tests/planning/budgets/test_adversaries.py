"""Adversaries who choose every release after they saw the answers before it, exactly enumerated.

A release is randomised response with an epsilon that the adversary chooses. All transcripts of an
interaction are enumerated, and the exact delta at the budget's epsilon is compared with the
budget's. A rule that charges two thirds is found out, so that the test can fail.
"""

import functools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit.planning.budgets.filter import _rule
from rdpkit.planning.budgets.order_mixture import OrderMixture, odometer_epsilon
from rdpkit.planning.budgets.rules import divergences

ADD = rdpkit.Adjacency.ADD_OR_REMOVE_ONE
DEPTH = 11
CHOICES = (0.0, 0.2, 0.5, 0.9)


@functools.cache
def response(epsilon):
    return rdpkit.CustomProfile(epsilons=(epsilon,), deltas=(0.0,), adjacency=ADD)


@functools.cache
def rule(composition, epsilon, delta):
    found = rdpkit.PrivacyFilter(
        epsilon=epsilon, delta=delta, adjacency=ADD, composition=composition
    )
    return _rule(found._settings)


def leaves_of(strategy, allowed):
    """Every transcript's probability under one data set, and its loss, as the rule lets it grow."""
    pending = [(0, 0, 1.0, 0.0, ())]
    while pending:
        depth, ups, probability, loss, spent = pending.pop()
        wanted = strategy[min(depth, len(strategy) - 1)][min(ups, depth)] if depth < DEPTH else 0.0
        if wanted == 0.0 or not allowed((*spent, wanted)):
            yield probability, loss, spent
            continue
        truth = math.exp(wanted) / (1.0 + math.exp(wanted))
        pending.append((depth + 1, ups + 1, probability * truth, loss + wanted, (*spent, wanted)))
        lie = probability * (1.0 - truth)
        pending.append((depth + 1, ups, lie, loss - wanted, (*spent, wanted)))


def exact_delta(strategy, epsilon, allowed):
    return math.fsum(
        probability * max(-math.expm1(epsilon - loss), 0.0)
        for probability, loss, _ in leaves_of(strategy, allowed)
    )


def allowance(composition, epsilon, delta, share=1.0):
    """Whether the rule allows releases with these epsilons; a share of them is charged."""
    found = rule(composition, epsilon, delta)

    @functools.cache
    def allowed_sorted(spent):
        charges = [found.charge(response(e), 0.0) for e in spent]
        total = [share * math.fsum(column) * (1 + 1e-12) for column in zip(*charges, strict=True)]

        return found.holds([Fraction(number) for number in total])

    return lambda spent: allowed_sorted(tuple(sorted(spent)))


strategies_of_an_adversary = st.lists(
    st.lists(st.sampled_from(CHOICES), min_size=DEPTH + 1, max_size=DEPTH + 1),
    min_size=DEPTH,
    max_size=DEPTH,
)
GREEDY = [[0.9 if ups >= depth / 2 else 0.2 for ups in range(DEPTH + 1)] for depth in range(DEPTH)]
STOPPING = [
    [0.5 if ups >= depth - 2 else 0.0 for ups in range(DEPTH + 1)] for depth in range(DEPTH)
]
STEADY = [[0.5] * (DEPTH + 1)] * DEPTH


@pytest.mark.parametrize("composition", ["renyi", "zcdp", "basic"])
@settings(max_examples=6)
@given(strategies_of_an_adversary, st.sampled_from([(1.5, 0.01), (3.0, 1e-3)]))
def test_no_adversary_exceeds_the_budget(composition, strategy, target):
    allowed = allowance(composition, *target)
    for adversary in (strategy, GREEDY, STOPPING, STEADY):
        assert exact_delta(adversary, target[0], allowed) <= target[1]


@pytest.mark.parametrize("composition", ["renyi", "zcdp", "basic"])
def test_a_rule_that_charges_too_little_is_found_out(composition):
    """A quarter of the Renyi charges, or a half of the epsilons."""
    allowed = allowance(composition, 1.5, 0.01, share=0.5 if composition == "basic" else 0.25)
    assert max(exact_delta(one, 1.5, allowed) for one in (GREEDY, STOPPING, STEADY)) > 0.01


@settings(max_examples=6)
@given(strategies_of_an_adversary)
def test_an_odometer_is_exceeded_with_probability_delta_at_most(strategy):
    """At any time: the loss is compared at every node, and the paths that exceed it are summed."""
    delta = 0.02
    orders = tuple(1.0 + 0.4 * 1.5**k for k in range(10))
    mixture = OrderMixture(orders, (0.1 - 1e-12,) * 10)

    @functools.cache
    def bound(spent):

        charges = [divergences(response(e), ADD, orders, 0.0) for e in spent]
        total = [math.fsum(column) for column in zip(*charges, strict=True)]
        return odometer_epsilon(mixture, total, delta=delta)

    for adversary in (strategy, GREEDY, STOPPING, STEADY):
        exceeded, pending = 0.0, [(0, 0, 1.0, 0.0, ())]
        while pending:
            depth, ups, probability, loss, spent = pending.pop()
            if spent and loss > bound(tuple(sorted(spent))):
                exceeded += probability
                continue
            wanted = adversary[depth][min(ups, depth)] if depth < DEPTH else 0.0
            if wanted == 0.0:
                continue
            truth = math.exp(wanted) / (1.0 + math.exp(wanted))
            after = (*spent, wanted)
            pending.append((depth + 1, ups + 1, probability * truth, loss + wanted, after))
            pending.append((depth + 1, ups, probability * (1 - truth), loss - wanted, after))
        assert exceeded <= delta
