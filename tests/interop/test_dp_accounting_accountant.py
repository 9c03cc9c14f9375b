"""The accountant behind dp-accounting's interface: their contract test, and what it leaves open."""

import math
import warnings

import pytest
from numpy.testing import assert_allclose

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import dp_accounting as dpa
    from dp_accounting import dp_event as dpe

import rdpkit
from rdpkit.events import CustomProfile
from rdpkit.interop import RdpkitAccountant
from tests.events import unit

# dp-accounting ships its tests with the package.
contract = pytest.importorskip(
    "dp_accounting.privacy_accountant_test", reason="dp-accounting came without its tests"
)

ADD, REPLACE = dpa.NeighboringRelation.ADD_OR_REMOVE_ONE, dpa.NeighboringRelation.REPLACE_ONE
G = dpa.GaussianDpEvent
STEP = dpa.PoissonSampledDpEvent(0.01, G(1.1))


class TestTheirContract(contract.PrivacyAccountantTest):
    """dp_accounting.privacy_accountant_test.PrivacyAccountantTest, as it stands."""

    def _make_test_accountants(self):
        return [
            RdpkitAccountant(relation, noise_relative_to=meaning, bound=bound)
            for relation, meaning in ((ADD, None), (REPLACE, None), (REPLACE, "record_norm"))
            for bound in ("best", "best-rdp", "pld-upper")
        ]


@pytest.mark.thorough
def test_it_answers_what_rdpkit_answers():
    accountant = RdpkitAccountant(ADD)
    assert accountant.compose(STEP, 1000) is accountant
    event = unit.poisson(1.1, 0.01) * 1000
    question = {"adjacency": "add_or_remove_one"}
    assert accountant.event == event
    assert accountant.get_epsilon(1e-5) == rdpkit.epsilon(event, delta=1e-5, **question).epsilon
    assert accountant.get_delta(1.0) == rdpkit.delta(event, epsilon=1.0, **question).delta
    assert accountant.guarantee(1e-5) == rdpkit.epsilon(event, delta=1e-5, **question)


@pytest.mark.parametrize(("bound", "name"), [("best-rdp", "mironov2019"), ("pld-upper",) * 2])
def test_the_bound_can_be_chosen(bound, name):
    found = RdpkitAccountant(ADD, bound=bound).compose(STEP, 1000).guarantee(1e-5)
    assert found.bound == name
    assert found.enclosure.rigorous


@pytest.mark.thorough
def test_steps_are_merged_however_they_come():
    """One by one, repeated, nested, in turns: always two kinds of release."""
    accountant = RdpkitAccountant(ADD)
    for _ in range(50):
        accountant.compose(STEP).compose(G(30.0))
    accountant.compose(dpa.SelfComposedDpEvent(dpa.ComposedDpEvent([STEP, G(30.0)]), 50))
    accountant.compose(dpa.ComposedDpEvent([dpa.NoOpDpEvent(), STEP]), 7)
    assert [part.count for part in accountant.event.events] == [107, 100]
    at_once = RdpkitAccountant(ADD).compose(STEP, 107).compose(G(30.0), 100)
    assert accountant.get_epsilon(1e-5) == at_once.get_epsilon(1e-5)


@pytest.mark.parametrize(
    "bad",
    [
        dpa.UnsupportedDpEvent(),
        G(-1.0),
        *(
            pytest.param(bad, marks=pytest.mark.thorough)
            for bad in (
                dpa.PoissonSampledDpEvent(2.0, G(1.0)),
                dpa.ZCDpEvent(-1.0),
                dpa.SelfComposedDpEvent(G(1.0), 0),
            )
        ),
    ],
)
def test_nothing_changes_where_a_part_is_not_supported(bad):
    accountant = RdpkitAccountant(ADD).compose(STEP, 10)
    ledger, event, epsilon = accountant.ledger, accountant.event, accountant.get_epsilon(1e-5)
    mixed = dpa.ComposedDpEvent([G(1.0), STEP, bad])
    if isinstance(bad, dpa.UnsupportedDpEvent):
        assert not accountant.supports(mixed)
        error, words = dpa.UnsupportedEventError, "caused by subevent"
    else:
        # A number outside of its range is an error of the caller, as in dp-accounting.
        error, words = ValueError, "are to be non-negative, Sampling rates in"
    with pytest.raises(error, match=words):
        accountant.compose(mixed)
    for count in (0, -1):
        with pytest.raises(ValueError, match="positive"):
            accountant.compose(STEP, count)
    with pytest.raises(TypeError):
        accountant.compose("gaussian")
    assert (accountant.ledger, accountant.event) == (ledger, event)
    assert accountant.get_epsilon(1e-5) == epsilon


def test_supporting_is_not_composing():
    accountant = RdpkitAccountant(ADD)
    assert accountant.supports(dpa.SelfComposedDpEvent(STEP, 1000))
    assert accountant.event is None
    assert accountant.guarantee(1e-5) is None


