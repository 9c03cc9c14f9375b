"""Events from and to dp-accounting 0.6.0: what is kept, what is refused, and which number is right.

Where the two libraries mean the same the epsilons are compared; where dp-accounting is known to be
wrong the test says in which direction, so that a fix of theirs shows here.
"""

import math
import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import dp_accounting as dpa
    from dp_accounting import dp_event as dpe

import rdpkit
from rdpkit.events import CustomProfile
from rdpkit.interop import UnconvertibleEventError, from_dp_event, to_dp_event
from rdpkit.interop.events_from_dp_accounting import _from_table
from tests.bounds.strategies import log_uniform
from tests.events import of_papers, unit

ADD, REPLACE = rdpkit.Adjacency.ADD_OR_REMOVE_ONE, rdpkit.Adjacency.REPLACE_ONE
NORM, SWAP = "record_norm", "swap_distance"
G = dpa.GaussianDpEvent
READINGS = [(ADD, None), (ADD, NORM), (REPLACE, NORM), (REPLACE, SWAP)]


def nothing(adjacency=ADD):
    return CustomProfile(epsilons=(0.0,), deltas=(0.0,), adjacency=adjacency)


def everything(adjacency=ADD):
    return CustomProfile(epsilons=(0.0,), deltas=(1.0,), adjacency=adjacency)


def epsilon(event, adjacency=ADD, bound="best", delta=1e-5):
    return rdpkit.epsilon(event, delta=delta, adjacency=adjacency, bound=bound).epsilon


def peer(accountant, dp_event, delta=1e-5):
    """Epsilon by one of dp-accounting's accountants; None where it refuses."""
    try:
        accountant.compose(dp_event)
    except dpa.UnsupportedEventError:
        return None
    return accountant.get_epsilon(delta)


def peer_rdp(dp_event, relation=dpa.NeighboringRelation.ADD_OR_REMOVE_ONE):
    return peer(dpa.rdp.RdpAccountant(neighboring_relation=relation), dp_event)


def peer_pld(dp_event, relation=dpa.NeighboringRelation.ADD_OR_REMOVE_ONE):
    return peer(dpa.pld.PLDAccountant(relation), dp_event)


def peers(dp_event, relation=dpa.NeighboringRelation.ADD_OR_REMOVE_ONE):
    """Epsilon by dp-accounting's RDP and PLD accountants."""
    return peer_rdp(dp_event, relation), peer_pld(dp_event, relation)


NOISE = log_uniform(0.1, 50.0)
SIMPLE = st.one_of(
    NOISE.map(G),
    st.builds(dpa.PoissonSampledDpEvent, log_uniform(1e-6, 1.0), NOISE.map(G)),
    st.builds(
        lambda size, more, event: dpa.SampledWithoutReplacementDpEvent(size + more, size, event),
        st.integers(1, 100),
        st.integers(1, 1000),
        NOISE.map(G),
    ),
    st.just(dpa.NoOpDpEvent()),
    st.just(dpa.NonPrivateDpEvent()),
)
DP_EVENTS = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(dpa.ComposedDpEvent),
        # Repetitions of repetitions come back as one.
        st.builds(
            dpa.SelfComposedDpEvent,
            inner.filter(lambda event: type(event) is not dpa.SelfComposedDpEvent),
            st.integers(1, 1000),
        ),
    ),
    max_leaves=5,
)
SIZES = {"noise_std": log_uniform(1e-3, 1e3), "record_norm": log_uniform(1e-3, 1e3)}
EVENTS = st.one_of(
    st.builds(rdpkit.Gaussian, **SIZES),
    st.builds(rdpkit.PoissonSampledGaussian, **SIZES, sampling_probability=log_uniform(1e-6, 1.0)),
    st.builds(
        lambda size, more, **kwargs: rdpkit.FixedSizeSampledGaussian(
            sample_size=size, population_size=size + more, **kwargs
        ),
        st.integers(1, 50),
        st.integers(1, 1000),
        **SIZES,
        release=st.sampled_from(["sum", "mean"]),
    ),
)


def noise_of(event, adjacency):
    z = event.noise_multiplier
    return z if isinstance(z, float) else z(adjacency)


