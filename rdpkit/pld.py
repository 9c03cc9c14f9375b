r"""Privacy loss distributions: upper and lower bounds on epsilon or delta of composed releases.

Guarantee
---------
From above: the hockey-stick curve of each step is sampled on a grid of epsilons and handed to
dp-accounting's pessimistic connect-the-dots construction, which dominates it; dominating pairs
compose (Zhu, Dong and Wang 2022), and composition is dp-accounting's FFT with its pessimistic
truncation.

From below: the line is cut into bins whose log-likelihood ratio is exactly a multiple of the grid
step. Telling only the bin is post-processing, so the binned pair leaks no more than the true one
(data processing), and no rounding is needed: the error falls like the square of the step where
rounding every loss down would lose half a step per release. The two unbounded bins at the ends are
rounded down.

The sums behind the FFT are floating-point sums: results are accurate, not certified, and the
guarantees made from them say so.

Source
------
Doroshenko, Ghazi, Kamath, Kumar and Manurangsi, "Connect the dots", PoPETs 2022 (arXiv 2207.04380);
Zhu, Dong and Wang, "Optimal accounting of differential privacy via characteristic function",
AISTATS 2022 (arXiv 2106.08567); binning: rdpkit, theory page "Privacy loss distributions".
"""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rdpkit.bounds import custom_profile
from rdpkit.loss import NoLossDistributionError, ProfileStep, Releases, Step
from rdpkit.numerics.gaussian_profile import log_delta

if TYPE_CHECKING:
    from collections.abc import Callable

Array = NDArray[np.float64]

# Grid points of one step: 2^20 doubles are 8 MB, and the FFT needs a small multiple of that.
_MOST_POINTS = 1 << 20
# Bins at losses above zero grow with the loss by this part of it.
_COARSENING = 0.02
_MOST_BINS = 50_000
# Mass of one step's upper tail that is moved to infinity, as a part of delta over the releases.
_TAIL = 1e-7
# Probabilities that the transforms do not resolve: the error of fft(p)**T grows with T, and so does
# this, by two orders of magnitude more than was ever seen.
_RESOLUTION = 1e-10
_RESOLUTION_OF_ONE = 1e-12
# Points of a composed distribution: eight arrays of 2^23 complex numbers are 1 GB.
_MOST_COMPOSED_POINTS = 1 << 23
# The grid of a profile that is constant reaches this far.
_LEAST_REACH = 1e-3
_ULP = 2.3e-16


@dataclass(frozen=True, slots=True, kw_only=True)
class LossBound:
    """A number from a privacy loss distribution.

    Parameters
    ----------
    value : float
        Epsilon or delta.
    step : float
        Grid step of the losses.
    change : float
        By how much the last halving of the step moved the number: the accuracy reached.
    """

    value: float
    step: float
    change: float


def epsilon_above(
    releases: Releases, *, delta: float, scale: float, accuracy: float = 1e-3, refinements: int = 6
) -> LossBound:
    """Upper bound on epsilon at ``delta``.

    Parameters
    ----------
    releases : Releases
        Steps and counts, from :func:`rdpkit.loss.alternatives`.
    delta : float
        In (0, 1).
    scale : float
        About how large the result is; sets the first grid.
    accuracy : float
        The grid is refined until halving its step moves the result by less than this part of it.
    refinements : int
        How often it may be halved; 0 gives a coarse bound, which is one all the same.
    """
    releases = _merged(releases)
    if not releases:
        return LossBound(value=0.0, step=0.0, change=0.0)

    _check_resolution(releases, delta)
    if infinite_mass(releases) > delta * (1.0 + 1e-9):
        return LossBound(value=math.inf, step=0.0, change=0.0)

    def at(step: float) -> float:
        pmf = _compose(releases, step, lambda s: _pessimistic(s, step, _tail(releases, delta)))
        return float(pmf.get_epsilon_for_delta(delta))

    return _refine(at, _first_step(releases, scale, delta), accuracy, refinements, decreasing=True)


