"""The curves behind a claim: epsilon by delta, from both sides, and Renyi divergences by order.

Epsilon by delta is the privacy profile. Its upper and its lower curve are proven, as the numbers
of the audit are, and pass through them: :mod:`rdpkit.accountants.profiles` gives points and
chords of delta as a function of e^epsilon, which is convex, so that a number of the audit may be
one more point. Claims about the same event share their curves.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from rdpkit import Adjacency, Event
from rdpkit.accountants import profiles
from rdpkit.accountants.divergence_bounds import find_published
from rdpkit.accountants.event_tree import UpperBounds
from rdpkit.accountants.loss_distributions import LOWER_ID, UPPER_ID
from rdpkit.analysis import BEST, BEST_RDP, epsilon, published_bounds
from rdpkit.formats.text import rounded_down, rounded_up
from rdpkit.verification.auditing.findings import Bounds, Finding
from rdpkit.verification.auditing.verdict import published_number

ORDERS = tuple(float(a) for a in 1.0 + np.geomspace(0.1, 512.0, 34))
"""Orders at which Renyi divergences are drawn."""

MOST_PROFILES = 60
"""For so many events of one page, the worst first, the privacy profile is computed."""

# How far the profile goes on both sides of the deltas of the claims, as a factor, and where to.
_AROUND, _LARGEST = 100.0, 0.5
# Powers of ten are divided into so many parts, and into so many where each point is searched.
_FINE, _COARSE = 8, 1

Route = Literal["losses", "divergences", "none"]
Points = tuple[tuple[float, float], ...]
_Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One line of a drawing."""

    kind: str  # "upper", "lower" or "published"
    label: str  # What the line is, and how far it can be trusted
    points: Points  # From left to right; what lies between two points is on the chord


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """Both drawings of one event."""

    profile: tuple[Series, ...] = ()  # Epsilon in nats by delta
    rdp: tuple[Series, ...] = ()
    """Renyi divergences in nats by order, in floating point: they certify nothing."""
    notes: tuple[str, ...] = ()  # Why something is not drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedFormula:
    """Where a published number comes from, as in a claim; None where the claim does not say."""

    bound: str | None
    conversion: str | None
    order: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveQuestion:
    """What is to be drawn of an event: by which formulas, and through which numbers."""

    # What was released, and the neighbouring relation.
    event: Event
    adjacency: Adjacency
    formulas: tuple[PublishedFormula, ...] = ()  # Those of the claims about it
    deltas: tuple[float, ...] = ()  # The deltas of the claims
    known: tuple[tuple[str, float, float], ...] = ()
    """What the audit proved and what it found attained: ("upper" or "lower", delta, epsilon)."""
    route: Route = "losses"  # What the profile is made of; one of {"losses", "divergences", "none"}


Asked = tuple[CurveQuestion, PublishedFormula]


def questions(
    findings: Sequence[Finding],  # What an audit found
    order: Iterable[int],  # The places of the findings, the most important first
    *,
    bounds: str = Bounds.ALL,  # Which bounds the audit computed; one of {"all", "needed", "rdp"}
    most: int = MOST_PROFILES,  # For so many events the privacy profile is drawn
) -> list[Asked | None]:
    """What is to be drawn for each finding; claims about the same event share a question."""
    found: dict[CurveQuestion, CurveQuestion] = {}
    keys: list[CurveQuestion | None] = [None] * len(findings)
    for place in order:
        key = _key(findings[place], bounds)
        if key is None:
            continue
        keys[place] = key
        if key not in found:
            drawn = sum(one.route != "none" for one in found.values())
            found[key] = key if drawn < most else dataclasses.replace(key, route="none")
        found[key] = _with_numbers(found[key], findings[place])
    return [
        None if key is None else (found[key], _formula(finding))
        for key, finding in zip(keys, findings, strict=True)
    ]


def _key(finding: Finding, bounds: str) -> CurveQuestion | None:
    claim = finding.claim
    if claim.event is None:
        return None
    by_divergences = bounds == Bounds.RDP or (
        bounds == Bounds.NEEDED and finding.upper is not None and finding.lower is None
    )
    route: Route = "divergences" if by_divergences else "losses"
    return CurveQuestion(event=claim.event, adjacency=claim.adjacency, route=route)


def _formula(finding: Finding) -> PublishedFormula:
    claim = finding.claim
    return PublishedFormula(bound=claim.bound, conversion=claim.conversion, order=claim.order)


