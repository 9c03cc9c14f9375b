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
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.analysis import BEST_RDP, epsilon
from rdpkit.events import (
    AboveThreshold,
    Composed,
    CustomProfile,
    CustomRdp,
    DiscreteGaussian,
    DiscreteLaplace,
    EpsilonDelta,
    Event,
    Exponential,
    FixedSizeSampledGaussian,
    Gaussian,
    GaussianSynthesis,
    Laplace,
    MixtureOfGaussians,
    Parallel,
    PermuteAndFlip,
    PoissonSampled,
    PoissonSampledGaussian,
    RandomizedResponse,
    Repeated,
    ReportNoisyMax,
    ShuffledGaussian,
    ZeroConcentrated,
)
from rdpkit.events.composition import partition_is_fixed

# How much of the variance of all losses grids may add, from one attempt to the next.
_ATTEMPTS = (1e-2, 1e-3, 1e-4, 2e-5)
# The most places of a grid.
_PLACES = 300_000
# Pairs of shuffled batches, of which only events are known.
_BATCHES = ("any", "all")
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

    Raises
    ------
    NoCertificateError
        If there is none, with the reason.
    """
    relation = RELATIONS[Adjacency.parse(adjacency)]
    best = order
    if delta is not None and _has_renyi_bounds(event):
        best = epsilon(event, delta=delta, adjacency=adjacency, bound=BEST_RDP).order
    if delta is not None and order is not None:
        raise _validate.fail("delta", "not to be given together with an order", delta)
    kernel, parsed = import_module("rdpkit.kernel"), Adjacency.parse(adjacency)
    claim: dict[str, Any] = {
        "says": "exceeded" if refuted else "at most",
        "relation": relation,
        "release": release_of(event, parsed, below=refuted, order=best),
        "epsilon": claimed,
    }
    given = {"delta": delta, "order": order}
    claim |= {name: shortest(value) for name, value in given.items() if value is not None}
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
        except kernel.RefusedError as error:
            reason = str(error)
            continue
        digest = kernel.digest(claim)
        found = {"format": kernel.FORMAT, "about": dict(about or {}), "claim": claim}
        return json.dumps({**found, "sha256": digest, "hints": hints}) + "\n"
    raise NoCertificateError(f"the checker did not accept the claim: {reason}")


def release_of(
    event: Event, adjacency: Adjacency, *, below: bool = False, order: float | None = None
) -> dict[str, Any]:
    """The event in the words of the checker; events of papers as what they expand to.

    Of bounds on Renyi divergences it is about the one of an order.
    """
    if isinstance(event, Repeated):
        inner = release_of(event.event, adjacency, below=below, order=order)
        if not event.same_partition:
            raise NoCertificateError("partitions that change are not known to the checker")
        return {"kind": "repeated", "count": event.count, "release": inner}
    if isinstance(event, Composed):
        if len(event.events) > 1 and not (below or all(map(partition_is_fixed, event.events))):
            raise NoCertificateError("partitions that are not fixed are not known to the checker")
        parts = [release_of(one, adjacency, below=below, order=order) for one in event.events]
        return {"kind": "composed", "releases": parts}
    if isinstance(event, Parallel):
        moves = not below and event.record_may_move(adjacency)
        unlike = dict.fromkeys(event.events)
        twice = [one for one in unlike if event.events.count(one) > 1] if moves else []
        releases = [release_of(one, adjacency, below=below) for one in (*unlike, *twice)]
        return {"kind": "parallel", "releases": releases, "record-may-move": moves}
    primitive = _primitive(event, adjacency, below)
    if primitive is None and not below:
        primitive = _selection(event, adjacency) or _one_bound(event, adjacency, order)
    if primitive is not None:
        return primitive
    expanded = event.attained_expansion() if below else event.expand()
    if expanded is None:
        raise NoCertificateError(f"the checker does not know the release {event.mechanism!r}")
    return release_of(expanded, adjacency, below=below, order=order)


def _primitive(event: Event, adjacency: Adjacency, below: bool) -> dict[str, Any] | None:
    """A primitive event in the words of the checker; None for any other one."""
    found: dict[str, Any]
    match event:
        case Gaussian():
            norm = event.record_norm
            far = event.record_diameter or 2.0 * norm
            found = {"kind": "gaussian", "noise": event.noise_std, "norm": norm, "diameter": far}
        case PoissonSampledGaussian():
            summed = Gaussian(noise_std=event.noise_std, record_norm=event.record_norm)
            return {
                "kind": "poisson",
                "probability": shortest(event.sampling_probability),
                "release": release_of(summed, adjacency),
            }
        case FixedSizeSampledGaussian():
            found = {"kind": "fixed-size-gaussian", "noise": event.noise_std}
            found |= {"distance": event.swap_distance, "sampled": event.sample_size}
            found |= {"of": event.population_size}
        case ShuffledGaussian() if below:
            found = {"kind": "shuffled-gaussian", "noise": event.noise_std}
            found |= {"norm": event.record_norm, "diameter": event.swap_distance}
            found |= {"batch": event.batch_size, "of": event.larger(adjacency)}
        case ShuffledGaussian():
            # As if it were known in which batch the record is.
            zeroed = adjacency is Adjacency.ZERO_OUT
            norm = event.record_norm if zeroed else event.swap_distance
            found = {"kind": "gaussian", "noise": event.noise_std, "norm": norm}
            found |= {"diameter": event.swap_distance}
        case Laplace() | DiscreteLaplace():
            found = {"kind": event.mechanism.replace("_", "-"), "scale": event.noise_scale}
            found |= {"distance": float(event.sensitivity(adjacency))}
        case RandomizedResponse() if adjacency is Adjacency.REPLACE_ONE:
            found = {"kind": "response", "buckets": event.num_buckets}
            found |= {"probability": event.noise_parameter}
        case EpsilonDelta() if event.adjacency is adjacency:
            found = {"kind": "stated", "epsilon": event.epsilon, "delta": event.delta}
        case ZeroConcentrated() if event.adjacency is adjacency and not (event.xi or event.delta):
            found = {"kind": "zero-concentrated", "rho": event.rho}
        case GaussianSynthesis():
            one = {"kind": "gaussian-synthesis", "n": event.records, "d": event.dimension}
            one["eigenvalue"] = shortest(event.min_eigenvalue)
            return {"kind": "repeated", "count": event.outputs, "release": one}
        case PoissonSampled() if event.expand() is None:
            inner = release_of(event.event, adjacency)
            rate = shortest(event.sampling_probability)
            return {"kind": "poisson", "probability": rate, "release": inner}
        case MixtureOfGaussians():
            both = zip(event.probabilities, event.sensitivities, strict=True)
            found = {"kind": "mixture", "noise": event.noise_std}
            found |= {"parts": [[shortest(one) for one in part] for part in both]}
        case _:
            return None
    return {name: shortest(v) if isinstance(v, float) else v for name, v in found.items()}


def _one_bound(event: Event, adjacency: Adjacency, order: float | None) -> dict[str, Any] | None:
    """One of the bounds that are all that is known of an event; None for any other one."""
    if not isinstance(event, CustomProfile | CustomRdp) or event.adjacency is not adjacency:
        return None
    if isinstance(event, CustomProfile):
        # The smallest delta, and of equal ones the smallest epsilon.
        least, far = min(zip(event.deltas, event.epsilons, strict=True))
        return {"kind": "stated", "epsilon": shortest(far), "delta": shortest(least)}
    bounds = dict(zip(event.orders, event.values, strict=True))
    if order not in bounds or not math.isfinite(bounds[order]):
        raise NoCertificateError("a Renyi divergence of another order is not known")
    found = {"order": shortest(order), "divergence": shortest(bounds[order])}
    return {"kind": "renyi", **found}


def _has_renyi_bounds(event: Event) -> bool:
    """Whether an event is made of bounds on Renyi divergences."""
    inner = [event.event] if isinstance(event, Repeated) else getattr(event, "events", ())
    return isinstance(event, CustomRdp) or any(map(_has_renyi_bounds, inner))


def _selection(event: Event, adjacency: Adjacency) -> dict[str, Any] | None:
    """What bounds a selection, or discrete noise, from above; None for any other event."""
    if isinstance(event, PermuteAndFlip):
        far = event.distance(adjacency)
        return {"kind": "laplace", "scale": "1", "distance": shortest(far)}
    if isinstance(event, Exponential):
        return {"kind": "stated", "epsilon": shortest(event.range()), "delta": "0.0"}
    if isinstance(event, DiscreteGaussian):
        # Canonne, Kamath and Steinke 2020, NeurIPS, Theorem 4.
        moved, sigma = (Fraction(shortest(v)) for v in (event.sensitivity(adjacency), event.sigma))
        rho = moved**2 / (2 * sigma**2)
        return {"kind": "zero-concentrated", "rho": f"{rho.numerator}/{rho.denominator}"}
    if isinstance(event, ReportNoisyMax) and event.noise != "gumbel":
        far = event.sensitivity * (1.0 if event.monotone_scores else 2.0)
        return {"kind": "laplace", "scale": shortest(event.noise_scale), "distance": shortest(far)}
    if isinstance(event, AboveThreshold):
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
    delta, release = float(Fraction(claim["delta"])), claim["release"]
    if not {"zero-concentrated", "gaussian-synthesis", "renyi"}.isdisjoint(_kinds(release)):
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
        hints = {"ways": [_grids(way, delta or 1e-10, added) for way in every]}
        # Single releases need no grid, and none can be finer.
        if hints != last:
            yield hints
        last = hints


def _ways(kernel: Any, claim: Mapping[str, Any], *, below: bool) -> Any:
    """The ways in which a record may matter; the checker counts its work in finding them."""
    kernel.LEFT[0] = kernel.MOST_WORK
    try:
        return kernel.ways(kernel.read_release(claim["release"]), claim["relation"], below)
    except kernel.RefusedError as error:
        raise NoCertificateError(str(error)) from None


def _best_order(kernel: Any, claim: Mapping[str, Any], *, near: float) -> float:
    """The best order for the checker's conversion, whose digits differ from those of our best."""
    from scipy.optimize import minimize_scalar  # noqa: PLC0415 - for few claims

    release, delta = kernel.read_release(claim["release"]), float(Fraction(claim["delta"]))

    def implied(order: float) -> float:
        kernel.LEFT[0] = kernel.MOST_WORK
        try:
            found = float(kernel.divergence(release, claim["relation"], Fraction(order)))
        except kernel.RefusedError:
            return math.inf
        return found + math.log1p(-1.0 / order) - math.log(delta * order) / (order - 1.0)

    ends = ((1.0 + near) / 2.0, 2.0 * near)
    return float(minimize_scalar(implied, bounds=ends, options={"xatol": 1e-12 * near}).x)


