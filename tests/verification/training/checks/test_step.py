"""The check of one step: every mistake by its name, and correct steps not rejected."""

import dataclasses
import functools
from types import SimpleNamespace

import numpy as np
import pytest

import rdpkit
from rdpkit.verification.blackbox.mistakes import MistakeKind as Kind
from rdpkit.verification.training.checks.moment import Effect, Moment
from rdpkit.verification.training.checks.noise import (
    NoiseMeasured,
    cut_off,
    measure_noise,
    not_gaussian,
    shared_noise,
)
from rdpkit.verification.training.checks.step import check_step
from rdpkit.verification.training.events import Told, with_noise
from rdpkit.verification.training.options import TrainingOptions
from rdpkit.verification.training.updates import Update
from rdpkit.verification.training.verify_training import training_maker
from rdpkit.verification.training.zoo.parts import NumpyTraining
from tests.verification.training import loops

torch = pytest.importorskip("torch")

# Mistakes that the tables of trainings do not have; of the others `test_found.py` finds the names.
BROKEN = {
    loops.LeavesBiasesUnclipped: Kind.UNCLIPPED_PARAMETERS,
    loops.SeedsEveryStepAlike: Kind.NOISE_REPEATED,
    loops.SeedsByTheStep: Kind.NOISE_FIXED_SEED,
    loops.TakesWholeBatchesAndClipsThese: Kind.CLIPPED_AFTER_AVERAGING,
    loops.TakesWholeBatchesWithHalfTheNoise: Kind.NOISE_TOO_SMALL,
}


class FixedNoise(loops.PlainLoop):
    """The same noise in every step, whatever is seeded."""

    def noise(self, parameter):
        return torch.randn(parameter.shape, generator=torch.Generator().manual_seed(7))


class PublicColumns(NumpyTraining):
    """Columns that are known to be 0 in all records have no noise."""

    def __init__(self):
        super().__init__()
        made = np.random.default_rng(0)
        self.used = made.random(5000) < 0.8
        self.features = made.normal(size=(512, 5000)) * self.used
        self.weights = np.zeros(5000)

    def noise(self, shape):
        return super().noise(shape) * np.append(self.used, True)


class CutBelow(NumpyTraining):
    """Entries of updates are cut at a value on one side, after noise was added."""

    noise_multiplier = 0.1

    def step(self, batch):
        before = self.weights
        super().step(batch)
        self.weights = np.maximum(self.weights, before - 0.004)


@functools.cache
def checked(make, *, seed=1, **options):
    return check_step(
        training_maker(make), TrainingOptions(seed=seed, seconds=20.0, **options).seeded()
    )


@pytest.mark.thorough
@pytest.mark.parametrize("make", BROKEN, ids=lambda make: make.__name__)
def test_a_mistake_has_its_name(make):
    found = checked(make)
    assert found.rejected
    assert found.mistakes[0].kind is BROKEN[make]
    assert {mistake.kind for mistake in found.mistakes} <= {
        BROKEN[make],
        # Seeding every step alike is also seeding with a constant.
        *([Kind.NOISE_FIXED_SEED] if make is loops.SeedsEveryStepAlike else []),
    }


def test_noise_from_a_constant_is_found_where_a_module_can_be_imported_once():
    def imported_twice():
        raise ValueError("imported twice")

    maker = training_maker(FixedNoise)
    options = TrainingOptions(seed=1, seconds=4.0).seeded()
    found = check_step(dataclasses.replace(maker, anew=imported_twice), options)
    assert [one.kind for one in found.mistakes][:1] == [Kind.NOISE_REPEATED]
    assert "imported twice" in " ".join(found.notes)


@pytest.mark.thorough
def test_entries_that_nothing_touches_need_no_noise():
    maker = training_maker(lambda: PublicColumns().training())
    found = check_step(maker, TrainingOptions(seed=1, seconds=6.0).seeded())
    assert not found.mistakes


def test_updates_that_are_cut_after_noise_are_not_rejected():
    maker = training_maker(lambda: CutBelow().training())
    found = check_step(maker, TrainingOptions(seed=2, seconds=6.0).seeded())
    assert found.verdict == "inconclusive"
    assert "curved" in found.inconclusive


@pytest.mark.thorough
def test_a_step_that_takes_whole_batches_only_is_not_rejected():
    assert checked(loops.TakesWholeBatchesOnly).mistakes == ()