def _with_numbers(question: CurveQuestion, finding: Finding) -> CurveQuestion:
    claim, formula = finding.claim, _formula(finding)
    if formula not in question.formulas:
        question = dataclasses.replace(question, formulas=(*question.formulas, formula))
    if not claim.delta or claim.quantity != "epsilon":
        return question
    known = set(question.known)
    for kind, side in (("upper", finding.upper), ("lower", finding.lower)):
        if side is not None and math.isfinite(side.epsilon):
            known.add((kind, claim.delta, side.epsilon))
    return dataclasses.replace(
        question, deltas=tuple(sorted({*question.deltas, claim.delta})), known=tuple(sorted(known))
    )


def answer(question: CurveQuestion) -> dict[PublishedFormula, Curves]:
    """The curves of each formula of a question. What cannot be computed is named, and not drawn."""
    shared: list[str] = []
    if question.route == "none":
        shared.append("epsilon by delta is drawn for the worst claims only")
    drawn = bool(question.deltas) and question.route != "none"
    both: tuple[Series, ...] = ()
    if drawn:
        both = (
            *_attempt("the upper curve", shared, lambda: _upper(question)),
            *_attempt("the lower curve", shared, lambda: _lower(question)),
        )
    divergences = _attempt("the curve of orders", shared, lambda: _rdp(question))
    found = {}
    for formula in question.formulas:
        notes = list(shared)
        profile, rdp = both, divergences
        if drawn:
            make = partial(_published, question, formula)
            profile += _attempt("the published curve", notes, make)
        rdp += _attempt("the published orders", notes, partial(_published_rdp, question, formula))
        found[formula] = Curves(profile=profile, rdp=rdp, notes=tuple(notes))
    return found


def _attempt(what: str, notes: list[str], make: Callable[[], Series | None]) -> tuple[Series, ...]:
    try:
        found = make()
    except (ValueError, ArithmeticError) as error:
        notes.append(f"{what} is not drawn: {' '.join(str(error).split())}")
        return ()
    return () if found is None or not found.points else (found,)


def curves(
    finding: Finding,  # What the audit found
    *,
    bounds: str = Bounds.ALL,  # Which bounds the audit computed; one of {"all", "needed", "rdp"}
) -> Curves | None:
    """The curves behind one claim; None where its parameters do not say what was released."""
    (asked,) = questions([finding], [0], bounds=bounds)
    return None if asked is None else answer(asked[0])[asked[1]]


def _range(question: CurveQuestion) -> tuple[float, float]:
    """The deltas at the ends of the drawing."""
    low = max(question.deltas[0] / _AROUND, 1e-300)
    return low, max(min(question.deltas[-1] * _AROUND, _LARGEST), question.deltas[-1])


def _deltas(question: CurveQuestion, parts: int) -> list[float]:
    """Deltas from one end of the drawing to the other, those of the claims among them."""
    low, high = _range(question)
    first, last = math.ceil(math.log10(low) * parts), math.floor(math.log10(high) * parts)
    inner = {float(f"{10.0 ** (k / parts):.12g}") for k in range(first, last + 1)}
    return sorted(d for d in {low, high, *inner, *question.deltas} if low <= d <= high)


def _upper(question: CurveQuestion) -> Series:
    if question.route == "divergences":
        label = "upper: proven at the points, by Renyi divergences (certified)"
        best = partial(epsilon, question.event, adjacency=question.adjacency, bound=BEST_RDP)
        found = [(delta, best(delta=delta).epsilon) for delta in _deltas(question, _COARSE)]
        return Series(kind="upper", label=label, points=_stairs(found))
    low, _ = _range(question)
    profile = profiles.proven(question.event, question.adjacency, smallest=low)
    numbers = [(value, delta) for kind, delta, value in question.known if kind == "upper"]
    chords = _descending(sorted([*profile.points(), *numbers]))
    points = [
        (delta, _rounded(value, up=True))
        for delta in _deltas(question, _FINE)
        if (value := _epsilon_at(chords, delta, up=True)) is not None
    ]
    label = "upper: proven, no data set leaks more (certified)"
    return Series(kind="upper", label=label, points=tuple(points))


def _stairs(points: Iterable[tuple[float, float]]) -> Points:
    """What is proven at a delta holds for all larger ones, up to the next one."""
    found: list[tuple[float, float]] = []
    for delta, value in points:
        if not math.isfinite(value):
            continue
        if found:
            found.append((delta, found[-1][1]))
        found.append((delta, _rounded(value, up=True)))
    return tuple(found)


