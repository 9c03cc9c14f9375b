"""From private codes to synthetic codes: noisy rounds, then nothing but computation.

What a round measures is decided by noisy numbers alone: pairs of columns, and parts of columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.mechanisms.parts.marginals.mixture import (
    MixtureFit,
    WantedMarginal,
    fit_mixture,
    rows_of_mixture,
)
from rdpkit.mechanisms.parts.marginals.rounds import (
    Chosen,
    Codes,
    Floats,
    MeasuredCounts,
    Pair,
    RoundShares,
    measure_chosen,
    measure_one_way,
    measure_scores,
    pairs_of,
    weights,
)
from rdpkit.mechanisms.parts.noise import NoiseSource

_HALF_NORMAL = math.sqrt(2.0 / math.pi)
# A fitted model smooths the noise: this part of a table's noise is left, by experience.
_NOISE_LEFT = 0.6
# What is left of chance in the data, which a model cannot know, of an unmeasured pair.
_CHANCE = 0.7
# So many standard deviations of its noise are taken from a score.
_DOUBT = 2.0
_POWER = 0.5  # Of a table's size, to which its weight is in proportion
_OF_COLUMNS = 2.0 / 3.0  # The same power, for single columns
# Parts of the third round that may go to single columns.
_PARTS = (0.15, 0.4)
_TRIALS = 48  # Numbers of pairs that are compared


def records_estimate(measured: Sequence[MeasuredCounts]) -> float:
    """The number of records that noisy marginals of single columns add up to; at least 1."""
    precision = np.array([1.0 / (one.counts.size * one.std**2) for one in measured])
    totals = np.array([one.counts.sum() for one in measured])
    return float(max(1.0, (precision * totals).sum() / precision.sum()))


def nearest_probabilities(values: Floats) -> Floats:
    """The nearest vector of numbers >= 0 that add up to 1.

    Source
    ------
    Duchi, Shalev-Shwartz, Singer and Chandra 2008, Figure 1.
    """
    ordered = np.sort(values)[::-1]
    excess = (np.cumsum(ordered) - 1.0) / np.arange(1, values.size + 1)
    last = int(np.nonzero(ordered > excess)[0][-1])
    kept = np.maximum(values - excess[last], 0.0)
    found: Floats = kept / kept.sum()
    return found


def chosen_tables(
    # The noisy sum of absolute differences between a pair's marginal and independence.
    scores: Mapping[Pair, float],
    expected: Mapping[Pair, Floats],  # Expected counts of each pair under independence
    singles: Sequence[MeasuredCounts],  # All columns, as they are known
    *,
    std: float,  # Noise of the round that measures them, for a table with weight 1
    of_scores: float,  # Noise of each score. Dependence is believed as far as it stands out of it.
    records: float,  # The noisy number of records
) -> dict[Chosen, float]:
    """The pairs to measure, and the columns to measure again, with the weight of each.

    The pairs are sorted by how much stronger their noisy dependence is than chance makes it. Their
    number, and the part of the budget that goes to columns, are those with the least predicted
    error: a table that is measured has the noise's error, and a pair that is not keeps its
    dependence. So few records get no pairs at all, and all of the budget goes to the columns.
    """
    chance = {
        pair: _HALF_NORMAL * np.sqrt(np.maximum(table, 0.0)).sum()
        for pair, table in expected.items()
    }
    order = sorted(scores, key=lambda pair: chance[pair] - scores[pair])
    believed = {pair: score - _DOUBT * of_scores for pair, score in scores.items()}
    unmeasured = np.array([max(believed[pair], _CHANCE * chance[pair]) for pair in order])
    of_columns = weights([one.counts.size for one in singles], _OF_COLUMNS)
    weights_of_columns = {part: math.sqrt(part) * of_columns for part in (0.0, *_PARTS, 1.0)}
    # A column is a part of so many pairs, and counts once for itself.
    columns = {
        part: len(singles) * _error_of_columns(singles, std, shares, records)
        for part, shares in weights_of_columns.items()
    }
    best, best_error = (0, 1.0), float(unmeasured.sum()) + columns[1.0]
    for count in sorted({round(v) for v in np.geomspace(1, len(order), _TRIALS)} if order else ()):
        some = order[:count]
        shares = weights([expected[pair].size for pair in some], _POWER)
        for part in (0.0, *_PARTS):
            error = float(unmeasured[count:].sum()) + columns[part]
            for pair, weight, most in zip(some, shares, unmeasured, strict=False):
                own = std / (weight * math.sqrt(1.0 - part))
                noisy = _HALF_NORMAL * np.minimum(own, expected[pair]).sum()
                error += min(_NOISE_LEFT * noisy, most)
            if error < best_error:
                best, best_error = (count, part), error
    count, part = best
    shares = weights([expected[pair].size for pair in order[:count]], _POWER)
    found: dict[Chosen, float] = {
        pair: float(weight) * math.sqrt(1.0 - part)
        for pair, weight in zip(order[:count], shares, strict=True)
    }
    return found | {
        (j,): float(weight) for j, weight in enumerate(weights_of_columns[part]) if weight > 0.0
    }


def _error_of_columns(
    singles: Sequence[MeasuredCounts], std: float, shares: Floats, records: float
) -> float:
    """The predicted error of all columns, in records, if they are measured again."""
    found = 0.0
    for one, share in zip(singles, shares, strict=True):
        noise = 1.0 / math.sqrt(one.std**-2 + (share / std) ** 2)
        counts = nearest_probabilities(one.counts / records) * records
        found += (
            _NOISE_LEFT
            * _HALF_NORMAL
            * float(np.minimum(noise, np.maximum(counts, noise / 4)).sum())
        )
    return found


def together(first: MeasuredCounts, second: MeasuredCounts) -> MeasuredCounts:
    """Two measurements of the same counts, weighted by how precise they are."""
    of_first, of_second = first.std**-2, second.std**-2
    counts = (of_first * first.counts + of_second * second.counts) / (of_first + of_second)
    return MeasuredCounts(counts, (of_first + of_second) ** -0.5)


# How columns of many ordered codes are cut into parts, by noisy counts of coarser parts alone.
#
# A partition of a column is an array: the code with which each part begins, from 0 upwards.

_GROUPS = 16  # Of the ordered codes of a column, at most
# So many standard deviations of noise a part has in records if its group is even, by experience.
_DEVIATIONS = 4.0


def public_groups(codes: int, ordered: int) -> Codes:
    """Sixteen groups of the ordered codes, which come first; every other code is by itself."""
    few = np.linspace(0, ordered, min(ordered, _GROUPS), endpoint=False)
    return np.concatenate([few.astype(np.int64), np.arange(ordered, codes)])


def in_parts(codes: Codes, partitions: Sequence[Codes]) -> tuple[Codes, tuple[int, ...]]:
    """The part of each code, column by column, and how many parts there are."""
    columns = [
        np.searchsorted(starts, codes[:, j], side="right") - 1
        for j, starts in enumerate(partitions)
    ]
    return np.column_stack(columns), tuple(len(starts) for starts in partitions)


def split_groups(groups: Codes, measured: MeasuredCounts, codes: int, std: float) -> Codes:
    """Cut groups with many records into parts that each stand out of noise of a size ``std``."""
    widths = np.diff(groups, append=codes)
    pieces = np.clip(measured.counts / (_DEVIATIONS * std), 1, widths).astype(np.int64)
    return np.concatenate(
        [
            first + np.arange(count) * width // count
            for first, count, width in zip(groups, pieces, widths, strict=True)
        ]
    )


def with_totals(
    parts: MeasuredCounts, starts: Codes, of_groups: MeasuredCounts, groups: Codes
) -> MeasuredCounts:
    """The counts of parts, moved by what is known of each group's total: least squares."""
    group = np.searchsorted(groups, starts, side="right") - 1
    number = np.bincount(group)
    apart = of_groups.counts - np.bincount(group, weights=parts.counts)
    moved = apart * parts.std**2 / (number * parts.std**2 + of_groups.std**2)
    return MeasuredCounts(parts.counts + moved[group], parts.std)