class TestRoundTrips:
    @settings(max_examples=40)
    @given(DP_EVENTS, st.sampled_from(READINGS))
    def test_of_their_events(self, dp_event, reading):
        adjacency, meaning = reading
        options = {"adjacency": adjacency, "noise_relative_to": meaning}
        if meaning == SWAP:
            assume("PoissonSampled" not in repr(dp_event))
        assert to_dp_event(from_dp_event(dp_event, **options), **options) == dp_event

    @settings(max_examples=40)
    @given(EVENTS, st.sampled_from(READINGS))
    def test_of_ours_up_to_the_unit(self, event, reading):
        """The noise in units of the norm (or distance) is kept, to the rounding of a quotient."""
        adjacency, meaning = reading
        options = {"adjacency": adjacency, "noise_relative_to": meaning}
        if meaning == SWAP:
            assume(not isinstance(event, rdpkit.PoissonSampledGaussian))
        again = from_dp_event(to_dp_event(event, **options), **options)
        assert type(again) is type(event)
        assert_allclose(noise_of(again, adjacency), noise_of(event, adjacency), rtol=1e-14)
        for name in ("sampling_probability", "sample_size", "population_size"):
            assert getattr(again, name, None) == getattr(event, name, None)

    def test_a_smaller_diameter_is_lost_on_the_safe_side(self):
        event = unit.gaussian(2.0, record_diameter=0.5)
        by_norm = {"adjacency": REPLACE, "noise_relative_to": NORM}
        by_swap = {"adjacency": REPLACE, "noise_relative_to": SWAP}
        assert to_dp_event(event, **by_norm) == G(2.0)
        assert to_dp_event(event, **by_swap) == G(4.0)
        exact = epsilon(event, REPLACE)
        assert epsilon(from_dp_event(G(4.0), **by_swap), REPLACE) == pytest.approx(exact)
        assert epsilon(from_dp_event(G(2.0), **by_norm), REPLACE) > 2.0 * exact

    def test_mechanisms_of_papers_by_what_they_expand_to(self):
        mix = of_papers.dpmix(1000, 10, 8, noise=0.5, shape=(4, 2))
        found = to_dp_event(mix, adjacency=REPLACE, noise_relative_to=SWAP)
        again = from_dp_event(found, adjacency=REPLACE, noise_relative_to=SWAP)
        assert found.count == 10
        assert_allclose(epsilon(again, REPLACE), epsilon(mix, REPLACE), rtol=1e-9)

    @pytest.mark.thorough
    def test_disjoint_parts_that_are_alike_are_one(self):
        condense = of_papers.ndpdc([6000] * 10, 100, 50, noise=1.0)
        found = to_dp_event(condense, adjacency=ADD)
        assert found == dpa.SelfComposedDpEvent(dpa.PoissonSampledDpEvent(50 / 6000, G(1.0)), 100)
        assert_allclose(epsilon(from_dp_event(found, adjacency=ADD)), epsilon(condense), rtol=1e-9)


