"""What is seen of a step from one state of a training: noise, what records change, what is kept.

What one record changes is exact, because the noise is the same with and without the record. Where
the batch grows by the record, the change is its clipped gradient. Where batches have a fixed size,
the record takes another one's place, and half the change is what one record may move. Whether
updates are changed after noise was added is looked at first: then noise cannot be seen beside
records.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from scipy import stats

from rdpkit.verification.blackbox.mistakes import Mistake, MistakeKind, mistake_of
from rdpkit.verification.training.batches import joined, scaled, size
from rdpkit.verification.training.checks.noise import (
    NoiseMeasured,
    Trials,
    extremes_of,
    measure_noise,
)
from rdpkit.verification.training.events import POISSON, TRUNCATED, UNKNOWN, Told, told
from rdpkit.verification.training.state import Held
from rdpkit.verification.training.trainer import Batch, PrivateTraining
from rdpkit.verification.training.updates import Rhythm, Update, Vector

_RECORDS = 24
_PAIRS = 150
_TRIED = 6
# Whether the noise along a change is too small is seen after so many updates, and earlier where it
# is by more than so many standard errors too large or too small. It is looked at for two effects,
# because some records may be left out of account.
_ENOUGH_ALONG, _MOST_ALONG, _CLEARLY = 512, 4096, 5.0
_FEWEST_ALONG, _SHARE_ALONG, _SEEDS_ALONG = 200, 0.4, 60_000
_LOOKS = 4
# Rounding and the small constants that libraries add to norms; a mistake is larger than this.
_TOLERANCE = 2e-3


FACTORS = (1.0, 10.0, 100.0)
SMALL, LARGE = 2, 8
# With equal seeds nothing is random in a difference of updates, so that comparing them has no error
# rate: what could be taken for an effect is rounding alone. ``Effect.rounding`` is a unit in the
# last place of every entry, and a sum of n terms is off by about sqrt(n) / 2 of these.
ROUNDED = 5.0
"""The rounding errors of sums of a hundred terms, which are subtracted from a difference."""
ROUNDED_LEAST = 3.0
"""The same where the rest is divided by a limit of the noise, which is on the safe side itself."""
MOVED = 10.0
"""A parameter moves with a record if it does by more than this many rounding errors."""
CLEAR = 20.0
"""Differences are compared with each other if they are clear of so many: those of 1,600 terms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What one record changed."""

    record: int  # Which record
    factor: float  # What its features were multiplied with
    base: int  # Which batch it joined
    change: Vector
    """The change of the update, or half of it where the record took another one's place."""
    buffers: float  # How much the model's buffers changed
    rounding: float  # About how long the rounding errors of ``change`` are

    @property
    def length(self) -> float:
        """How far the update moved."""
        return float(np.linalg.norm(self.change))


