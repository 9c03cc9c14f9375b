"""Steps that are made again and again from one state, and the noise of their updates.

Two updates from the same state and the same batch differ by their noise alone. Over the square root
of two, the difference has the law of one noise, if that is Gaussian.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from rdpkit import _validate
from rdpkit.verification.training.batches import records_of, rows, size
from rdpkit.verification.training.state import TrainingState, random_numbers_kept
from rdpkit.verification.training.trainer import Batch, PrivateTraining
from rdpkit.verification.training.updates import Rhythm, Update, Vector, observe

_FEWEST_RECORDS = 4
_KEPT = 2**22
_FOR_THE_LAW = 200_000
_FEWEST = 16
# So many draws of an entry say what its standard deviation is.
_OF_AN_ENTRY = 8
# So many pairs of updates say which entries have no noise.
_FOR_STILL = 100
_ZEROS = 1e-3
# For noise in fewer directions than entries. By chance only power is lost.
_FOR_DIRECTIONS, _MORE_ALIKE, _BY_CHANCE = 40, 1.2, 1e-3
# Draws that are kept in any case: one alone does not show how many directions there are.
_LEAST_KEPT = 4
# Beside this, steps of floating-point numbers make a law look less smooth than it is.
_COARSE = 0.004
# Entries have the same noise if their concordance (Lin) is at least this.
_THE_SAME = 0.98
# The smallest share of an update's entries whose noise is looked for elsewhere in the update.
_SHARED = 0.02
_STEPS_OF_A_FLOAT = 4.0


class Trials:
    """Updates from the same state, with chosen batches and seeds."""

    def __init__(
        self,
        training: PrivateTraining,  # Which is put back before every trial
        *,
        records: int,  # How many records to take from the loader
        # How many calls of the step make an update. The first one has the batch of the trial, and
        # the others the same few records each time.
        rhythm: Rhythm | None = None,
        found: Batch | None = None,  # Records that were taken from the loader before
    ) -> None:
        self.training = training
        self.rhythm = rhythm or Rhythm()
        if found is None:
            before = TrainingState(training)
            with random_numbers_kept():
                found = records_of(training.loader, records)
            before.restore()
        there = 0 if found is None else size(found)
        if there < _FEWEST_RECORDS:
            raise _validate.fail("loader", f"to yield at least {_FEWEST_RECORDS} records", there)
        self.records: Batch = found
        for _ in range(self.rhythm.before):
            training.step(self.batch(0, 1))
        self.state = TrainingState(training)
        self.made = 0

    @property
    def available(self) -> int:
        """How many records there are."""
        return size(self.records)

    def batch(self, *which: int) -> Batch:
        """Records as a batch, by their places."""
        return rows(self.records, which)

    def update(self, batch: Batch, seed: int) -> Update:
        """The update from the state at the beginning, with all generators seeded."""
        self.state.restore()
        self.state.reseed(seed)
        self.made += 1
        return self.observed(batch)

    def observed(self, batch: Batch) -> Update:
        """The next update, from the present state and with the present random numbers."""
        others = [self.batch(0, 1)] * (self.rhythm.calls - 1)
        return observe(self.training, batch, *others, rhythm=self.rhythm)

    def same_again(self, batch: Batch, seed: int) -> bool:
        """Whether the same batch and seed give the same update: then noise can be cancelled."""
        first, second = self.update(batch, seed), self.update(batch, seed)
        return bool(np.array_equal(first.vector, second.vector))

    def draws_alike(self, batch: Batch, other: Batch, seed: int) -> bool:
        """Whether two batches leave the random generators alike, so that noise cancels.

        Dropout and augmentation draw more for a larger batch; then all later noise is another one.
        """
        self.update(batch, seed)
        first = self.state.random_digest()
        self.update(other, seed)
        return first == self.state.random_digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseMeasured:
    """Noise as it was seen."""

    std: dict[str, float]  # Estimated standard deviation for each parameter
    degrees: dict[str, int]  # Degrees of freedom of each estimate
    places: dict[str, slice]  # Where each parameter's part of a vector is
    draws: Vector  # Some draws of noise; shape (k, d)
    update: Vector  # An update, with its noise; shape (d,)
    pairs: int  # How many differences were made
    rounding: float = 0.0  # About how long the rounding errors of a draw are
    handed: bool = True  # Whether the noise was seen in what an optimiser was handed
    lengths: tuple[float, ...] = ()  # The lengths of all updates, each of another seed
    sparse: bool = False  # Whether the random numbers decide which entries are 0
    spread: float = 1.0
    """About how many directions the noise has for each entry: 1, or less where it is larger in some
    directions than in others, however its entries are.
    """
    extremes: tuple[tuple[float, int], ...] = ()
    """The largest entries of both signs of all updates: how large, and at which place."""
    idle: NDArray[np.bool_] | None = None  # Which entries of all updates were 0; shape (d,)
    still: NDArray[np.bool_] | None = None
    """Which entries no two updates of a pair have differed in; shape (d,). None of few pairs."""

    @property
    def uneven(self) -> bool:
        """Whether the noise is larger in some directions than in others."""
        return self.spread < 1.0

    @property
    def nowhere(self) -> bool:
        """Whether no parameter has noise."""
        return not any(self.std.values())

    def missing(self) -> list[str]:
        """Parameters without noise, though others have some."""
        largest = max(self.std.values(), default=0.0)
        return [name for name, value in self.std.items() if value <= 1e-6 * largest]

    def upper(self, failure: float) -> dict[str, float]:
        """Upper confidence limits of all standard deviations, which hold together.

        Guarantee
        ---------
        If the noise is Gaussian, all limits are above the true values except with probability
        ``failure``.
        """
        each = failure / max(1, len(self.std))
        return {
            name: value * math.sqrt(self.degrees[name] / stats.chi2.ppf(each, self.degrees[name]))
            for name, value in self.std.items()
        }

    def lower(self, failure: float, spread: float = 1.0) -> dict[str, float]:
        """Lower confidence limits of all standard deviations, which hold together."""
        each = failure / max(1, len(self.std))
        degrees = {name: spread * count for name, count in self.degrees.items()}
        return {
            name: value * math.sqrt(degrees[name] / stats.chi2.isf(each, degrees[name]))
            for name, value in self.std.items()
        }

    def of_trained(self, changes: Sequence[Vector]) -> NoiseMeasured:
        """The same without entries that no update has and no record changes, as of a mask.

        They have no noise and need none: counted, they make that of the others look smaller.
        """
        if self.idle is None:
            return self
        trained = ~self.idle | np.any([change != 0.0 for change in changes], axis=0)
        shares = {n: float(trained[p].mean()) for n, p in self.places.items() if self.std[n] > 0.0}
        return dataclasses.replace(
            self,
            std={n: s / math.sqrt(shares.get(n, 1.0)) for n, s in self.std.items()},
            degrees={n: round(k * shares.get(n, 1.0)) for n, k in self.degrees.items()},
        )

    @property
    def scale(self) -> Vector:
        """The standard deviation of each entry; infinite where there is no noise."""
        scale = np.ones(self.draws.shape[1])
        for name, place in self.places.items():
            scale[place] = self.std[name] or math.inf
        return scale

    @property
    def freedom(self) -> int:
        """The degrees of freedom of ``typical``; one for each difference where noise is uneven.

        So many equal ones would vary as much (Satterthwaite 1946): where one small parameter has
        nearly all of the noise, as with learning rates of layers, they are those of it alone.
        """
        if self.uneven:
            return self.pairs
        squares = [(self.degrees[name], value**2) for name, value in self.std.items()]
        total = sum(degrees * square for degrees, square in squares)
        fourth = sum(degrees * square**2 for degrees, square in squares)
        return round(total**2 / fourth) if fourth > 0.0 else sum(self.degrees.values())

    @property
    def typical(self) -> float:
        """The standard deviation over all parameters together."""
        total = sum(self.std[name] ** 2 * self.degrees[name] for name in self.std)
        return math.sqrt(total / max(1, sum(self.degrees.values())))


def measure_noise(
    trials: Trials, batch: Batch, *, pairs: int, seed: int, until: float
) -> NoiseMeasured:
    """Estimate the noise from differences of updates with different seeds.

    So many pairs of them are made, or as many as there is time for, with this seed and the next.
    """
    squares: dict[str, float] = {}
    kept: list[Vector] = []
    lengths: list[float] = []
    extremes: list[tuple[float, int]] = []
    rounding, handed, sparse, idle, still = 0.0, True, False, True, True
    for pair in range(pairs):
        if pair >= 2 and time.perf_counter() > until:
            break
        first = trials.update(batch, seed + 2 * pair)
        second = trials.update(batch, seed + 2 * pair + 1)
        for one in (first.vector, second.vector):
            lengths.append(float(np.linalg.norm(one)))
            extremes += extremes_of(one)
        rounding = max(rounding, first.rounding)
        handed = handed and first.seen
        idle = idle & (first.vector == 0.0) & (second.vector == 0.0)
        # Entries are 0 in one of two updates alone, and more than rounding makes so.
        differ = int(np.count_nonzero((first.vector == 0.0) != (second.vector == 0.0)))
        sparse = sparse or differ > max(1.0, _ZEROS * first.vector.size)
        noise = (first.vector - second.vector) / math.sqrt(2.0)
        still = still & (noise == 0.0)
        for name, place in first.places.items():
            squares[name] = squares.get(name, 0.0) + float(noise[place] @ noise[place])
        if (len(kept) + 1) * noise.size <= _KEPT or len(kept) < _LEAST_KEPT:
            kept.append(noise)
    places, made = first.places, len(lengths) // 2
    degrees = {name: made * (place.stop - place.start) for name, place in places.items()}
    std = {name: math.sqrt(squares[name] / max(1, degrees[name])) for name in places}
    return NoiseMeasured(
        std=std,
        degrees=degrees,
        places=places,
        draws=np.array(kept),
        update=first.vector,
        pairs=made,
        rounding=rounding,
        handed=handed,
        lengths=tuple(lengths),
        sparse=sparse,
        extremes=tuple(extremes),
        idle=np.asarray(idle),
        still=np.asarray(still) if made >= _FOR_STILL else None,
        spread=_spread(np.array(kept[:_FOR_DIRECTIONS]), std, places),
    )


def _spread(draws: Vector, std: dict[str, float], places: dict[str, slice]) -> float:
    """How many directions there are for each entry, if draws are more alike than by chance; or 1.

    Products of two draws have the number of entries as variance, and more if the noise has fewer
    directions.
    """
    values = np.concatenate(
        [draws[:, place] / std[name] for name, place in places.items() if std[name] > 0.0]
        or [np.zeros((len(draws), 1))],
        axis=1,
    )
    products = (values @ values.T)[np.triu_indices(len(values), k=1)]
    total = float(products @ products) / values.shape[1]
    if total <= _MORE_ALIKE * stats.chi2.isf(_BY_CHANCE, max(1, products.size)):
        return 1.0
    return float(products.size / total)


def extremes_of(update: Vector) -> tuple[tuple[float, int], tuple[float, int]]:
    """The largest entries of both signs: how large, and at which place."""
    places = int(update.argmax()), int(update.argmin())
    return (float(update[places[0]]), places[0]), (-float(update[places[1]]), places[1])


def not_gaussian(noise: NoiseMeasured, failure: float) -> float | None:
    """The distance from a Gaussian (Kolmogorov and Smirnov), if it is more than chance.

    Of enough draws, an entry's are divided by their length, whose law is known: entries may have
    standard deviations of their own. Signs are left out: a difference of two draws has both alike,
    and noise that is a little larger along one direction of all entries would have more of one by
    chance. Where noise has fewer directions than entries, these are not independent, and nothing is
    said. Returns None if the noise may be Gaussian.
    """
    count, values = len(noise.draws), _over_lengths(noise)
    if not values.size or noise.uneven:
        return None
    if values.size > _FOR_THE_LAW:
        values = values[:: values.size // _FOR_THE_LAW + 1]
    if count >= _OF_AN_ENTRY:
        upper = stats.beta.sf(values**2, 0.5, 0.5 * (count - 1))
    else:
        upper = stats.chi2.sf(values**2, 1)
    found = stats.kstest(upper, "uniform")
    # Of a law that is alike on both sides, half the distance is on each.
    distance = 0.5 * float(found.statistic)
    # An estimated standard deviation only brings the values nearer to the Gaussian.
    each = noise.rounding / math.sqrt(noise.draws.shape[1])
    smallest = min(noise.std[name] for name in noise.std if noise.std[name] > 0.0)
    coarse = max(_COARSE, _STEPS_OF_A_FLOAT * each / smallest)
    return distance if found.pvalue < failure and distance > coarse else None


def _over_lengths(noise: NoiseMeasured) -> Vector:
    """Draws of entries over the length of all of an entry's, or few over what was estimated."""
    rows = [np.zeros(0)]
    for name, place in noise.places.items():
        if noise.std[name] > 0.0 and noise.degrees[name] >= 100:
            draws = noise.draws[:, place]
            if len(draws) >= _OF_AN_ENTRY:
                length = np.sqrt((draws**2).sum(axis=0))
                kept = draws[:, length > 0.0] / length[length > 0.0]
            else:
                kept = draws / noise.std[name]
            rows.append(kept.ravel())
    return np.concatenate(rows)


