"""Certificates: claims with hints that the checker in ``rdpkit/kernel`` needs to verify them.

Guarantee
---------
What is returned was accepted by the checker. Nothing here is trusted: the hints (grids, digits,
orders) come from floats, and a wrong hint can only make the checker refuse.

Source
------
The theory page "A checker that anyone can read".
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from rdpkit import _validate, events
from rdpkit.adjacency import Adjacency
from rdpkit.analysis import BEST_RDP, epsilon
from rdpkit.events import Event
from rdpkit.events.composition import partition_is_fixed

# How much of the variance of all losses grids may add, from one attempt to the next.
_ATTEMPTS = (1e-2, 1e-3, 1e-4, 2e-5)
# The most places of a grid.
_PLACES = 300_000
RELATIONS = {
    Adjacency.ADD_OR_REMOVE_ONE: "add-or-remove-one",
    Adjacency.REPLACE_ONE: "replace-one",
    Adjacency.ZERO_OUT: "zero-out",
}
Floats = NDArray[np.float64]


class NoCertificateError(ValueError):
    """The checker does not know the release, or did not accept any certificate for the claim."""


def certificate(
    event: Event,  # What was released
    *,
    # The epsilon that is claimed, in decimal digits; with ``order``, the Renyi divergence; without
    # ``delta`` and ``order``, rho of zero-concentrated privacy.
    claimed: str,
    adjacency: Adjacency | str,  # The neighbouring relation
    delta: float | None = None,  # In [0, 1); of an epsilon
    order: float | None = None,  # Above 1; of a Renyi divergence
    refuted: bool = False,  # Whether the certificate shows that the claim is false
    # What the claim is and where it is printed; no part of what is proven.
    about: Mapping[str, str] | None = None,
) -> str:
    """A certificate of a claim, which the checker accepted, as JSON.

    Raises NoCertificateError if there is none, with the reason.
    """
    if delta is not None and order is not None:
        raise _validate.fail("delta", "not to be given together with an order", delta)
    kernel, parsed = import_module("rdpkit.kernel"), Adjacency.parse(adjacency)
    claim: dict[str, Any] = {
        "says": "exceeded" if refuted else "at most",
        **released(event, parsed, below=refuted),
        "epsilon": claimed,
    }
    given = {"delta": delta, "order": order}
    claim |= {name: shortest(value) for name, value in given.items() if value is not None}
    try:
        kernel.statement(claim)
    except kernel.REFUSED as error:
        raise NoCertificateError(f"the checker did not accept the claim: {error}") from None
    if delta is None:
        attempts: Iterator[Any] = iter([{}])
    elif refuted:
        attempts = _from_below(kernel, claim)
    else:
        attempts = _from_above(kernel, claim, event, parsed)
    reason = "no grid was found"
    for hints in attempts:
        try:
            kernel.check(claim, hints)
        except kernel.REFUSED as error:
            reason = str(error)
            continue
        digest = kernel.digest(claim)
        found = {"format": kernel.FORMAT, "about": dict(about or {}), "claim": claim}
        return json.dumps({**found, "sha256": digest, "hints": hints}) + "\n"
    raise NoCertificateError(f"the checker did not accept the claim: {reason}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """What is computed of each of some disjoint parts of the data."""

    parts: list[list[dict[str, Any]]]  # In the words of the checker
    moves: bool = False  # Whether a record that is replaced may change its part


def released(event: Event, adjacency: Adjacency, *, below: bool = False) -> dict[str, Any]:
    """The relation and the release in the words of the checker; papers' events as they expand."""
    found, relation = _parts(event, adjacency, below), RELATIONS[adjacency]
    stays = adjacency is Adjacency.REPLACE_ONE and len(found.parts) > 1 and not found.moves
    parts = [
        [_as_stated(one, adjacency, below, found.moves) for one in part] for part in found.parts
    ]
    return {"relation": f"{relation}-in-a-part" if stays else relation, "release": parts}


def _as_stated(
    one: dict[str, Any], adjacency: Adjacency, below: bool, moves: bool
) -> dict[str, Any]:
    """One release, of a Gaussian with the distance that the checker asks for."""
    if one["kind"] != "gaussian":
        return {name: shortest(v) if isinstance(v, float) else v for name, v in one.items()}
    far = one["norm"]
    if adjacency is Adjacency.REPLACE_ONE:
        # Where more than a difference of two records counts, each is at most a norm from nothing.
        whole = moves or (one["rate"] != "1" and not below)
        far = 2.0 * one["norm"] if whole else one["diameter"]
    stated = {"kind": "gaussian", "count": one["count"], "rate": one["rate"]}
    return {**stated, "noise": shortest(one["noise"]), "distance": shortest(far)}