def delta_above(
    releases: Releases,
    *,
    epsilon: float,
    scale: float,
    accuracy: float = 1e-3,
    refinements: int = 6,
) -> LossBound:
    """Upper bound on delta at ``epsilon``; ``scale`` is about the largest epsilon of interest."""
    releases = _merged(releases)
    if not releases:
        return LossBound(value=0.0, step=0.0, change=0.0)

    def at(step: float) -> float:
        pmf = _compose(releases, step, lambda s: _pessimistic(s, step, _tail(releases, 1e-12)))
        # Mass below what the sums resolve is not told apart from none: rounded up.
        return float(np.clip(pmf.get_delta_for_epsilon(epsilon), _resolution(releases), 1.0))

    return _refine(at, _first_step(releases, scale, 1e-12), accuracy, refinements, decreasing=True)


def epsilon_below(
    releases: Releases, *, delta: float, scale: float, accuracy: float = 1e-3, refinements: int = 6
) -> LossBound:
    """Epsilon that the pair given by ``releases`` exceeds at ``delta``: a lower bound."""
    releases = _merged(releases)
    if not releases:
        return LossBound(value=0.0, step=0.0, change=0.0)

    _check_resolution(releases, delta)

    def at(step: float) -> float:
        pmf = _compose(releases, step, lambda s: _binned(s, step))
        return float(pmf.get_epsilon_for_delta(delta))

    return _refine(at, _first_bin(releases, scale, delta), accuracy, refinements, decreasing=False)


def delta_below(
    releases: Releases,
    *,
    epsilon: float,
    scale: float,
    accuracy: float = 1e-3,
    refinements: int = 6,
) -> LossBound:
    """Delta that the pair given by ``releases`` has at ``epsilon``: a lower bound."""
    releases = _merged(releases)
    if not releases:
        return LossBound(value=0.0, step=0.0, change=0.0)

    def at(step: float) -> float:
        pmf = _compose(releases, step, lambda s: _binned(s, step))
        found = float(np.clip(pmf.get_delta_for_epsilon(epsilon), 0.0, 1.0))
        return found if found > _resolution(releases) else 0.0

    return _refine(at, _first_bin(releases, scale, 1e-12), accuracy, refinements, decreasing=False)


def infinite_mass(releases: Releases) -> float:
    """Probability of an infinite loss: of a delta that profiles keep at every epsilon."""
    kept = [
        count * math.log1p(-step.profile.infinite)
        for step, count in releases
        if isinstance(step, ProfileStep)
    ]
    return -math.expm1(math.fsum(kept))


def _merged(releases: Releases) -> Releases:
    """All Gaussian pairs as one: their squared distances over the noise add up, exactly."""
    squares: list[float] = []
    rest: list[tuple[Step | ProfileStep, int]] = []
    several = 0
    for step, count in releases:
        if isinstance(step, Step) and step.sampling_probability == 1.0 and step.kind == "replaced":
            squares.append(count / step.noise_multiplier**2)
            several += count
        else:
            rest.append((step, count))
    if several <= 1:
        return releases
    z = 1.0 / math.sqrt(math.fsum(squares))
    return (*rest, (Step(kind="replaced", noise_multiplier=z, sampling_probability=1.0), 1))


def _resolution(releases: Releases) -> float:
    """What the transforms may get wrong in a probability."""
    return max(_RESOLUTION, _RESOLUTION_OF_ONE * sum(count for _, count in releases))


def _check_resolution(releases: Releases, delta: float) -> None:
    resolution = _resolution(releases)
    if delta < resolution:
        raise NoLossDistributionError(
            f"Expected delta >= {resolution:g} for this privacy loss distribution, whose "
            f"floating-point sums resolve no less, got {delta!r}."
        )


def hockey_stick(step: Step | ProfileStep, epsilon: Array) -> Array:
    """The step's hockey-stick divergence at any real epsilon; for "opposed", see the bins."""
    if isinstance(step, ProfileStep):
        return custom_profile.hockey_stick(step.profile, epsilon)
    if step.kind == "added":
        return _added(step, epsilon)
    if step.kind == "removed":
        return _removed(step, epsilon)
    size = np.abs(epsilon)
    right = _removed(step, size)
    left = -np.expm1(-size) + np.exp(-size) * right
    return np.where(epsilon >= 0.0, right, left)