def _kinds(release: Mapping[str, Any]) -> set[str]:
    """The kinds in a release, and those of what it is made of."""
    inner = release.get("releases") or [release[name] for name in ("release",) if name in release]
    return {release["kind"]}.union(*map(_kinds, inner))


def _from_below(kernel: Any, claim: Mapping[str, Any]) -> Iterator[Any]:
    every = _ways(kernel, claim, below=True)
    delta = float(Fraction(claim["delta"])) or 1e-10
    if all(len(way) == way[0][1] == 1 for way in every):
        yield {}
    for added in _ATTEMPTS[:-1]:
        for index, way in enumerate(every):
            found: list[Any] = [None] * len(every)
            found[index] = _grids(way, delta, added)
            yield {"ways": found}


def _grids(way: Sequence[tuple[Any, int]], delta: float, added: float) -> dict[str, Any]:
    """Grids for one way in which a record may matter; none where they are not needed.

    Connecting dots a distance of h apart adds about h^2 / 6 to the variance of a loss, and a grid
    of twice the step adds an eighth of the square of the new one, for each block of releases.
    """
    if sum(count for _, count in way) == 1 and way[0][0].noise not in _BATCHES:
        return {}
    laws = [_losses(pair) for pair, _ in way]
    spreads = [max(_variance(*law), 1e-300) for law in laws]
    total = sum(n * v for (_, n), v in zip(way, spreads, strict=True))
    budget = added * total / len(way)
    reach = delta * 1e-4 / sum(count for _, count in way)
    ranges = [_range(*law, reach) for law in laws]
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
        if pair.noise in _BATCHES:
            part["starts"] = _starts(pair, h * np.array(places))
        parts.append(part)
    count = sum(count for _, count in way)
    digits = math.ceil(math.log10(count / delta)) + 9
    cut = math.ceil(-math.log10(delta)) + 4
    shown = f"{step.numerator}/{step.denominator}"
    return {"digits": max(digits, 12), "cut": max(cut, 6), "step": shown, "parts": parts}