def cut_off(noise: NoiseMeasured, failure: float) -> float | None:
    """The largest draw in standard deviations, if Gaussian noise would have a larger one.

    Squares of an entry's draws over their sum have a Dirichlet distribution, which is negatively
    associated (Joag-Dev and Proschan 1983): that all are small is at most as likely as if they were
    independent. Where noise has fewer directions than entries, nothing is said.
    """
    count, values = len(noise.draws), _over_lengths(noise)
    if count < _OF_AN_ENTRY or not values.size or noise.uneven:
        return None
    largest = float(np.abs(values).max())
    above = float(stats.beta.sf(largest**2, 0.5, 0.5 * (count - 1)))
    if values.size * math.log1p(-above) < math.log(failure):
        return largest * math.sqrt(count)
    return None


def shared_noise(noise: NoiseMeasured, failure: float) -> str | None:
    """What is alike if places of an update have the same noise, and not the same gradients.

    Independent noise is named with probability at most ``failure`` for two parameters, and as often
    for entries at a distance.

    Within an update that is seen from correlations at a distance, of which there is one for each
    number of places; between two parameters from those of their first places. Noise in fewer
    directions than entries has correlations too: where the gradients are in the same directions,
    nothing is seen without noise, and nothing is named.
    """
    scale = noise.scale
    values, update = noise.draws / scale, noise.update / scale
    count, length = values.shape
    if length < 2:
        return None
    names = [name for name in noise.places if noise.std[name] > 0.0]
    log = math.log(4.0 * max(1, math.comb(len(names), 2)) / failure)
    for one, other in combinations(names, 2):
        shorter = min(scale[noise.places[name]].size for name in (one, other))
        first, second = (noise.places[name].start + np.arange(shorter) for name in (one, other))
        total = abs(float((values[:, first] * values[:, second]).sum()))
        if total <= math.sqrt(2.0 * count * shorter * log) + 2.0 * log:
            continue
        if total > 0.5 * count * shorter and 2 * _seen(values, update, first, second) >= shorter:
            return f"{one} and {other} have the same noise"
    transformed = np.fft.rfft(values, n=2 * length, axis=1)
    lags = np.fft.irfft((np.abs(transformed) ** 2).sum(axis=0), n=2 * length)[1:length]
    overlap = count * np.arange(length - 1, 0, -1)
    # Products of independent normals over k places have a sum below this, except with the
    # probability of failure (Bernstein, for the square root of k and the tail).
    log = math.log(4.0 * length / failure)
    limit = np.sqrt(2.0 * overlap * log) + 2.0 * log
    excess = np.abs(lags) - limit
    lag = 1 + int(np.argmax(np.where(np.abs(lags) > _SHARED * count * length, excess, -1.0)))
    share = abs(lags[lag - 1]) / (count * length)
    if excess[lag - 1] <= 0.0 or share <= _SHARED:
        return None
    start = np.arange(length - lag)
    if _seen(values, update, start, start + lag) < _SHARED * length:
        return None
    return (
        f"entries that are {lag} places apart have the same noise (correlation {share:.2f} "
        "over the whole update)"
    )


