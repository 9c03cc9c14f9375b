"""The questions: by named theorems where a number is asserted, by inequality for the best."""

import dataclasses
import math
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_ndtr, ndtr

import rdpkit
from rdpkit.accountants import renyi
from rdpkit.analysis import NoSuchBoundError, published_bounds, published_rdp, upper_rdp
from rdpkit.conversions import EPSILON
from tests.events import of_papers, unit
from tests.events.examples import example

ADD = rdpkit.Adjacency.ADD_OR_REMOVE_ONE
REPLACE = rdpkit.Adjacency.REPLACE_ONE
GAUSSIAN = unit.gaussian(2.0)
FIXED = unit.fixed_size(4.0, 20, 1000, record_norm=0.5) * 50
LDPDC = of_papers.ldpdc([5421, 6742], 50, 50, noise=28.0, dimension=784)


def exact_delta(z, eps):
    """The Gaussian mechanism's privacy profile (Balle and Wang 2018, Theorem 8)."""
    return float(ndtr(0.5 / z - eps * z) - math.exp(eps + log_ndtr(-0.5 / z - eps * z)))


# rdp_to_epsilon


def test_rdp_to_epsilon_takes_the_smallest():
    orders, rdp = [2.0, 4.0, 8.0], [0.1, 0.3, 4.0]
    value, order = rdpkit.rdp_to_epsilon(orders, rdp, delta=1e-3, conversion="mironov2017")
    assert order == 4.0
    assert value == pytest.approx(0.3 + math.log(1e3) / 3.0, rel=1e-15)


def test_rdp_to_epsilon_with_no_information():
    value, order = rdpkit.rdp_to_epsilon([2.0, 3.0], [np.inf, np.inf], delta=0.1)
    assert value == math.inf
    assert math.isnan(order)


@pytest.mark.parametrize(
    ("orders", "rdp", "options", "message"),
    [
        ([1.0], [0.1], {}, "orders to be finite Renyi orders > 1"),
        ([2.0], [-0.1], {}, "rdp to be divergences >= 0"),
        ([2.0], [math.nan], {}, "rdp to be divergences >= 0"),
        ([2.0, 3.0], [0.1], {}, r"rdp to be divergences >= 0, of shape \(2,\)"),
        ([2.0], ["0.1"], {}, "rdp to be divergences >= 0"),
        ([2.0], [0.1], {"delta": 0.0}, r"delta in \(0, 1\)"),
        ([2.0], [0.1], {"delta": 1.0}, r"delta in \(0, 1\)"),
        ([2.0], [0.1], {"conversion": "asoodeh"}, "conversion to be one of 'mironov2017'"),
    ],
)
def test_rdp_to_epsilon_bad_input(orders, rdp, options, message):
    with pytest.raises(ValueError, match="Expected " + message):
        rdpkit.rdp_to_epsilon(orders, rdp, **{"delta": 1e-5, **options})


# epsilon and delta


@pytest.mark.parametrize("conversion", list(EPSILON))
@pytest.mark.parametrize("z", [0.5, 2.0, 20.0])
def test_gaussian_is_never_below_its_exact_profile(conversion, z):
    """epsilon at delta, put into the exact profile, must give at most delta (1e-9: its digits)."""
    event = unit.gaussian(z)
    for delta in (0.1, 1e-3, 1e-6):
        found = rdpkit.epsilon(
            event, delta=delta, adjacency=ADD, bound="gaussian", conversion=conversion
        )
        assert exact_delta(z, found.epsilon) <= delta * (1.0 + 1e-9)


@pytest.mark.parametrize("bound", ["best", "best-rdp"])
@pytest.mark.parametrize(("z", "delta"), [(0.5, 1e-3), (2.0, 1e-6), (20.0, 1e-5)])
def test_best_gaussian_is_never_below_its_exact_profile(bound, z, delta):
    event = unit.gaussian(z)
    found = rdpkit.epsilon(event, delta=delta, adjacency=ADD, bound=bound)
    assert exact_delta(z, found.epsilon) <= delta * (1.0 + 1e-9)
    named = rdpkit.epsilon(event, delta=delta, adjacency=ADD, bound="gaussian")
    assert found.epsilon <= named.epsilon * (1.0 + 1e-12)