def _step(way: Sequence[tuple[Any, int]], wanted: float) -> Fraction:
    """A step near that; a part of the largest loss where that has a probability of its own."""
    for pair, _ in way:
        atom = Fraction(pair.limit[0]) if pair.limit else Fraction(0)
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
    pair: Any, law: tuple[Floats, Floats], ends: tuple[float, float], step: float, growth: float
) -> list[int]:
    """Places of a grid: all near the mean, and the farther apart the farther from it."""
    losses, masses = law
    centre = round(float(losses @ masses) / step)
    low, high = math.floor(ends[0] / step) - 1, math.ceil(ends[1] / step) + 1
    found = {low, high}
    for sign, end in ((1, high), (-1, low)):
        place = min(max(centre, low), high)
        while low <= place <= high and (end - place) * sign >= 0:
            found.add(place)
            # Few strides are few stretches, which keeps certificates short.
            place += sign << max(int(abs(place - centre) * growth).bit_length() - 1, 0)
    if pair.limit:
        far = float(pair.limit[0])
        atoms = [-far, far] if pair.noise else losses[masses > 1e-3][:200]
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


def _variance(losses: Floats, masses: Floats) -> float:
    mean = float(losses @ masses)
    return float((losses - mean) ** 2 @ masses)


def _range(losses: Floats, masses: Floats, reach: float) -> tuple[float, float]:
    """Losses beyond which there is little mass."""
    below = np.cumsum(masses)
    above = np.cumsum(masses[::-1])[::-1]
    kept = losses[(below > reach) & (above > reach)]
    return float(kept[0]), float(kept[-1])