def _lower(question: CurveQuestion) -> Series | None:
    if question.route == "divergences":
        return None
    low, _ = _range(question)
    attained = profiles.attained(question.event, question.adjacency, smallest=low)
    numbers = [(delta, value) for kind, delta, value in question.known if kind == "lower"]
    points = []
    for delta in _deltas(question, _FINE):
        values = [
            _epsilon_at(one.points(), delta, up=False)
            for pair in attained
            for one in (pair.forward, pair.backward)
        ]
        # What is attained at a delta is attained at all smaller ones.
        values += [value for at, value in numbers if delta <= at]
        best = max((value for value in values if value is not None), default=0.0)
        points.append((delta, _rounded(best, up=False)))
    if not attained and not numbers:
        return None
    label = "lower: attained by two neighbouring data sets (certified)"
    return Series(kind="lower", label=label, points=tuple(points))


def _descending(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Points of ascending epsilon with only those whose delta is smaller than all before."""
    found: list[tuple[float, float]] = []
    for value, delta in points:
        if not found or delta < found[-1][1]:
            found.append((value, delta))
    return found


def _epsilon_at(points: Sequence[tuple[float, float]], delta: float, *, up: bool) -> float | None:
    """Where a function that is straight in e^epsilon between its points comes down to ``delta``.

    Returns the largest epsilon at which it is ``delta``; None where it does not become as small,
    and 0 where it is nowhere as large.
    """
    if not points or points[-1][1] > delta:
        return None
    if points[0][1] <= delta:
        return points[0][0] if up else 0.0
    for (left, high), (right, low) in zip(points[-2::-1], points[:0:-1], strict=True):
        if high >= delta > low or (high > delta >= low):
            share = (high - delta) / (high - low)
            gap = right - left
            if gap > 700.0 or share >= 1.0:
                return right if up or share >= 1.0 else left
            return left + math.log1p(share * math.expm1(gap))
    return None


def _published(question: CurveQuestion, formula: PublishedFormula) -> Series | None:
    candidates = published_bounds(question.event, question.adjacency)
    # As in the audit: without a published formula, the Renyi accountant is the usual one.
    bound = formula.bound or (candidates[0] if candidates else BEST_RDP)
    if bound in (BEST, UPPER_ID, LOWER_ID):
        return None
    points = []
    for delta in _deltas(question, _COARSE):
        side = published_number(
            question.event,
            question.adjacency,
            delta,
            bound=bound,
            conversion=formula.conversion,
            order=formula.order,
        )
        if math.isfinite(side.epsilon):
            points.append((delta, _rounded(side.epsilon, up=True)))
    label = f"published: the formula {bound}, which need not be true"
    if bound not in candidates:
        label = f"published: the usual formula, {bound}"
    return Series(kind="published", label=label, points=tuple(points))


def _orders(question: CurveQuestion) -> _Floats:
    own = {one.order for one in question.formulas if one.order is not None}
    return np.array(sorted({*ORDERS, *own}))


def _rdp(question: CurveQuestion) -> Series:
    orders = _orders(question)
    upper = UpperBounds({}).rdp(question.event, orders, question.adjacency)
    label = "upper: the smallest of the proven bounds (floating point)"
    return Series(kind="upper", label=label, points=_drawn(orders, upper))


def _published_rdp(question: CurveQuestion, formula: PublishedFormula) -> Series | None:
    names = published_bounds(question.event, question.adjacency)
    name = formula.bound if formula.bound in names else next(iter(names), None)
    theorem = name and find_published(question.event, question.adjacency, name)
    if not theorem:
        return None
    orders = _orders(question)
    values = theorem.values(question.event, orders, question.adjacency)
    label = f"published: the formula {theorem.id}, which need not be true"
    return Series(kind="published", label=label, points=_drawn(orders, values))


def _drawn(x: _Floats, values: _Floats) -> Points:
    if np.isnan(values).any():
        raise ArithmeticError("it has a NaN")
    pairs = zip(x.tolist(), values.tolist(), strict=True)
    return tuple((at, _rounded(value, up=True)) for at, value in pairs if math.isfinite(value))


def _rounded(value: float, *, up: bool) -> float:
    """Six digits, more than a screen shows, rounded so that a bound stays one."""
    return float((rounded_up if up else rounded_down)(value, digits=6))