def _parts(event: Event, adjacency: Adjacency, below: bool) -> _Parts:
    if isinstance(event, events.Repeated):
        if not event.same_partition:
            raise NoCertificateError("partitions that change are not known to the checker")
        inner = _parts(event.event, adjacency, below)
        times = [[{**one, "count": event.count * one["count"]} for one in p] for p in inner.parts]
        return _Parts(parts=times, moves=inner.moves)
    if isinstance(event, events.Composed):
        return _composed(event, adjacency, below)
    if isinstance(event, events.Parallel):
        moves = len(event.events) > 1 and not below and event.record_may_move(adjacency)
        unlike = dict.fromkeys(event.events)
        twice = [one for one in unlike if event.events.count(one) > 1] if moves else []
        each = [_parts(one, adjacency, below) for one in (*unlike, *twice)]
        moves = moves or any(one.moves for one in each)
        return _Parts(parts=[part for one in each for part in one.parts], moves=moves)
    primitive = _primitive(event, adjacency, below)
    if primitive is None and not below:
        primitive = _selection(event, adjacency) or _least_delta(event, adjacency)
    if primitive is not None:
        return _Parts(parts=[[{"kind": primitive["kind"], "count": 1, "rate": "1", **primitive}]])
    expanded = event.attained_expansion() if below else event.expand()
    if expanded is None:
        raise NoCertificateError(f"the checker does not know the release {event.mechanism!r}")
    return _parts(expanded, adjacency, below)


def _composed(event: events.Composed, adjacency: Adjacency, below: bool) -> _Parts:
    """Of a composition a record matters in one part of each of the compositions' partitions."""
    if len(event.events) > 1 and not (below or all(map(partition_is_fixed, event.events))):
        raise NoCertificateError("partitions that are not fixed are not known to the checker")
    each = [_parts(one, adjacency, below) for one in event.events]
    if len(each) > 1 and any(one.moves for one in each):
        raise NoCertificateError("records that move beside what is computed of all records")
    if below and sum(len(one.parts) > 1 for one in each) > 1:
        raise NoCertificateError("several partitions, of which a record may have no say")
    chosen = list(product(*(one.parts for one in each)))
    if len(chosen) > 64:
        raise NoCertificateError("a record may matter in too many ways")
    parts: list[list[dict[str, Any]]] = []
    for some in chosen:
        joined = [one for part in some for one in part]
        parts += [joined] if joined not in parts else []
    return _Parts(parts=parts, moves=any(one.moves for one in each))


