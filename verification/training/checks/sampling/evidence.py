"""What tests say about the draws of a loader, before it is named."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from rdpkit.verification.training.checks.sampling import inclusion_tests, size_tests
from rdpkit.verification.training.checks.sampling.draws import Draws, Positions
from rdpkit.verification.training.checks.sampling.inclusion_tests import Distinct, Favoured, Repeats
from rdpkit.verification.training.told import (
    ALLOCATED,
    POISSON,
    SHUFFLE,
    TRUNCATED,
    Told,
)

TESTS = (
    "rate",
    "equal sizes",
    "cut sizes",
    "sizes that vary less",
    "sizes that vary more",
    "records apart",
    "records alike",
    "repeated batches",
    "favoured records",
    "neighbours",
    "order in time",
    "pairs of records",
)
"""The tests that share the error rate; they have the same level."""
# Where a test has shown that sizes are equal, the last batch of an epoch may have another one.
_NEARLY_ALL = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawEvidence:
    """What was seen of the draws."""

    draws: Draws  # The draws, without batches that repeat earlier ones
    level: float  # The level of each test
    inclusions: int  # How many records all batches have together
    above: float  # The probability of so many, or more, at the told rate
    same: tuple[float, int, int]
    """p-value of equal sizes, the most frequent size, how often it came."""
    partial: tuple[int, int] | None
    """The size of all batches but the last of each epoch, and that of the last ones."""
    # What follows is as if nothing had been seen where a test could not be made.
    cap: tuple[float, int, int] = (1.0, 0, 0)
    """p-value of sizes that end at a largest one, that size, how often it came."""
    spread: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """p-values of sizes that vary less and more, and their variance over the binomial one."""
    distinct: Distinct | None = None  # How often records come again within an epoch
    repeats: Repeats | None = None  # Batches that have much in common
    favoured: Sequence[Favoured] = ()  # Records that were drawn most often
    adjacent: tuple[float, float] = (1.0, 0.0)
    """p-value of neighbours that come together, and their share."""
    early: tuple[float, float] = (1.0, 0.5)
    """p-value of the data's order within an epoch, and the share."""
    pair: tuple[float, tuple[int, int], int, float] = (1.0, (0, 0), 0, 0.0)
    """p-value of two records that come together, these, how often they did and should."""
    twice: tuple[int, int] = (0, 1)
    """In how many batches a record is more than once, and how often at most."""
    once: bool = False  # Whether no record came again within any epoch

    @property
    def trials(self) -> int:
        """Records times batches."""
        return self.draws.records * len(self.draws.batches)

    @property
    def rate(self) -> float:
        """The share of records that are in a batch, on average."""
        return self.inclusions / self.trials

    def least_rate(self, confidence: float) -> float:
        """A lower confidence limit of the rate, if inclusions are independent."""
        if self.inclusions == 0 or not (self.draws.counted and self.draws.units):
            return 0.0
        return float(
            stats.beta.ppf(1.0 - confidence, self.inclusions, self.trials - self.inclusions + 1)
        )

    @property
    def all_the_same(self) -> bool:
        """Whether practically all batches have one size, apart from the last of each epoch."""
        sizes = self.draws.sizes
        return self.partial is not None or self.same[2] >= _NEARLY_ALL * len(sizes)


def evidence_of(
    draws: Draws,  # What was drawn
    account: Told,  # What the accountant was told
    *,
    level: float,  # The error rate of each of them
    rng: np.random.Generator,  # For tests by simulation
) -> DrawEvidence:
    """Make all tests.

    Records may be drawn at different rates, and at other rates in each batch, as long as none is
    above the told one; so the tests for independent draws are valid for that.
    """
    in_epochs = account.sampling in (SHUFFLE, ALLOCATED)
    told_rate = 1.0 if account.rate is None else account.rate
    # Where records are drawn one by one, none of them more often than was told.
    most = told_rate if account.sampling in (POISSON, TRUNCATED) else 1.0
    repeats = inclusion_tests.repeats(draws, level=level, most=most) if draws.known else None
    fresh = without_repeats(draws, repeats)
    sizes = fresh.sizes
    inclusions = int(sizes.sum())
    sized = account.sampling == POISSON and draws.units
    cells = _cells(sizes, told_rate) if sized else fresh.records
    cells = min(cells, fresh.records) if fresh.counted else cells
    parts = _windows(fresh, told_rate)
    independent = not in_epochs
    one_each = [epoch[0] for epoch in fresh.epochs if epoch]
    known = fresh.known and draws.units
    found: dict[str, Any] = {}
    if sized:
        found["cap"] = size_tests.capped(sizes, cells)
        found["spread"] = _spread(fresh, cells, told_rate, level, rng)
    if draws.known:
        found["twice"] = inclusion_tests.twice(draws)
    if known and independent:
        found["distinct"] = _least(parts, fresh.records, most, level, rng)
    if known and fresh.ordered:
        apart = fresh.batches if independent else one_each
        found["adjacent"] = inclusion_tests.adjacent(apart, fresh.records, most=most)
        found["early"] = inclusion_tests.ordered_in_time(parts[0], fresh.records, most=most)
    if known:
        found["favoured"] = inclusion_tests.favoured(fresh, by_batch=independent)
        found["pair"] = inclusion_tests.together(fresh, by_batch=independent, most=most, rng=rng)
        found["once"] = _once(parts, draws.several)
    return DrawEvidence(
        draws=fresh,
        level=level,
        inclusions=inclusions,
        above=_above(fresh, fresh.batches if independent else one_each, told_rate),
        same=size_tests.same_size(sizes, cells) if len(sizes) else (1.0, 0, 0),
        repeats=repeats,
        partial=_partial(draws),
        **found,
    )


