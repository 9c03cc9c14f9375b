"""Noise that is correlated between steps: banded matrix factorisation, with or without sampling.

How far one record moves the product of a strategy matrix and the sums of its steps is exact:
entries are taken as the exact numbers that their floats are. A Toeplitz matrix is summed in
integers, so that only the square root is rounded; sums over a matrix that is written out are
rounded up by more than their floats can be off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isqrt, nextafter, ulp
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.composition import Composed, Repeated
from rdpkit.events.fields import (
    count,
    declared,
    diameter,
    event_class,
    integer,
    noise,
    norm,
    probability,
)
from rdpkit.events.free_parameters import FreeParameter
from rdpkit.events.geometry import diameter_of, record_move
from rdpkit.events.losses import (
    Attained,
    Dominating,
    Losses,
    NoLossDistributionError,
    attains,
    sampled_step,
)
from rdpkit.events.sampled.poisson import PoissonSampledGaussian

Array = NDArray[np.float64]

_EXTRA_BITS = 128


@dataclass(frozen=True, slots=True)
class Distance:
    """How far one record of norm 1 moves the release: at most, and at least for some data set."""

    above: float
    below: float


@dataclass(frozen=True, slots=True)
class Pattern:
    """In which steps a record may take part."""

    separation: int  # Two participations of one record are at least that many steps apart
    participations: int  # The largest number of participations


def _integers(values: Sequence[float]) -> tuple[list[int], int]:
    """Floats as integers over one power of two."""
    ratios = [value.as_integer_ratio() for value in values]
    common = max(denominator for _, denominator in ratios)
    return [number * (common // denominator) for number, denominator in ratios], common


def _root(total: int, common: int) -> Distance:
    """The square root of total / common^2, rounded to both sides."""
    root = isqrt(total << 2 * _EXTRA_BITS)
    scale = common << _EXTRA_BITS
    return Distance(
        above=nextafter((root + 1) / scale, float("inf")), below=nextafter(root / scale, 0.0)
    )


def _squares_of_sum(column: list[int], steps: int, pattern: Pattern, sign: int) -> int:
    """|sum_m sign^m c_(m b)|^2 over the columns m b, m < k, of a Toeplitz matrix."""
    b, k = pattern.separation, pattern.participations
    width = len(column)
    last = sign**k
    moved = [0] * steps
    for t in range(steps):
        value = column[t] if t < width else 0
        if t >= b:
            value += sign * moved[t - b]
        if 0 <= t - k * b < width:
            value -= last * column[t - k * b]
        moved[t] = value
    return sum(value * value for value in moved)


@lru_cache(maxsize=32)
def of_toeplitz(coefficients: tuple[float, ...], steps: int, pattern: Pattern) -> Distance:
    """The distance for a lower-triangular Toeplitz matrix with this first column.

    The columns of two participations overlap if the matrix has more bands than steps between them.
    Inner products of columns are then bounded by those of the smallest sequence above the absolute
    coefficients that does not increase (theory page "Matrix factorisation").
    """
    column, common = _integers(coefficients[:steps])
    while len(column) > 1 and column[-1] == 0:
        column.pop()
    largest = column
    if len(column) > pattern.separation and pattern.participations > 1:
        largest, highest = [0] * len(column), 0
        for index in range(len(column) - 1, -1, -1):
            highest = max(highest, abs(column[index]))
            largest[index] = highest
    above = _squares_of_sum(largest, steps, pattern, 1)
    if largest == column:
        return _root(above, common)
    single = Pattern(separation=pattern.separation, participations=1)
    below = max(
        _squares_of_sum(column, steps, pattern, 1),
        _squares_of_sum(column, steps, pattern, -1),
        _squares_of_sum(column, steps, single, 1),
    )
    return Distance(above=_root(above, common).above, below=_root(below, common).below)


def bands_of_toeplitz(coefficients: tuple[float, ...], steps: int) -> int:
    """The number of bands: the rows below the diagonal that are not zero, and the diagonal."""
    return max((i + 1 for i, value in enumerate(coefficients[:steps]) if value != 0.0), default=0)


def lower_triangle(entries: Sequence[float], steps: int) -> Array:
    """The matrix whose lower triangle has these entries, row by row; shape (steps, steps)."""
    matrix = np.zeros((steps, steps))
    matrix[np.tril_indices(steps)] = entries
    return matrix


def bands_of_matrix(matrix: Array) -> int:
    """The number of bands of a lower-triangular matrix."""
    rows, columns = np.nonzero(matrix)
    return int((rows - columns).max(initial=-1)) + 1


def largest_column(matrix: Array) -> float:
    """The largest L2 norm of a column, rounded up."""
    slack: float = (matrix.shape[0] + 16) * ulp(1.0)
    longest = float(np.sqrt((matrix * matrix).sum(axis=0).max()))
    return longest * (1.0 + slack)


@lru_cache(maxsize=8)
def of_matrix(entries: tuple[float, ...], steps: int, pattern: Pattern) -> Distance:
    """The distance for a lower-triangular matrix that is written out.

    The square is at most the largest sum of absolute inner products of pairs of columns that one
    record may take part in. A column's inner products with the others are bounded by the largest
    ones of as many blocks of steps as there are other participations.
    """
    matrix = lower_triangle(entries, steps)
    slack = (4 * steps + 64) * ulp(1.0)
    products = np.abs(matrix.T @ matrix) + slack * (np.abs(matrix).T @ np.abs(matrix))
    b, k = pattern.separation, pattern.participations
    weights = products.diagonal().copy()
    if k > 1 and bands_of_matrix(matrix) > b:
        weights += _overlaps(products, b, k)
    above = float(np.sqrt(_largest_sum(weights, b, k))) * (1.0 + slack)
    return Distance(above=above, below=_attained(matrix, b, k, slack))


def _overlaps(products: Array, b: int, k: int) -> Array:
    """For each column, a bound on its inner products with the record's other columns."""
    steps = products.shape[0]
    found = np.zeros(steps)
    for i in range(steps):
        later, earlier = products[i, i + b :], products[i, : max(i - b + 1, 0)][::-1]
        blocks = [
            np.maximum.reduceat(side, np.arange(0, side.size, b))
            for side in (later, earlier)
            if side.size
        ]
        if blocks:
            largest = np.sort(np.concatenate(blocks))[::-1]
            found[i] = largest[: k - 1].sum()
    return found