def _primitive(event: Event, adjacency: Adjacency, below: bool) -> dict[str, Any] | None:
    """A primitive event in the words of the checker; None for any other one."""
    match event:
        case events.Gaussian():
            norm = event.record_norm
            far = event.record_diameter or 2.0 * norm
            return {"kind": "gaussian", "noise": event.noise_std, "norm": norm, "diameter": far}
        case events.PoissonSampledGaussian():
            summed = events.Gaussian(noise_std=event.noise_std, record_norm=event.record_norm)
            return _sampled(summed, event.sampling_probability, adjacency)
        case events.FixedSizeSampledGaussian():
            found = {"kind": "fixed-size-gaussian", "noise": event.noise_std}
            found |= {"distance": event.swap_distance, "sampled": event.sample_size}
            return {**found, "of": event.population_size}
        case events.ShuffledGaussian() if below:
            if adjacency is Adjacency.ZERO_OUT and event.swap_distance != 2.0 * event.record_norm:
                raise NoCertificateError("records on opposite sides are not allowed")
            found = {"kind": "shuffled-gaussian", "noise": event.noise_std}
            found |= {"distance": event.swap_distance, "batch": event.batch_size}
            return {**found, "of": event.larger(adjacency)}
        case events.ShuffledGaussian():
            # As if it were known in which batch the record is.
            zeroed = adjacency is Adjacency.ZERO_OUT
            norm = event.record_norm if zeroed else event.swap_distance
            found = {"kind": "gaussian", "noise": event.noise_std, "norm": norm}
            return {**found, "diameter": event.swap_distance}
        case events.Laplace() | events.DiscreteLaplace():
            found = {"kind": event.mechanism.replace("_", "-"), "scale": event.noise_scale}
            return {**found, "distance": float(event.sensitivity(adjacency))}
        case events.RandomizedResponse() if adjacency is Adjacency.REPLACE_ONE:
            found = {"kind": "response", "buckets": event.num_buckets}
            return {**found, "probability": event.noise_parameter}
        case events.EpsilonDelta() if event.adjacency is adjacency:
            return {"kind": "stated", "epsilon": event.epsilon, "delta": event.delta}
        case events.ZeroConcentrated(xi=0.0, delta=0.0) if event.adjacency is adjacency:
            return {"kind": "zero-concentrated", "rho": event.rho}
        case events.GaussianSynthesis():
            one = {"kind": "gaussian-synthesis", "count": event.outputs, "n": event.records}
            return {**one, "d": event.dimension, "eigenvalue": event.min_eigenvalue}
        case events.PoissonSampled() if event.expand() is None:
            return _sampled(event.event, event.sampling_probability, adjacency)
        case events.MixtureOfGaussians():
            both = zip(event.probabilities, event.sensitivities, strict=True)
            parts = [[shortest(one) for one in part] for part in both]
            return {"kind": "mixture", "noise": event.noise_std, "parts": parts}
        case _:
            return None


def _sampled(event: Event, probability: float, adjacency: Adjacency) -> dict[str, Any]:
    """A release of a sample, which every record joins with one probability."""
    one = _primitive(event, adjacency, below=False)
    if one is None or "rate" in one:
        raise NoCertificateError("samples of this are not known to the checker")
    return {**one, "rate": shortest(probability)}


def _least_delta(event: Event, adjacency: Adjacency) -> dict[str, Any] | None:
    """Of a profile the smallest delta, and of equal ones the smallest epsilon; None for others."""
    if not isinstance(event, events.CustomProfile) or event.adjacency is not adjacency:
        return None
    least, far = min(zip(event.deltas, event.epsilons, strict=True))
    return {"kind": "stated", "epsilon": far, "delta": least}


def _selection(event: Event, adjacency: Adjacency) -> dict[str, Any] | None:
    """What bounds a selection, or discrete noise, from above; None for any other event."""
    if isinstance(event, events.PermuteAndFlip):
        far = event.distance(adjacency)
        return {"kind": "laplace", "scale": "1", "distance": shortest(far)}
    if isinstance(event, events.Exponential):
        return {"kind": "stated", "epsilon": shortest(event.range()), "delta": "0.0"}
    if isinstance(event, events.DiscreteGaussian):
        # Canonne, Kamath and Steinke 2020, NeurIPS, Theorem 4.
        moved, sigma = (Fraction(shortest(v)) for v in (event.sensitivity(adjacency), event.sigma))
        rho = moved**2 / (2 * sigma**2)
        return {"kind": "zero-concentrated", "rho": f"{rho.numerator}/{rho.denominator}"}
    if isinstance(event, events.ReportNoisyMax) and event.noise != "gumbel":
        far = event.sensitivity * (1.0 if event.monotone_scores else 2.0)
        return {"kind": "laplace", "scale": shortest(event.noise_scale), "distance": shortest(far)}
    if isinstance(event, events.AboveThreshold):
        s, threshold, query = (
            Fraction(shortest(one))
            for one in (event.sensitivity, event.threshold_noise_scale, event.query_noise_scale)
        )
        # The same sum as AboveThreshold.pure_epsilon, in fractions.
        exact = s / threshold + (2 - event.monotone_queries) * event.most_above * s / query
        stated = f"{exact.numerator}/{exact.denominator}"
        return {"kind": "stated", "epsilon": stated, "delta": "0.0"}
    return None


def shortest(value: float) -> str:
    """A number that the float stands for: 1/3 rather than 0.3333333333333333."""
    simple = Fraction(value).limit_denominator(10**6)
    if len(repr(value)) > 12 and float(simple) == value:
        return f"{simple.numerator}/{simple.denominator}"
    return repr(float(value)).replace("e+", "e")