def _above(draws: Draws, independent: list[Positions], rate: float) -> float:
    """At least the probability of so many records in batches, at a rate of at most the told one.

    Where several records may belong to one user, they may depend on each other in any way. Of the
    number of batches that a record is in, the mean over all records is then bounded as that of a
    single one is, because the bound is of an exponential moment, and exponentials are convex.
    """
    if not draws.units:
        included = sum(map(len, independent)) / draws.records
        return inclusion_tests.tail(included, len(independent), rate)
    if not draws.counted:
        return 1.0
    inclusions = int(draws.sizes.sum())
    return float(stats.binom.sf(inclusions - 1, draws.records * len(draws.sizes), rate))


def _cells(sizes: NDArray[np.int64], rate: float) -> int:
    """The fewest records whose sizes vary as little as those of records with such sizes can.

    With rates of at most q, sizes with the mean m have at least the variance m (1 - q), which is
    that of m / q records at the rate q.
    """
    largest = int(sizes.max()) if len(sizes) else 1
    mean = float(sizes.mean()) if len(sizes) else 1.0
    return max(1, largest, math.ceil(mean / rate))


def _spread(
    draws: Draws, cells: int, rate: float, level: float, rng: np.random.Generator
) -> tuple[float, float, float]:
    """p-values of sizes that vary less, and more, than they may; their variance over that."""
    less, more, ratio = size_tests.dispersion(draws.sizes, cells, level=level, rng=rng)
    if not draws.counted:
        return less, 1.0, ratio
    large = size_tests.excess(draws.sizes, draws.records, rate, level=level, rng=rng)
    return less, max(more, large), ratio


def without_repeats(draws: Draws, repeats: Repeats | None) -> Draws:
    """The draws without the batches that come again, which would count records twice."""
    if repeats is None or not repeats.again:
        return draws
    again = {(number, place) for _, _, number, place in repeats.pairs}
    epochs = [
        tuple(batch for place, batch in enumerate(epoch) if (number, place) not in again)
        for number, epoch in enumerate(draws.epochs)
    ]
    # What comes again in the epochs that were compared is taken to come again in all.
    compared = epochs[: inclusion_tests.COMPARED_EPOCHS]
    kept = tuple(epoch for epoch in compared if epoch)
    return dataclasses.replace(draws, epochs=kept or draws.epochs[:1])


def _windows(draws: Draws, rate: float) -> list[list[list[Positions]]]:
    """Epochs as they are or as the rate says they should be, in one or two ways."""
    if not 0.0 < rate < 1.0:
        return [[list(epoch) for epoch in draws.epochs]]
    lengths = {max(1, math.floor(1.0 / rate + 1e-9)), max(1, math.ceil(1.0 / rate - 1e-9))}
    return [inclusion_tests.windows(draws.epochs, length) for length in sorted(lengths)]


def _least(
    parts: Sequence[list[list[Positions]]],
    records: int,
    most: float,
    level: float,
    rng: np.random.Generator,
) -> Distinct:
    """The most telling of several ways to cut epochs, with its p-value for all of them."""
    found = [
        inclusion_tests.distinct(epochs, records, most=most, level=level / len(parts), rng=rng)
        for epochs in parts
    ]
    best = min(found, key=lambda one: one.apart)
    return Distinct(
        apart=min(1.0, len(found) * best.apart),
        alike=min(1.0, len(found) * min(one.alike for one in found)),
        overlap=best.overlap,
        expected=best.expected,
    )


def _once(parts: list[list[list[Positions]]], several: frozenset[int]) -> bool:
    """Whether no record comes again in an epoch, however epochs are cut."""
    for epochs in parts:
        good = True
        for epoch in epochs:
            everything = np.concatenate([*epoch, np.zeros(0, dtype=np.int64)])
            values, counts = np.unique(everything, return_counts=True)
            good &= all(int(value) in several for value in values[counts > 1])
        if good:
            return True
    return False


def _partial(draws: Draws) -> tuple[int, int] | None:
    """The common size of batches and a smaller one of the last of each epoch, if it is so."""
    if not draws.whole or any(len(epoch) < 2 for epoch in draws.epochs):
        return None
    others = {len(batch) for epoch in draws.epochs for batch in epoch[:-1]}
    last = {len(epoch[-1]) for epoch in draws.epochs}
    if len(others) != 1 or len(last) != 1:
        return None
    common, end = others.pop(), last.pop()
    return (common, end) if 0 < end < common else None