def _seen(
    values: Vector, update: Vector, first: NDArray[np.int64], second: NDArray[np.int64]
) -> int:
    """How many pairs of entries have the same noise, so that what is between them is seen."""
    one, other = values[:, first], values[:, second]
    products = 2.0 * (one * other).sum(axis=0)
    alike = products / np.maximum((one**2 + other**2).sum(axis=0), 1e-300)
    between = np.abs(update[first] - np.sign(alike) * update[second])
    # What remains of noise, and of updates that are as much alike as their noise.
    apart = np.sqrt(2.0 * np.maximum(0.0, 1.0 - np.abs(alike)))
    seen = between > 1e-3 + 4.0 * apart * max(1.0, float(np.abs(update).max()))
    return int(np.count_nonzero(seen & (np.abs(alike) > _THE_SAME)))


def repeated(
    # Updates, in the order of the steps, and the fresh noise of each, measured with other seeds
    # from the same states.
    updates: Sequence[tuple[Vector, NoiseMeasured]],
    # How often a standard deviation may be below its limit, and updates with fresh noise that near
    # to each other.
    failure: float,
    # How many directions the noise has for each entry, at most 1. Half of them are counted where it
    # is larger in some than in others, because the lengths of such noise vary more.
    spread: float,
) -> tuple[int, int, bool] | None:
    """Two updates of a training whose noise is the same, if there are any, or but for its sign.

    Guarantee
    ---------
    If each update has fresh Gaussian noise, whatever it keeps of the noise before, or independent
    noise that was drawn before, a pair is returned with probability at most twice ``failure``:
    given all that came before, the squared distance of an update from an earlier one, or from its
    negative, is at least a chi-squared variable, whatever the gradients are, times the variance of
    its fresh noise, which is above its lower confidence limit. Whether the noise has another sign
    is returned as well.
    """
    spread = spread if spread == 1.0 else 0.5 * spread
    places = updates[0][1].places
    parts = [name for name, place in places.items() if place.stop - place.start >= _FEWEST]
    pairs = math.comb(len(updates), 2)
    if not parts or not pairs:
        return None
    lower = [noise.lower(failure / len(updates), spread) for _, noise in updates]
    for late, early in ((j, i) for j in range(len(updates)) for i in range(j)):
        for name, negative in product(parts, (False, True)):
            one, other = (updates[step][0][places[name]] for step in (late, early))
            part = one + other if negative else one - other
            least = stats.chi2.ppf(0.5 * failure / (pairs * len(parts)), spread * part.size)
            # Noise that was drawn before, and is not in the earlier update, adds to that of it.
            fresh = lower[late][name] or lower[early][name]
            if float(part @ part) < fresh**2 * least / spread:
                return early, late, negative
    return None