def contiguous_places(probabilities: Floats, ordered: NDArray[np.bool_], most: int) -> Codes:
    """A place for each part, of about one in ``most`` records; neighbours share one.

    Parts that are not ordered, which come last, have a place each.
    """
    middles = np.cumsum(probabilities) - probabilities / 2.0
    # Where records are about even, a place is a part of the cumulative distribution.
    places = np.minimum((middles * most).astype(np.int64), most - 1)
    places[~ordered] = most + np.arange(np.count_nonzero(~ordered))
    return np.unique(places, return_inverse=True)[1].astype(np.int64)


# Scores with so much noise, for each record, have never shown a pair worth a measurement.
_HOPELESS = 0.2
# How many places a column of ordered parts has, each of about as many records.
_FEWEST_PLACES, _MOST_PLACES = 4, 24
# A part of the last round that goes to columns, where pairs are measured as well.
_OF_PAIRS = 0.15
# Rows are made of single parts, and not of places, where all columns have so many of them.
_MOST_CODES = 4096
# An unmeasured pair is held to independence with this part of a measured pair's weight.
_INDEPENDENCE = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMeasurements:
    """Everything that was asked of the private records."""

    singles: list[MeasuredCounts]
    """Noisy marginals of the columns over their parts, of all rounds that measure them."""
    partitions: list[Codes]
    """For each column the code with which each part begins, and the number of its codes."""
    keeps: list[Codes]
    """For each column the place of each part. Ordered parts share one with their neighbours; others
    have one if they stand out of the noise, and all that do not share the last.
    """
    scores: dict[Pair, float]  # Noisy dependence of each pair, in records
    pairs: dict[Pair, MeasuredCounts]  # Noisy marginals of the chosen pairs, over the places
    records: float  # The number of records, from all singles


