"""Outputs that scores are learnt from, scores with their names, and how clear these are.

How clearly a score tells outputs on D from outputs on D' is measured on outputs that it was not
learnt from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from rdpkit import _validate
from rdpkit.verification.blackbox.mistakes import Mistake
from rdpkit.verification.blackbox.neighbours import Neighbours
from rdpkit.verification.estimators.base import Array, OutputScore, check_scores

# Outputs are never thinned below this number.
_FEWEST = 200
# How many columns a message names.
_MOST_NAMES = 4
# Centres and scales are computed from at most this many outputs, and values, of each side, but from
# no fewer outputs than this.
_MOST_ROWS, _MOST_VALUES, _FEWEST_FOR_SCALES = 1000, 2**22, 50
# The standard deviation of a normal distribution over its median absolute deviation.
_NORMAL = 1.4826
_LARGEST = 1e300


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainingOutputs:
    """Outputs of past runs on both data sets, and what is known about their columns."""

    # Encoded outputs on D and on D'.
    p: Array
    q: Array
    shapes: tuple[tuple[int, ...], ...]
    """The shapes of the arrays of a release, in the order in which they are flattened."""
    is_number: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    """Whether a column holds a number; False for codes of categories, of which only equality means
    anything. By default all columns hold numbers.
    """
    pair: Neighbours | None = None  # The data sets; None if they are not known
    name: Callable[[int], str] = str  # The name of a column in a release; by default its number

    def __post_init__(self) -> None:
        if not self.is_number.size:
            object.__setattr__(self, "is_number", np.ones(self.p.shape[1:], dtype=np.bool_))

    @property
    def runs(self) -> int:
        """Runs on the side with fewer of them."""
        return min(len(self.p), len(self.q))

    @property
    def numbers(self) -> NDArray[np.intp]:
        """The columns that hold numbers."""
        return np.flatnonzero(self.is_number)

    def names(self, columns: Sequence[int]) -> str:
        """The names of the first columns among these."""
        some = ", ".join(self.name(int(column)) for column in columns[:_MOST_NAMES])
        return some + " and others" * (len(columns) > _MOST_NAMES)

    def within(self, values: float) -> TrainingOutputs:
        """So many outputs of each side, evenly spread, that they hold at most this many values."""
        return self.thinned(max(_FEWEST, int(values / max(1, self.p.shape[1]))))

    def half(self, which: int) -> TrainingOutputs:
        """Every second output, beginning with the first (0) or with the second (1)."""
        return replace(self, p=self.p[which::2], q=self.q[which::2])

    def thinned(self, runs: int) -> TrainingOutputs:
        """At most this many outputs of each side, evenly spread."""
        if max(len(self.p), len(self.q)) <= runs:
            return self
        return replace(self, p=thinned(self.p, runs), q=thinned(self.q, runs))


def thinned(rows: Array, most: int) -> Array:
    """At most this many rows, evenly spread; which ones depends on the number of rows alone."""
    if len(rows) <= most:
        return rows
    return rows[np.arange(most) * len(rows) // most]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Standard:
    """Some columns of an output, centred and divided by their spread."""

    columns: NDArray[np.intp]  # The columns; shape (k,)
    # What is subtracted, and what the difference is divided by; shape (k,).
    centre: Array
    scale: Array
    furthest: float = 1e6  # The result is clipped at this distance from 0
    signs: bool = False  # Whether the result is 1.0, 0.0 or -1.0 instead

    def __call__(self, outputs: Array, /) -> Array:
        """Columns in standard units, shape (n, k)."""
        chosen = outputs
        if len(self.columns) != outputs.shape[1]:
            chosen = outputs[:, self.columns]
        with np.errstate(over="ignore", under="ignore"):
            unit = np.clip(chosen, -_LARGEST, _LARGEST)
            unit -= self.centre
            unit /= self.scale
        np.clip(unit, -self.furthest, self.furthest, out=unit)
        return np.sign(unit, out=unit) if self.signs else unit

    def of(self, places: NDArray[np.intp]) -> Standard:
        """The same for some of its columns, given by their places among them."""
        columns, centre, scale = self.columns[places], self.centre[places], self.scale[places]
        return replace(self, columns=columns, centre=centre, scale=scale)


def standard(
    training: TrainingOutputs,  # The outputs to learn from
    *,
    furthest: float = 1e6,  # Where standard units are clipped
) -> Standard:
    """The robust centre and scale of every column of numbers that varies."""
    most = max(_FEWEST_FOR_SCALES, min(_MOST_ROWS, _MOST_VALUES // max(1, training.p.shape[1])))
    rows = np.concatenate([thinned(side, most) for side in (training.p, training.q)])
    columns = training.numbers
    rows = np.clip(rows[:, columns], -_LARGEST, _LARGEST)
    centre = np.median(rows, axis=0)
    with np.errstate(over="ignore", under="ignore"):
        distances = np.abs(rows - centre)
        scale = _NORMAL * np.median(distances, axis=0)
        # Most outputs may be equal, and the scale is then that of the others.
        rare = scale == 0.0
        largest = distances[:, rare].max(axis=0)
        parts = distances[:, rare] / np.where(largest > 0.0, largest, 1.0)
        scale[rare] = largest * np.sqrt(np.mean(parts**2, axis=0))
    kept = (scale > 0.0) & np.isfinite(scale)
    return Standard(
        columns=columns[kept], centre=centre[kept], scale=scale[kept], furthest=furthest
    )


@dataclass(frozen=True, slots=True)
class NamedScore:
    """A score and its name."""

    name: str  # The name in words
    score: OutputScore
    """Turns flattened outputs, shape (n, d), into scores, shape (n,). It can be pickled, because it
    is sent to other processes.
    """
    _: KW_ONLY
    family: str = "given"  # The kind of score: a stable identifier such as "linear" or "covariance"
    share: float = 1.0
    """The prior weight of its bets, > 0; the shares of a list are relative to each other."""
    explanation: Mistake | None = None
    """What is wrong with the mechanism if a claim is rejected by this score; None if the score does
    not say.
    """

    def of(self, outputs: Array) -> Array:
        """The scores of outputs.

        Raises ArithmeticError if one is NaN. Raises ValueError if the score raises, or does not
        return one number a row.
        """
        with _validate.ErrorsOf(f"The score {self.name!r}"):
            scores = self.score(outputs)
        found = check_scores(f"the score {self.name!r}", scores)
        if found.shape != (len(outputs),):
            raise ValueError(
                f"Expected the score {self.name!r} to return {len(outputs)} numbers, got "
                f"{found.size}."
            )
        return found


def score_of(make: Callable[[Array], Array], score: OutputScore, outputs: Array, /) -> Array:
    """A score of what is made of outputs, such as outputs in standard units."""
    return score(make(outputs))


Counts = NDArray[np.intp]

# With this many different values of a score or more, chance alone gives about the same clearness.
_MOST_DIFFERENT = 1000
# Outputs are sorted by a known score into at most so many bins, of at least so many outputs each,
# and compared at about three times so many levels.
_BINS, _FOR_A_BIN, _LEVELS = 64, 25, 24


def clearness(
    # Scores of outputs that the score was not learnt from; shape (n,) and (m,)
    p_scores: Array,
    q_scores: Array,
) -> float:
    """How clearly scores differ, in standard deviations; about 0 or less if nothing is seen.

    It is the signed root of the largest likelihood ratio of an event {score > t}, less a part of
    what chance gives for as many events.
    """
    values, places = np.unique(np.concatenate([p_scores, q_scores]), return_inverse=True)
    if len(values) < 2:
        return -math.inf
    above, below = (
        np.cumsum(np.bincount(part, minlength=len(values)))[:-1]
        for part in (places[: len(p_scores)], places[len(p_scores) :])
    )
    n, m = len(p_scores), len(q_scores)
    # Of two different probabilities against a single one.
    ratio = _entropy(above, n) + _entropy(below, m) - _entropy(above + below, n + m)
    chance = math.sqrt(2.0 * math.log(1.0 + min(len(values), _MOST_DIFFERENT)))
    return math.sqrt(2.0 * max(0.0, float(ratio.max()))) - 0.5 * chance


def _entropy(hits: Counts, n: int) -> Array:
    rate = hits / n
    return np.asarray(xlogy(hits, rate) + xlogy(n - hits, 1.0 - rate))


def clearness_beyond(
    # Scores of outputs that the score was not learnt from; shape (n,) and (m,)
    p_scores: Array,
    q_scores: Array,
    # The known score of the same outputs; shape (n,) and (m,)
    p_known: Array,
    q_known: Array,
) -> float:
    """How clearly scores differ among outputs of which another score says about the same.

    Outputs are sorted into bins by the known score. For each event {score > t}, the numbers from D
    in the bins are compared with what is expected if the event says nothing beyond the bin, as
    Mantel and Haenszel do; what counts is the clearest event, less a part of what chance gives.
    """
    scores, known = np.concatenate([p_scores, q_scores]), np.concatenate([p_known, q_known])
    count = int(np.clip(len(known) // _FOR_A_BIN, 2, _BINS))
    edges = np.unique(np.quantile(known, np.arange(1, count) / count, method="inverted_cdf"))
    bins = np.searchsorted(edges, known, side="left")
    values = np.unique(scores)
    if len(values) < 2:
        return -math.inf
    # Levels are evenly spread among the values, and closer together at both ends.
    last = len(values) - 1
    ends = np.unique(np.round(np.geomspace(1, last, _LEVELS)).astype(np.intp))
    evenly = np.linspace(1, last, _LEVELS).astype(np.intp)
    levels = values[np.unique(np.concatenate([ends, len(values) - ends, evenly]))]
    cells = np.searchsorted(levels, scores, side="right")
    shape = (len(edges) + 1, len(levels) + 1)
    places = bins * shape[1] + cells
    hits, every = (
        np.bincount(part, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
        for part in (places[: len(p_scores)], places)
    )
    # For each level, outputs from below it.
    below, all_below = np.cumsum(hits, axis=1)[:, :-1], np.cumsum(every, axis=1)[:, :-1]
    size, own = every.sum(axis=1, keepdims=True), hits.sum(axis=1, keepdims=True)
    size_or_one = np.maximum(size, 1.0)
    expected = (own * all_below / size_or_one).sum(axis=0)
    variance = (
        own
        * (size - own)
        * all_below
        * (size - all_below)
        / size_or_one**2
        / np.maximum(size - 1.0, 1.0)
    ).sum(axis=0)
    gap = np.abs(below.sum(axis=0) - expected)
    clear = np.zeros(len(levels))
    np.divide(gap, np.sqrt(variance), out=clear, where=variance > 0.0)
    chance = math.sqrt(2.0 * math.log(1.0 + min(len(values), _MOST_DIFFERENT)))
    return float(clear.max()) - 0.5 * chance