def _from_above(
    kernel: Any, claim: Mapping[str, Any], event: Event, adjacency: Adjacency
) -> Iterator[Any]:
    """Hints to be tried, the quickest first."""
    delta = float(Fraction(claim["delta"]))
    kinds = {one["kind"] for part in claim["release"] for one in part}
    if not {"zero-concentrated", "gaussian-synthesis"}.isdisjoint(kinds):
        try:
            found = epsilon(event, delta=delta, adjacency=adjacency, bound=BEST_RDP)
        except ValueError as error:
            raise NoCertificateError(str(error)) from None
        if found.order is not None:
            yield {"order": shortest(found.order)}
            yield {"order": shortest(_best_order(kernel, claim, near=found.order))}
        return
    every, last = _ways(kernel, claim, below=False), None
    for added in _ATTEMPTS if delta > 0.0 else (1e-2,):
        hints = {"ways": [_grids(way, claim, delta or 1e-10, added) for way in every]}
        # Single releases need one place, and none can be better.
        if hints != last:
            yield hints
        last = hints


def _ways(kernel: Any, claim: Mapping[str, Any], *, below: bool) -> Any:
    """The ways in which a record may matter; the checker counts its work in finding them."""
    kernel.LEFT[0] = kernel.MOST_WORK
    try:
        return kernel.ways(kernel.read_parts(claim["release"]), claim["relation"], below)
    except kernel.REFUSED as error:
        raise NoCertificateError(f"the checker does not know it: {error}") from None


def _best_order(kernel: Any, claim: Mapping[str, Any], *, near: float) -> float:
    """The best order for the checker's conversion, whose digits differ from those of our best."""
    from scipy.optimize import minimize_scalar  # noqa: PLC0415 - for few claims

    release, delta = kernel.read_parts(claim["release"]), float(Fraction(claim["delta"]))

    def implied(order: float) -> float:
        kernel.LEFT[0] = kernel.MOST_WORK
        try:
            found = float(kernel.divergence(release, claim["relation"], Fraction(order)))
        except kernel.REFUSED:
            return math.inf
        return found + math.log1p(-1.0 / order) - math.log(delta * order) / (order - 1.0)

    ends = ((1.0 + near) / 2.0, 2.0 * near)
    return float(minimize_scalar(implied, bounds=ends, options={"xatol": 1e-12 * near}).x)


def _from_below(kernel: Any, claim: Mapping[str, Any]) -> Iterator[Any]:
    every = _ways(kernel, claim, below=True)
    delta = float(Fraction(claim["delta"])) or 1e-10
    for added in _ATTEMPTS[:-1]:
        for index, way in enumerate(every):
            found: list[Any] = [None] * len(every)
            found[index] = _grids(way, claim, delta, added, below=True)
            yield {"ways": found}


def _grids(
    way: Sequence[tuple[Any, int]],
    claim: Mapping[str, Any],
    delta: float,
    added: float,
    *,
    below: bool = False,
) -> dict[str, Any]:
    """Grids for one way in which a record may matter; one place of a single release.

    Connecting dots a distance of h apart adds about h^2 / 6 to the variance of a loss, and a grid
    of twice the step adds an eighth of the square of the new one, for each block of releases.
    """
    laws = [_Losses.of(pair) for pair, _ in way]
    if sum(count for _, count in way) == 1:
        place = int(Fraction(claim["epsilon"]) > 0)
        one: dict[str, Any] = {"halvings": [], "nodes": [[place, place + 1, 1]]}
        if below:
            one["starts"] = laws[0].starts(way[0][0], np.array([float(claim["epsilon"])]))
        digits = min(math.ceil(-math.log10(delta)) + 30, 300)
        step = claim["epsilon"] if place else "1"
        return {"digits": digits, "cut": digits, "step": step, "parts": [one]}
    spreads = [max(law.variance(), 1e-300) for law in laws]
    total = sum(n * v for (_, n), v in zip(way, spreads, strict=True))
    budget = added * total / len(way)
    reach = delta * 1e-4 / sum(count for _, count in way)
    ranges = [law.range(reach) for law in laws]
    bases = [
        max(math.sqrt(3.0 * budget / n), (high - low) / _PLACES)
        for (_, n), (low, high) in zip(way, ranges, strict=True)
    ]
    halvings = [_halvings(h, n, budget) for h, (_, n) in zip(bases, way, strict=True)]
    last = min(h * 2.0 ** len(levels) for h, levels in zip(bases, halvings, strict=True))
    step = _step(way, last)
    parts = []
    for law, (pair, _), base, levels, ends in zip(laws, way, bases, halvings, ranges, strict=True):
        fewer = levels[: max(0, math.ceil(math.log2(max(float(step) / base, 1.0)) - 0.01))]
        h = float(step) / 2.0 ** len(fewer)
        places = _places(pair, law, ends, h, math.sqrt(added))
        part: dict[str, Any] = {"halvings": fewer, "nodes": _stretches(places)}
        if below:
            part["starts"] = law.starts(pair, h * np.array(places))
        parts.append(part)
    count = sum(count for _, count in way)
    digits = math.ceil(math.log10(count / delta)) + 9
    cut = math.ceil(-math.log10(delta)) + 4
    shown = f"{step.numerator}/{step.denominator}"
    return {"digits": max(digits, 12), "cut": max(cut, 6), "step": shown, "parts": parts}


