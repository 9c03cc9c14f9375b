"""From private codes to synthetic codes: three noisy rounds, then nothing but computation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rdpkit import _validate
from rdpkit.mechanisms.parts.marginals.choosing import (
    chosen_tables,
    frequent_codes,
    nearest_probabilities,
    records_estimate,
    together,
)
from rdpkit.mechanisms.parts.marginals.counting import Codes, Floats, Pair, pairs_of
from rdpkit.mechanisms.parts.marginals.mixture import MixtureFit, WantedMarginal, fit_mixture
from rdpkit.mechanisms.parts.marginals.rounds import (
    Chosen,
    MeasuredCounts,
    RoundShares,
    measure_chosen,
    measure_one_way,
    measure_scores,
)
from rdpkit.mechanisms.parts.marginals.rows import rows_of_mixture
from rdpkit.mechanisms.parts.noise import NoiseSource

# Scores with so much noise, for each record, have never shown a pair worth a measurement.
_HOPELESS = 0.2
# Rows are made of single codes, and not of places, where all columns have so many of them.
_MOST_CODES = 4096
# An unmeasured pair is held to independence with this part of a measured pair's weight.
_INDEPENDENCE = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMeasurements:
    """Everything that was asked of the private records.

    Parameters
    ----------
    singles : list of MeasuredCounts
        Noisy marginals of the columns, of both rounds that measure them.
    keeps : list of ndarray
        For each column the place of each code among those that stand out of the noise; all others
        share the last place.
    scores : dict
        Noisy dependence of each pair, in records.
    pairs : dict
        Noisy marginals of the chosen pairs, over the places.
    records : float
        The number of records, from all singles.
    """

    singles: list[MeasuredCounts]
    keeps: list[Codes]
    scores: dict[Pair, float]
    pairs: dict[Pair, MeasuredCounts]
    records: float


def measure(
    codes: Codes,
    domain: Sequence[int],
    *,
    noise_std: float,
    shares: RoundShares,
    noise: NoiseSource,
) -> TableMeasurements:
    """The three rounds of :func:`rounds_event`: the only function that sees private records.

    Parameters
    ----------
    codes, domain
        As :func:`checked_codes` returns them.
    noise_std, shares
        Of the event.
    noise : NoiseSource
        Where the noise comes from.
    """
    first, second, third = shares.stds(noise_std)
    singles = measure_one_way(codes, domain, std=first, noise=noise)
    records = records_estimate(singles)
    keeps = [_places(frequent_codes(one)) for one in singles]
    merged = np.column_stack([keep[codes[:, j]] for j, keep in enumerate(keeps)])
    sizes = [int(keep.max()) + 1 for keep in keeps]
    shown = [
        _merged(nearest_probabilities(one.counts / records), keep)
        for keep, one in zip(keeps, singles, strict=True)
    ]
    expected: dict[Pair, Floats] = {
        (i, j): np.outer(shown[i], shown[j]) * records for i, j in pairs_of(sizes)
    }
    of_scores = second * math.sqrt(len(expected))
    if of_scores > _HOPELESS * records:
        # No dependence would be believed, so that the second round is for columns as well.
        again = measure_one_way(codes, domain, std=second, noise=noise)
        singles = [together(*both) for both in zip(singles, again, strict=True)]
        scores: dict[Pair, float] = {}
    else:
        scores, of_scores = measure_scores(merged, sizes, expected, std=second, noise=noise)
    chosen = chosen_tables(
        scores, expected, singles, std=third, of_scores=of_scores, records=records
    )
    # Pairs are counted with merged codes, and columns, which come after these, with all of theirs.
    width = len(sizes)
    places: dict[Chosen, float] = {
        columns if len(columns) == 2 else (width + columns[0],): weight
        for columns, weight in chosen.items()
    }
    both, widths = np.hstack([merged, codes]), (*sizes, *domain)
    found = measure_chosen(both, widths, places, std=third, noise=noise)
    singles = [
        together(one, found[(width + j,)]) if (width + j,) in found else one
        for j, one in enumerate(singles)
    ]
    pairs = {columns: one for columns, one in found.items() if len(columns) == 2}
    return TableMeasurements(
        singles=singles,
        keeps=keeps,
        scores=scores,
        pairs=pairs,
        records=records_estimate(singles),
    )


def synthetic_codes(
    found: TableMeasurements,
    *,
    rows: int | None,
    fit: MixtureFit,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
) -> Codes:
    """Rows of codes that agree with noisy measurements. It sees no private record.

    Parameters
    ----------
    found : TableMeasurements
        What :func:`measure` returned.
    rows : int, optional
        How many rows; by default the estimated number of records.
    fit : MixtureFit
        How the model is fitted.
    rng : numpy.random.Generator
        Randomness.
    progress : callable, optional
        Called with the number of steps done and of all steps.
    """
    count = round(found.records) if rows is None else int(_validate.integer("rows", rows))
    full = [nearest_probabilities(one.counts / found.records) for one in found.singles]
    singles = [
        WantedMarginal(
            _merged(probabilities, keep),
            # The weight of a column is that of its noise; the merged codes are few.
            float((found.records / one.std) ** 2),
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
    if sum(one.size for one in full) > _MOST_CODES:
        codes = rows_of_mixture(columns, count, rng)
        for j, (keep, probabilities) in enumerate(zip(found.keeps, full, strict=True)):
            codes[:, j] = _spread(codes[:, j], keep, probabilities, rng)
        return codes
    for j, (keep, probabilities) in enumerate(zip(found.keeps, full, strict=True)):
        columns[j] = columns[j][:, keep] * _within(keep, probabilities)
    return rows_of_mixture(columns, count, rng)


def _within(keep: Codes, probabilities: Floats) -> Floats:
    """The share of each code in its place, by noisy frequencies."""
    totals, sizes = _merged(probabilities, keep)[keep], np.bincount(keep)[keep]
    equal: Floats = np.ones(len(keep)) / sizes
    return np.divide(probabilities, totals, out=equal, where=totals > 0.0)


def _places(frequent: Floats) -> Codes:
    """Each frequent code's number among them; the others share one place after the last."""
    wanted = frequent > 0.0
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