def _largest_sum(weights: Array, b: int, k: int) -> float:
    """The largest sum of at most k weights of which any two are at least b places apart."""
    steps = weights.size
    # best[t, m]: the largest sum of at most m of the first t weights.
    best = np.zeros((steps + 1, k + 1))
    for t in range(1, steps + 1):
        taken = weights[t - 1] + best[max(t - b, 0), :-1]
        best[t, 1:] = np.maximum(best[t - 1, 1:], taken)
    return float(best[steps, k])


def _attained(matrix: Array, b: int, k: int, slack: float) -> float:
    """What a record that takes part as often as it may, with one vector, is certain to move."""
    largest = float(np.sqrt((matrix * matrix).sum(axis=0).max()))
    absolute = np.abs(matrix)
    for offset in range(min(b, matrix.shape[0])):
        chosen = slice(offset, offset + b * k, b)
        moved = matrix[:, chosen].sum(axis=1)
        off = slack * absolute[:, chosen].sum(axis=1)
        largest = max(largest, float(np.linalg.norm(np.maximum(np.abs(moved) - off, 0.0))))
    return largest * (1.0 - slack)


_MOST_STEPS = 1_000_000
_MOST_WRITTEN_OUT = 2_000
_OPTIONAL = ("participations", "sampling_probability")