def _removed(step: Step, epsilon: Array) -> Array:
    """Of (1-q) N(0) + q N(1) against N(0): q delta(eps') with e^eps = 1 - q + q e^eps'."""
    q, z = step.sampling_probability, step.noise_multiplier
    shifted = np.expm1(np.minimum(epsilon, 30.0)) / q
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = np.where(epsilon < 30.0, np.log1p(shifted), epsilon - math.log(q))
    possible = shifted > -1.0
    inner = np.where(possible, inner, 0.0)
    size = np.abs(inner)
    right = np.exp(log_delta(size, z))
    with np.errstate(over="ignore"):
        value = np.where(inner >= 0.0, right, -np.expm1(-size) + np.exp(-size) * right)
    return np.where(possible, q * value, -np.expm1(np.minimum(epsilon, 0.0)))


def _added(step: Step, epsilon: Array) -> Array:
    """Of N(0) against (1-q) N(0) + q N(1): c delta(eps + log(q / c)), c = 1 - (1-q) e^eps.

    For eps >= 0, and 0 where c is not positive; no difference of nearly equal numbers is taken.
    Left of 0 it is 1 - e^eps + e^eps times the other direction's value at -eps.
    """
    q, z = step.sampling_probability, step.noise_multiplier
    size = np.abs(epsilon)
    left = -np.expm1(-size) + np.exp(-size) * _removed(step, size)
    with np.errstate(over="ignore"):
        share = q - (1.0 - q) * np.expm1(size)
    possible = share > 0.0
    safe = np.where(possible, share, 1.0)
    inner = np.where(possible, np.maximum(size + math.log(q) - np.log(safe), 0.0), 0.0)
    right = np.where(possible, safe * np.exp(log_delta(inner, z)), 0.0)
    return np.where(epsilon >= 0.0, right, left)


def _tail(releases: Releases, delta: float) -> float:
    return delta * _TAIL / sum(count for _, count in releases)


def _largest_loss(step: Step | ProfileStep, tail: float) -> float:
    """An epsilon at which the divergence is at most ``tail`` above that of infinite losses."""
    if isinstance(step, ProfileStep):
        tail += step.profile.infinite
    low, high = 0.0, 1.0
    while float(hockey_stick(step, np.array([high]))[0]) > tail:
        low, high = high, 2.0 * high
    for _ in range(60):
        middle = (low + high) / 2.0
        if float(hockey_stick(step, np.array([middle]))[0]) > tail:
            low = middle
        else:
            high = middle
    if isinstance(step, ProfileStep):
        return max(min(high, step.profile.epsilons[-1]), _LEAST_REACH)
    return high


def _first_step(releases: Releases, scale: float, delta: float) -> float:
    """A grid step that resolves the result and every single release, within memory."""
    reach = max(_largest_loss(_as_profile(step), _tail(releases, delta)) for step, _ in releases)
    wanted = min(scale / 500.0, reach / 50.0)
    step = max(wanted, reach / _MOST_POINTS * 4.0)
    # A profile's last epsilon on the grid, or a hair below it: few points then lose nothing.
    last = max(
        (s.profile.epsilons[-1] for s, _ in releases if isinstance(s, ProfileStep)), default=0.0
    )
    if last > step:
        step = last / math.ceil(last / step) * (1.0 + 4.0 * _ULP)
    return step


def _first_bin(releases: Releases, scale: float, delta: float) -> float:
    """A grid step below the smallest loss of every step, without which no bin would close."""
    reach = max(_largest_loss(_as_profile(s), _tail(releases, delta)) for s, _ in releases)
    first = max(_first_step(releases, scale, delta), reach / 2000.0)
    for step, _ in releases:
        if isinstance(step, Step) and step.sampling_probability < 1.0:
            first = min(first, -math.log1p(-step.sampling_probability) / 4.0)
    return first


def _as_profile(step: Step | ProfileStep) -> Step | ProfileStep:
    if isinstance(step, ProfileStep):
        return step
    return Step(
        kind="replaced",
        noise_multiplier=step.noise_multiplier / (2.0 if step.kind == "opposed" else 1.0),
        sampling_probability=step.sampling_probability,
    )