class TestMeaningOfNoise:
    """One event of theirs, two accountants of theirs, two sensitivities."""

    def test_under_add_or_remove_one_all_agree(self):
        by_rdp, by_pld = peers(G(5.0))
        event = from_dp_event(G(5.0), adjacency=ADD)
        assert event == unit.gaussian(5.0)
        # dp-accounting's fixed orders cost 3e-4; its grid of 1e-4 as much.
        assert_allclose(epsilon(event, bound="best-rdp"), by_rdp, rtol=1e-3)
        assert_allclose(epsilon(event, bound="pld-upper"), by_pld, rtol=1e-3)

    def test_under_replace_one_each_reading_agrees_with_one_of_them(self):
        by_rdp, by_pld = peers(G(5.0), dpa.NeighboringRelation.REPLACE_ONE)
        assert (round(by_rdp, 3), round(by_pld, 3)) == (0.795, 1.555)
        norm = from_dp_event(G(5.0), adjacency=REPLACE, noise_relative_to=NORM)
        swap = from_dp_event(G(5.0), adjacency=REPLACE, noise_relative_to=SWAP)
        assert_allclose(epsilon(norm, REPLACE, "pld-upper"), by_pld, rtol=1e-3)
        assert_allclose(epsilon(swap, REPLACE, "best-rdp"), by_rdp, rtol=1e-3)

    @pytest.mark.parametrize(
        "dp_event",
        [
            G(5.0),
            dpa.SelfComposedDpEvent(dpa.ComposedDpEvent([dpa.NoOpDpEvent(), G(5.0)]), 3),
            dpa.PoissonSampledDpEvent(0.1, G(5.0)),
            dpa.SampledWithoutReplacementDpEvent(100, 10, G(5.0)),
            dpa.LaplaceDpEvent(5.0),
            dpe.DiscreteLaplaceDpEvent(0.1, 2),
        ],
    )
    def test_under_replace_one_it_has_to_be_said(self, dp_event):
        with pytest.raises(UnconvertibleEventError, match=r"two readings.*'record_norm'.*got None"):
            from_dp_event(dp_event, adjacency=REPLACE)

    def test_and_when_going_there(self):
        event = unit.gaussian(5.0)
        with pytest.raises(UnconvertibleEventError, match="two readings") as caught:
            to_dp_event(event, adjacency=REPLACE)
        assert caught.value.event is event

    @pytest.mark.parametrize(
        ("dp_event", "adjacency", "message"),
        [
            (G(5.0), ADD, "a record and its absence are compared, not two"),
            (dpa.PoissonSampledDpEvent(0.1, G(5.0)), ADD, "a record and its absence are compared"),
            (dpa.PoissonSampledDpEvent(0.1, G(5.0)), REPLACE, "may also be absent"),
        ],
    )
    def test_a_swap_that_says_nothing(self, dp_event, adjacency, message):
        with pytest.raises(UnconvertibleEventError, match=message):
            from_dp_event(dp_event, adjacency=adjacency, noise_relative_to=SWAP)

    def test_a_sample_of_fixed_size_always_swaps(self):
        dp_event = dpa.SampledWithoutReplacementDpEvent(100, 10, G(5.0))
        by_norm = from_dp_event(dp_event, adjacency=ADD)
        by_swap = from_dp_event(dp_event, adjacency=ADD, noise_relative_to=SWAP)
        assert (by_norm.noise_multiplier, by_swap.noise_multiplier) == (2.5, 5.0)

    def test_bad_choices(self):
        with pytest.raises(ValueError, match="Expected noise_relative_to to be one of"):
            from_dp_event(G(5.0), adjacency=REPLACE, noise_relative_to="clip_norm")
        with pytest.raises(ValueError, match="Expected adjacency to be one of"):
            from_dp_event(G(5.0), adjacency="bounded")
        with pytest.raises(TypeError, match="Expected dp_event to be a DpEvent, got 5"):
            from_dp_event(5.0, adjacency=ADD)
        with pytest.raises(ValueError, match="Expected event to be Event"):
            to_dp_event(G(5.0), adjacency=ADD)