def _step(way: Sequence[tuple[Any, int]], wanted: float) -> Fraction:
    """A step near that; a part of the largest loss where that has a probability of its own."""
    for pair, _ in way:
        atom = Fraction(pair.limit[0]) if pair.limit and pair.rate == 1 else Fraction(0)
        if atom and atom.denominator < 10**12:
            return atom / max(math.ceil(float(atom) / wanted), 1)
    return Fraction(1, math.ceil(1.0 / wanted)) if wanted < 1.0 else Fraction(math.floor(wanted))


def _halvings(step: float, count: int, budget: float) -> list[int]:
    """After which squares the grid may get coarser."""
    found = []
    for level in range(count.bit_length() - 1):
        if count / 2.0 ** (level + 1) * (2.0 * step) ** 2 / 8.0 <= budget / 12.0:
            step *= 2.0
            found.append(level)
    return found


def _places(
    pair: Any, law: _Losses, ends: tuple[float, float], step: float, growth: float
) -> list[int]:
    """Places of a grid: all near the mean, and the farther apart the farther from it."""
    centre = round(law.mean() / step)
    low, high = math.floor(ends[0] / step) - 1, math.ceil(ends[1] / step) + 1
    found = {low, high}
    for sign, end in ((1, high), (-1, low)):
        place = min(max(centre, low), high)
        while low <= place <= high and (end - place) * sign >= 0:
            found.add(place)
            # Few strides are few stretches, which keeps certificates short.
            place += sign << max(int(abs(place - centre) * growth).bit_length() - 1, 0)
    if pair.limit:
        atoms = law.losses[law.masses > 1e-3][:200]
        found |= {math.floor(one / step + 1e-9) + i for one in atoms for i in (-1, 0, 1)}
    return sorted(found)


