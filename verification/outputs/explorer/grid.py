"""Proven numbers at every setting of the sliders, computed beforehand.

Guarantee
---------
Each number is an upper bound at its setting. It is the certified Renyi bound there, the best bound
where that one says much less, or a number that is proven at a setting that leaks at least as much:
parameters say of themselves in which direction they are more private, and a bound for more leakage
holds for less. Nothing is interpolated.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import Adjacency, Event, supervisor
from rdpkit.analysis import BEST, BEST_RDP, certified_rdp, epsilon
from rdpkit.formats.journal import Journal
from rdpkit.formats.numbers import rounded_up
from rdpkit.verification.auditing.cache import content
from rdpkit.verification.auditing.findings import Finding
from rdpkit.verification.auditing.versions import versions
from rdpkit.verification.outputs.explorer.sliders import Sliders, sliders_of

# Where the best bound is below this share of the Renyi bound, the Renyi bound says too little.
_MUCH_BETTER = 0.5
_DIGITS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class SliderQuestion:
    """What a grid of numbers is about; claims that ask the same share it.

    Parameters
    ----------
    event : Event
        The event of the claim.
    adjacency : Adjacency
        The neighbouring relation.
    delta : float or None
        At which epsilons are wanted; None for a Renyi divergence.
    order : float or None
        The order of that divergence.
    upper : float
        The best upper bound at the claim's own setting, as the audit found it.
    """

    event: Event
    adjacency: Adjacency
    delta: float | None
    order: float | None
    upper: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SliderGrid:
    """The sliders of a claim, and a proven number at every setting of them.

    Parameters
    ----------
    sliders : Sliders
        What can be moved.
    values : tuple of (float or None)
        Rounded up to four digits, the last slider moving first; None where the event refuses the
        setting or no number could be computed.
    certified : bool
        Whether every number was enclosed in ball arithmetic.
    """

    sliders: Sliders
    values: tuple[float | None, ...]
    certified: bool


def question_about(finding: Finding) -> SliderQuestion | None:
    """What sliders show beside a finding; None where there are none."""
    claim = finding.claim
    if claim.event is None or finding.upper is None or claim.quantity != "epsilon":
        return None
    if sliders_of(claim.event) is None:
        return None
    return SliderQuestion(
        event=claim.event,
        adjacency=claim.adjacency,
        delta=claim.delta,
        order=claim.order if claim.delta is None else None,
        upper=finding.upper.epsilon,
    )


def grid_about(question: SliderQuestion) -> SliderGrid | None:
    """The numbers at every setting; None if the event has no sliders.

    Raises
    ------
    ArithmeticError
        If a number comes out wrong; it is never replaced by a guess.
    """
    own = _bound(question, BEST_RDP, question.event)
    slow = own is None or question.upper < _MUCH_BETTER * own[0]
    by_losses = slow and question.delta is not None
    sliders = sliders_of(question.event, coarse=by_losses)
    if sliders is None:
        return None
    found = [
        None if event is None else _bound(question, BEST if by_losses else BEST_RDP, event)
        for event in sliders.events()
    ]
    numbers = np.array([math.nan if one is None else one[0] for one in found])
    # The audit has proven its number at the claim's own setting, whatever the grid found there.
    numbers[sliders.own] = np.fmin(numbers[sliders.own], question.upper)
    held = _held(numbers.reshape(sliders.shape), [one.private for one in sliders.sliders])
    return SliderGrid(
        sliders=sliders,
        values=tuple(map(_shown, held.ravel().tolist())),
        certified=all(one is None or one[1] for one in found),
    )


def _bound(question: SliderQuestion, route: str, event: Event) -> tuple[float, bool] | None:
    """An upper bound and whether it is certified; None if there is no theorem or no answer."""
    try:
        if question.delta is None:
            assert question.order is not None
            value, _, enclosure = certified_rdp(
                event, order=question.order, adjacency=question.adjacency
            )
            return value, enclosure is not None or math.isinf(value)
        found = epsilon(event, delta=question.delta, adjacency=question.adjacency, bound=route)
    except ValueError:
        return None
    certified = found.computed is not None and found.computed.rigorous
    return found.epsilon, certified or math.isinf(found.epsilon)


def _held(numbers: NDArray[np.float64], directions: Sequence[int]) -> NDArray[np.float64]:
    """The smallest number of all settings that leak at least as much; NaN stays where it was."""
    held = np.where(np.isnan(numbers), math.inf, numbers)
    for axis, private in enumerate(directions):
        if private > 0:
            held = np.minimum.accumulate(held, axis=axis)
        elif private < 0:
            held = np.flip(np.minimum.accumulate(np.flip(held, axis), axis=axis), axis)
    return np.where(np.isnan(numbers), math.nan, held)


def _shown(value: float) -> float | None:
    return None if math.isnan(value) else float(rounded_up(value, digits=_DIGITS))


class GridCache:
    """Grids on the disk, each written as soon as it is computed.

    Parameters
    ----------
    path : Path
        The file; it is made when the first grid is added.

    Raises
    ------
    ValueError
        If the file is something else: it is left alone.
    OSError
        If it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._journal = Journal(path, mark="rdpkit-explorer-1", kind="grid")

    @property
    def damaged(self) -> tuple[str, ...]:
        """Every damaged entry."""
        return self._journal.damaged

    def get(self, question: SliderQuestion) -> SliderGrid | None:
        """The grid of a question, if one that can be read is there."""
        key = _key(question)
        if key not in self._journal:
            return None
        try:
            entry = self._journal.get(key)
            sliders = sliders_of(question.event, coarse=bool(entry["coarse"]))
            values = tuple(None if one is None else float(one) for one in entry["values"])
            if sliders is None or len(values) != math.prod(sliders.shape):
                raise ValueError("The grid has another shape.")
            return SliderGrid(sliders=sliders, values=values, certified=bool(entry["certified"]))
        except (ValueError, KeyError, TypeError):
            self._journal.report_damage(key[:12])
            return None

    def put(self, question: SliderQuestion, grid: SliderGrid) -> None:
        """Add a grid; a kill after this call loses nothing of it."""
        usual = sliders_of(question.event)
        coarse = usual is None or usual.shape != grid.sliders.shape
        # JSON has no infinity.
        values = [str(one) if one == math.inf else one for one in grid.values]
        entry = {"coarse": coarse, "values": values, "certified": grid.certified}
        self._journal.add(_key(question), entry, name=_key(question)[:12])

    def sync(self) -> None:
        """Wait until the disk holds all grids."""
        self._journal.sync()


