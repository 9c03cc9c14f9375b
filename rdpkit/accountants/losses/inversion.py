r"""Sums of many independent losses by Fourier inversion along a tilted line, with a proven error.

A composition is smoothed: one more release is added to it, of Gaussian noise so strong that it
tells next to nothing. A mechanism with one more release dominates the one without, and a test may
add noise of its own to what it sees, so that bounds from both sides remain bounds. Once smoothed,
a sum of losses needs few frequencies, however fine its losses are: they are not put onto a grid.

Guarantee
---------
Let S be the sum of losses L_i with masses p_i, and f(x) = E[k(S - x)] for a k >= 0 with the
two-sided Laplace transform kernel(s), so that the transform of f is Phi(s) kernel(s) with
Phi(s) = E[e^(s S)]. For any tilt t > 0 and any frequency h, with W = 2 pi / h, the sum of Poisson
says

    Sum_k e^(t (x + k W)) f(x + k W) = h / (2 pi) Sum_j e^(-i j h x) Phi(s_j) kernel(s_j),

s_j = t + i j h, over all integers k and j. No term on the left is negative, so that the right side
is an upper bound on e^(t x) f(x), and the terms with k != 0, the aliases, are bounded by Chernoff's
inequality. Proofs, and the errors of floats, are on the theory page "Certified loss distributions".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from flint import acb, acb_mat, arb, ctx

from rdpkit.accountants.losses.grid import Grid, Tilted
from rdpkit.accountants.losses.guide import Array, Saddle
from rdpkit.numerics.balls import float_above
from rdpkit.numerics.fourier import TINY, Numbers, U

_BITS = 128
# Phases are products of two: of one from a table of 2^6, and of one for a row of such.
_INNER = 6
_TABLE_BITS = 192
# The precision of transforms in balls, and by how much their rounded copies may be off.
_EXACT_BITS, _ROUGH_OFF = 144, 1e-14
# Transforms below e^-60 of the largest one are not computed, but counted as an error.
_NEGLIGIBLE = 60.0
# The logarithm of the part of the answer that aliases, and frequencies left out, may contribute.
_LOG_REST = math.log(1e-7)
# How many terms are summed one after the other, and numbers of a table in memory at once.
_CHUNK, _AT_ONCE = 64, 1 << 20
# Distances of the tilts that are tried for the bound on aliases, in standard deviations.
_APART = np.geomspace(0.1, 64.0, 12)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The points t + i j h at which a transform is inverted."""

    deviation: float  # Standard deviation of the noise that smooths the sum
    frequency: float  # h
    count: int  # The largest j
    in_balls: bool = False  # Whether all is computed in balls, where doubles have too few digits

    @classmethod
    def fitted(
        cls,
        # At a distance from the tilt: about the logarithm of Phi there.
        cumulant: Callable[[float], float],
        at: Saddle,  # What is asked for
        deviation: float,  # Standard deviation of the noise
    ) -> Line:
        """The line on which little comes from aliases, and from frequencies that are left out."""
        small = at.log_share + _LOG_REST + cumulant(0.0)
        ends: list[float] = []
        for sign in (1.0, -1.0):
            apart: list[float] = (_APART / at.deviation).tolist()
            apart = [d if sign > 0.0 else min(d, at.tilt) for d in apart]
            ends.append(min([(cumulant(sign * d) - small) / d - sign * at.epsilon for d in apart]))
        frequency = 2.0 * math.pi / (max(ends) + 8.0 * deviation)
        last = math.sqrt(2.0 * max(-_LOG_REST - at.log_share, 1.0)) / deviation
        return cls(deviation=deviation, frequency=frequency, count=math.ceil(last / frequency) + 1)

    def refitted(self, parts: Sequence[tuple[Tilted, int]], grid: Grid, at: Saddle) -> Line:
        """The same for distributions as they are."""
        found = self.fitted(lambda apart: cumulant(parts, grid, apart), at, self.deviation)
        return replace(found, in_balls=self.in_balls)


