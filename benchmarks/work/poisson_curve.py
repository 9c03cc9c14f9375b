"""The RDP curve of the Poisson-sampled Gaussian at dp-accounting's 156 default orders."""

# ruff: noqa: PLC0415  (a library is imported when it is its turn)

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks import references
from benchmarks.libraries import LIBRARIES
from benchmarks.model import Adapter, Case, Goal, Prepared, Reference, Work

TOLERANCE = 1e-10
ORDERS = list(references.ORDERS)

CASES = [
    Case(id=f"q={q:g} z={z:g}", parameters={"q": q, "z": z}, quick={} if quick else None)
    for q, z, quick in (
        (0.01, 1.0, False),
        (0.001, 0.8, False),
        (0.1, 2.0, False),
        (0.5, 5.0, True),
        (1e-6, 0.7, True),
    )
]


def noise(case: Case, index: int) -> float:
    """The noise multiplier of a call: different in every one by a part in a million."""
    return float(case.parameters["z"] * (1.0 + 1e-6 * (index % 1000)))


def ours(case: Case) -> Prepared:
    """``rdpkit.sampled_gaussian_rdp``."""
    import rdpkit

    q = case.parameters["q"]
    return Prepared(
        call=lambda index: rdpkit.sampled_gaussian_rdp(
            ORDERS, noise_multiplier=noise(case, index), sampling_probability=q
        )
    )


def dp_accounting(case: Case) -> Prepared:
    """``RdpAccountant.compose`` of a ``PoissonSampledDpEvent``."""
    import dp_accounting as dpa
    from dp_accounting.rdp import RdpAccountant

    q = case.parameters["q"]

    def call(index: int) -> Sequence[float]:
        accountant = RdpAccountant(ORDERS, dpa.NeighboringRelation.ADD_OR_REMOVE_ONE)
        event = dpa.PoissonSampledDpEvent(q, dpa.GaussianDpEvent(noise(case, index)))
        found: Sequence[float] = accountant.compose(event).rdp
        return found

    return Prepared(call=call, note="the terms of an alternating series without their signs")


def dp_accelerator(case: Case) -> Prepared:
    """``compute_epsilon_batch`` for one step: the curve is not exported, and dominates the time."""
    accelerator = LIBRARIES["dp-accelerator"].load()
    q = case.parameters["q"]

    def values() -> list[float]:
        # epsilon = steps r + a term of the order: with 2^62 steps r keeps all its digits.
        steps, delta = 2**62, 0.5
        found = []
        for a in ORDERS:
            (epsilon,) = accelerator.compute_epsilon_batch(q, noise(case, 0), [steps], [a], delta)
            rest = np.log1p(-1.0 / a) - np.log(delta * a) / (a - 1.0)
            found.append((epsilon - rest) / steps)
        return found

    return Prepared(
        call=lambda index: accelerator.compute_epsilon_batch(
            q, noise(case, index), [1], ORDERS, 1e-5
        ),
        values=values,
        note="the same series in Rust; includes one conversion to epsilon, as the curve alone is "
        "not to be had",
    )


def opacus(case: Case) -> Prepared:
    """``opacus.accountants.analysis.rdp.compute_rdp``."""
    analysis = LIBRARIES["opacus"].load("analysis.rdp")
    q = case.parameters["q"]
    return Prepared(
        call=lambda index: analysis.compute_rdp(
            q=q, noise_multiplier=noise(case, index), steps=1, orders=ORDERS
        ),
        note="the series with its signs, cut off at an absolute e^-30",
    )


def autodp(case: Case) -> Prepared:
    """``AmplificationBySampling`` with its tight bound for Poisson sampling."""
    mechanisms = LIBRARIES["autodp"].load("mechanism_zoo")
    transformers = LIBRARIES["autodp"].load("transformer_zoo")
    q = case.parameters["q"]

    def call(index: int) -> list[float]:
        gaussian = mechanisms.GaussianMechanism(noise(case, index))
        sampling = transformers.AmplificationBySampling(PoissonSampling=True)
        sampled = sampling(gaussian, q, improved_bound_flag=True)
        return [float(sampled.RenyiDP(a)) for a in ORDERS]

    return Prepared(call=call, note="between the integers a chord, which is an upper bound")


def reference(case: Case) -> Reference:
    """The stored curve."""
    values = references.load(WORK.id)[case.id]
    return Reference(
        low=values,
        high=values,
        tolerance=TOLERANCE,
        about="finite sum and trapezoid rule in balls, 40 digits",
    )


def write_references() -> None:
    """Recompute the stored curves."""
    references.store(
        WORK.id,
        f"D_order((1-q) N(0, z^2) + q N(1, z^2) || N(0, z^2)) in nats, orders {ORDERS}",
        {
            case.id: [
                references.decimal(value)
                for value in references.poisson_curve(
                    ORDERS,
                    noise_multiplier=case.parameters["z"],
                    sampling_probability=case.parameters["q"],
                )
            ]
            for case in CASES
        },
    )


WORK = Work(
    id="poisson-curve",
    title="RDP curve, Poisson-sampled Gaussian",
    cases=CASES,
    adapters=[
        Adapter(library="rdpkit", prepare=ours),
        Adapter(library="dp-accounting", prepare=dp_accounting),
        Adapter(library="dp-accelerator", prepare=dp_accelerator),
        Adapter(library="opacus", prepare=opacus),
        Adapter(library="autodp", prepare=autodp),
    ],
    reference=reference,
    goals=[
        Goal(name="dp-accounting / rdpkit", against="dp-accounting", least=30.0),
        Goal(name="the Rust port / rdpkit", against="dp-accelerator", least=1.0),
    ],
    about="Renyi divergences at dp-accounting's 156 default orders, add-or-remove-one. Right: "
    "every one within 1e-10 of the exact value.",
)