def grids_about(
    questions: Iterable[SliderQuestion], *, jobs: int | None = 1, cache: GridCache | None = None
) -> Iterator[tuple[SliderQuestion, SliderGrid | None]]:
    """The grid of every question, each as soon as it is there; equal questions are asked once.

    Parameters
    ----------
    questions : iterable of SliderQuestion
        What is asked.
    jobs : int or None
        Processes to share the work between, as in joblib.
    cache : GridCache, optional
        Where grids are kept.

    Raises
    ------
    ArithmeticError
        If a number comes out wrong.
    """
    missing = []
    for question in dict.fromkeys(questions):
        known = None if cache is None else cache.get(question)
        if known is None:
            missing.append(question)
        else:
            yield question, known
    for place, grid in supervisor.as_finished(grid_about, missing, jobs=jobs):
        if cache is not None and grid is not None:
            cache.put(missing[place], grid)
        yield missing[place], grid
    if cache is not None:
        cache.sync()


@functools.lru_cache(maxsize=4096)
def _key(question: SliderQuestion) -> str:
    both = [sliders_of(question.event, coarse=coarse) for coarse in (False, True)]
    settings = [[one.values for one in found.sliders] if found else [] for found in both]
    everything: Any = [versions(), _DIGITS, _MUCH_BETTER, settings, content(question)]
    return hashlib.sha256(json.dumps(everything, sort_keys=True).encode()).hexdigest()


__all__ = [
    "GridCache",
    "SliderGrid",
    "SliderQuestion",
    "grid_about",
    "grids_about",
    "question_about",
]