@dataclass(slots=True, eq=False)
class Effects:
    """Effects of records on updates."""

    trials: Trials  # Makes the updates
    _: KW_ONLY
    seed: int  # Of all updates
    joins: bool  # Whether batches grow by the record; otherwise it takes another one's place
    width: int | None = None  # The size of every batch, where the step takes no other
    bases: list[list[int]] = field(init=False)  # Two batches, by the places of their records
    records: list[int] = field(init=False)  # The places of records that are looked at
    _before: dict[int, Update] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        there = self.trials.available
        half = max(2, there // 2)
        small, large = list(range(min(SMALL, half))), list(range(min(self.width or LARGE, half)))
        others = list(range(len(large), min(2 * len(large), there)))
        # With batches of a fixed size both bases have it. They hold different records but for the
        # last one, whose place is taken.
        if not self.joins:
            small = [*(others + large)[: len(large) - 1], large[-1]]
        self.bases = [small, large]
        self.records = [one for one in reversed(range(there)) if one not in large] or [there - 1]

    def of(self, record: int, factor: float, base: int) -> Effect | None:
        """The effect of one record that joins a base, or takes the last one's place.

        None if its features cannot be multiplied.
        """
        joining = self.record(record, factor)
        if joining is None:
            return None
        others, before = self.bases[base], self.before(base)
        around = others if self.joins else others[:-1]
        after = self.trials.update(joined([self.trials.batch(*around), joining]), self.seed)
        share = 1.0 if self.joins else 0.5
        buffers = after.buffers - before.buffers
        return Effect(
            record=record,
            factor=factor,
            base=base,
            change=share * (after.vector - before.vector),
            buffers=float(np.abs(buffers).max()) if buffers.size else 0.0,
            rounding=share * (after.rounding + before.rounding),
        )

    def before(self, base: int) -> Update:
        """The update of a base without another record."""
        if base not in self._before:
            self._before[base] = self.trials.update(self.trials.batch(*self.bases[base]), self.seed)
        return self._before[base]

    def record(self, place: int, factor: float) -> Batch | None:
        """One record, with its features multiplied; None if they are no real numbers."""
        one = self.trials.batch(place)
        return one if factor == 1.0 else scaled(one, factor)

    def together(self, places: list[int], other: Batch) -> Batch:
        """Records by their places and one more, as a batch."""
        return joined([self.trials.batch(*places), other]) if places else other

    def all(self, *, records: int, until: float) -> Iterator[Effect]:
        """Effects of several records, with features as they are and multiplied, on both bases."""
        for number, record in enumerate(self.records[:records]):
            for factor in FACTORS:
                if number >= 2 and time.perf_counter() > until:
                    return
                for base in range(2):
                    found = self.of(record, factor, base)
                    if found is not None and np.isfinite(found.change).all():
                        yield found


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What is seen of the steps from one state of the training."""

    effects: Effects  # Makes the updates
    small: Batch  # A batch of as few records as the step takes
    noise: NoiseMeasured
    found: list[Effect]  # What records changed; empty if noise does not cancel
    account: Told
    level: float  # The error rate of each test
    limits: dict[str, float]
    """Upper limits of the standard deviation of each parameter's noise, which hold together."""
    seconds: float  # How long the noise along a change may be looked at
    drawn: dict[tuple[int, float, int], Vector] = field(default_factory=dict)
    """Updates with noise of their own, along effects and in units of these."""
    divided: bool = False
    """Whether the noise is known to be divided by the number of records at hand."""

    @property
    def told(self) -> float:
        """The noise multiplier that the accountant was told; 0 if none."""
        return self.account.noise_multiplier or 0.0

    def farthest(self, factor: float | None = None, place: slice = slice(None)) -> float:
        """How far records, or those with features of this size, move some parameters at most."""
        found = [one.change[place] for one in self.found if factor in (None, one.factor)]
        return max((float(np.linalg.norm(change)) for change in found), default=0.0)

    @property
    def growth(self) -> float:
        """How much further the largest features move an update than those of a tenth the size."""
        ten, hundred = self.farthest(10.0), self.farthest(100.0)
        return hundred / ten if ten > 0.0 else 0.0

    def distances(self, effect: Effect) -> dict[str, float]:
        """How far each parameter was moved, in standard deviations of its noise, at least."""
        found = {}
        for name, place in self.noise.places.items():
            moved = float(np.linalg.norm(effect.change[place]))
            moved = max(0.0, moved - ROUNDED_LEAST * effect.rounding)
            limit = self.limits[name]
            found[name] = 0.0 if moved == 0.0 else (moved / limit if limit > 0.0 else math.inf)
        return found

    def estimated(self) -> list[dict[str, float]]:
        """The distances by estimates and not limits, which are on the safe side.

        These are by more for a small parameter.
        """
        estimates = dataclasses.replace(self, limits=self.noise.std)
        return [estimates.distances(effect) for effect in self.found]

    def even(self) -> float:
        """The largest distance of all effects, if noise is as large in all directions."""
        return max((total(self.distances(one)) for one in self.found), default=0.0)

    def distance(self) -> float:
        """A lower limit of the largest distance; one over it bounds the noise multiplier above.

        Zero if the updates are no numbers.

        Guarantee
        ---------
        If the noise is Gaussian and no record moves an update further than was told, this is at
        most what was told, except with probability ``level``, whatever the covariance of the noise
        is: telling two updates apart by a projection is one way to do it. Its direction is chosen
        before the updates are made that show the noise along it.
        """
        even = self.even()
        if even <= self.allowed or even == math.inf:
            return even
        seen = self._along()
        if not np.isfinite(seen).all():
            return 0.0
        smallest = stats.chi2.ppf(self.level / _LOOKS, seen.size - 1)
        return min(even, math.sqrt(smallest / seen.size) / max(float(seen.std()), 1e-300))

    def _along(self) -> Vector:
        """Updates along the farthest effect, in units of it."""
        effect = max(self.found, key=lambda one: total(self.distances(one)))
        key = effect.record, effect.factor, effect.base
        if key in self.drawn:
            return self.drawn[key]
        direction, moved = np.zeros_like(effect.change), 0.0
        for name, distance in self.distances(effect).items():
            place = self.noise.places[name]
            if distance > 0.0:
                direction[place] = effect.change[place] / self.noise.std[name] ** 2
                clear = (
                    float(np.linalg.norm(effect.change[place])) - ROUNDED_LEAST * effect.rounding
                )
                moved += float(np.linalg.norm(direction[place])) * clear
        trials, seed = self.effects.trials, self.effects.seed + _SEEDS_ALONG * (1 + len(self.drawn))
        until = time.perf_counter() + self.seconds
        values: list[float] = []
        for count in range(_MOST_ALONG):
            if count == _ENOUGH_ALONG:
                apart = math.log(max(float(np.std(values)) * self.allowed, 1e-300))
                if abs(apart) > _CLEARLY / math.sqrt(2.0 * count):
                    break
            if count >= _FEWEST_ALONG and time.perf_counter() > until:
                break
            values.append(float(direction @ trials.update(self.small, seed + count).vector) / moved)
        return self.drawn.setdefault(key, np.array(values))

    @property
    def unsettled(self) -> bool:
        """Whether the noise is too small only if it is as large in all directions."""
        even = self.even()
        return self.allowed < even < math.inf and not self.too_far

    @property
    def allowed(self) -> float:
        """The largest distance for which the step is what was told."""
        return (1.0 + _TOLERANCE) / self.told if self.told else math.inf

    @property
    def too_far(self) -> bool:
        """Whether a record moves an update further than was told."""
        return bool(self.found) and self.distance() > self.allowed

    @property
    def strongest(self) -> Batch:
        """A small batch with the record of 100 times the features that moves it farthest."""
        effects = self.effects
        large = [one for one in self.found if one.factor == FACTORS[-1]]
        place = max(large, key=lambda one: one.length).record if large else effects.records[0]
        joining = effects.record(place, FACTORS[-1])
        if joining is None:
            return self.small
        return effects.together(effects.bases[0][1:], joining)


def total(distances: dict[str, float], without: frozenset[str] = frozenset()) -> float:
    """The distance over all parameters, but for some."""
    return math.sqrt(sum(value**2 for name, value in distances.items() if name not in without))


def look_at(
    training: PrivateTraining,
    rhythm: Rhythm,
    *,
    seed: int,
    until: float,
    level: float,
    pairs: int = _PAIRS,
    records: int = _TRIED,
    there: Batch | None = None,
) -> Moment:
    """Measure the noise, and what records change, from the present state."""
    now, account = time.perf_counter(), told(training.event)
    trials = Trials(training, records=_RECORDS, rhythm=rhythm, found=there)
    width = _only_width(trials)
    joins = width is None and account.sampling in (POISSON, TRUNCATED, UNKNOWN)
    if width is not None and there is None:
        trials = Trials(training, records=2 * width + _TRIED, rhythm=rhythm)
    least = SMALL if joins else min(width or LARGE, trials.available // 2)
    small = trials.batch(*range(least))
    noise = measure_noise(trials, small, pairs=pairs, seed=seed, until=now + 0.4 * (until - now))
    effects = Effects(trials, seed=seed, joins=joins, width=width)
    found: list[Effect] = []
    if not noise.nowhere:
        cancels = trials.same_again(small, seed) and trials.draws_alike(
            small, trials.batch(*effects.bases[1], *effects.records[: int(joins)]), seed
        )
        if cancels:
            found = list(effects.all(records=records, until=until))
            noise = noise.of_trained([one.change for one in found])
    return Moment(
        effects=effects,
        small=small,
        noise=noise,
        found=found,
        account=account,
        level=level,
        limits=noise.upper(level),
        seconds=_SHARE_ALONG * (until - now),
    )


def _only_width(trials: Trials) -> int | None:
    """The size of the loader's batches if the step takes no small ones; None if it does."""
    try:
        for count in (SMALL, SMALL + 1, LARGE, LARGE + 1):
            trials.update(trials.batch(*range(min(count, trials.available))), 0)
    except ValueError:
        return next((size(batch) for batch in trials.training.loader if size(batch) > 1), None)
    return None


_FEWEST_ENTRIES = 8
_EQUAL, _CLAMPED = 1e-3, 3
_OTHER_SEEDS = 20_000
# Beside what a record changes, which is compared with the noise to a few thousandths.
_BENT_BY = 0.005
_FOR_SOME = 20


class Changed(StrEnum):
    """Why what a record changes cannot be compared with the noise in updates."""

    SCALED = (
        "updates are scaled by their own size after noise was added, as Adam does, and no "
        "optimiser of torch was seen that is handed the noisy gradient; so what one record changes "
        "beside the noise was not looked at. Check the step with plain gradient descent in its "
        "place"
    )
    SPARSE = (
        "random numbers decide which entries an update has, so what one record changes was not "
        "compared with the noise. Check the step with all entries, or with the same ones in each "
        "step"
    )
    BENT = (
        "updates are a curved function of the sum with noise, so that the same noise moves two "
        "batches differently, and what one record changes was not compared with the noise. Check "
        "the step with plain gradient descent in its place"
    )


def changed_after_noise(moment: Moment) -> Changed | None:
    """Why what a record changes beside the noise cannot be seen in updates; None if it can."""
    if moment.noise.sparse:
        return Changed.SPARSE
    if _scaled_after_noise(moment):
        return Changed.SCALED
    # Whether a batch with a large record shows the same noise as another one differently.
    bent = bool(moment.found) and _bends(moment, moment.strongest, _OTHER_SEEDS, pairs=2)
    return Changed.BENT if bent else None


def _scaled_after_noise(moment: Moment) -> bool:
    """Whether updates are changed after noise was added: scaled to one length, or cut at some.

    So they are if they have one length whatever the noise is, or entries of one size, as Adam's; if
    the two longest of them are of one length; or if several entries are, in one update or another,
    of the largest size of all.
    """
    effects = moment.effects
    batches = [moment.small, moment.small, moment.strongest, moment.strongest]
    if effects.width is None:
        batches += [effects.together(effects.bases[1][:-1], moment.strongest)] * 2
    # Equal seeds would give equal lengths where a record changes nothing.
    updates = [
        effects.trials.update(batch, effects.seed + _OTHER_SEEDS + place).vector
        for place, batch in enumerate(batches)
    ]
    several = updates[0].size >= _FEWEST_ENTRIES
    lengths = np.array(moment.noise.lengths)
    # Lengths vary about as one entry of the noise does, however long updates are.
    same = _EQUAL * moment.noise.typical
    if several and float(np.ptp(lengths)) < same:
        return True
    second, longest = np.sort([*lengths, *map(np.linalg.norm, updates)])[-2:]
    # Where noise is cut off before it is added, only entries with equal gradients are that large.
    extremes = [*moment.noise.extremes, *itertools.chain(*map(extremes_of, updates))]
    largest = max(extreme for extreme, _ in extremes)
    clamped = len({place for extreme, place in extremes if extreme == largest}) >= _CLAMPED
    if several and (longest - second < same or clamped):
        return True
    entries = np.abs(np.concatenate(updates[:2]))
    typical = float(np.median(entries))
    near = np.abs(entries - typical) < _EQUAL * typical
    return not moment.noise.handed and bool(near.mean() > 0.5)


def bends_sometimes(moment: Moment) -> bool:
    """Whether some noise shows differently in a batch of all records, as a noisy divisor does."""
    trials = moment.effects.trials
    if moment.effects.width is not None or not moment.found:
        return False
    everything = trials.batch(*range(trials.available))
    return _bends(moment, everything, 2 * _OTHER_SEEDS, pairs=_FOR_SOME)


def _bends(moment: Moment, other: Batch, further: int, *, pairs: int) -> bool:
    """Whether another batch than the small one shows the same noise differently.

    Differences of two seeds are compared for several pairs of seeds. Whatever a batch does to the
    scale of each entry is the same for all; only a curved function of the sum with noise is not.
    """
    trials, seed = moment.effects.trials, moment.effects.seed + further

    def differences(batch: Batch) -> Iterator[tuple[Vector, float]]:
        """What two seeds change, and its rounding errors."""
        for place in range(pairs):
            one, two = (trials.update(batch, seed + 2 * place + more) for more in (0, 1))
            yield one.vector - two.vector, one.rounding + two.rounding

    small, large = list(differences(moment.small)), list(differences(other))
    (first, rounding), (third, more) = small[0], large[0]
    apart = 0.0
    for (second, _), (fourth, _) in zip(small[1:], large[1:], strict=True):
        length = np.maximum(np.hypot(first, second), 1e-300)
        bend = (third * second - fourth * first) / length
        apart = max(apart, float(np.linalg.norm(bend)))
    return apart > max(_BENT_BY * moment.farthest(), CLEAR * (rounding + more))


def bends_with(moment: Moment, effect: Effect) -> bool:
    """Whether the same noise shows differently in some entries once a record has joined a batch.

    A batch may change the scale of a parameter's noise. If it does so for some entries alone, they
    are cut off, or left out, or curved in another way after noise was added.
    """
    probes = [dataclasses.replace(moment.effects, seed=moment.effects.seed + n) for n in (1, 2)]
    found = [probe.of(effect.record, effect.factor, effect.base) for probe in probes]
    one, two = [again for again in found if again is not None]
    noise = np.subtract(*[probe.before(effect.base).vector for probe in probes])
    bend, rounding = one.change - two.change, one.rounding + two.rounding
    for place in moment.noise.places.values():
        part = noise[place]
        bend[place] -= part * (float(part @ bend[place]) / max(float(part @ part), 1e-300))
    return float(np.linalg.norm(bend)) > max(_BENT_BY * moment.farthest(), CLEAR * rounding)


_DIFFERS = 1e-5
_SHOWN = 3


def carried_mistakes(moment: Moment) -> Iterator[Mistake]:
    """State that changes with the batch, not with the noise, and that the next update shows.

    It is looked for where each record is told to be in one update at a time.

    After one step, every array that the training holds is compared between two seeds and between
    two batches. What is the same for both seeds and differs between the batches has no noise. If
    the next update changes when that alone is exchanged, it releases the batch before it without
    noise. Lists of losses for a plot change with the batch as well, but no update does with them.
    """
    effects, trials, seed = moment.effects, moment.effects.trials, moment.effects.seed
    count = len(effects.bases[0])
    places = [place for place in effects.bases[1] + effects.records if place >= count][:count]
    if moment.account.sampling == UNKNOWN or not moment.found or len(places) < count:
        return
    one, other = trials.batch(*effects.bases[0]), trials.batch(*places)

    def held(batch: Batch, noise: int) -> dict[str, Held]:
        trials.update(batch, noise)
        return trials.state.held()

    first, noise, changed = held(one, seed), held(one, seed + 1), held(other, seed)
    # This shows what is not put back between trials.
    again = held(one, seed)
    if first.keys() != again.keys() or any(first[place].differs(again[place]) for place in first):
        return
    clean = [
        place
        for place in first
        if place in noise
        and place in changed
        and first[place].differs(changed[place])
        and not first[place].differs(noise[place])
    ]
    shown = [
        place
        for place in clean
        # A learning rate scales updates, which are looked at before that where torch makes them.
        if place.endswith("['lr']") or _shows(trials, one, place, changed[place], seed)
    ]
    if shown:
        names = ", ".join(shown[:_SHOWN]) + (" and others" if len(shown) > _SHOWN else "")
        yield mistake_of(MistakeKind.STATE_HOLDS_DATA, names=names)


def _shows(trials: Trials, batch: Batch, place: str, exchanged: Held, seed: int) -> bool:
    """Whether the next update changes with this state alone."""
    updates: list[Any] = []
    for exchange in (False, True):
        trials.update(batch, seed)
        if exchange:
            held = trials.state.held().get(place)
            if held is None or not held.put(exchanged.value):
                return False
        trials.state.reseed(seed + 2)
        updates.append(trials.observed(batch))
    first, second = updates
    apart = float(np.linalg.norm(first.vector - second.vector))
    length = float(np.linalg.norm(first.vector))
    return bool(apart > max(_DIFFERS * length, CLEAR * (first.rounding + second.rounding)))