def _refine(
    at: Callable[[float], float],
    step: float,
    accuracy: float,
    refinements: int,
    *,
    decreasing: bool,
) -> LossBound:
    """Halve the step until the number settles; every value on the way is a valid bound."""
    try:
        best = at(step)
    except _TooFineError:
        raise NoLossDistributionError(
            f"A privacy loss distribution would need more than {_MOST_POINTS} points."
        ) from None
    if decreasing and best == 0.0:
        return LossBound(value=0.0, step=step, change=0.0)
    change = math.inf
    for _ in range(refinements):
        step /= 2.0
        try:
            value = at(step)
        except _TooFineError:
            break
        change = abs(value - best) if math.isfinite(value) else math.inf
        best = min(best, value) if decreasing else max(best, value)
        if 0.0 < change <= accuracy * abs(best):
            break
    return LossBound(value=best, step=step, change=change)


class _TooFineError(Exception):
    """The grid would need more memory than is allowed."""


def _compose(
    releases: Releases, step_size: float, pmf_of: Callable[[Step | ProfileStep], Any]
) -> Any:
    total: Any = None
    for step, count in releases:
        pmf = pmf_of(step)
        # What is composed reaches at most so far; the peer truncates, but only after it has asked
        # for memory in proportion to the standard deviation of the sum.
        if pmf.size * math.sqrt(count) > _MOST_COMPOSED_POINTS:
            raise _TooFineError
        composed = pmf.self_compose(count) if count > 1 else pmf
        total = composed if total is None else total.compose(composed)
    return total


def _pld_pmf() -> Any:
    """dp-accounting's module, imported only when a distribution is computed."""
    return importlib.import_module("dp_accounting.pld.pld_pmf")


def _pessimistic(step: Step | ProfileStep, size: float, tail: float) -> Any:
    reach = _largest_loss(step, tail)
    top = math.ceil(reach / size)
    bottom = -top
    if isinstance(step, Step):
        q = step.sampling_probability
        # Losses of "removed" are at least log(1 - q), those of "added" at most minus that.
        limit = math.ceil(-math.log1p(-q) / size) + 1 if q < 1.0 else top
        if step.kind == "removed":
            bottom = -min(top, limit)
        if step.kind == "added":
            # The lower tail of this direction is the upper tail of the other one.
            bottom = -math.ceil(_largest_loss(step.reversed(), tail) / size)
            top = min(top, limit)
    if top - bottom > _MOST_POINTS:
        raise _TooFineError
    grid = np.arange(bottom, top + 1)
    deltas = np.clip(hockey_stick(step, np.asarray(grid * size, dtype=np.float64)), 0.0, 1.0)
    return (
        _pld_pmf()
        .create_pmf_pessimistic_connect_dots(size, grid, np.minimum.accumulate(deltas))
        .to_dense_pmf()
    )


def _binned(step: Step | ProfileStep, size: float) -> Any:
    """The pair as seen through bins whose loss is a multiple of the grid step."""
    assert isinstance(step, Step)  # a profile is attained by no data sets
    backward = step.kind == "added"
    # Both directions look at the same line through the same bins.
    bins, ends = _bins(step.reversed() if backward else step, size)
    table: dict[int, float] = {}
    for multiple, first, second in bins:
        loss, mass = (-multiple, second) if backward else (multiple, first)
        table[loss] = table.get(loss, 0.0) + mass
    for first, second in ends:
        # Rounded down, so that the loss of neither direction is overstated.
        own, other = (second, first) if backward else (first, second)
        if own > 0.0 and other > 0.0:
            loss = math.floor(math.log(own / other) / size)
            table[loss] = table.get(loss, 0.0) + own
    return (
        _pld_pmf()
        .create_pmf(table, discretization=size, infinity_mass=0.0, pessimistic_estimate=False)
        .to_dense_pmf()
    )