def test_under_replace_one_noise_needs_a_reading():
    silent = RdpkitAccountant(REPLACE)
    assert not silent.supports(G(5.0))
    assert silent.supports(dpa.RandomizedResponseDpEvent(0.9, 4))
    with pytest.raises(dpa.UnsupportedEventError, match="noise multiplier has two readings"):
        silent.compose(G(5.0))
    found = [
        RdpkitAccountant(REPLACE, noise_relative_to=meaning).compose(G(5.0)).get_epsilon(1e-5)
        for meaning in ("record_norm", "swap_distance")
    ]
    # As dp-accounting's PLD accountant and, by a tighter route, its RDP accountant.
    assert_allclose(found, [1.555, 0.7255], rtol=1e-3)


@pytest.mark.parametrize(
    ("event", "at_zero", "at_infinity"),
    [
        (G(1.0), math.inf, 0.0),
        (dpa.LaplaceDpEvent(2.0), 0.5, 0.0),
        (dpa.ComposedDpEvent([dpa.LaplaceDpEvent(2.0), dpa.LaplaceDpEvent(4.0)]), 0.75, 0.0),
        (dpa.ComposedDpEvent([dpa.LaplaceDpEvent(2.0), G(1.0)]), math.inf, 0.0),
        (dpa.ZCDpEvent(0.1), math.inf, 0.0),
        # Nothing is known of a sample that the smaller of two neighbours cannot be drawn.
        (dpa.SampledWithoutReplacementDpEvent(10, 10, G(1.0)), math.inf, 1.0),
    ],
)
def test_the_ends_of_the_profile(event, at_zero, at_infinity):
    accountant = RdpkitAccountant(ADD).compose(event)
    assert_allclose(accountant.get_epsilon(0.0), at_zero, rtol=1e-12)
    assert accountant.get_epsilon(1.0) == 0.0
    assert_allclose(accountant.get_delta(math.inf), at_infinity, rtol=1e-12)


@pytest.mark.parametrize("delta", [-0.1, 1.1, math.nan, "1e-5"])
def test_bad_deltas(delta):
    with pytest.raises(ValueError, match=r"Expected target_delta in \[0, 1\]"):
        RdpkitAccountant(ADD).get_epsilon(delta)


@pytest.mark.parametrize("epsilon", [-0.1, math.nan, "1"])
def test_bad_epsilons(epsilon):
    with pytest.raises(ValueError, match="Expected target_epsilon to be a number >= 0"):
        RdpkitAccountant(ADD).get_delta(epsilon)


def test_the_relation_in_either_library_s_words():
    for given_ in (REPLACE, rdpkit.Adjacency.REPLACE_ONE, "replace_one"):
        assert RdpkitAccountant(given_).neighboring_relation is REPLACE
    with pytest.raises(TypeError):
        RdpkitAccountant()
    special = dpa.NeighboringRelation.REPLACE_SPECIAL
    assert RdpkitAccountant("zero-out").neighboring_relation is special
    assert RdpkitAccountant(special).neighboring_relation is special
    with pytest.raises(ValueError, match="Expected neighboring_relation to be one of"):
        RdpkitAccountant("zero")
    with pytest.raises(ValueError, match="Expected noise_relative_to to be one of"):
        RdpkitAccountant(ADD, noise_relative_to="norm")
    with pytest.raises(ValueError, match="Expected bound to be one of"):
        RdpkitAccountant(ADD, bound="pair-lower")


def test_their_calibration_takes_it():
    """dp-accounting's calibrate_dp_mechanism, at most the target, and within its tolerance."""
    sigma = dpa.calibrate_dp_mechanism(
        lambda: RdpkitAccountant(ADD, bound="best-rdp"),
        lambda noise: dpa.SelfComposedDpEvent(dpa.PoissonSampledDpEvent(0.01, G(noise)), 1000),
        target_epsilon=1.0,
        target_delta=1e-5,
        bracket_interval=dpa.LowerEndpointAndGuess(0.5, 2.0),
        tol=1e-4,
    )
    step = dpa.PoissonSampledDpEvent(0.01, G(sigma))
    found = RdpkitAccountant(ADD, bound="best-rdp").compose(step, 1000).get_epsilon(1e-5)
    assert 0.999 < found <= 1.0


def test_defect_their_accountant_is_left_half_changed():
    """A negative rho is found only after the ledger and the releases before it were taken in."""
    theirs = dpa.rdp.RdpAccountant([2.0], ADD)
    with pytest.raises(ValueError, match="rho must be >= 0"):
        theirs.compose(dpa.ComposedDpEvent([G(1.0), dpa.ZCDpEvent(-1.0)]))
    assert theirs.rdp.tolist() == [1.0]
    assert theirs.ledger != dpa.NoOpDpEvent()


def test_profiles_that_keep_a_delta():
    """Not reachable from a DpEvent; the ends of the profile are for any leaf."""
    accountant = RdpkitAccountant(ADD)
    point = CustomProfile(epsilons=(0.5,), deltas=(0.1,), adjacency="add_or_remove_one")
    accountant._counts = {point: 3}
    assert_allclose(accountant.get_delta(math.inf), 0.271, rtol=1e-12)
    assert accountant.get_epsilon(0.0) == math.inf
    assert accountant.get_epsilon(0.2) == math.inf


def test_discrete_noise_without_a_distribution_is_not_private():
    accountant = RdpkitAccountant(ADD).compose(dpe.DiscreteLaplaceDpEvent(0.0, 1))
    assert accountant.get_epsilon(0.5) == math.inf
    assert accountant.get_delta(10.0) == 1.0
