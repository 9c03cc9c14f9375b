"""How cost grows with orders, configurations and releases."""

# ruff: noqa: PLC0415  (a library is imported when it is its turn)

from __future__ import annotations

import itertools
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import timing
from benchmarks.libraries import quiet
from benchmarks.model import OURS, Curve, Outcome
from benchmarks.work.sweep import different

# A slope that is fitted to times carries their noise.
MOST = 1.1
_Q, _Z, _DELTA = 0.01, 2.0, 1e-5


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One line of the plot: ``prepare(size)`` gives the call, whose argument counts the calls."""

    id: str
    title: str
    size: str
    library: str
    sizes: Sequence[int]
    prepare: Callable[[int], Callable[[int], Any]]


def _jitter(index: int) -> float:
    return _Z * (1.0 + 1e-6 * (index % 1000))


def _fractional(size: int) -> list[float]:
    """Orders between 1.05 and 64, none of them an integer."""
    found: list[float] = (np.linspace(1.05, 63.95, size) + 1e-7).tolist()
    return found


def _whole(size: int) -> list[float]:
    """The orders 2, 3, ...: the highest grows as well."""
    found: list[float] = np.arange(2.0, size + 2.0).tolist()
    return found


def _ours_poisson(orders: Callable[[int], list[float]]) -> Callable[[int], Callable[[int], Any]]:
    def prepare(size: int) -> Callable[[int], Any]:
        import rdpkit

        given = orders(size)
        return lambda index: rdpkit.sampled_gaussian_rdp(
            given, noise_multiplier=_jitter(index), sampling_probability=_Q
        )

    return prepare


def _peer_poisson(orders: Callable[[int], list[float]]) -> Callable[[int], Callable[[int], Any]]:
    def prepare(size: int) -> Callable[[int], Any]:
        import dp_accounting as dpa
        from dp_accounting.rdp import RdpAccountant

        given = orders(size)

        def call(index: int) -> Any:
            accountant = RdpAccountant(given, dpa.NeighboringRelation.ADD_OR_REMOVE_ONE)
            event = dpa.PoissonSampledDpEvent(_Q, dpa.GaussianDpEvent(_jitter(index)))
            return accountant.compose(event).rdp

        return call

    return prepare


def _ours_fixed(size: int) -> Callable[[int], Any]:
    import rdpkit

    given = _whole(size)
    return lambda index: rdpkit.fixed_size_gaussian_rdp(
        given,
        noise_multiplier=_jitter(index),
        sample_size=100,
        population_size=10_000,
        adjacency="replace_one",
        theorem="wang2019",
    )


def _peer_fixed(size: int) -> Callable[[int], Any]:
    import dp_accounting as dpa
    from dp_accounting.rdp import RdpAccountant

    given = _whole(size)

    def call(index: int) -> Any:
        accountant = RdpAccountant(given, dpa.NeighboringRelation.REPLACE_ONE)
        event = dpa.SampledWithoutReplacementDpEvent(
            10_000, 100, dpa.GaussianDpEvent(_jitter(index))
        )
        return accountant.compose(event).rdp

    return call


def _ours_sweep(size: int) -> Callable[[int], Any]:
    import rdpkit

    given = different(size)
    return lambda index: rdpkit.sweep_epsilon(
        noise_multiplier=given.z * (_jitter(index) / _Z),
        sampling_probability=given.q,
        steps=given.steps,
        delta=given.delta,
        adjacency="add_or_remove_one",
    )


def _peer_sweep(size: int) -> Callable[[int], Any]:
    import dp_accounting as dpa
    from dp_accounting.rdp import RdpAccountant

    given = different(size)

    def call(index: int) -> Any:
        found = []
        for q, z, steps, delta in zip(given.q, given.z, given.steps, given.delta, strict=True):
            accountant = RdpAccountant(None, dpa.NeighboringRelation.ADD_OR_REMOVE_ONE)
            noise = dpa.GaussianDpEvent(float(z) * (_jitter(index) / _Z))
            accountant.compose(dpa.PoissonSampledDpEvent(float(q), noise), int(steps))
            found.append(accountant.get_epsilon(float(delta)))
        return found

    return call


def _ours_releases(bound: str) -> Callable[[int], Callable[[int], Any]]:
    def prepare(size: int) -> Callable[[int], Any]:
        import rdpkit

        def call(index: int) -> Any:
            one = rdpkit.PoissonSampledGaussian(
                noise_std=_jitter(index), record_norm=1.0, sampling_probability=_Q
            )
            return rdpkit.epsilon(
                rdpkit.Repeated(event=one, count=size),
                delta=_DELTA,
                adjacency="add_or_remove_one",
                bound=bound,
            )

        return call

    return prepare


def _peer_releases(kind: str) -> Callable[[int], Callable[[int], Any]]:
    def prepare(size: int) -> Callable[[int], Any]:
        import dp_accounting as dpa
        from dp_accounting.pld import PLDAccountant
        from dp_accounting.rdp import RdpAccountant

        relation = dpa.NeighboringRelation.ADD_OR_REMOVE_ONE

        def call(index: int) -> Any:
            accountant: Any = (
                RdpAccountant(None, relation) if kind == "rdp" else PLDAccountant(relation)
            )
            event = dpa.PoissonSampledDpEvent(_Q, dpa.GaussianDpEvent(_jitter(index)))
            return accountant.compose(event, size).get_epsilon(_DELTA)

        return call

    return prepare


def _powers(low: int, high: int, factor: int = 2) -> tuple[int, ...]:
    return tuple(
        itertools.takewhile(lambda size: size <= high, (low * factor**k for k in itertools.count()))
    )


def _both(
    identifier: str,
    title: str,
    size: str,
    ours: tuple[Callable[[int], Callable[[int], Any]], Sequence[int]],
    theirs: tuple[Callable[[int], Callable[[int], Any]], Sequence[int]],
) -> list[Series]:
    return [
        Series(id=identifier, title=title, size=size, library=library, prepare=prepare, sizes=sizes)
        for library, (prepare, sizes) in ((OURS, ours), ("dp-accounting", theirs))
    ]


SERIES: list[Series] = [
    *_both(
        "orders",
        "Poisson curve, orders between 1 and 64",
        "orders",
        (_ours_poisson(_fractional), _powers(64, 65_536, 4)),
        (_peer_poisson(_fractional), _powers(64, 1024)),
    ),
    *_both(
        "orders-up-to",
        "Poisson curve, orders 2, 3, ...",
        "orders",
        (_ours_poisson(_whole), _powers(64, 16_384)),
        (_peer_poisson(_whole), _powers(64, 512)),
    ),
    *_both(
        "orders-fixed-size",
        "fixed-size curve, orders 2, 3, ...",
        "orders",
        (_ours_fixed, _powers(64, 4096)),
        (_peer_fixed, _powers(32, 256)),
    ),
    *_both(
        "configurations",
        "sweep, all configurations different",
        "configurations",
        (_ours_sweep, _powers(100, 102_400, 4)),
        (_peer_sweep, _powers(5, 40)),
    ),
    *_both(
        "releases-rdp",
        "epsilon from Renyi divergences",
        "releases",
        (_ours_releases("best-rdp"), _powers(1, 1_000_000, 10)),
        (_peer_releases("rdp"), _powers(1, 1_000_000, 10)),
    ),
    *_both(
        "releases-pld",
        "epsilon by a loss distribution",
        "releases",
        (_ours_releases("pld-upper"), _powers(1, 1_000_000, 10)),
        (_peer_releases("pld"), _powers(1, 100_000, 10)),
    ),
]


def measure(series: Series, *, repeats: int, seconds: float, sizes: Sequence[int]) -> Curve:
    """Median time at every size, as long as the time lasts; a failure ends the curve."""
    curve = Curve(id=series.id, title=series.title, size=series.size, library=series.library)
    counter = itertools.count(1)
    end = time.perf_counter() + seconds
    with quiet():
        for size in sizes:
            try:
                call = series.prepare(size)
                call(next(counter))
                found = []
                for _ in range(repeats):
                    start = time.perf_counter()
                    call(next(counter))
                    found.append(time.perf_counter() - start)
                    if time.perf_counter() > end:
                        break
            except Exception as error:
                curve.failure = f"at {size}: {timing.reason(error)}"
                break
            curve.sizes.append(size)
            curve.seconds.append(statistics.median(found))
            if time.perf_counter() > end:
                break
    curve.slope = slope(curve.sizes, curve.seconds)
    return curve


def slope(sizes: Sequence[int], seconds: Sequence[float]) -> float | None:
    """Of the least-squares line through the logarithms of the larger half, at least 3 points."""
    count = max(3, math.ceil(len(sizes) / 2))
    if len(sizes) < count:
        return None
    x = np.log(np.array(sizes[-count:], dtype=float))
    y = np.log(np.array(seconds[-count:]))
    x = x - x.mean()
    return float(x @ y / (x @ x))


def quick_sizes(series: Series) -> Sequence[int]:
    """The small ones."""
    return series.sizes[:5]


def _met(curve: Curve) -> bool | None:
    if curve.failure:
        return False
    return None if curve.slope is None else curve.slope <= MOST


def outcomes(curves: Sequence[Curve]) -> list[Outcome]:
    """Whether rdpkit's costs grow linearly or less."""
    return [
        Outcome(
            work="scaling",
            name=f"slope: {curve.title}",
            limit=f"at most {MOST:g}",
            measured=curve.slope,
            met=_met(curve),
            case=f"{curve.size} up to {curve.sizes[-1]}" if curve.sizes else curve.failure,
        )
        for curve in curves
        if curve.library == OURS
    ]
