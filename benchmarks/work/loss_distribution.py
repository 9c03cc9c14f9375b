"""Epsilon of a Poisson-sampled Gaussian by a privacy loss distribution."""

# ruff: noqa: PLC0415  (a library is imported when it is its turn)

from __future__ import annotations

import importlib
from typing import Any

from benchmarks import references
from benchmarks.libraries import LIBRARIES
from benchmarks.model import Adapter, Case, Goal, Prepared, Reference, Work
from benchmarks.work.poisson_curve import noise

# prv-accountant asks for the error that may be made.
EPSILON_ERROR = 0.01
TOLERANCE = 1e-3

CASES = [
    Case(
        id=f"q={q:g} z={z:g} T={steps} delta={delta:g}",
        parameters={"q": q, "z": z, "steps": steps, "delta": delta},
        quick={} if quick else None,
    )
    for q, z, steps, delta, quick in (
        (0.01, 1.0, 1000, 1e-5, True),
        (0.01, 1.0, 1000, 1e-12, False),
        (0.01, 1.0, 10_000, 1e-5, False),
        (0.01, 1.0, 100_000, 1e-5, False),
        (0.001, 0.8, 10_000, 1e-6, False),
        (1.0, 50.0, 100, 1e-5, True),
    )
]


def ours(case: Case) -> Prepared:
    """``rdpkit.epsilon`` as it stands: certified."""
    import rdpkit

    p = case.parameters

    def call(index: int) -> list[float]:
        one: Any
        if p["q"] == 1.0:
            one = rdpkit.Gaussian(noise_std=noise(case, index), record_norm=1.0)
        else:
            one = rdpkit.PoissonSampledGaussian(
                noise_std=noise(case, index), record_norm=1.0, sampling_probability=p["q"]
            )
        found = rdpkit.epsilon(
            rdpkit.Repeated(event=one, count=p["steps"]),
            delta=p["delta"],
            adjacency="add_or_remove_one",
        )
        return [found.epsilon]

    return Prepared(call=call, note="certified")


def dp_accounting(case: Case) -> Prepared:
    """``PLDAccountant`` with its default grid."""
    import dp_accounting as dpa
    from dp_accounting.pld import PLDAccountant

    p = case.parameters

    def call(index: int) -> list[float]:
        accountant = PLDAccountant(dpa.NeighboringRelation.ADD_OR_REMOVE_ONE)
        event: Any = dpa.GaussianDpEvent(noise(case, index))
        if p["q"] < 1.0:
            event = dpa.PoissonSampledDpEvent(p["q"], event)
        return [accountant.compose(event, p["steps"]).get_epsilon(p["delta"])]

    return Prepared(call=call, note="grid 1e-4, pessimistic, not certified")


def opake(case: Case) -> Prepared:
    """The native functions below ``opake.accounting``, with its default grid."""
    accounting = LIBRARIES["opake-accounting"].load()
    native = importlib.import_module("opake.api.accounting.core.opake_accounting")
    grid = accounting.get_discretization().to_native()
    p = case.parameters

    def call(index: int) -> list[float]:
        one = native.gaussian_pld(noise(case, index), grid)
        if p["q"] < 1.0:
            one = native.poisson_pld(one, p["q"])
        return [one.self_compose(p["steps"]).epsilon_at(p["delta"])]

    return Prepared(call=call, note="grid 1e-4, in Rust, not certified")


def prv_accountant(case: Case) -> Prepared:
    """``PRVAccountant``: the upper end of what it returns."""
    prv = LIBRARIES["prv-accountant"].load()
    p = case.parameters

    def call(index: int) -> list[float]:
        one = (
            prv.GaussianMechanism(noise(case, index))
            if p["q"] == 1.0
            else prv.PoissonSubsampledGaussianMechanism(
                sampling_probability=p["q"], noise_multiplier=noise(case, index)
            )
        )
        accountant = prv.PRVAccountant(
            one,
            eps_error=EPSILON_ERROR,
            delta_error=1e-3 * p["delta"],
            max_self_compositions=p["steps"],
        )
        _, _, upper = accountant.compute_epsilon(delta=p["delta"], num_self_compositions=p["steps"])
        return [upper]

    return Prepared(
        call=call, note=f"the upper end of its interval, asked for to {EPSILON_ERROR:g}"
    )


def reference(case: Case) -> Reference:
    """The stored interval, or the exact value."""
    low, high = references.load(WORK.id)[case.id]
    return Reference(
        low=[low],
        high=[high],
        tolerance=TOLERANCE,
        about="closed form, 40 digits" if low == high else "Fourier inversion, to 1e-8",
    )


def write_references() -> None:
    """Recompute the stored intervals."""
    from tests.oracles.loss_distributions import epsilon

    found: dict[str, list[str]] = {}
    for case in CASES:
        p = case.parameters
        named = {"noise_multiplier": p["z"], "steps": p["steps"], "delta": p["delta"]}
        if p["q"] == 1.0:
            exact = references.decimal(references.gaussian_epsilon(**named))
            found[case.id] = [exact, exact]
            continue
        exact = epsilon("removed", p["z"], p["q"], p["steps"], p["delta"])
        found[case.id] = [repr(exact * (1.0 - 1e-8)), repr(exact * (1.0 + 1e-8))]
    references.store(
        WORK.id,
        "epsilon in nats, [low, high]: equal where in closed form; else Fourier inversion along a "
        "tilted line (tests/oracles/loss_distributions.py), good to 1e-8",
        found,
    )


WORK = Work(
    id="loss-distribution",
    title="Epsilon by a privacy loss distribution",
    cases=CASES,
    adapters=[
        Adapter(library="rdpkit", prepare=ours),
        Adapter(library="dp-accounting", prepare=dp_accounting),
        Adapter(library="opake-accounting", prepare=opake),
        Adapter(library="prv-accountant", prepare=prv_accountant),
    ],
    reference=reference,
    goals=[
        Goal(name="opake / rdpkit", against="opake-accounting", least=1.0),
        Goal(name="dp-accounting / rdpkit", against="dp-accounting", least=1.0),
    ],
    about="An upper bound on epsilon, add-or-remove-one, each library at its default grid; that of "
    "rdpkit is certified. Right: not below the truth, and within 0.1 % above.",
)