@lru_cache(maxsize=64)
def _bins(
    step: Step, size: float
) -> tuple[tuple[tuple[int, float, float], ...], tuple[tuple[float, float], ...]]:
    """Bins as (loss in grid steps, mass under the first, under the second); masses of both ends.

    From left to right: given a bin's left edge with log-ratio below the next multiple of the
    step, the right edge is where the mean ratio over the bin reaches that multiple; it exists and
    is unique because the ratio increases along the line.
    """
    pair = _Pair(step)
    left, right = pair.ends()
    smallest, largest = pair.log_ratio(left) / size, pair.log_ratio(right) / size
    # Bins at large losses grow with them, so their number is logarithmic there.
    count = max(-smallest, 0.0) + min(max(largest, 0.0), 1.0 / _COARSENING) / _COARSENING
    if largest - smallest > _MOST_POINTS or count > _MOST_BINS:
        raise _TooFineError
    bins: list[tuple[int, float, float]] = []
    edge, width = left, 1e-3
    while edge < right:
        multiple = math.floor(pair.log_ratio(edge) / size) + 1
        # Large losses are rare: there a coarser bin costs next to nothing.
        multiple += int(_COARSENING * max(multiple, 0))
        stop = pair.bin_end(edge, math.exp(multiple * size), right, guess=width)
        if stop is None:
            break
        width = stop - edge
        first, second = pair.mass(edge, stop)
        if first > 0.0 and second > 0.0:
            bins.append((multiple, first, second))
        edge = stop
    return tuple(bins), (pair.mass(-math.inf, left), pair.mass(edge, math.inf))


class _Pair:
    """(1-q) N(0) + q N(1) against (1-q) N(0) + q N(c), variance z^2, c = 0 or -1; unit: z."""

    def __init__(self, step: Step) -> None:
        self.q = step.sampling_probability
        self.shift = 1.0 / step.noise_multiplier
        self.other = -self.shift if step.kind == "opposed" else 0.0

    def ends(self) -> tuple[float, float]:
        """Beyond these neither member has mass that matters."""
        return self.other - 9.0, self.shift + 9.0

    def log_ratio(self, x: float) -> float:
        """Logarithm of the ratio of the densities, increasing in x."""
        return self._log_mixture(x, self.shift) - (
            self._log_mixture(x, self.other) if self.other else 0.0
        )

    def _log_mixture(self, x: float, shift: float) -> float:
        exponent = shift * x - shift * shift / 2.0
        if self.q == 1.0:
            return exponent
        if exponent > 30.0:
            return (
                exponent
                + math.log(self.q)
                + math.log1p((1.0 - self.q) / self.q * math.exp(-exponent))
            )
        return math.log1p(self.q * math.expm1(exponent))

    def mass(self, left: float, right: float) -> tuple[float, float]:
        """Probabilities of an interval under both members."""
        middle = self._interval(left, right)
        first = (1.0 - self.q) * middle + self.q * self._interval(
            left - self.shift, right - self.shift
        )
        if not self.other:
            return first, middle
        second = (1.0 - self.q) * middle + self.q * self._interval(
            left - self.other, right - self.other
        )
        return first, second

    @staticmethod
    def _interval(left: float, right: float) -> float:
        """P(left < Z < right), from the side on which nothing cancels."""
        if left > 0.0:
            left, right = -right, -left
        return _phi(right) - _phi(left)

    def bin_end(self, left: float, ratio: float, limit: float, guess: float) -> float | None:
        """Right edge at which the interval's ratio of masses is ``ratio``; None if beyond."""
        low, high = 0.0, guess
        while self._excess(left, left + high, ratio) < 0.0:
            low, high = high, 2.0 * high
            if left + high > limit:
                return None
        while low == 0.0:
            middle = high / 4.0
            if self._excess(left, left + middle, ratio) < 0.0:
                low = middle
            elif middle < 1e-13:
                return left + high
            else:
                high = middle
        # Only here, because importing it takes longer than everything else of this package.
        from scipy.optimize import brentq  # noqa: PLC0415

        width = brentq(
            lambda w: self._excess(left, left + w, ratio), low, high, xtol=1e-14, rtol=1e-13
        )
        return float(left + width)

    def _excess(self, left: float, right: float, ratio: float) -> float:
        first, second = self.mass(left, right)
        return first - ratio * second


def _phi(x: float) -> float:
    return 0.5 * math.erfc(-x * math.sqrt(0.5))
