"""10 000 configurations (q, noise, steps, delta) to epsilon, on a grid and all different."""

# ruff: noqa: PLC0415  (a library is imported when it is its turn)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from benchmarks import references
from benchmarks.libraries import LIBRARIES
from benchmarks.model import Adapter, Case, Goal, Prepared, Reference, Work
from benchmarks.work.poisson_curve import ORDERS

Array = NDArray[np.float64]

COUNT = 10_000
TOLERANCE = 1e-9
CHECKED = 12
_LARGEST_CHECKED = 50.0
_SEED = 4

ONE_BY_ONE = "one by one"
REUSE = "curves reused in numpy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Configurations:
    """Arrays that broadcast to 10 000 configurations, and the same flat."""

    q: Array
    z: Array
    steps: NDArray[np.int64]
    delta: Array

    def flat(self) -> tuple[Array, Array, NDArray[np.int64], Array]:
        """The four columns."""
        q, z, steps, delta = np.broadcast_arrays(self.q, self.z, self.steps, self.delta)
        return q.ravel(), z.ravel(), steps.ravel(), delta.ravel()


def grid() -> Configurations:
    """Ten values of each: 100 different curves."""
    axes = np.ix_(
        np.geomspace(1e-4, 0.5, 10),
        np.geomspace(0.5, 10.0, 10),
        np.round(np.geomspace(1, 100_000, 10)),
        np.geomspace(1e-8, 1e-4, 10),
    )
    return Configurations(q=axes[0], z=axes[1], steps=axes[2].astype(np.int64), delta=axes[3])


def different(count: int = COUNT) -> Configurations:
    """As many curves as configurations."""
    random = np.random.default_rng(_SEED)

    def spread(low: float, high: float) -> Array:
        return np.exp(random.uniform(np.log(low), np.log(high), count))

    return Configurations(
        q=spread(1e-4, 0.5),
        z=spread(0.5, 10.0),
        steps=np.round(spread(1, 100_000)).astype(np.int64),
        delta=spread(1e-8, 1e-4),
    )


def configurations(case: Case) -> Configurations:
    """Those of a case."""
    return grid() if case.parameters["kind"] == "grid" else different()


def _order() -> NDArray[np.int64]:
    """In which order configurations are sampled."""
    return np.random.default_rng(_SEED).permutation(COUNT)


def _jitter(index: int) -> float:
    return 1.0 + 1e-6 * (index % 1000)


def ours(case: Case) -> Prepared:
    """``rdpkit.sweep_epsilon``, all in one call."""
    import rdpkit

    given = configurations(case)

    def call(index: int) -> Any:
        return rdpkit.sweep_epsilon(
            noise_multiplier=given.z * _jitter(index),
            sampling_probability=given.q,
            steps=given.steps,
            delta=given.delta,
            adjacency="add_or_remove_one",
        ).epsilon

    def values() -> list[float]:
        found: list[float] = call(0).ravel()[_checked(case)].tolist()
        return found

    return Prepared(
        call=call,
        values=values,
        note="the best of all real orders, not of a list",
    )


def _checked(case: Case) -> list[int]:
    return [entry["index"] for entry in references.load(case.parameters["work"])[case.id]]


def _one_by_one(
    case: Case, epsilon: Callable[[float, float, int, float], float], note: str = ""
) -> Prepared:
    """A sample of the configurations in a loop, scaled to all."""
    q, z, steps, delta = configurations(case).flat()
    sample = _order()[: case.parameters["sample"]]

    def some(chosen: Any, factor: float) -> list[float]:
        return [
            epsilon(float(q[i]), float(z[i]) * factor, int(steps[i]), float(delta[i]))
            for i in chosen
        ]

    said = f"time of {len(sample)} of {COUNT} configurations, scaled"
    return Prepared(
        call=lambda index: some(sample, _jitter(index)),
        values=lambda: some(_checked(case), 1.0),
        scale=COUNT / len(sample),
        note=f"{said}; {note}" if note else said,
    )