@pytest.mark.parametrize("conversion", list(EPSILON))
@pytest.mark.parametrize(("noise", "eps"), [(0.5, 4.0), (2.0, 1.0), (2.0, 0.0), (20.0, 0.1)])
def test_delta_is_never_below_the_exact_profile(conversion, noise, eps):
    event = unit.gaussian(noise)
    found = rdpkit.delta(event, epsilon=eps, adjacency=ADD, bound="gaussian", conversion=conversion)
    assert exact_delta(noise, eps) * (1.0 - 1e-9) <= found.delta <= 1.0
    assert found.epsilon == eps


@pytest.mark.parametrize("conversion", list(EPSILON))
@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-9])
def test_round_trip(conversion, delta):
    """An epsilon's error of 1e-10 counts about (order - 1) times in log delta: 1e-6."""
    options = {"adjacency": ADD, "bound": "gaussian", "conversion": conversion}
    eps = rdpkit.epsilon(GAUSSIAN, delta=delta, **options).epsilon
    assert_allclose(rdpkit.delta(GAUSSIAN, epsilon=eps, **options).delta, delta, rtol=1e-6)


def test_a_result_says_what_it_is():
    found = rdpkit.epsilon(GAUSSIAN, delta=1e-5, adjacency="replace_one", bound="gaussian")
    assert found.adjacency is REPLACE
    assert found.kind is rdpkit.Kind.UPPER
    assert found.bound == "gaussian"
    assert found.conversion == "optimal"
    assert found.delta == 1e-5
    assert 1.0 < found.order < 100.0
    assert float(found) == found.epsilon


@pytest.mark.parametrize("certify", [True, False])
def test_certificates_contain_the_number(certify):
    found = rdpkit.epsilon(GAUSSIAN, delta=1e-5, adjacency=ADD, bound="gaussian", certify=certify)
    assert (found.computed is not None) is certify
    if certify:
        assert found.computed.rigorous
        assert found.computed.lower <= found.epsilon == found.computed.upper
        assert found.computed.upper <= found.computed.lower * (1.0 + 1e-6)


STEP = unit.poisson(1.0, 0.01)
OF_LAPLACE = unit.laplace(3.0)
OF_COUNTS = rdpkit.DiscreteLaplace(noise_scale=10.0, record_norm=1)
BESIDE_BOUNDED = rdpkit.Composed(
    events=[
        OF_COUNTS * 23,
        unit.poisson(7.35, 0.0026) * 86,
    ]
)
CUT = example(rdpkit.TruncatedPoissonGaussian)


@pytest.mark.parametrize(
    ("event", "delta", "asked"),
    [
        (STEP * 100, 1e-5, False),
        (OF_LAPLACE * 100, 1e-5, False),
        # Nearly all of the largest loss, a large epsilon, bounded losses beside others, a coarse
        # grid, and no pair of data sets.
        (OF_LAPLACE * 2, 1e-9, True),
        (STEP * 10**8, 1e-5, True),
        (BESIDE_BOUNDED, 7e-11, True),
        (OF_COUNTS * 2, 4e-6, True),
        (STEP * 10**12, 1e-5, True),
        (CUT, 1e-5, True),
    ],
)
def test_divergences_are_asked_unless_nothing_is_smaller(monkeypatch, event, delta, asked):
    known = rdpkit.epsilon(event, delta=delta, adjacency=ADD, bound="best-rdp").epsilon
    calls = []
    upper = renyi.upper
    monkeypatch.setattr(renyi, "upper", lambda *a, **k: calls.append(a) or upper(*a, **k))
    best = rdpkit.epsilon(event, delta=delta, adjacency=ADD)
    assert bool(calls) is asked
    assert best.epsilon <= known