class TestEveryEvent:
    def test_each_of_the_module_is_converted_or_refused_with_a_reason(self):
        """A new one in a later version shows here."""
        found = {
            name
            for name, kind in vars(dpe).items()
            if isinstance(kind, type) and issubclass(kind, dpe.DpEvent) and kind is not dpe.DpEvent
        }
        from rdpkit.interop.events_from_dp_accounting import _WHY_NOT, _from_table

        assert found == set(_WHY_NOT) | {kind.__name__ for kind in _from_table()}

    @pytest.mark.parametrize(
        ("dp_event", "reason"),
        [
            (dpa.UnsupportedDpEvent(), "stands for an operation without a description"),
            (dpa.SampledWithReplacementDpEvent(100, 10, G(1.0)), "samples with replacement"),
            (
                dpa.SingleEpochTreeAggregationDpEvent(1.0, 8),
                "may move others to another step of the tree",
            ),
        ],
    )
    @pytest.mark.parametrize("wrap", [lambda e: e, lambda e: dpa.ComposedDpEvent([G(1.0), e])])
    def test_what_is_refused(self, dp_event, reason, wrap):
        with pytest.raises(UnconvertibleEventError, match=reason) as caught:
            from_dp_event(wrap(dp_event), adjacency=ADD)
        assert caught.value.event is dp_event
        assert type(dp_event).__name__ in str(caught.value)

    def test_a_subclass_may_mean_something_else(self):
        class Tighter(dpa.GaussianDpEvent):
            pass

        with pytest.raises(UnconvertibleEventError, match="Tighter cannot be converted"):
            from_dp_event(Tighter(1.0), adjacency=ADD)

    @pytest.mark.parametrize(
        ("event", "reason"),
        [
            (
                rdpkit.CustomRdp(orders=(2.0,), values=(0.1,), adjacency=ADD),
                "no event that describes it",
            ),
            (CustomProfile(epsilons=(1.0,), deltas=(0.0,), adjacency=ADD), "a privacy profile"),
            (nothing(REPLACE), "a privacy profile"),
            (
                rdpkit.GaussianSynthesis(records=100, outputs=1, dimension=2, min_eigenvalue=0.1),
                "no event that describes it",
            ),
            (
                rdpkit.LDPDC(
                    class_sizes=[100, 200],
                    group_size=10,
                    samples_per_class=5,
                    noise_std=28.0,
                    value_bound=1.0,
                    dimension=4,
                ),
                "no event for disjoint parts",
            ),
        ],
    )
    def test_what_dp_accounting_cannot_say(self, event, reason):
        with pytest.raises(UnconvertibleEventError, match=reason):
            to_dp_event(event, adjacency=ADD)

    def test_alike_parts_are_two_where_a_record_may_move(self):
        part = unit.gaussian(1.0)
        options = {"adjacency": REPLACE, "noise_relative_to": NORM}
        with pytest.raises(UnconvertibleEventError, match="disjoint parts"):
            to_dp_event(rdpkit.Parallel(events=(part, part)), **options)
        kept = rdpkit.Parallel(events=(part, part), record_keeps_its_part=True)
        assert to_dp_event(kept, **options) == G(1.0)

    @pytest.mark.parametrize(
        ("dp_event", "name"),
        [
            (G(-1.0), "noise_multiplier"),
            (G(math.nan), "noise_multiplier"),
            (G(math.inf), "noise_multiplier"),
            (G("1"), "noise_multiplier"),
            (dpa.LaplaceDpEvent(-1.0), "noise_multiplier"),
            (dpa.PoissonSampledDpEvent(1.5, G(1.0)), "sampling_probability"),
            (dpa.PoissonSampledDpEvent(0.5, dpa.PoissonSampledDpEvent(-1, G(1.0))), "sampling_p"),
            (dpa.SampledWithoutReplacementDpEvent(10, 11, G(1.0)), "sample_size"),
            (dpa.SelfComposedDpEvent(G(1.0), 0), "count"),
            (dpa.SelfComposedDpEvent(G(1.0), 1.5), "count"),
            (dpa.ZCDpEvent(-0.1), "rho"),
            (dpa.ZCDpEvent(0.1, -0.1), "xi"),
            (dpe.DiscreteLaplaceDpEvent(0.1, 1.5), "sensitivity"),
            (dpe.MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0], [0.5, 0.4]), "sampling_probs"),
            (dpe.MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0], [1.0]), "sampling_probs"),
            (dpe.MixtureOfGaussiansDpEvent(1.0, [], []), "sensitivities"),
        ],
    )
    def test_values_outside_of_their_range(self, dp_event, name):
        with pytest.raises(UnconvertibleEventError, match=f"Expected {name}"):
            from_dp_event(dp_event, adjacency=ADD)