def cumulant(parts: Sequence[tuple[Tilted, int]], grid: Grid, apart: float) -> float:
    """About the logarithm of Phi at a distance from the grid's tilt, without scales."""
    found = 0.0
    for one, count in parts:
        exponents = (apart * grid.step) * one.indices
        top = float(exponents.max())
        found += count * (top + math.log(float((one.masses * np.exp(exponents - top)).sum())))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """What is asked of a sum."""

    smoothed: Callable[[acb, arb], acb]
    """At s and the square of the noise's deviation: the logarithm of the transform of the noise."""
    kernel: Callable[[acb], acb]  # At s: the transform of k
    rest: Callable[[arb, arb], arb]
    """At the deviation and the last frequency u: a bound on the integral of the product of both
    beyond u, over its value's factor at frequency 0, which is that of the noise.
    """


DELTA = Kernel(
    smoothed=lambda s, variance: variance * (s * s + s) / 2,
    kernel=lambda s: 1 / (s * (s + 1)),
    rest=lambda deviation, last: (-((deviation * last) ** 2) / 2).exp() / last,
)
"""E[(1 - e^(x - S - X))_+], X the loss of a pair of Gaussians whose deviation is that given."""

TAIL = Kernel(
    smoothed=lambda s, variance: variance * s * s / 2,
    kernel=lambda s: 1 / s,
    rest=lambda deviation, last: (-((deviation * last) ** 2) / 2).exp() / (deviation * last) ** 2,
)
"""P(S + X >= x), X centred Gaussian noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transformed:
    """The transform of one tilted distribution along a line."""

    tilted: Tilted  # The distribution
    total: arb  # The sum of its masses, exact
    moved: Numbers  # The transform less ``total``, at all frequencies from 0 on; shape (count + 1,)
    off: Array  # Bounds on the errors of ``moved``; shape (count + 1,)
    balls: Sequence[acb] = ()  # The transform over ``total`` in balls, if it was computed in balls

    def ratio(self, j: int) -> acb:
        """The transform at a frequency, over ``total``."""
        if self.balls:
            return self.balls[j]
        moved, radius = complex(self.moved[j]), float(self.off[j])
        return acb(arb(moved.real, radius), arb(moved.imag, radius)) / self.total + 1


def transformed(
    several: Sequence[Tilted],  # At least one
    grid: Grid,  # The grid they are on; its step is a power of two, so that losses are floats
    line: Line,  # The frequencies
) -> list[Transformed]:
    """The transforms of distributions that have all indices in common.

    The error of each is at most
    u (5.4 (levels + 1) + c + n / c + log2(n) + 12) 1.02 Sum_i a_i min(f |l_i|, 4)
    at the frequency f, n the number of losses l_i, a_i their masses and c the size of a chunk.
    """
    if line.in_balls:
        return _in_balls(several, grid, line)
    losses = several[0].indices * grid.step
    masses = np.array([one.masses for one in several])
    rows = line.count + 1
    width = 1 << ((rows.bit_length() + 1) // 2)
    with ctx.workprec(_TABLE_BITS):
        angles = [arb(loss) * arb(line.frequency) for loss in losses.tolist()]
        levels = (rows - 1).bit_length()
        turns = _levels(angles, levels)
    inner = _table(turns[: (width - 1).bit_length()], width)
    outer = _table(turns[(width - 1).bit_length() :], -(-rows // width))
    moved = []
    for weights in masses:
        weighted = outer * weights
        # In chunks, so that no sum has many terms; einsum does not use the products of a library.
        both = np.zeros((outer.shape[0], width), dtype=np.complex128)
        for start in range(0, losses.size, _CHUNK):
            chunk = slice(start, start + _CHUNK)
            both += np.einsum("bi,ai->ba", weighted[:, chunk], inner[:, chunk])
        both += _folded(weighted)[:, None] + _folded(inner * weights)
        moved.append(both.ravel())
    per = 5.4 * (levels + 1) + _CHUNK + losses.size / _CHUNK + losses.size.bit_length() + 12.0
    per *= 1.02 * U
    frequencies = line.frequency * np.arange(rows)
    return [
        Transformed(
            tilted=one,
            total=sum([arb(mass) for mass in one.masses.tolist()], arb(0)),
            moved=found[:rows],
            off=per
            * np.minimum(
                frequencies * (1.0001 * float(np.abs(one.masses * losses).sum())),
                4.0001 * float(one.masses.sum()),
            )
            + TINY,
        )
        for one, found in zip(several, moved, strict=True)
    ]


def _in_balls(several: Sequence[Tilted], grid: Grid, line: Line) -> list[Transformed]:
    """The same in balls: a product of two matrices of powers."""
    rows = line.count + 1
    width = 1 << ((rows.bit_length() + 1) // 2)
    step = arb(grid.step) * arb(line.frequency)
    found = []
    with ctx.workprec(_EXACT_BITS):
        turns = [acb(0, step * k).exp() for k in several[0].indices.tolist()]
        inner = _powers(turns, width)
        outer = _powers([a * b for a, b in zip(inner[-1], turns, strict=True)], -(-rows // width))
        right = acb_mat(inner).transpose()
        for one in several:
            total = sum([arb(mass) for mass in one.masses.tolist()], arb(0))
            shares = [arb(mass) / total for mass in one.masses.tolist()]
            left = [[a * share for a, share in zip(row, shares, strict=True)] for row in outer]
            balls = (acb_mat(left) * right).entries()[:rows]
            # The rounded copies only say which frequencies are negligible.
            rough = np.array([complex(float(ball.real), float(ball.imag)) for ball in balls])
            found.append(
                Transformed(
                    tilted=one,
                    total=total,
                    moved=(rough - 1.0) * float(total),
                    off=np.full(rows, _ROUGH_OFF * float(total)),
                    balls=balls,
                )
            )
    return found


def _powers(turns: Sequence[acb], count: int) -> list[list[acb]]:
    """The powers of numbers, from 0 on, by doubling: balls grow with every product."""
    table = [[acb(1)] * len(turns)]
    factor = list(turns)
    while len(table) < count:
        table += [[a * b for a, b in zip(row, factor, strict=True)] for row in table]
        factor = [a * a for a in factor]
    return table[:count]


def _levels(angles: Sequence[arb], levels: int) -> Numbers:
    """e^(i 2^l angle) - 1 for l below ``levels``, rounded to doubles.

    From one to the next, (1 + y)^2 - 1 = y (y + 2) in balls, which keeps the relative accuracy of
    small ones.
    """
    found = np.empty((levels, len(angles)), dtype=np.complex128)
    real, imag = found.real, found.imag
    for place, angle in enumerate(angles):
        half = (angle / 2).sin()
        turn = acb(-2 * half * half, angle.sin())
        for level in range(levels):
            if level:
                turn = turn * (turn + 2)
            real[level, place], imag[level, place] = float(turn.real), float(turn.imag)
    return found


def _table(turns: Numbers, count: int) -> Numbers:
    """e^(i j angle) - 1 for j below ``count``, from those for powers of two."""
    table = np.zeros((1 << turns.shape[0], turns.shape[1]), dtype=np.complex128)
    for level, turn in enumerate(turns):
        known = 1 << level
        before = table[:known]
        np.multiply(before, turn, out=table[known : 2 * known])
        table[known : 2 * known] += before + turn
    return table[:count]


def _folded(values: Numbers) -> Numbers:
    """Sums along the last axis, in halves: as many roundings as its size has binary digits."""
    while values.shape[-1] > 1:
        size = values.shape[-1]
        half = size // 2
        sums = values[..., :half] + values[..., half : 2 * half]
        values = np.append(sums, values[..., -1:], axis=-1) if size % 2 else sums
    return values[..., 0]


@dataclass(slots=True)
class Inversion:
    """The function f of a sum of independent losses."""

    parts: Sequence[tuple[Transformed, int]]
    """The distributions, and how many copies of each are summed."""
    grid: Grid  # Their grid
    line: Line  # The line
    kernel: Kernel  # What is asked
    _bits: int = field(init=False)
    _values: Numbers = field(init=False)
    _off: float = field(init=False)
    _growth: arb = field(init=False)
    _sums: dict[float, float] = field(init=False, default_factory=dict)
    _balls: acb_mat | None = field(init=False, default=None)
    _chernoff: tuple[tuple[arb, arb], tuple[arb, arb]] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        """Multiply the transforms, their powers and the kernel."""
        self._bits = _EXACT_BITS if self.line.in_balls else _BITS
        with ctx.workprec(self._bits):
            self._growth = self._log_at(arb(self.grid.tilt), [one.total for one, _ in self.parts])
            values, off = self._multiplied()
            last = arb(self.line.frequency) * self.line.count
            rest = self.kernel.rest(arb(self.line.deviation), last) / arb(self.line.frequency)
            off += float_above(rest)
        # The term at frequency 0 is there once, and all others twice.
        values[0] *= 0.5
        self._values, self._off = values, off
        if self.line.in_balls:
            return
        levels = self.line.count.bit_length()
        # A phase is off by 5.4 levels u min(|theta|, 4), and is a product of two.
        per = (21.6 * levels + 2.0**_INNER + 2.0 * values.size.bit_length() + 16.0) * 1.01 * U
        sizes = float((np.abs(values.real) + np.abs(values.imag)).sum())
        self._off = (off + per * sizes) * 1.0001 + TINY

    def _log_at(self, tilt: arb, totals: Sequence[arb]) -> arb:
        """The logarithm of Phi at a tilt, given the tilted sums of the masses there."""
        noise = self.kernel.smoothed(acb(tilt), arb(self.line.deviation) ** 2).real
        pairs = zip(self.parts, totals, strict=True)
        return sum([n * (arb(one.tilted.scale) + total.log()) for (one, n), total in pairs], noise)

    def _multiplied(self) -> tuple[Numbers, float]:
        """The product at every frequency, over its factor at frequency 0, and the errors' sum."""
        rows = self.line.count + 1
        variance = arb(self.line.deviation) ** 2
        tilt, h = arb(self.grid.tilt), arb(self.line.frequency)
        at_zero = self.kernel.smoothed(acb(tilt), variance)
        lost = np.zeros(rows)
        negligible = _NEGLIGIBLE * (2.0 if self.line.in_balls else 1.0)
        for one, count in self.parts:
            whole = float(one.total)
            modulus = np.abs(one.moved + whole) * (1.0 + 16.0 * U) + one.off
            # x <= e^-(1 - x^2) / 2, so that no power is needed to see that one is negligible.
            lost += count * np.maximum(1.0 - (modulus / whole) ** 2 * (1.0 + 16.0 * U), 0.0) / 2.0
        values = np.zeros(rows, dtype=np.complex128)
        balls = [acb(0)] * rows
        off = math.exp(-negligible) * rows * float(abs(self.kernel.kernel(acb(tilt))).mid())
        off *= 1.01
        for j in np.flatnonzero(lost < negligible * 1.0001).tolist():
            s = acb(tilt, h * j)
            exponent = self.kernel.smoothed(s, variance) - at_zero
            odd = 0
            for one, count in self.parts:
                ratio = one.ratio(j)
                # The logarithm of a ball across the negative axis is all of a circle.
                if ratio.real < 0:
                    ratio = -ratio
                    odd ^= count % 2
                exponent += count * ratio.log()
            value = exponent.exp() * self.kernel.kernel(s)
            value = -value if odd else value
            if not value.is_finite():
                # The transform may be 0 here: its modulus is at most e^-lost.
                off += float_above(abs(self.kernel.kernel(s))) * math.exp(-lost[j] * 0.9999)
                continue
            if self.line.in_balls:
                balls[j] = value if j else value / 2
                continue
            values[j] = complex(float(value.real), float(value.imag))
            radii = float(value.real.rad()) + float(value.imag.rad())
            off += 1.001 * radii + 2.0 * U * abs(values[j])
        if self.line.in_balls:
            width = math.isqrt(rows - 1) + 1
            self._balls = acb_mat(width, width, balls + [acb(0)] * (width * width - rows))
        return values, off

    def at(self, x: float) -> arb:
        """A ball around f(x) with its aliases."""
        if self._balls is not None:
            return self._at_in_balls(x, self._balls)
        if x not in self._sums:
            self.prepare([x])
        with ctx.workprec(_BITS):
            scale = (self._growth - arb(self.grid.tilt) * arb(x)).exp()
            sum_ = arb(self._sums[x], self._off)
            return arb(sum_ * scale * arb(self.line.frequency) / arb.pi())

    def prepare(self, several: Sequence[float]) -> None:
        """Compute together what :meth:`at` needs at several places, which takes less time."""
        if self._balls is not None:
            return
        new = [x for x in dict.fromkeys(several) if x not in self._sums]
        most = max(_AT_ONCE // self._values.size, 1)
        for start in range(0, len(new), most):
            some = new[start : start + most]
            with ctx.workprec(_TABLE_BITS):
                angles = [-arb(x) * arb(self.line.frequency) for x in some]
                turns = _levels(angles, self.line.count.bit_length())
            inner = _table(turns[:_INNER], 1 << min(_INNER, turns.shape[0])) + 1.0
            outer = _table(turns[_INNER:], -(-self._values.size // inner.shape[0])) + 1.0
            # The values in rows, the last one filled up with zeros.
            rows = np.zeros((outer.shape[0], inner.shape[0]), dtype=np.complex128)
            rows.flat[: self._values.size] = self._values
            found = np.einsum("ba,an->bn", rows, inner)
            sums = _folded(np.ascontiguousarray((found * outer).real.T))
            self._sums.update(zip(some, sums.tolist(), strict=True))

    def _at_in_balls(self, x: float, balls: acb_mat) -> arb:
        with ctx.workprec(_EXACT_BITS):
            turn = acb(0, -arb(x) * arb(self.line.frequency)).exp()
            width = balls.nrows()
            inner = _powers([turn], width)
            outer = _powers([inner[-1][0] * turn], width)
            sum_ = (acb_mat(outer).transpose() * (balls * acb_mat(inner)))[0, 0].real
            scale = (self._growth - arb(self.grid.tilt) * arb(x)).exp()
            whole = sum_ + arb(0, self._off * 1.0001)
            return arb(whole * scale * arb(self.line.frequency) / arb.pi())

    def below(self, x: float) -> arb:
        """A lower bound on f(x)."""
        with ctx.workprec(self._bits):
            return arb((self.at(x) - self._aliases(x)).lower())

    def _aliases(self, x: float) -> arb:
        """Bound on the sum of e^(t k W) f(x + k W) over all k but 0.

        f(x) is at most Phi(r) e^(-r x) for every r >= 0.
        """
        period = 2 * arb.pi() / arb(self.line.frequency)
        if self._chernoff is None:
            self._chernoff = self._tilts(x, float(period.mid()))
        found = arb(0)
        for (r, log_phi), sign in zip(self._chernoff, (1, -1), strict=True):
            apart = abs(r - arb(self.grid.tilt))
            first = (
                log_phi - r * (arb(x) + sign * period) + arb(self.grid.tilt) * sign * period
            ).exp()
            found += first / (-(-apart * period).expm1())
        return found

    def _tilts(self, x: float, period: float) -> tuple[tuple[arb, arb], tuple[arb, arb]]:
        """Two tilts, above and below that of the line, with logarithms of Phi there."""
        t = self.grid.tilt
        tilted = [(one.tilted, count) for one, count in self.parts]
        spread = self.line.deviation**2
        for one, count in tilted:
            losses = one.indices * self.grid.step
            weights = one.masses / one.masses.sum()
            mean = float((weights * losses).sum())
            spread += count * float((weights * (losses - mean) ** 2).sum())
        apart = _APART / math.sqrt(spread)
        found = []
        for sign in (1.0, -1.0):
            distances = apart if sign > 0.0 else np.minimum(apart, t)
            bounds = [
                cumulant(tilted, self.grid, sign * d) - d * (sign * x + period)
                for d in distances.tolist()
            ]
            best = sign * float(distances[int(np.argmin(bounds))])
            r = arb(t) + arb(best)
            r = r if r > 0 else arb(0)
            totals = []
            for part, _ in self.parts:
                exponents = (r - arb(t)) * arb(self.grid.step)
                pairs = zip(part.tilted.indices.tolist(), part.tilted.masses.tolist(), strict=True)
                totals.append(sum([arb(a) * (exponents * k).exp() for k, a in pairs], arb(0)))
            found.append((r, self._log_at(r, totals)))
        return found[0], found[1]
