"""What our accountants were asked during a test, and what a failure of the test proves."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import rdpkit
from rdpkit.events.losses import NoLossDistributionError

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|inf\b)")
# An assertion about a distance prints the two numbers inside of it.
_DISTANCE = re.compile(r"= abs\(\((.* - .*)\)\)")
# Messages print numbers with fewer digits than they have.
_SHOWN = 1e-6
# Statements for people print three digits.
_WRITTEN = 6e-3


@dataclass(frozen=True)
class Answer:
    """One number of ours."""

    question: str  # What was asked, in words
    ours: float  # The number
    lower: Callable[[], float | None]
    """Computes a certified lower bound on the same quantity, or None where there is none."""
    certified: bool = True  # Whether the number is


@dataclass
class Record:
    """All that was asked during one test."""

    answers: list[Answer] = field(default_factory=list)
    composed: list[tuple[Any, rdpkit.Event, Any]] = field(default_factory=list)
    asked: bool = False
    curves: list[Any] = field(default_factory=list)


ACCEPTED = "accepted with a note"
"""A test that fails by its own assertion, where two data sets show which number is right."""

CURRENT = Record()
"""The record of the test that is running."""


def begin() -> None:
    """Forget what an earlier test has asked."""
    CURRENT.answers.clear()
    CURRENT.composed.clear()
    CURRENT.curves.clear()
    CURRENT.asked = False


def attained(event: rdpkit.Event, adjacency: Any, **target: float) -> float | None:
    """What two data sets attain: epsilon at a delta, or delta at an epsilon."""
    try:
        found, _ = rdpkit.lower_bound(event, adjacency=adjacency, **target)
    except (NoLossDistributionError, ValueError):
        return None
    return found.epsilon if "delta" in target else found.delta


def note(message: str) -> str | None:
    """Why a failure with this message shows that ours is right; None if it does not."""
    if "not raised" in message or "True is not false" in message:
        return _refused()
    if "False is not true" in message and CURRENT.curves:
        return CURRENT.curves[-1].smaller_than_theirs()  # type: ignore[no-any-return]
    if "\n- " in message and "\n+ " in message:
        return _of_texts(message)
    compared = _DISTANCE.search(message)
    line = compared[1] if compared else message.split("\n", maxsplit=1)[0]
    numbers = [float(text) for text in _NUMBER.findall(line)]
    for answer in reversed(CURRENT.answers):
        if not (answer.certified and 0.0 < answer.ours < math.inf):
            continue
        if len(numbers) > 1 and numbers[1] == 1.0 and 0.0 < numbers[0] < 1.0:
            # The test has divided ours by theirs.
            return _proof(answer, answer.ours / numbers[0])
        for i, number in enumerate(numbers):
            if not math.isclose(number, answer.ours, rel_tol=_SHOWN):
                continue
            # The message has the two numbers first, and then by how much they differ.
            for theirs in [x for j, x in enumerate(numbers[:2]) if j != i]:
                found = _proof(answer, theirs) if 0.0 < theirs < math.inf else None
                if found:
                    return found
    return None


def _of_texts(message: str) -> str | None:
    """Two texts that differ in numbers alone: every one of them has to be shown to be right."""
    lines = message.split("\n")
    first, second = (
        [float(t) for line in lines if line.startswith(sign) for t in _NUMBER.findall(line[2:])]
        for sign in ("- ", "+ ")
    )
    if len(first) != len(second):
        return None
    found = []
    for one, other in zip(first, second, strict=True):
        if one == other:
            continue
        proofs = [
            _proof(answer, theirs)
            for answer in CURRENT.answers
            for ours, theirs in ((one, other), (other, one))
            if answer.certified and math.isclose(ours, answer.ours, rel_tol=_WRITTEN)
        ]
        proved = [proof for proof in proofs if proof]
        if not proved:
            return None
        found.append(proved[0])
    return "; ".join(dict.fromkeys(found)) or None


def _proof(answer: Answer, theirs: float) -> str | None:
    lower = answer.lower()
    if not lower:
        # Nothing is known to be attained, so that all evidence would be our own certificate.
        return None
    if lower <= answer.ours < theirs:
        return (
            f"{answer.question}: ours is {answer.ours:.9g}, certified, and smaller than theirs, "
            f"{theirs:.9g}; at least {lower:.9g} is attained"
        )
    if theirs < lower <= answer.ours:
        return (
            f"{answer.question}: theirs, {theirs:.9g}, is too small: at least {lower:.9g} is "
            f"attained, ours is {answer.ours:.9g}"
        )
    return None


def _refused() -> str | None:
    """The test expects a refusal: ours is right if its answer lies above what is attained."""
    if not CURRENT.composed:
        return None
    theirs, event, adjacency = CURRENT.composed[-1]
    lower = attained(event, adjacency, delta=1e-5)
    found = rdpkit.epsilon(event, delta=1e-5, adjacency=adjacency)
    if not lower or not (found.enclosure and math.isfinite(found.epsilon)):
        return None
    return (
        f"theirs refuses {type(theirs).__name__} under {adjacency}, of which ours proves "
        f"{lower:.6g} <= epsilon <= {found.epsilon:.6g} at delta = 1e-5"
    )