@pytest.mark.thorough
def test_the_bound_of_a_correct_step_is_nearly_what_was_accounted_for():
    found = checked(loops.PlainLoop)
    assert found.mistakes == ()
    (bound,) = found.bounds
    event = loops.PlainLoop().event
    truth = rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one").epsilon
    # Records are clipped, so the step attains nearly all that was accounted for; how nearly depends
    # on how many steps the time allows.
    assert 0.85 * truth < bound.epsilon <= truth


@pytest.mark.thorough
def test_what_is_left_out_is_named():
    found = checked(loops.LeavesBiasesUnclipped)
    assert "0.bias, 2.bias are left out of clipping" in found.mistakes[0].message


@pytest.mark.slow
@pytest.mark.statistical
def test_the_rate_of_false_alarms():
    # At a rate of 0.2 for the check, 50 runs have at most 19 false alarms, except with probability
    # 1e-3 (binomial tail). The check's tests are conservative, so that hardly any are seen.
    options = {"false_alarm_rate": 0.8}
    rejected = sum(checked(loops.PlainLoop, seed=seed, **options).rejected for seed in range(50))
    assert rejected <= 19


def test_more_noise_is_the_same_event_with_more_noise():
    event = rdpkit.DPSGD(noise_multiplier=1.0, dataset_size=100, batch_size=10, steps=3)
    assert with_noise(event, 2.0).noise_multiplier == 2.0
    inner = rdpkit.Gaussian(noise_std=3.0, record_norm=1.0)
    assert with_noise(rdpkit.Repeated(event=inner, count=2), 0.5).event.noise_std == 1.5
    with pytest.raises(ValueError, match="to describe DP-SGD"):
        with_noise(rdpkit.Laplace(noise_scale=1.0, record_norm=1.0), 2.0)


def _noise(draws, update):
    places = {"first": slice(0, 200), "last": slice(200, 300)}
    return NoiseMeasured(
        std={name: float(np.sqrt((draws[:, p] ** 2).mean())) for name, p in places.items()},
        degrees={name: draws[:, p].size for name, p in places.items()},
        places=places,
        draws=draws,
        update=update,
        pairs=len(draws),
    )


_RATE = 1e-3


@pytest.mark.parametrize("directions", [2, 5, 30, 150])
def test_noise_in_few_directions_is_shared_only_if_records_are_seen_beside_it(directions):
    halves = np.tile(np.eye(150), (2, 1))
    for seed in range(10):
        rng = np.random.default_rng(seed)
        for basis in (np.linalg.qr(rng.normal(size=(300, directions)))[0], halves):
            draws = rng.normal(size=(150, basis.shape[1])) @ basis.T
            inside = 20.0 * rng.normal(size=basis.shape[1]) @ basis.T
            assert shared_noise(_noise(draws, draws[0] + inside), _RATE) is None
        beside = draws[0] + rng.normal(size=300)
        assert "150 places apart" in shared_noise(_noise(draws, beside), _RATE)


@pytest.mark.parametrize("count", [4, 12, 150])
def test_entries_of_gaussian_noise_may_have_standard_deviations_of_their_own(count):
    rng = np.random.default_rng(3)
    each = rng.uniform(0.5, 1.5, size=300) if count > 4 else 1.0
    for _ in range(50 if count < 150 else 2):
        draws = each * rng.normal(size=(count, 300))
        assert not_gaussian(_noise(draws, draws[0]), 1e-4) is None
    draws = each * rng.laplace(size=(count, 300))
    assert not_gaussian(_noise(draws, draws[0]), 1e-4) > 0.02


def test_noise_without_large_draws_is_cut_off():
    rng = np.random.default_rng(5)
    each = rng.uniform(0.5, 1.5, size=300)
    for _ in range(50):
        draws = each * rng.normal(size=(100, 300))
        # By chance in one of 200 repetitions of this test.
        assert cut_off(_noise(draws, draws[0]), 1e-4) is None
    both = rng.normal(size=(2, 100, 300)).clip(-2.2, 2.2)
    draws = each * (both[0] - both[1]) / np.sqrt(2.0)
    assert cut_off(_noise(draws, draws[0]), 1e-4) < 3.6


def test_few_entries_with_nearly_all_of_the_noise_are_few_degrees_of_freedom():
    rng = np.random.default_rng(2)
    each = np.repeat([1.0, 1.0, 100.0], [200, 96, 4])

    def noise():
        draws = each * rng.normal(size=(12, 300))
        places = {"first": slice(0, 200), "second": slice(200, 296), "last": slice(296, 300)}
        parts = {name: draws[:, place] for name, place in places.items()}
        return NoiseMeasured(
            std={name: float(np.sqrt((part**2).mean())) for name, part in parts.items()},
            degrees={name: part.size for name, part in parts.items()},
            places=places,
            draws=draws,
            update=draws[0],
            pairs=12,
        )

    found = [noise() for _ in range(2000)]
    assert {one.freedom for one in found} <= {48, 49, 50, 51}
    # The estimate varies as one of 48 draws does: one standard error is a hundredth of this here.
    spread = np.std([np.log(one.typical) for one in found])
    assert spread == pytest.approx(np.sqrt(0.5 / 48), rel=0.08)