def measure(
    # As :func:`checked_codes` returns them.
    codes: Codes,
    domain: Sequence[int],
    *,
    # Of the event.
    noise_std: float,
    shares: RoundShares,
    noise: NoiseSource,  # Where the noise comes from
    # For each column how many of its codes, from 0, are ordered and may be counted in groups.
    ordered: Sequence[int] = (),
) -> TableMeasurements:
    """The rounds of :func:`rounds_event`: the only function that sees private records."""
    _, _, second, third = shares.stds(noise_std)
    ordered = ordered or [0] * len(domain)
    # No dependence is believed where its score has so much noise, and the round is for columns.
    of_scores = second * math.sqrt(math.comb(len(domain), 2))
    codes, partitions, singles = _columns(
        codes, domain, ordered, noise_std=noise_std, shares=shares, noise=noise
    )
    records = records_estimate(singles)
    # As many as leave the pairs' noise in a cell below its records, if all pairs are measured.
    most = math.sqrt(records / (third * math.sqrt(max(1, math.comb(len(domain), 2)))))
    most_places = int(np.clip(most, _FEWEST_PLACES, _MOST_PLACES))
    near = [_probabilities(one, records) for one in singles]
    keeps = [
        contiguous_places(one, starts < many, most_places) if many else _frequent(counts)
        for counts, one, starts, many in zip(singles, near, partitions, ordered, strict=True)
    ]
    merged = np.column_stack([keep[codes[:, j]] for j, keep in enumerate(keeps)])
    sizes = [int(keep.max()) + 1 for keep in keeps]
    shown = [_merged(one, keep) for keep, one in zip(keeps, near, strict=True)]
    expected: dict[Pair, Floats] = {
        (i, j): np.outer(shown[i], shown[j]) * records for i, j in pairs_of(sizes)
    }
    widths = [len(starts) for starts in partitions]
    if of_scores > _HOPELESS * records:
        again = measure_one_way(codes, widths, std=second, noise=noise)
        singles = [together(*both) for both in zip(singles, again, strict=True)]
        scores: dict[Pair, float] = {}
    else:
        scores, of_scores = measure_scores(merged, sizes, expected, std=second, noise=noise)
    chosen = chosen_tables(
        scores, expected, singles, std=third, of_scores=of_scores, records=records
    )
    # Pairs are counted in places, and columns, which come after these, in all of their parts.
    count = len(sizes)
    places: dict[Chosen, float] = {
        columns if len(columns) == 2 else (count + columns[0],): weight
        for columns, weight in chosen.items()
    }
    both = np.hstack([merged, codes])
    found = measure_chosen(both, (*sizes, *widths), places, std=third, noise=noise)
    singles = [
        together(one, found[(count + j,)]) if (count + j,) in found else one
        for j, one in enumerate(singles)
    ]
    return TableMeasurements(
        singles=singles,
        partitions=[np.append(s, size) for s, size in zip(partitions, domain, strict=True)],
        keeps=keeps,
        scores=scores,
        pairs={columns: one for columns, one in found.items() if len(columns) == 2},
        records=records_estimate(singles),
    )


def _columns(
    codes: Codes,
    domain: Sequence[int],
    ordered: Sequence[int],
    *,
    noise_std: float,
    shares: RoundShares,
    noise: NoiseSource,
) -> tuple[Codes, list[Codes], list[MeasuredCounts]]:
    """Columns in public groups, then in parts of these: codes as parts, the parts, and counts."""
    groups = [public_groups(size, many) for size, many in zip(domain, ordered, strict=True)]
    grouped, sizes = in_parts(codes, groups)
    first, again, second, _ = shares.stds(noise_std)
    coarse = measure_one_way(grouped, sizes, std=first, noise=noise)
    if not shares.parts:
        return grouped, groups, coarse
    hopeless = second * math.sqrt(math.comb(len(domain), 2)) > _HOPELESS * records_estimate(coarse)
    # What is still to come to columns: where there are no pairs, all of it.
    still = 1.0 - shares.one_way if hopeless else shares.parts + _OF_PAIRS * shares.pairs
    shares_of_columns = weights(sizes, _OF_COLUMNS)
    partitions = [
        split_groups(starts, one, size, noise_std / math.sqrt(still) / weight)
        for starts, one, size, weight in zip(groups, coarse, domain, shares_of_columns, strict=True)
    ]
    parts, sizes = in_parts(codes, partitions)
    fine = measure_one_way(parts, sizes, std=again, noise=noise)
    found = [with_totals(*given) for given in zip(fine, partitions, coarse, groups, strict=True)]
    return parts, partitions, found