@event_class
class MatrixFactorization(Event):
    """Sums of many steps, times a strategy matrix, plus Gaussian noise (DP-MF, BandMF, DP-FTRL).

    Released: C G + Z. Row t of G is the sum of the records' vectors in the batch of step t, C is a
    lower-triangular strategy matrix, and Z has independent N(0, noise_std^2) entries. A vector may
    depend on all that was released before. C is given by ``coefficients`` or by ``matrix``. A
    record takes part in at most ``participations`` steps, any two of which are at least
    ``min_separation`` apart; with a ``sampling_probability`` it belongs to one of as many groups,
    which take turns, and is in its group's batches with that probability.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.MatrixFactorization(
    ...     noise_std=4.0, record_norm=1.0, steps=1000, coefficients=[1.0, 0.5, 0.25],
    ...     min_separation=250
    ... )
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="zero_out").epsilon, 3)
    2.321
    """

    mechanism: ClassVar[str] = "matrix_factorization"
    of_whole_data: ClassVar[str] = "it states in which of its steps a record takes part"
    adjacencies: ClassVar[tuple[Adjacency, ...]] = (Adjacency.REPLACE_ONE, Adjacency.ZERO_OUT)

    noise_std: float = noise(
        "Standard deviation of the entries of Z, in the units of a record times those of C"
    )
    record_norm: float = norm(
        "Largest L2 norm of one record's vector in one step. It is what a record moves in a step "
        "under zero-out"
    )
    steps: int = declared("Number of steps", accepted="at least 1")
    coefficients: tuple[float, ...] | None = declared(
        "First column of C if C is a Toeplitz matrix, from the diagonal downwards; zeros below "
        "the last one may be left out",
        default=None,
    )
    matrix: tuple[float, ...] | None = declared(
        "Entries of the lower triangle of C, row by row: 1 of the first row, 2 of the second, and "
        "so on; for at most 2000 steps. :meth:`of_matrix` takes an array",
        default=None,
    )
    min_separation: int = integer(
        "Smallest distance, in steps, between two participations of one record, or the number of "
        "groups",
        default=1,
    )
    participations: int | None = count(
        "Largest number of steps in which one record takes part. By default as many as fit into "
        "the steps",
        default=None,
    )
    sampling_probability: float | None = probability(
        "Probability with which a record is in a batch of its group. C must not have more bands "
        "than there are groups. By default nothing is sampled",
        default=None,
    )
    record_diameter: float | None = diameter(
        "Largest L2 distance between two records' vectors. It is what a record moves in a step "
        "under replace-one",
        default=None,
    )

    def _check_together(self) -> None:
        most = _MOST_STEPS if self.matrix is None else _MOST_WRITTEN_OUT
        _validate.integer("steps", self.steps, maximum=most)
        given = [name for name in ("coefficients", "matrix") if getattr(self, name) is not None]
        for name in given:
            self._check_entries(name)
        if len(given) != 1:
            raise ValueError(
                "Expected coefficients or matrix, exactly one of the two, got "
                f"{' and '.join(given) or 'neither'}."
            )
        if self.sampling_probability is not None:
            self._check_groups()

    def _check_entries(self, name: str) -> None:
        # The square of the largest entry must neither vanish nor overflow.
        condition = "to be finite numbers, not all zero and of a size between 1e-100 and 1e100"
        entries = _validate.real_array(name, getattr(self, name), condition)
        if name == "matrix":
            wanted = self.steps * (self.steps + 1) // 2
            if entries.shape != (wanted,):
                raise _validate.fail(
                    "matrix", f"to be the {wanted} entries of {self.steps} rows", self.matrix
                )
        used = entries[: self.steps] if name == "coefficients" else entries
        if entries.ndim != 1 or not 1e-100 <= np.abs(used).max(initial=0.0) <= 1e100:
            raise _validate.fail(name, condition, getattr(self, name))
        object.__setattr__(self, name, tuple((entries + 0.0).tolist()))

    def _check_groups(self) -> None:
        if self.participations is not None:
            raise ValueError(
                "Expected participations to be None with a sampling_probability: a record may be "
                f"sampled in every batch of its group, got {self.participations!r}."
            )
        if self.bands > self.min_separation:
            raise _validate.fail(
                "min_separation",
                f"to be at least {self.bands}, the number of bands of the strategy matrix, with a "
                "sampling_probability",
                self.min_separation,
            )

    @classmethod
    def of_matrix(cls, matrix: Any, **parameters: Any) -> MatrixFactorization:
        """The event for a strategy matrix that is given as a lower-triangular array.

        Parameters
        ----------
        matrix : array_like, shape (n, n)
            The strategy matrix C; zero above the diagonal.
        **parameters
            The other parameters but ``steps``.

        Raises
        ------
        ValueError
            If the array is not square and lower-triangular, or a parameter is outside of its range.
        """
        condition = "to be a square lower-triangular array of finite numbers"
        array = _validate.real_array("matrix", matrix, condition)
        square = array.ndim == 2 and array.shape[0] == array.shape[1] and array.size > 0
        if not square or np.any(np.triu(array, 1)):
            raise _validate.fail("matrix", condition, matrix)
        entries = tuple(array[np.tril_indices(array.shape[0])].tolist())
        return cls(steps=array.shape[0], matrix=entries, **parameters)

    @property
    def bands(self) -> int:
        """Number of diagonals of the strategy matrix up to the last one that is not zero."""
        if self.coefficients is not None:
            return bands_of_toeplitz(self.coefficients, self.steps)
        assert self.matrix is not None
        return bands_of_matrix(lower_triangle(self.matrix, self.steps))

    @property
    def turns(self) -> int:
        """The largest number of steps in which one record may take part."""
        most = -(-self.steps // self.min_separation)
        return most if self.participations is None else min(self.participations, most)

    @property
    def distance(self) -> Distance:
        """How far one record of norm 1 that is in all its batches moves C G: above and below."""
        pattern = Pattern(separation=self.min_separation, participations=self.turns)
        if self.coefficients is not None:
            return of_toeplitz(self.coefficients, self.steps, pattern)
        assert self.matrix is not None
        return of_matrix(self.matrix, self.steps, pattern)

    def record_move(self, adjacency: Adjacency) -> float:
        """How far one record moves one step's sum.

        Raises
        ------
        NoLossDistributionError
            Under add-or-remove-one: a record that goes may move others to another step.
        """
        if adjacency is Adjacency.ADD_OR_REMOVE_ONE:
            raise NoLossDistributionError(
                "Under add_or_remove_one a record that comes or goes may move others to another "
                "step."
            )
        return record_move(self, adjacency)

    def noise_multiplier(self, adjacency: Adjacency, *, attained: bool = False) -> float:
        """Noise over how far one record that is in all its batches moves the whole release."""
        distance = self.distance.below if attained else self.distance.above
        return self.noise_std / (self.record_move(adjacency) * distance)

    def step_of_a_group(self, column: float) -> PoissonSampledGaussian:
        """What one batch of a group shows of a record, if its column of C has this norm."""
        assert self.sampling_probability is not None
        return PoissonSampledGaussian(
            noise_std=self.noise_std,
            record_norm=self.record_norm * column,
            sampling_probability=self.sampling_probability,
            record_diameter=diameter_of(self) * column,
        )

    def expand(self) -> Event | None:
        """With sampling, for a Toeplitz matrix: a Poisson-sampled Gaussian for each turn.

        Those of the group that begins; the columns of its steps are at least as long as those of
        the other groups.
        """
        return self._turns(lambda distance: distance.above)

    def attained_expansion(self) -> Event | None:
        """The same: a record of the group that begins, with columns rounded down."""
        return self._turns(lambda distance: distance.below)

    def _turns(self, side: Callable[[Distance], float]) -> Event | None:
        if self.sampling_probability is None or self.coefficients is None:
            return None
        once = Pattern(separation=1, participations=1)
        whole = (self.steps - self.bands) // self.min_separation + 1
        full = side(of_toeplitz(self.coefficients, self.steps, once))
        repeated = Repeated(event=self.step_of_a_group(full), count=whole)
        if whole == self.turns:
            return repeated
        left = self.steps - whole * self.min_separation
        if bands_of_toeplitz(self.coefficients, left) == 0:
            return repeated
        rest = side(of_toeplitz(self.coefficients, left, once))
        return Composed(events=(repeated, self.step_of_a_group(rest)))

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """Two Gaussians; with sampling, for each turn the pair of a Poisson sample."""
        if self.sampling_probability is None:
            return Dominating(self._gaussians(self.noise_multiplier(adjacency)))
        self.record_move(adjacency)
        return Dominating(self.largest_step().dominating(adjacency) * self.turns)

    def attained(self, adjacency: Adjacency) -> Attained:
        """Two Gaussians: a record that is in all its batches."""
        if self.sampling_probability is None:
            return attains(self._gaussians(self.noise_multiplier(adjacency, attained=True)))
        self.record_move(adjacency)
        raise NoLossDistributionError(
            "No pair of data sets is composed for sampled batches and a matrix written out."
        )

    def _gaussians(self, noise_multiplier: float) -> Losses:
        return sampled_step("replaced", noise_multiplier=noise_multiplier, sampling_probability=1.0)

    def largest_step(self) -> PoissonSampledGaussian:
        """What a batch shows of a record at most, for a matrix that is written out."""
        assert self.matrix is not None
        matrix = lower_triangle(self.matrix, self.steps)
        return self.step_of_a_group(largest_column(matrix))

    def free_parameters(self) -> Mapping[str, FreeParameter]:
        """More noise is more private; more participations, samples or larger records are less."""
        found = Event.free_parameters(self)
        unset = [name for name in _OPTIONAL if getattr(self, name) is None]
        return {name: free for name, free in found.items() if name not in unset}

    def assumptions(self) -> tuple[str, ...]:
        """How records are spread over the steps."""
        if self.sampling_probability is None:
            return (
                "the steps in which a record takes part do not depend on the other records, and "
                f"any two of them are at least {self.min_separation} apart",
            )
        return (
            f"each record is in one of {self.min_separation} groups, which does not depend on the "
            "other records; the groups take turns, and each batch is a Poisson sample of its group",
        )