def test_entries_that_are_never_trained_are_not_counted():
    rng = np.random.default_rng(7)
    trained = np.arange(300) % 4 > 0
    draws = trained * rng.normal(size=(100, 300))
    noise = dataclasses.replace(_noise(draws, draws[0]), idle=~trained)
    found = noise.of_trained([trained * rng.normal(size=300)])
    assert found.degrees == {"first": 15_000, "last": 7_500}
    assert all(value == pytest.approx(1.0, abs=0.02) for value in found.std.values())
    # Where a record changes them they are trained, and have too little noise.
    assert noise.of_trained([np.ones(300)]).std == noise.std


class _Drawn:
    """Updates of one parameter: a matrix times independent noise."""

    def __init__(self, matrix):
        self.matrix = matrix

    def update(self, batch, seed):
        size = self.matrix.shape[1]
        vector = self.matrix @ np.random.default_rng(seed).normal(size=size)
        places = {"all": slice(0, size)}
        return Update(vector=vector, places=places, count=1, buffers=np.zeros(0), rounding=0.0)


def _moment(matrix, seed, *, change, level):
    trials = _Drawn(matrix)
    noise = measure_noise(trials, None, pairs=150, seed=seed, until=np.inf)
    effect = Effect(record=0, factor=1.0, base=0, change=change, buffers=0.0, rounding=0.0)
    return Moment(
        effects=SimpleNamespace(trials=trials, seed=seed),
        small=None,
        noise=noise,
        found=[effect],
        account=Told(sampling="poisson", noise_multiplier=1.0, rate=0.1, updates=1),
        level=level,
        limits=noise.upper(level),
        seconds=np.inf,
    )


# Ninety entries, nine in a row. That rows are centred takes a ninth of the directions away.
_ROWS = np.kron(np.eye(10), np.eye(9) - 1.0 / 9.0)
_ALONG = _ROWS @ np.random.default_rng(0).normal(size=90)
_ALONG /= np.linalg.norm(_ALONG)


@pytest.mark.thorough
def test_noise_in_a_few_directions_less_is_not_too_small():
    seen = [_moment(_ROWS, 10**6 * run, change=_ALONG, level=0.2) for run in range(30)]
    # Of 30 at a rate of 0.2, at most 14 are rejected, except with probability 1e-3 (binomial tail).
    assert sum(one.even() > one.allowed for one in seen) > 25
    assert sum(one.too_far for one in seen) <= 14
    # Nor is it said to be large enough: along other directions it might be too small.
    assert all(one.unsettled or one.too_far for one in seen if one.even() > one.allowed)


def test_a_little_less_noise_is_too_small_in_all_directions():
    seen = [_moment(0.9 * np.eye(90), 10**6 * run, change=_ALONG, level=1e-4) for run in range(10)]
    assert all(one.too_far for one in seen)
    # One over the distance is an upper limit of the noise multiplier.
    assert all(0.9 < 1.0 / one.distance() < 1.0 for one in seen)
    bare = np.eye(90) - np.outer(_ALONG, _ALONG)
    assert _moment(bare, 1, change=2.0 * _ALONG, level=1e-4).too_far
    less = _moment(0.97 * np.eye(90), 1, change=_ALONG, level=1e-4)
    assert less.unsettled
    assert 0.85 < less.distance() < less.allowed


def test_more_noise_than_was_told_has_a_limit_above_it_whatever_its_directions():
    # Two entries have 1.35 times what was told together, and all of it in their difference.
    pairs = 1.35 * np.kron(np.eye(18), [[0.5, -0.5], [-0.5, 0.5]])
    change = np.tile([1.0, -1.0], 18) / 6.0
    found = _moment(pairs, 1, change=change, level=1e-3)
    assert found.unsettled
    assert 1.35 < 1.0 / found.distance() < 1.6


def test_updates_that_are_no_numbers_show_nothing():
    found = _moment(_ROWS, 1, change=_ALONG, level=0.2)
    assert found.even() > found.allowed
    found.drawn.update({(0, 1.0, 0): np.array([*range(300), np.nan])})
    assert (found.distance(), found.too_far, found.unsettled) == (0.0, False, True)
