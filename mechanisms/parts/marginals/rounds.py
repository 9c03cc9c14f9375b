"""What a table's release asks of the private records: rounds of Gaussian noise.

Each round releases a vector that is a sum of one vector a record, or moves no further than such a
sum, and adds Gaussian noise. Later rounds may be chosen by the outputs of earlier ones. How much
noise each round has is fixed beforehand, so all of them are one
:class:`rdpkit.Composed`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rdpkit import Composed, Gaussian, _validate
from rdpkit.mechanisms.parts.noise import NoiseSource

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
Pair = tuple[int, int]

LARGEST_PAIR = 2**22
"""The most cells of a marginal of two columns: a limit about public numbers alone."""


def checked_codes(
    codes: ArrayLike,  # Whole numbers; shape (n, columns)
    domain: Sequence[int],  # How many codes each column has, which is public
) -> tuple[Codes, tuple[int, ...]]:
    """Codes as integers, clipped into their domain, and the domain.

    A code outside of its range is clipped and not refused: an error would tell that a private
    record had such a code.
    """
    sizes = tuple(
        int(_validate.integer(f"domain[{i}]", size, minimum=1)) for i, size in enumerate(domain)
    )
    if not sizes:
        raise _validate.fail("domain", "to have at least one column", domain)
    found = np.asarray(codes)
    if found.ndim != 2 or found.shape[1] != len(sizes):
        raise _validate.fail("codes", f"to have the shape (n, {len(sizes)})", found.shape)
    if found.dtype.kind not in "iu":
        raise _validate.fail("codes", "to be an array of integers", found.dtype)
    top = np.array(sizes, dtype=np.int64) - 1
    return np.clip(found.astype(np.int64), 0, top), sizes


def one_way(codes: Codes, domain: Sequence[int]) -> list[Floats]:
    """How many records have each code, column by column."""
    return [
        np.bincount(codes[:, j], minlength=size).astype(np.float64) for j, size in enumerate(domain)
    ]


def two_way(codes: Codes, domain: Sequence[int], pair: Pair) -> Floats:
    """How many records have each combination of the codes of two columns."""
    i, j = pair
    flat = codes[:, i] * domain[j] + codes[:, j]
    counts = np.bincount(flat, minlength=domain[i] * domain[j])
    found: Floats = counts.reshape(domain[i], domain[j]).astype(np.float64)
    return found


def pairs_of(domain: Sequence[int]) -> list[Pair]:
    """All pairs of columns whose marginal is small enough to be counted."""
    return [
        (i, j)
        for i, j in combinations(range(len(domain)), 2)
        if domain[i] * domain[j] <= LARGEST_PAIR
    ]


def in_front(columns: Sequence[Any]) -> NDArray[np.int64]:
    """Where the codes of each column begin if all columns' codes are written in one row."""
    return np.concatenate([[0], np.cumsum([int(size) for size in columns])]).astype(np.int64)