def _losses(pair: Any) -> tuple[Floats, Floats]:
    """Losses, ascending, and their masses under P, in floats."""
    if pair.noise in _BATCHES:
        return _of_batches(pair)[1:]
    losses, masses = _on_a_line(pair) if pair.noise else _of_outcomes(pair)
    if pair.mirrored:
        kept = losses > 0.0
        losses, masses = losses[kept], masses[kept]
        losses = np.concatenate([-losses[::-1], [0.0], losses])
        masses = np.concatenate([(masses * np.exp(-losses[-masses.size :]))[::-1], [0.0], masses])
        masses[losses == 0.0] = max(1.0 - float(masses.sum()), 0.0)
    return losses, masses


def _of_outcomes(pair: Any) -> tuple[Floats, Floats]:
    """Those of a list of outcomes that have a finite loss."""
    both = [[one.lo / 2**one.bits for one in side] for side in (pair.first, pair.second)]
    p, q = (np.array(side) for side in both)
    kept = (p > 1e-300) & (q > 1e-300)
    return np.log(p[kept] / q[kept])[::-1], (p[kept] / p[kept].sum())[::-1]


def _of_batches(pair: Any) -> tuple[Floats, Floats, Floats]:
    """Where events of batches begin, and the losses between them with their masses under P."""
    far = max(-float(mean) for _, _, mean in (pair.first, pair.second))
    x, sides = np.linspace(-5.0, far + 10.0, 4001), []
    for given in (pair.first, pair.second):
        count, share, mean = map(float, given)
        own = (1.0 - share) * ndtr(x) + share * ndtr(x + mean)
        sides.append(np.maximum(np.diff(ndtr(x) ** (count - 1.0) * own), 1e-300))
    p, q = sides
    starts, losses, masses = x[:-1], np.log(p / q), p / p.sum()
    if pair.noise == "all":
        starts, losses, masses = -x[:0:-1], losses[::-1], masses[::-1]
    return starts, np.maximum.accumulate(losses), masses


def _starts(pair: Any, losses: Floats) -> list[int]:
    """Where the events of batches begin that stand for some losses, in thousandths."""
    x, known, _ = _of_batches(pair)
    return [round(1000.0 * start) for start in np.interp(losses, known, x)]


def _on_a_line(pair: Any) -> tuple[Floats, Floats]:
    sides = [[(float(w), float(a)) for a, w in parts if w] for parts in (pair.first, pair.second)]
    centres = sorted({a for parts in sides for _, a in parts})
    normal = pair.noise == "normal"
    x = np.unique(np.concatenate([np.linspace(a - 40.0, a + 40.0, 8001) for a in centres]))
    if not normal:
        x = np.unique(np.concatenate([x, np.linspace(centres[0], centres[-1], 4001)]))
    # What all densities have in common is left out.
    common = -x * x / 2.0 if normal else -np.abs(x)
    logs = [
        np.logaddexp.reduce(
            [
                math.log(w) + (a * x - a * a / 2.0 if normal else np.abs(x) - np.abs(x - a))
                for w, a in parts
            ]
        )
        for parts in sides
    ]
    masses = np.exp(logs[0] + common) * np.gradient(x)
    losses = logs[0] - logs[1]
    if normal and len(sides[1]) == 1:
        # Near 0 the loss has its digits in the small summands.
        excess = sum(w * np.expm1(np.minimum(a * x - a * a / 2.0, 50.0)) for w, a in sides[0])
        losses = np.where(np.abs(excess) < 0.5, np.log1p(np.clip(excess, -0.5, 0.5)), losses)
    return np.maximum.accumulate(losses), masses / masses.sum()