@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
def test_named_theorems_are_never_below_the_best(adjacency):
    best = rdpkit.epsilon(FIXED, delta=1e-5, adjacency=adjacency)
    names = [
        found.bound
        for found in rdpkit.compare(FIXED, delta=1e-5, adjacency=adjacency)
        if found.kind is rdpkit.Kind.UPPER
    ]
    assert len(names) >= 2
    assert best.epsilon > 0.0
    theorems = {
        ADD: ["swap-coupling", "no-amplification"],
        REPLACE: ["wang2019", "wang2019-thm9", "wang2019-thm27", "no-amplification"],
    }
    for name in theorems[adjacency]:
        found = rdpkit.epsilon(FIXED, delta=1e-5, adjacency=adjacency, bound=name)
        assert found.bound == name
        assert found.epsilon >= best.epsilon * (1.0 - 1e-12)


def test_replacing_costs_at_least_what_adding_does():
    """The named theorem is one for both; the distance of a replacement is twice the norm."""
    add, replace = (
        rdpkit.epsilon(GAUSSIAN, delta=1e-5, adjacency=a, bound="gaussian").epsilon
        for a in (ADD, REPLACE)
    )
    assert replace > 1.9 * add


def test_more_releases_cost_more():
    found = [
        rdpkit.epsilon(GAUSSIAN * count, delta=1e-5, adjacency=ADD, bound="gaussian").epsilon
        for count in (1, 4, 100)
    ]
    assert found == sorted(found)
    # Four releases of noise 2 are one of noise 1.
    once = unit.gaussian(1.0)
    exact = rdpkit.epsilon(once, delta=1e-5, adjacency=ADD, bound="gaussian").epsilon
    assert found[1] == pytest.approx(exact, rel=1e-9)


def test_order_limits():
    options = {"delta": 1e-5, "adjacency": ADD, "bound": "gaussian", "conversion": "balle2020"}
    free = rdpkit.epsilon(GAUSSIAN, **options)
    tied = rdpkit.epsilon(GAUSSIAN, order_limits=(1.5, 4.0), **options)
    assert tied.order == pytest.approx(4.0)
    assert tied.epsilon > free.epsilon
    assert tied.notes == ("the best order, 4, is the largest one allowed",)
    value, _ = rdpkit.rdp_to_epsilon([4.0], [0.5], delta=1e-5)
    assert tied.epsilon == pytest.approx(value, rel=1e-9)


def test_published_bounds_keep_their_conversion():
    found = rdpkit.epsilon(LDPDC, delta=1e-5, adjacency=ADD, bound="ldpdc-thm3.1")
    assert found.kind is rdpkit.Kind.PUBLISHED
    assert found.conversion == "balle2020"
    other = rdpkit.epsilon(
        LDPDC, delta=1e-5, adjacency=ADD, bound="ldpdc-thm3.1", conversion="mironov2017"
    )
    assert other.epsilon > found.epsilon


def test_compare_is_sorted_and_complete():
    found = rdpkit.compare(LDPDC, delta=1e-5, adjacency=ADD)
    kinds = [g.kind for g in found]
    assert kinds[0] is rdpkit.Kind.PUBLISHED
    uppers = [g.epsilon for g in found if g.kind is rdpkit.Kind.UPPER]
    lowers = [g.epsilon for g in found if g.kind is rdpkit.Kind.LOWER]
    assert uppers == sorted(uppers)
    assert "mironov2019" in [g.bound for g in found]
    assert all(low <= uppers[0] for low in lowers)
    assert kinds == sorted(kinds, key=list(rdpkit.Kind).index)


def test_single_orders():
    value, name = upper_rdp(GAUSSIAN, order=3.0, adjacency=ADD)
    assert value == pytest.approx(3.0 / 8.0, rel=1e-15)
    assert name == "gaussian"
    assert published_bounds(LDPDC, ADD) == ("ldpdc-thm3.1",)
    one = published_rdp(LDPDC, order=4.0, adjacency=ADD, bound="ldpdc-thm3.1")
    assert 0.0 < one < math.inf


