"""One epsilon of a Poisson-sampled Gaussian from Renyi divergences."""

# ruff: noqa: PLC0415  (a library is imported when it is its turn)

from __future__ import annotations

from collections.abc import Callable

from flint import arb

from benchmarks import references
from benchmarks.libraries import LIBRARIES
from benchmarks.model import Adapter, Case, Prepared, Reference, Work
from benchmarks.work.poisson_curve import ORDERS, noise

TOLERANCE = 1e-9

CASES = [
    Case(
        id=f"q={q:g} z={z:g} T={steps} delta={delta:g}",
        parameters={"q": q, "z": z, "steps": steps, "delta": delta},
        quick={} if quick else None,
    )
    for q, z, steps, delta, quick in (
        (0.01, 1.0, 1000, 1e-5, True),
        (0.1, 0.5, 500, 1e-5, False),
        (1e-4, 5.0, 10_000, 1e-6, False),
    )
]


def ours(*, certify: bool) -> Callable[[Case], Prepared]:
    """``rdpkit.epsilon`` with ``bound="best-rdp"``."""

    def prepare(case: Case) -> Prepared:
        import rdpkit

        p = case.parameters

        def call(index: int) -> list[float]:
            one = rdpkit.PoissonSampledGaussian(
                noise_std=noise(case, index), record_norm=1.0, sampling_probability=p["q"]
            )
            found = rdpkit.epsilon(
                rdpkit.Repeated(event=one, count=p["steps"]),
                delta=p["delta"],
                adjacency="add_or_remove_one",
                bound="best-rdp",
                certify=certify,
            )
            return [found.epsilon]

        what = "the best of all real orders, the tightest conversion"
        return Prepared(call=call, note=f"{what}; enclosed in balls" if certify else what)

    return prepare


def dp_accounting(case: Case) -> Prepared:
    """``RdpAccountant`` at its default orders."""
    import dp_accounting as dpa
    from dp_accounting.rdp import RdpAccountant

    p = case.parameters

    def call(index: int) -> list[float]:
        accountant = RdpAccountant(ORDERS, dpa.NeighboringRelation.ADD_OR_REMOVE_ONE)
        event = dpa.PoissonSampledDpEvent(p["q"], dpa.GaussianDpEvent(noise(case, index)))
        return [accountant.compose(event, p["steps"]).get_epsilon(p["delta"])]

    return Prepared(call=call)


def opacus(case: Case) -> Prepared:
    """``RDPAccountant`` at the same orders."""
    accountants = LIBRARIES["opacus"].load()
    p = case.parameters

    def call(index: int) -> list[float]:
        accountant = accountants.RDPAccountant()
        accountant.history = [(noise(case, index), p["q"], p["steps"])]
        return [accountant.get_epsilon(p["delta"], alphas=ORDERS)]

    return Prepared(call=call, note="at the same 156 orders, not its own")


def autodp(case: Case) -> Prepared:
    """``NoisySGD_Mechanism``."""
    mechanisms = LIBRARIES["autodp"].load("mechanism_zoo")
    p = case.parameters
    return Prepared(
        call=lambda index: [
            mechanisms.NoisySGD_Mechanism(
                prob=p["q"], sigma=noise(case, index), niter=p["steps"]
            ).get_approxDP(p["delta"])
        ],
        note="searches all orders, with chords between the integers",
    )


def dp_accelerator(case: Case) -> Prepared:
    """``compute_epsilon_batch`` at the same orders."""
    accelerator = LIBRARIES["dp-accelerator"].load()
    p = case.parameters
    return Prepared(
        call=lambda index: accelerator.compute_epsilon_batch(
            p["q"], noise(case, index), [p["steps"]], ORDERS, p["delta"]
        ),
        note="at the same 156 orders, not its own",
    )


def reference(case: Case) -> Reference:
    """Stored: what two neighbours leak, and the best of the 156 orders."""
    found = references.load(WORK.id)[case.id]
    return Reference(
        low=[found["leaked"]],
        high=[found["epsilon"]],
        tolerance=TOLERANCE,
        about="not below what two neighbours leak, nor above the best of the 156 orders (40 "
        "digits)",
    )


def write_references() -> None:
    """Recompute the stored epsilons."""
    found = {}
    for case in CASES:
        p = case.parameters
        curve = references.poisson_curve(
            ORDERS, noise_multiplier=p["z"], sampling_probability=p["q"]
        )
        epsilon, order = references.epsilon_of_curve(
            ORDERS, curve, steps=p["steps"], delta=p["delta"]
        )
        low = references.leaked(
            noise_multiplier=p["z"],
            sampling_probability=p["q"],
            steps=p["steps"],
            delta=p["delta"],
        )
        found[case.id] = {
            "leaked": arb(low).str(17, radius=False),
            "epsilon": references.decimal(epsilon),
            "order": order,
        }
    references.store(
        WORK.id,
        "epsilon in nats: the smallest over the 156 orders, and rdpkit's lower bound",
        found,
    )


WORK = Work(
    id="rdp-epsilon",
    title="One epsilon from Renyi divergences",
    cases=CASES,
    adapters=[
        Adapter(library="rdpkit", prepare=ours(certify=True)),
        Adapter(library="rdpkit", variant="in floats", prepare=ours(certify=False)),
        Adapter(library="dp-accounting", prepare=dp_accounting),
        Adapter(library="opacus", prepare=opacus),
        Adapter(library="autodp", prepare=autodp),
        Adapter(library="dp-accelerator", prepare=dp_accelerator),
    ],
    reference=reference,
    goals=[],
    about="A single question, which rdpkit answers with a certificate and with a search for the "
    "best order: more work than the other libraries do. Right: not below what two neighbours leak, "
    "and not above the best of the 156 orders.",
)