def _probabilities(one: MeasuredCounts, records: float) -> Floats:
    return nearest_probabilities(one.counts / records)


def synthetic_codes(
    found: TableMeasurements,  # What :func:`measure` returned
    *,
    rows: int | None,  # How many rows; by default the estimated number of records
    fit: MixtureFit,  # How the model is fitted
    rng: np.random.Generator,  # Randomness
    # Called with the number of steps done and of all steps.
    progress: Callable[[int, int], None] | None = None,
) -> Codes:
    """Rows of codes that agree with noisy measurements. It sees no private record."""
    count = round(found.records) if rows is None else int(_validate.integer("rows", rows))
    full = [_probabilities(one, found.records) for one in found.singles]
    singles = [
        WantedMarginal(
            _merged(probabilities, keep),
            # The weight of a column is that of the noise of most of its places.
            float((found.records / one.std) ** 2 / np.median(np.bincount(keep))),
        )
        for keep, probabilities, one in zip(found.keeps, full, found.singles, strict=True)
    ]
    pairs = {
        pair: WantedMarginal(one.counts / found.records, float((found.records / one.std) ** 2))
        for pair, one in found.pairs.items()
    }
    strongest = max((one.weight for one in pairs.values()), default=1.0)
    for i, j in found.scores:
        if (i, j) not in pairs:
            independent: Floats = np.outer(singles[i].values, singles[j].values)
            pairs[i, j] = WantedMarginal(independent, _INDEPENDENCE * strongest)
    seed = int(rng.integers(2**63))
    columns = [one.values[None, :] for one in singles]
    if found.pairs:
        columns = fit_mixture(singles, pairs, fit, seed=seed, progress=progress)
    many = sum(one.size for one in full) > _MOST_CODES
    known = list(zip(found.keeps, full, found.partitions, strict=True))
    for j, (keep, probabilities, starts) in enumerate(known):
        if not many and keep.size == starts[-1]:
            columns[j] = columns[j][:, keep] * _within(keep, probabilities)
    made = rows_of_mixture(columns, count, rng)
    for j, (keep, probabilities, starts) in enumerate(known):
        if many or keep.size < starts[-1]:
            made[:, j] = _spread(made[:, j], keep, probabilities, rng)
        if keep.size < starts[-1]:
            made[:, j] = rng.integers(starts[made[:, j]], starts[made[:, j] + 1])
    return made


def _within(keep: Codes, probabilities: Floats) -> Floats:
    """The share of each code in its place, by noisy frequencies."""
    totals, sizes = _merged(probabilities, keep)[keep], np.bincount(keep)[keep]
    equal: Floats = np.ones(len(keep)) / sizes
    return np.divide(probabilities, totals, out=equal, where=totals > 0.0)


def _frequent(one: MeasuredCounts) -> Codes:
    """The number of each code that stands out of the noise; the others share the last place."""
    wanted = one.counts >= 2.0 * one.std
    if not wanted.any():
        wanted = one.counts == one.counts.max()
    # A single rare code keeps its own place, too.
    return np.where(wanted, np.cumsum(wanted) - 1, int(wanted.sum())).astype(np.int64)


def _merged(probabilities: Floats, keep: Codes) -> Floats:
    """The probability of each place."""
    return np.bincount(keep, weights=probabilities).astype(np.float64)


def _spread(places: Codes, keep: Codes, probabilities: Floats, rng: np.random.Generator) -> Codes:
    """Codes from places: rows of a shared place get its codes by their noisy frequencies."""
    found = np.empty_like(places)
    for place in np.unique(places):
        where = np.flatnonzero(places == place)
        codes = np.flatnonzero(keep == place)
        share = probabilities[codes]
        total = share.sum()
        share = share / total if total > 0.0 else np.full(codes.size, 1.0 / codes.size)
        whole = np.floor(share * where.size).astype(np.int64)
        rest = rng.choice(codes, where.size - int(whole.sum()), p=share)
        found[where] = rng.permutation(np.concatenate([np.repeat(codes, whole), rest]))
    return found