class TestMeaningOfEvents:
    @pytest.mark.parametrize(
        "dp_event",
        [
            dpa.NoOpDpEvent(),
            dpa.ComposedDpEvent([]),
            dpa.PoissonSampledDpEvent(0.5, dpa.NoOpDpEvent()),
            dpa.PoissonSampledDpEvent(0.0, dpa.LaplaceDpEvent(1.0)),
            dpa.ZCDpEvent(0.0),
            dpe.MixtureOfGaussiansDpEvent(1.0, [0.0], [1.0]),
        ],
    )
    def test_nothing(self, dp_event):
        assert from_dp_event(dp_event, adjacency=ADD) == nothing()

    @pytest.mark.parametrize(
        "dp_event",
        [
            dpa.NonPrivateDpEvent(),
            G(0.0),
            dpa.LaplaceDpEvent(0.0),
            dpa.PoissonSampledDpEvent(0.5, G(0.0)),
            dpa.PoissonSampledDpEvent(0.5, dpa.NonPrivateDpEvent()),
            dpa.PoissonSampledDpEvent(0.0, dpa.NonPrivateDpEvent()),
            dpe.DiscreteLaplaceDpEvent(0.0, 1),
            dpe.MixtureOfGaussiansDpEvent(0.0, [0.0, 1.0], [0.5, 0.5]),
        ],
    )
    def test_everything(self, dp_event):
        assert from_dp_event(dp_event, adjacency=ADD) == everything()

    def test_a_sample_of_a_sample(self):
        twice = dpa.PoissonSampledDpEvent(0.5, dpa.PoissonSampledDpEvent(0.25, G(2.0)))
        assert from_dp_event(twice, adjacency=ADD) == unit.poisson(2.0, 0.125)

    def test_several_gaussians_from_one_sample(self):
        """1/z^2 = 1/1 + 3/4; dp-accounting does the same."""
        several = dpa.ComposedDpEvent([G(1.0), dpa.SelfComposedDpEvent(G(2.0), 3)])
        dp_event = dpa.PoissonSampledDpEvent(0.01, several)
        event = from_dp_event(dp_event, adjacency=ADD)
        assert_allclose(event.noise_std, math.sqrt(4.0 / 7.0), rtol=1e-15)
        as_one = to_dp_event(event, adjacency=ADD)
        assert_allclose(peer_rdp(as_one), peer_rdp(dp_event), rtol=1e-12)
        for refused in (
            dpa.SampledWithoutReplacementDpEvent(100, 10, several),
            dpa.PoissonSampledDpEvent(0.01, several),
        ):
            with pytest.raises(UnconvertibleEventError, match="may depend on earlier"):
                from_dp_event(refused, adjacency=REPLACE, noise_relative_to=NORM)

    def test_a_sample_of_what_has_no_profile(self):
        for inner in (dpa.ZCDpEvent(0.1), dpa.ComposedDpEvent([dpa.LaplaceDpEvent(1.0)])):
            found = from_dp_event(dpa.PoissonSampledDpEvent(0.1, inner), adjacency=ADD)
            assert found == rdpkit.PoissonSampled(
                event=from_dp_event(inner, adjacency=ADD), sampling_probability=0.1
            )
            sample = dpa.SampledWithoutReplacementDpEvent(10, 2, inner)
            if isinstance(inner, dpa.ZCDpEvent):
                options = {"adjacency": REPLACE, "noise_relative_to": NORM}
                found = from_dp_event(sample, **options)
                zcdp = rdpkit.ZeroConcentrated(rho=0.1, adjacency=REPLACE)
                assert found == rdpkit.FixedSizeSampled(
                    event=zcdp, sample_size=2, population_size=10
                )
                assert to_dp_event(found, **options) == sample
                continue
            with pytest.raises(UnconvertibleEventError, match="no theorem here is about a sample"):
                from_dp_event(sample, adjacency=REPLACE, noise_relative_to=NORM)

    @pytest.mark.parametrize("shape", [0.0, 0.5, 1.0, math.inf])
    @pytest.mark.parametrize("adjacency", [ADD, REPLACE])
    def test_selections_samples_and_zcdp_there_and_back(self, shape, adjacency):
        options = {"adjacency": adjacency, "noise_relative_to": NORM}
        zcdp = dpa.ZCDpEvent(0.1, 0.01)
        run = dpa.ComposedDpEvent([dpa.SelfComposedDpEvent(G(2.0), 3), zcdp])
        there = dpe.RepeatAndSelectDpEvent(run, 20.0, shape)
        event = from_dp_event(there, **options)
        assert isinstance(event, rdpkit.RepeatAndSelect)
        assert to_dp_event(event, **options) == there
        sampled = dpa.PoissonSampledDpEvent(0.1, zcdp)
        assert to_dp_event(from_dp_event(sampled, adjacency=ADD), adjacency=ADD) == sampled
        stated = from_dp_event(zcdp, adjacency=adjacency)
        other = REPLACE if adjacency is ADD else ADD
        with pytest.raises(UnconvertibleEventError, match="stated for"):
            to_dp_event(stated, adjacency=other, noise_relative_to=NORM)

    def test_the_best_of_runs_that_say_nothing_or_everything(self):
        for inner, expected in ((dpa.NoOpDpEvent(), nothing()), (G(0.0), everything())):
            selected = dpe.RepeatAndSelectDpEvent(inner, 5.0, 1.0)
            assert from_dp_event(selected, adjacency=ADD) == expected

    def test_selections_outside_of_their_range(self):
        for selected in (
            dpe.RepeatAndSelectDpEvent(G(1.0), 0.5, 1.0),
            dpe.RepeatAndSelectDpEvent(G(1.0), 5.0, -1.0),
        ):
            with pytest.raises(UnconvertibleEventError, match=r"Expected (mean|shape)"):
                from_dp_event(selected, adjacency=ADD)

    def test_mixtures_of_one_shift(self):
        mixture = dpe.MixtureOfGaussiansDpEvent
        sampled = from_dp_event(mixture(2.0, [0.0, 3.0], [0.75, 0.25]), adjacency=ADD)
        assert sampled == rdpkit.PoissonSampledGaussian(
            noise_std=2.0, record_norm=3.0, sampling_probability=0.25
        )
        whole = from_dp_event(mixture(2.0, [3.0, -3.0], [0.5, 0.5]), adjacency=ADD)
        assert whole == rdpkit.Gaussian(noise_std=2.0, record_norm=3.0)
        several = from_dp_event(mixture(2.0, [1.0, -2.0, 0.0], [0.5, 0.5, 0.0]), adjacency=ADD)
        assert several == rdpkit.MixtureOfGaussians(
            noise_std=2.0, sensitivities=[1.0, 2.0], probabilities=[0.5, 0.5]
        )
        with pytest.raises(UnconvertibleEventError, match="comes, goes or contributes nothing"):
            from_dp_event(mixture(2.0, [1.0], [1.0]), adjacency=REPLACE)