def test_nothing_is_known():
    event = rdpkit.CustomRdp(orders=(2.0,), values=(math.inf,), adjacency=ADD)
    assert rdpkit.epsilon(event, delta=1e-5, adjacency=ADD).epsilon == math.inf
    assert rdpkit.delta(event, epsilon=1.0, adjacency=ADD).delta == 1.0
    assert upper_rdp(event, order=2.0, adjacency=ADD) == (math.inf, "none")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delta": 1.0}, r"delta in \[0, 1\)"),
        ({"adjacency": "unbounded"}, "adjacency to be one of 'add_or_remove_one', 'replace_one'"),
        ({"bound": "wang2019"}, "bound to be one of 'best'"),
        ({"conversion": "best"}, "conversion to be one of 'mironov2017'"),
        ({"order_limits": (1.0, 4.0)}, r"order_limits\[0\] to be a finite Renyi order > 1"),
        ({"order_limits": (4.0, 2.0)}, r"order_limits to be a pair \(smallest, largest\)"),
        ({"order_limits": 4.0}, r"order_limits to be a pair \(smallest, largest\)"),
        ({"event": "gaussian"}, "event to be Event"),
    ],
)
def test_epsilon_bad_input(options, message):
    good = {"event": GAUSSIAN, "delta": 1e-5, "adjacency": ADD}
    with pytest.raises(ValueError, match="Expected " + message):
        rdpkit.epsilon(**{**good, **options})


@pytest.mark.parametrize("eps", [-1e-9, math.nan, math.inf, "1", True, None])
def test_delta_bad_input(eps):
    with pytest.raises(ValueError, match="Expected epsilon to be a finite number >= 0"):
        rdpkit.delta(GAUSSIAN, epsilon=eps, adjacency=ADD)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"event": 3}, "event to be Event"),
        ({"delta": 2.0}, r"delta in \[0, 1\)"),
        ({"adjacency": "swap"}, "adjacency to be one of"),
    ],
)
def test_compare_bad_input(options, message):
    good = {"event": GAUSSIAN, "delta": 1e-5, "adjacency": ADD}
    with pytest.raises(ValueError, match="Expected " + message):
        rdpkit.compare(**{**good, **options})


def test_published_rdp_of_an_unknown_bound():
    with pytest.raises(ValueError, match="Expected bound to be one of 'best'"):
        published_rdp(GAUSSIAN, order=2.0, adjacency=ADD, bound="ldpdc-thm3.1")


SAMPLED = unit.poisson(1.0, 0.01)


@pytest.mark.thorough
def test_a_guarantee_may_carry_what_is_attained():
    question = {"delta": 1e-5, "adjacency": "add_or_remove_one"}
    event = SAMPLED * 100
    found = rdpkit.epsilon(event, **question, lower=True)
    attained = rdpkit.lower_bound(event, **question)[0]
    assert found.lower == attained.epsilon
    assert 0.99 * found.epsilon < found.lower <= found.epsilon
    assert found == dataclasses.replace(rdpkit.epsilon(event, **question), lower=found.lower)
    other = rdpkit.delta(event, epsilon=1.0, adjacency="add_or_remove_one", lower=True)
    assert other.asked == "delta"
    assert 0.9 * other.delta < other.lower <= other.delta


def test_where_no_pair_is_known_there_is_nothing_attained():
    event = rdpkit.CustomRdp(orders=[2, 4], values=[0.1, 0.2], adjacency="replace_one")
    found = rdpkit.epsilon(event, delta=1e-5, adjacency="replace_one", lower=True)
    assert found.lower is None
    assert "lower" not in str(found)


def test_a_notebook_draws_the_profile_between_its_bounds():
    found = rdpkit.epsilon(SAMPLED, delta=1e-5, adjacency="add_or_remove_one", lower=True)
    points = found.profile()
    assert [e for e, _, _ in points] == sorted(e for e, _, _ in points)
    assert all(0.0 <= low <= high <= 1.0 for _, high, low in points)
    assert "<svg" in found._repr_html_()
    assert pickle.loads(pickle.dumps(found)) == found


