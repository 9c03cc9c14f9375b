"""The RDP curve of fixed-size sampling by Theorems 9 and 27 of Wang et al., at 156 orders."""

# ruff: noqa: PLC0415  (a library is imported when it is its turn)

from __future__ import annotations

from collections.abc import Sequence

from benchmarks import references
from benchmarks.libraries import LIBRARIES
from benchmarks.model import Adapter, Case, Goal, Prepared, Reference, Work
from benchmarks.work.poisson_curve import ORDERS, TOLERANCE, noise

CASES = [
    Case(
        id=f"{sample} of {population} z={z:g}",
        parameters={"sample": sample, "population": population, "z": z},
        quick={} if quick else None,
    )
    for sample, population, z, quick in (
        (100, 10_000, 1.0, False),
        (60, 60_000, 0.7, False),
        (500, 1000, 5.0, False),
        (100, 1000, 10.0, True),
        (500, 1000, 100.0, False),
    )
]


def ours(case: Case) -> Prepared:
    """``rdpkit.fixed_size_gaussian_rdp`` with the same theorems."""
    import rdpkit

    return Prepared(
        call=lambda index: rdpkit.fixed_size_gaussian_rdp(
            ORDERS,
            noise_multiplier=noise(case, index),
            sample_size=case.parameters["sample"],
            population_size=case.parameters["population"],
            adjacency="replace_one",
            theorem="wang2019",
        )
    )


def dp_accounting(case: Case) -> Prepared:
    """``RdpAccountant.compose`` of a ``SampledWithoutReplacementDpEvent``."""
    import dp_accounting as dpa
    from dp_accounting.rdp import RdpAccountant

    def call(index: int) -> Sequence[float]:
        accountant = RdpAccountant(ORDERS, dpa.NeighboringRelation.REPLACE_ONE)
        event = dpa.SampledWithoutReplacementDpEvent(
            case.parameters["population"],
            case.parameters["sample"],
            dpa.GaussianDpEvent(noise(case, index)),
        )
        found: Sequence[float] = accountant.compose(event).rdp
        return found

    return Prepared(
        call=call, note="forward differences in floats; above order 256 Theorem 9 alone"
    )


def autodp(case: Case) -> Prepared:
    """``AmplificationBySampling`` without replacement, with Theorem 27."""
    mechanisms = LIBRARIES["autodp"].load("mechanism_zoo")
    transformers = LIBRARIES["autodp"].load("transformer_zoo")
    share = case.parameters["sample"] / case.parameters["population"]

    def call(index: int) -> list[float]:
        gaussian = mechanisms.GaussianMechanism(noise(case, index))
        gaussian.neighboring = "replace_one"
        sampling = transformers.AmplificationBySampling(PoissonSampling=False)
        sampled = sampling(gaussian, share, improved_bound_flag=True)
        return [float(sampled.RenyiDP(a)) for a in ORDERS]

    return Prepared(
        call=call, note="forward differences in floats; above order 100 Theorem 9 alone"
    )


def reference(case: Case) -> Reference:
    """The stored curve."""
    values = references.load(WORK.id)[case.id]
    return Reference(
        low=values,
        high=values,
        tolerance=TOLERANCE,
        about="the theorems as printed, in balls, 40 digits",
    )


def write_references() -> None:
    """Recompute the stored curves."""
    references.store(
        WORK.id,
        f"per-term minimum of Theorems 9 and 27 in nats, orders {ORDERS}",
        {
            case.id: [
                references.decimal(value)
                for value in references.fixed_size_curve(
                    ORDERS,
                    noise_multiplier=case.parameters["z"],
                    sample_size=case.parameters["sample"],
                    population_size=case.parameters["population"],
                )
            ]
            for case in CASES
        },
    )


WORK = Work(
    id="fixed-size-curve",
    title="RDP curve, fixed-size sampling",
    cases=CASES,
    adapters=[
        Adapter(library="rdpkit", prepare=ours),
        Adapter(library="dp-accounting", prepare=dp_accounting),
        Adapter(library="autodp", prepare=autodp),
    ],
    reference=reference,
    goals=[Goal(name="dp-accounting / rdpkit", against="dp-accounting", least=50.0)],
    about="The per-term minimum of Theorems 9 and 27 of Wang, Balle and Kasiviswanathan 2019 at "
    "the same 156 orders, replace-one. Right: every one within 1e-10 of what the theorems say.",
)