class TestAgainstTheirNumbers:
    """Both right: their RDP uses 156 fixed orders and Balle's conversion, their PLD a 1e-4 grid."""

    @pytest.mark.thorough
    @pytest.mark.parametrize(
        "dp_event",
        [
            dpa.SelfComposedDpEvent(dpa.PoissonSampledDpEvent(0.01, G(1.0)), 1000),
            dpa.SelfComposedDpEvent(dpa.PoissonSampledDpEvent(0.001, G(0.8)), 5000),
            dpa.SelfComposedDpEvent(dpa.LaplaceDpEvent(20.0), 100),
            dpa.ComposedDpEvent([G(10.0), dpa.LaplaceDpEvent(10.0)]),
        ],
    )
    def test_both_accountants(self, dp_event):
        event = from_dp_event(dp_event, adjacency=ADD)
        by_rdp, by_pld = peers(dp_event)
        ours = rdpkit.epsilon(
            event, delta=1e-5, adjacency=ADD, bound="best-rdp", conversion="balle2020"
        ).epsilon
        assert ours <= by_rdp * (1.0 + 1e-6)
        assert_allclose(ours, by_rdp, rtol=0.01)
        assert_allclose(epsilon(event, bound="pld-upper"), by_pld, rtol=1e-3)

    def test_sampled_laplace_noise_is_bounded_in_both_directions_at_once(self):
        """Theirs keeps the two directions apart; one profile for both is at most 15% above here."""
        dp_event = dpa.SelfComposedDpEvent(
            dpa.PoissonSampledDpEvent(0.1, dpa.LaplaceDpEvent(2.0)), 100
        )
        theirs = peer_pld(dp_event)
        ours = epsilon(from_dp_event(dp_event, adjacency=ADD))
        assert theirs * (1.0 - 1e-3) <= ours <= 1.15 * theirs

    def test_randomised_response(self):
        dp_event = dpa.RandomizedResponseDpEvent(0.9, 4)
        event = from_dp_event(dp_event, adjacency=REPLACE)
        by_rdp, by_pld = peers(dp_event, dpa.NeighboringRelation.REPLACE_ONE)
        ours = epsilon(event, REPLACE)
        assert_allclose(ours, by_pld, rtol=1e-3)
        assert_allclose(ours, by_rdp, rtol=1e-2)
        with pytest.raises(UnconvertibleEventError, match="no answer can be added"):
            from_dp_event(dp_event, adjacency=ADD)
        for noise, buckets, found in ((0.5, 1, nothing), (1.0, 4, nothing), (0.0, 2, everything)):
            trivial = dpa.RandomizedResponseDpEvent(noise, buckets)
            assert from_dp_event(trivial, adjacency=REPLACE) == found(REPLACE)

    def test_defect_repeated_randomised_response_is_counted_once(self):
        """Their PLD accountant forgets the count: twenty answers cost what one does. Too small."""
        one = dpa.RandomizedResponseDpEvent(0.9, 4)
        twenty = dpa.SelfComposedDpEvent(one, 20)
        relation = dpa.NeighboringRelation.REPLACE_ONE
        assert peer_pld(twenty, relation) == peer_pld(one, relation)
        ours = epsilon(from_dp_event(twenty, adjacency=REPLACE), REPLACE)
        assert ours > 10.0 * peer_pld(twenty, relation)
        assert_allclose(ours, peer_rdp(twenty, relation), rtol=0.1)

    def test_defect_laplace_noise_under_replace_one_is_halved(self):
        """Their RDP accountant reads the scale over the norm as over the distance. Too small."""
        dp_event = dpa.LaplaceDpEvent(2.0)
        by_rdp, by_pld = peers(dp_event, dpa.NeighboringRelation.REPLACE_ONE)
        assert by_pld is None
        swap = from_dp_event(dp_event, adjacency=REPLACE, noise_relative_to=SWAP)
        norm = from_dp_event(dp_event, adjacency=REPLACE, noise_relative_to=NORM)
        assert_allclose(epsilon(swap, REPLACE), by_rdp, rtol=0.01)
        assert_allclose(epsilon(norm, REPLACE), 2.0 * by_rdp, rtol=0.01)

    @pytest.mark.filterwarnings("ignore")
    def test_defect_fractional_orders_are_over_estimated(self):
        """46% too large: 125.6 against 86.0 at equal orders (docs/explanation/peers.md)."""
        dp_event = dpa.SelfComposedDpEvent(dpa.PoissonSampledDpEvent(0.1, G(0.5)), 500)
        ours = epsilon(from_dp_event(dp_event, adjacency=ADD), bound="best-rdp")
        assert peer_rdp(dp_event) > 1.4 * ours

    def test_defect_fixed_size_sums_cancel(self):
        """Too large: 0.133 where the same theorems give 0.028, and others less."""
        dp_event = dpa.SampledWithoutReplacementDpEvent(1000, 500, G(100.0))
        theirs = peer_rdp(dp_event, dpa.NeighboringRelation.REPLACE_ONE)
        event = from_dp_event(dp_event, adjacency=REPLACE, noise_relative_to=SWAP)
        assert round(theirs, 3) == 0.133
        assert epsilon(event, REPLACE, "best-rdp") < 0.0283

    @pytest.mark.thorough
    def test_poisson_samples_under_replace_one(self):
        """Their pair x, -x is attained, so a lower bound, and theirs agrees with ours there."""
        dp_event = dpa.SelfComposedDpEvent(dpa.PoissonSampledDpEvent(0.01, G(1.0)), 1000)
        by_rdp, by_pld = peers(dp_event, dpa.NeighboringRelation.REPLACE_ONE)
        event = from_dp_event(dp_event, adjacency=REPLACE, noise_relative_to=NORM)
        assert by_rdp is None
        assert_allclose(epsilon(event, REPLACE, "pair-lower"), by_pld, rtol=2e-3)
        assert epsilon(event, REPLACE) >= by_pld * (1.0 - 1e-3)