def dp_accounting(case: Case) -> Prepared:
    """An ``RdpAccountant`` for every configuration."""
    import dp_accounting as dpa
    from dp_accounting.rdp import RdpAccountant

    def epsilon(q: float, z: float, steps: int, delta: float) -> float:
        accountant = RdpAccountant(ORDERS, dpa.NeighboringRelation.ADD_OR_REMOVE_ONE)
        accountant.compose(dpa.PoissonSampledDpEvent(q, dpa.GaussianDpEvent(z)), steps)
        return float(accountant.get_epsilon(delta))

    return _one_by_one(case, epsilon)


def dp_accounting_reused(case: Case) -> Prepared:
    """Each different curve of dp-accounting once, then all conversions in numpy."""
    import dp_accounting as dpa
    from dp_accounting.rdp import RdpAccountant

    orders = np.array(ORDERS)
    given = configurations(case)
    flat = given.flat()
    is_grid = case.parameters["kind"] == "grid"
    curves = list(zip(*(a.ravel() for a in np.broadcast_arrays(given.q, given.z)), strict=True))
    taken = min(case.parameters["curves"], len(curves))
    picks = np.random.default_rng(_SEED).permutation(len(curves))[:taken]

    def curve(q: float, z: float) -> Any:
        accountant = RdpAccountant(ORDERS, dpa.NeighboringRelation.ADD_OR_REMOVE_ONE)
        return accountant.compose(dpa.PoissonSampledDpEvent(q, dpa.GaussianDpEvent(z))).rdp

    def convert(rdp: Any, steps: Any, delta: Any) -> Any:
        """Along the last axis."""
        penalty = np.log1p(-1.0 / orders) - np.log(orders * delta[..., None]) / (orders - 1.0)
        return np.maximum((rdp * steps[..., None] + penalty).min(axis=-1), 0.0)

    def call(index: int) -> Any:
        factor = _jitter(index)
        rdp = np.array([curve(q, z * factor) for q, z in (curves[i] for i in picks)])
        if is_grid:
            shape = np.broadcast_shapes(given.steps.shape, given.delta.shape)
            steps = np.broadcast_to(given.steps, shape).ravel()
            delta = np.broadcast_to(given.delta, shape).ravel()
            return convert(rdp[:, None, :], steps[None, :], delta[None, :])
        return convert(rdp, flat[2][picks], flat[3][picks])

    def values() -> list[float]:
        q, z, steps, delta = (column[_checked(case)] for column in flat)
        rdp = np.array([curve(*pair) for pair in zip(q, z, strict=True)])
        found: list[float] = convert(rdp, steps, delta).tolist()
        return found

    note = f"{len(curves)} different curves"
    if taken < len(curves):
        note += f", time of {taken} of them and of their conversions, scaled"
    return Prepared(call=call, values=values, scale=len(curves) / taken, note=note)


def opacus(case: Case) -> Prepared:
    """An ``RDPAccountant`` for every configuration, at the same orders."""
    accountants = LIBRARIES["opacus"].load()

    def epsilon(q: float, z: float, steps: int, delta: float) -> float:
        accountant = accountants.RDPAccountant()
        accountant.history = [(z, q, steps)]
        return float(accountant.get_epsilon(delta, alphas=ORDERS))

    return _one_by_one(case, epsilon, "at the same 156 orders, not its own")


def dp_accelerator(case: Case) -> Prepared:
    """``compute_epsilon_batch`` once for every (q, z, delta), with all step counts."""
    accelerator = LIBRARIES["dp-accelerator"].load()
    given = configurations(case)

    def one(q: float, z: float, steps: int, delta: float) -> float:
        (found,) = accelerator.compute_epsilon_batch(q, z, [steps], ORDERS, delta)
        return float(found)

    alone = _one_by_one(case, one)
    if case.parameters["kind"] != "grid":
        return alone
    steps = given.steps.ravel().tolist()
    outer = [
        (float(q), float(z), float(delta))
        for q in given.q.ravel()
        for z in given.z.ravel()
        for delta in given.delta.ravel()
    ]

    def call(index: int) -> list[list[float]]:
        factor = _jitter(index)
        return [
            accelerator.compute_epsilon_batch(q, z * factor, steps, ORDERS, delta)
            for q, z, delta in outer
        ]

    return Prepared(call=call, values=alone.values, note="one call for every (q, z, delta)")