Chosen = Pair | tuple[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundShares:
    """How the privacy of a release is shared between its rounds."""

    one_way: float = 0.12  # Share of the marginals of single columns, in (0, 1)
    scores: float = 0.03
    """Share of the dependence of each pair, in (0, 1). The rest goes to the marginals of chosen
    pairs, and again to those of single columns as far as that is better.
    """
    parts: float = 0.0
    """Share of a second count of each column, in parts that follow from the first one, in [0, 1).
    Without it there is no such round.
    """

    def __post_init__(self) -> None:
        _validate.open_probability("one_way", self.one_way)
        _validate.open_probability("scores", self.scores)
        if self.parts:
            _validate.open_probability("parts", self.parts)
        if self.one_way + self.scores + self.parts >= 1.0:
            raise _validate.fail("scores", "to leave something for the pairs", self.scores)

    @property
    def pairs(self) -> float:
        """Share of the last round."""
        return 1.0 - self.one_way - self.scores - self.parts

    def stds(self, noise_std: float) -> tuple[float, float, float, float]:
        """Noise of the rounds of columns, of parts, of dependence, and of pairs.

        A round with the share s has noise_std / sqrt(s): rounds of noise of these standard
        deviations, of each of which one record moves the vector by at most 1, tell as much as one
        round with noise_std. It is infinite for a round that there is not.
        """
        shares = (self.one_way, self.parts, self.scores, self.pairs)
        first, again, second, third = (
            noise_std / math.sqrt(share) if share else math.inf for share in shares
        )
        return first, again, second, third


def rounds_event(noise_std: float, shares: RoundShares) -> Composed:
    """All rounds as an event.

    Guarantee
    ---------
    A record adds to the marginals of single columns, weighted by w_j with squares that add up to 1,
    a vector of norm 1; two records are at most sqrt(2) apart. The same holds where columns are
    counted in parts that follow from these counts, and for the marginals of pairs and columns
    together. A distance of counts from a fixed
    table moves by at most 1 if a record comes or goes and by at most 2 if one is replaced; all of
    them together, divided by the square root of their number, by at most 1 and 2.
    """
    first, again, second, third = shares.stds(noise_std)
    scores = Gaussian(noise_std=second, record_norm=1.0)
    parts = (_counts_event(again),) if shares.parts else ()
    return Composed(events=(_counts_event(first), *parts, scores, _counts_event(third)))


def _counts_event(std: float) -> Gaussian:
    return Gaussian(noise_std=std, record_norm=1.0, record_diameter=math.sqrt(2.0))


@dataclass(frozen=True, slots=True)
class MeasuredCounts:
    """A table of counts with noise, and the noise's standard deviation."""

    counts: Floats
    std: float


def weights(cells: Sequence[int], power: float) -> Floats:
    """Weights whose squares add up to 1, larger for larger tables.

    With equal weights the large tables would be nearly all noise. Their total error is least if
    squared weights grow with a power 2/3 of the number of cells.
    """
    sizes = np.asarray(cells, dtype=np.float64) ** power
    # Rounding must not make the squares add up to more than 1.
    found: Floats = np.sqrt(sizes / sizes.sum()) * (1.0 - 1e-12)
    return found


def measure_one_way(
    codes: Codes, domain: Sequence[int], *, std: float, noise: NoiseSource
) -> list[MeasuredCounts]:
    """First round, and that of parts: the marginal of each column."""
    shares = weights(domain, 2.0 / 3.0)
    return [
        _measured(counts, std / weight, noise)
        for counts, weight in zip(one_way(codes, domain), shares, strict=True)
    ]


def measure_scores(
    # The private records.
    codes: Codes,
    domain: Sequence[int],
    # A table of expected counts for each pair, made from earlier outputs alone.
    expected: dict[Pair, Floats],
    *,
    std: float,  # Noise of the round
    noise: NoiseSource,  # Where the noise comes from
) -> tuple[dict[Pair, float], float]:
    """Round of dependence: how far the marginal of each pair is from what is expected, in records.

    Returns the sum of absolute differences for each pair, with noise, and the noise of each.
    """
    exact = np.array(
        [np.abs(two_way(codes, domain, pair) - table).sum() for pair, table in expected.items()]
    )
    each = std * math.sqrt(max(1, len(exact))) * (1.0 + 1e-12)
    noise.add_normal(exact, std=each)
    return {pair: float(score) for pair, score in zip(expected, exact, strict=True)}, each


def measure_chosen(
    # The private records.
    codes: Codes,
    domain: Sequence[int],
    # A weight above 0 for each pair (i, j) and for each column (j,), from earlier outputs alone.
    # Their squares are made to add up to 1 here.
    chosen: Mapping[Chosen, float],
    *,
    std: float,  # Noise of the round
    noise: NoiseSource,  # Where the noise comes from
) -> dict[Chosen, MeasuredCounts]:
    """Last round: the marginals of the chosen pairs and columns."""
    if not chosen:
        return {}
    norm = math.sqrt(math.fsum(weight * weight for weight in chosen.values())) * (1.0 + 1e-12)
    return {
        columns: _measured(_counts(codes, domain, columns), std * norm / weight, noise)
        for columns, weight in chosen.items()
    }


def _counts(codes: Codes, domain: Sequence[int], columns: Chosen) -> Floats:
    if len(columns) == 2:
        return two_way(codes, domain, columns)
    (column,) = columns
    return one_way(codes[:, [column]], [domain[column]])[0]


def _measured(counts: Floats, std: float, noise: NoiseSource) -> MeasuredCounts:
    noise.add_normal(counts, std=std)
    return MeasuredCounts(counts=counts, std=std)