def test_numpy_numbers_are_numbers():
    dp_event = dpa.SelfComposedDpEvent(
        dpa.PoissonSampledDpEvent(np.float32(0.25), G(np.float64(2.0))), np.int64(3)
    )
    event = from_dp_event(dp_event, adjacency=ADD)
    assert event == unit.poisson(2.0, 0.25) * 3


class TestBothWays:
    @pytest.mark.parametrize(
        ("event", "adjacency"),
        [
            (rdpkit.Laplace(noise_scale=2.0, record_norm=1.0), ADD),
            (rdpkit.DiscreteLaplace(noise_scale=2.0, record_norm=3), ADD),
            (rdpkit.RandomizedResponse(noise_parameter=0.25, num_buckets=4), REPLACE),
            (
                rdpkit.MixtureOfGaussians(
                    noise_std=2.0, sensitivities=[0.0, 1.0, 2.0], probabilities=[0.5, 0.25, 0.25]
                ),
                ADD,
            ),
            (rdpkit.TreeAggregation(noise_std=2.0, record_norm=1.0, steps=(5, 9)), "zero_out"),
            (
                rdpkit.TruncatedPoissonGaussian(
                    noise_std=2.0, record_norm=1.0, sampling_probability=0.1, max_batch_size=20,
                    population_size=100,
                ),
                ADD,
            ),
        ],
    )  # fmt: skip
    def test_there_and_back(self, event, adjacency):
        meaning = "record_norm" if adjacency == REPLACE else None
        there = to_dp_event(event, adjacency=adjacency, noise_relative_to=meaning)
        assert from_dp_event(there, adjacency=adjacency, noise_relative_to=meaning) == event

    def test_completed_trees(self):
        event = rdpkit.TreeAggregation(
            noise_std=2.0, record_norm=1.0, record_diameter=1.0, steps=5, completed=True
        )
        one = to_dp_event(event, adjacency="zero_out")
        assert one == dpa.SingleEpochTreeAggregationDpEvent(2.0, [8])
        swapped = to_dp_event(event, adjacency=REPLACE, noise_relative_to="swap_distance")
        assert swapped.noise_multiplier == pytest.approx(2.0, rel=1e-15)

    def test_what_this_version_does_not_have_is_named(self):
        if hasattr(dpe, "EpsilonDeltaDpEvent"):
            pytest.skip("this version has it")
        event = rdpkit.EpsilonDelta(epsilon=1.0, delta=0.0, adjacency=ADD)
        with pytest.raises(UnconvertibleEventError, match="no EpsilonDeltaDpEvent"):
            to_dp_event(event, adjacency=ADD)