def test_the_profile_of_nothing_is_empty():
    event = rdpkit.CustomRdp(orders=[2, 4], values=[0.1, 0.2], adjacency="replace_one")
    found = rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one")
    assert found.profile() == ()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: rdpkit.epsilon(SAMPLED, 1e-5),
            r"epsilon\(event, delta=\.\.\., adjacency=\.\.\.\)",
        ),
        (
            lambda: rdpkit.epsilon(SAMPLED, delta=0.1),
            'needs adjacency: adjacency is "add_or',
        ),
        (lambda: rdpkit.epsilon(SAMPLED, dleta=0.1), "no argument 'dleta'. Did you mean 'delta'"),
        (lambda: rdpkit.epsilon(delta=0.1, adjacency="replace"), r"epsilon\(\) needs event: it is"),
        (lambda: rdpkit.epsilon(SAMPLED, event=SAMPLED, delta=1, adjacency=1), "got 'event' twice"),
        (lambda: rdpkit.compare(SAMPLED, 1e-5, "replace"), r"takes all arguments but the first"),
        (
            lambda: rdpkit.calibrate(SAMPLED),
            "needs target_epsilon, delta and adjacency: it is called as .* adjacency is",
        ),
        (lambda: rdpkit.sweep_epsilon(1.0), r"sweep_epsilon\(\) takes its arguments by name"),
    ],
)
def test_a_wrong_call_is_one_line_that_helps(call, message):
    with pytest.raises(TypeError, match=message) as refused:
        call()
    assert "\n" not in str(refused.value)


@pytest.mark.thorough
def test_many_deltas_in_one_call_are_as_good_as_single_ones():
    """Shared distributions may cost 0.2 %, and nothing depends on what was asked before."""
    step = unit.poisson(1.0, 0.01)
    event = step * 300
    epsilons = [0.0, 2.5, 0.5, 6.0]
    many = rdpkit.delta(event, epsilon=epsilons, adjacency=ADD)
    assert [one.epsilon for one in many] == epsilons
    for one in many:
        alone = rdpkit.delta(event, epsilon=one.epsilon, adjacency=ADD)
        below = rdpkit.lower_bound(event, epsilon=one.epsilon, adjacency=ADD)[0]
        assert below.delta <= one.delta <= alone.delta * 1.002
    again = rdpkit.delta(event, epsilon=np.array(epsilons), adjacency=ADD)
    assert [one.delta for one in again] == [one.delta for one in many]


@pytest.mark.thorough
def test_many_deltas_where_nothing_is_shared():
    """Closed forms and other bounds are answered one by one."""
    event = unit.gaussian(2.0)
    for bound in ("best", "best-rdp"):
        many = rdpkit.delta(event, epsilon=[0.5, 1.0], adjacency=ADD, bound=bound)
        for one in many:
            alone = rdpkit.delta(event, epsilon=one.epsilon, adjacency=ADD, bound=bound)
            assert (one.delta, one.bound) == (alone.delta, alone.bound)
    assert rdpkit.delta(event, epsilon=[], adjacency=ADD) == ()
    with pytest.raises(ValueError, match=r"epsilon\[1\]"):
        rdpkit.delta(event, epsilon=[0.5, -1.0], adjacency=ADD)


@pytest.mark.thorough
def test_what_else_is_asked_does_not_make_a_delta_loose():
    event = unit.poisson(0.5731078416352854, 1.1142492019265012e-05)
    several = rdpkit.delta(event * 27, epsilon=[0.0, 1.0], adjacency=ADD)
    alone = rdpkit.delta(event * 27, epsilon=0.0, adjacency=ADD)
    assert several[0].delta <= alone.delta * (1.0 + 2e-3)


def test_an_unknown_bound_is_the_same_error_in_another_process():
    with pytest.raises(NoSuchBoundError) as found:
        rdpkit.epsilon(unit.gaussian(1.0), delta=1e-5, adjacency="replace_one", bound="bset")
    sent = pickle.loads(pickle.dumps(found.value))
    assert (str(sent), sent.names) == (str(found.value), found.value.names)
    assert "best" in sent.names