def _stretches(places: Sequence[int]) -> list[list[int]]:
    """Places as stretches of an equal stride: from, to, stride."""
    found: list[list[int]] = []
    for place in places:
        if found and len(found[-1]) == 2:
            found[-1].append(place - found[-1][0])
            found[-1][1] = place + 1
        elif found and place - (found[-1][1] - 1) == found[-1][2]:
            found[-1][1] = place + 1
        else:
            found.append([place, place + 1])
    return [one if len(one) == 3 else [*one, 1] for one in found]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Losses:
    """Losses of a pair, and where they are on its line, in floats."""

    places: Floats  # On the line of the pair, where losses ascend
    losses: Floats  # Ascending
    masses: Floats  # Of the losses, under P

    @classmethod
    def of(cls, pair: Any) -> _Losses:
        """Those of a pair, of its samples, and with its members exchanged."""
        places, ratios, q = _LINES[pair.kind](pair.given)
        rate = float(pair.rate)
        with np.errstate(over="ignore"):
            losses = ratios if rate == 1.0 else np.log1p(rate * np.expm1(ratios))
        losses = np.where(np.isinf(losses), ratios, np.maximum.accumulate(losses))
        p = np.exp(np.minimum(losses + np.log(np.maximum(q, 1e-300)), 1.0))
        kept = (p > 1e-290) & (q > 1e-290)
        places, losses, p, q = (one[kept] for one in (places, losses, p, q))
        if pair.side < 0:
            places, losses, p = -places[::-1], -losses[::-1], q[::-1]
        elif pair.side == 0 and rate < 1.0:
            above = losses > 0.0
            middle = max(1.0 - float(((1.0 + np.exp(-losses)) * p)[above].sum()), 0.0)
            mirrored = (np.exp(-losses) * p)[above][::-1]
            places, losses, p = (
                np.concatenate([-one[above][::-1], [0.0], one[above]])
                for one in (places, losses, p)
            )
            p = np.concatenate([mirrored, [middle], p[-mirrored.size :]])
        return cls(places=places, losses=losses, masses=p / p.sum())

    def mean(self) -> float:
        """The mean of a loss."""
        return float(self.losses @ self.masses)

    def variance(self) -> float:
        """The variance of a loss."""
        return float((self.losses - self.mean()) ** 2 @ self.masses)

    def range(self, reach: float) -> tuple[float, float]:
        """Losses beyond which there is little mass."""
        below = np.cumsum(self.masses)
        above = np.cumsum(self.masses[::-1])[::-1]
        kept = self.losses[(below > reach) & (above > reach)]
        return float(kept[0]), float(kept[-1])

    def starts(self, pair: Any, losses: Floats) -> list[int]:
        """Where events begin that hold these losses and larger ones, in ten-thousandths."""
        if pair.kind in ("outcomes", "laplace"):
            # Several outcomes may have one loss; the smallest loss is in the event of all.
            index = np.searchsorted(self.losses, losses - 1e-9)
            ends = np.concatenate([[-1e4], self.places[1:], [1e4]])
            found = ends[index] - (0.5 if pair.kind == "outcomes" else 1e-4)
        else:
            found = np.interp(losses, self.losses, self.places)
        return [round(1e4 * float(place)) for place in found]


# On the line of a pair: places, logarithms of ratios, and masses under Q.
_Line = tuple[Floats, Floats, Floats]


def _of_outcomes(given: Any) -> _Line:
    p, q = (np.array([one.lo / 2**one.bits for one in side]) for side in given)
    ratios = np.log(np.maximum(p, 1e-300)) - np.log(np.maximum(q, 1e-300))
    kept = p + q > 0.0
    return np.flatnonzero(kept).astype(float), ratios[kept], q[kept]


def _of_batches(given: Any) -> _Line:
    far = max(-float(mean) for _, _, mean in given)
    x, sides = np.linspace(-far - 10.0, 5.0, 4001), []
    for count, share, mean in given:
        own = (1.0 - float(share)) * ndtr(-x) + float(share) * ndtr(float(mean) - x)
        sides.append(-np.diff(ndtr(-x) ** (count - 1.0) * own))
    p, q = sides
    # What is rounded to nothing has no ratio.
    kept = (p > 1e-290) & (q > 1e-290)
    return x[:-1][kept], np.maximum.accumulate(np.log(p[kept] / q[kept])), q[kept]


def _of_laplace(given: Any) -> _Line:
    far = float(given[0][0])
    x = np.concatenate([[0.0], np.linspace(0.0, far, 4001), [far]])
    q = np.concatenate([[0.5], np.exp(-x[1:-1]) / 2.0 * far / 4001.0, [math.exp(-far) / 2.0]])
    return x, np.clip(2.0 * x - far, -far, far), q


def _of_normal(given: Any) -> _Line:
    sides = [[(math.sqrt(square), float(w)) for square, w in parts if w] for parts in given]
    centres = sorted({a for parts in sides for a, _ in parts})
    x = np.unique(np.concatenate([np.linspace(a - 40.0, a + 40.0, 8001) for a in centres]))
    p, q = (
        np.logaddexp.reduce([math.log(w) + a * x - a * a / 2.0 for a, w in parts])
        for parts in sides
    )
    ratios = p - q
    if len(sides[1]) == 1:
        # Near 0 the ratio has its digits in the small summands.
        ((b, _),) = sides[1]
        excess = sum(
            w * np.expm1(np.minimum((a - b) * (x - (a + b) / 2.0), 50.0)) for a, w in sides[0]
        )
        ratios = np.where(np.abs(excess) < 0.5, np.log1p(np.clip(excess, -0.5, 0.5)), ratios)
    return x, np.maximum.accumulate(ratios), np.exp(q - x * x / 2.0) * np.gradient(x)


_LINES = {
    "outcomes": _of_outcomes,
    "batches": _of_batches,
    "laplace": _of_laplace,
    "normal": _of_normal,
}