@pytest.mark.parametrize("adjacency", list(rdpkit.Adjacency))
@pytest.mark.parametrize("kind", [rdpkit.Exponential, rdpkit.PermuteAndFlip])
def test_selections_mean_the_same_under_every_relation(monkeypatch, kind, adjacency):
    """Their epsilon is for the scores' sensitivity under the relation that is asked about."""

    class Selection(dpe.DpEvent):
        """Events of this kind came with later versions than the one that is installed."""

        def __init__(self, epsilon):
            object.__setattr__(self, "epsilon", epsilon)

    name = {rdpkit.Exponential: "ExponentialMechanismDpEvent"}.get(kind, "PermuteAndFlipDpEvent")
    monkeypatch.setattr(dpe, name, Selection, raising=False)
    _from_table.cache_clear()
    try:
        event = kind(epsilon=0.5)
        there = to_dp_event(event, adjacency=adjacency)
        assert there.epsilon == 0.5
        back = from_dp_event(there, adjacency=adjacency)
        assert back == event
        asked = {"delta": 1e-5, "adjacency": adjacency}
        found = rdpkit.epsilon(back * 10, **asked)
        assert found.epsilon == rdpkit.epsilon(event * 10, **asked).epsilon
        assert rdpkit.events.selection.scores.SCORES in rdpkit.epsilon(back, **asked).assumptions
    finally:
        _from_table.cache_clear()