def reference(case: Case) -> Reference:
    """Stored: what two neighbours leak, and the best of the 156 orders."""
    entries = references.load(case.parameters["work"])[case.id]
    return Reference(
        low=[entry["leaked"] for entry in entries],
        high=[entry["epsilon"] for entry in entries],
        tolerance=TOLERANCE,
        about=f"{CHECKED} configurations: not below what two neighbours leak, nor above the best "
        "of the 156 orders (curves in balls, 40 digits)",
    )


def write_references() -> None:
    """Recompute the stored epsilons."""
    for work in WORKS:
        found: dict[str, list[dict[str, Any]]] = {}
        for case in work.cases:
            q, z, steps, delta = configurations(case).flat()
            entries = found.setdefault(case.id, [])
            for index in _order().tolist():
                named: Any = {
                    "noise_multiplier": float(z[index]),
                    "sampling_probability": float(q[index]),
                }
                asked: Any = {"steps": int(steps[index]), "delta": float(delta[index])}
                curve = references.poisson_curve(ORDERS, **named)
                epsilon, order = references.epsilon_of_curve(ORDERS, curve, **asked)
                if not 0.0 < epsilon < _LARGEST_CHECKED:
                    continue
                low = references.leaked(**named, **asked)
                entries.append(
                    {
                        "index": index,
                        "leaked": arb(low).str(17, radius=False),
                        "epsilon": references.decimal(epsilon),
                        "order": order,
                    }
                )
                if len(entries) == CHECKED:
                    break
        references.store(
            work.id,
            f"epsilon in nats of configurations drawn with seed {_SEED} with 0 < epsilon < "
            f"{_LARGEST_CHECKED:g}: the smallest over the 156 orders, and rdpkit's lower bound",
            found,
        )


def _adapters() -> list[Adapter]:
    return [
        Adapter(library="rdpkit", prepare=ours),
        Adapter(library="dp-accounting", variant=ONE_BY_ONE, prepare=dp_accounting),
        Adapter(library="dp-accounting", variant=REUSE, prepare=dp_accounting_reused),
        Adapter(library="opacus", variant=ONE_BY_ONE, prepare=opacus),
        Adapter(library="dp-accelerator", prepare=dp_accelerator),
    ]


def _goals() -> list[Goal]:
    return [
        Goal(
            name="dp-accounting one by one / rdpkit",
            against=f"dp-accounting ({ONE_BY_ONE})",
            least=200.0,
        ),
        Goal(
            name="dp-accounting reused in numpy / rdpkit",
            against=f"dp-accounting ({REUSE})",
            least=3.0,
        ),
    ]


_ABOUT = (
    "From (q, noise multiplier, steps, delta) to epsilon, add-or-remove-one, q from 1e-4 to 0.5, "
    "noise from 0.5 to 10, steps from 1 to 1e5, delta from 1e-8 to 1e-4. "
)

WORKS = [
    Work(
        id="sweep-grid",
        title="Sweep of 10 000 configurations on a 10 x 10 x 10 x 10 grid",
        cases=[
            Case(
                id="grid",
                parameters={"work": "sweep-grid", "kind": "grid", "sample": 50, "curves": 100},
                quick={"sample": 4, "curves": 4},
            )
        ],
        adapters=_adapters(),
        reference=reference,
        goals=_goals(),
        about=_ABOUT + "On the grid there are only 100 different curves.",
    ),
    Work(
        id="sweep-different",
        title="Sweep of 10 000 configurations, all different",
        cases=[
            Case(
                id="different",
                parameters={
                    "work": "sweep-different",
                    "kind": "different",
                    "sample": 50,
                    "curves": 50,
                },
                quick={"sample": 4, "curves": 4},
            )
        ],
        adapters=_adapters(),
        reference=reference,
        goals=_goals(),
        about=_ABOUT + "Here no two configurations share a curve.",
    ),
]
