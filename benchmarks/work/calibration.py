"""The noise that a Poisson-sampled Gaussian needs for (epsilon, delta)."""

# ruff: noqa: PLC0415  (a library is imported when it is its turn)

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from flint import arb

from benchmarks import references
from benchmarks.libraries import LIBRARIES
from benchmarks.model import Adapter, Case, Goal, Prepared, Reference, Work
from benchmarks.work.poisson_curve import ORDERS

TOLERANCE = 1e-5
_BRACKET = (0.3, 100.0)

CASES = [
    Case(
        id=f"epsilon={epsilon:g} delta={delta:g} q={q:g} T={steps}",
        parameters={"epsilon": epsilon, "delta": delta, "q": q, "steps": steps},
        quick={} if quick else None,
    )
    for epsilon, delta, q, steps, quick in (
        (1.0, 1e-5, 0.01, 10_000, True),
        (8.0, 1e-6, 0.004, 5000, False),
        (3.0, 1e-5, 0.1, 500, False),
    )
]


def target(case: Case, index: int) -> float:
    """The epsilon asked for: different in every call by a part in a million."""
    return float(case.parameters["epsilon"] * (1.0 + 1e-6 * (index % 1000)))


def ours(case: Case) -> Prepared:
    """``rdpkit.calibrate`` from Renyi divergences, with its certificate."""
    import rdpkit
    from rdpkit.calibration import calibrate

    p = case.parameters

    def call(index: int) -> list[float]:
        one = rdpkit.PoissonSampledGaussian(
            noise_std=1.0, record_norm=1.0, sampling_probability=p["q"]
        )
        found = calibrate(
            rdpkit.Repeated(event=one, count=p["steps"]),
            target_epsilon=target(case, index),
            delta=p["delta"],
            adjacency="add_or_remove_one",
            parameter="noise_std",
            bound="best-rdp",
        )
        assert isinstance(found.value, float)  # one parameter, and not a count
        return [found.value]

    return Prepared(call=call, note="certified in balls; the best of all real orders")


def dp_accounting(case: Case) -> Prepared:
    """``calibrate_dp_mechanism`` with an ``RdpAccountant``, everything at its default."""
    import dp_accounting as dpa
    from dp_accounting.rdp import RdpAccountant

    p = case.parameters

    def call(index: int) -> list[float]:
        found = dpa.calibrate_dp_mechanism(
            lambda: RdpAccountant(ORDERS, dpa.NeighboringRelation.ADD_OR_REMOVE_ONE),
            lambda noise: dpa.SelfComposedDpEvent(
                dpa.PoissonSampledDpEvent(p["q"], dpa.GaussianDpEvent(noise)), p["steps"]
            ),
            target(case, index),
            p["delta"],
        )
        return [found]

    return Prepared(call=call, note="default tolerance, 1e-6")


def opacus(case: Case) -> Prepared:
    """``get_noise_multiplier``, everything at its default."""
    utils = LIBRARIES["opacus"].load("utils")
    p = case.parameters
    return Prepared(
        call=lambda index: [
            utils.get_noise_multiplier(
                target_epsilon=target(case, index),
                target_delta=p["delta"],
                sample_rate=p["q"],
                steps=p["steps"],
            )
        ],
        note="its own orders; default tolerance, 0.01 in epsilon",
    )


def autodp(case: Case) -> Prepared:
    """``eps_delta_calibrator`` of a ``NoisySGD_Mechanism``."""
    mechanisms = LIBRARIES["autodp"].load("mechanism_zoo")
    calibrators = LIBRARIES["autodp"].load("calibrator_zoo")
    p = case.parameters

    def call(index: int) -> list[float]:
        found = calibrators.eps_delta_calibrator()(
            lambda noise: mechanisms.NoisySGD_Mechanism(prob=p["q"], sigma=noise, niter=p["steps"]),
            target(case, index),
            p["delta"],
            [0.3, 30.0],
        )
        return [found.params["sigma"]]

    return Prepared(call=call, note="minimises |epsilon - target|, so it may end on either side")


def prv_accountant(case: Case) -> Prepared:
    """``dpsgd.find_noise_multiplier``: by a loss distribution, which needs less noise."""
    search = LIBRARIES["prv-accountant"].load("dpsgd")
    p = case.parameters
    return Prepared(
        call=lambda index: [
            search.find_noise_multiplier(
                p["q"],
                p["steps"],
                target(case, index),
                p["delta"],
            )
        ],
        note="by a loss distribution, which needs less noise; default eps_error, 0.1",
    )


def opake(case: Case) -> Prepared:
    """``opake.accounting.calibrate`` of a process of its native functions."""
    accounting = LIBRARIES["opake-accounting"].load()
    native = importlib.import_module("opake.api.accounting.core.opake_accounting")
    base = importlib.import_module("opake.api.accounting.core._base")
    p = case.parameters

    # opake-accounting itself has no sampled Gaussian to calibrate; its native functions have one.
    @dataclass(frozen=True)
    class Sampled(base.DpProcess):  # type: ignore[misc, name-defined]
        noise_multiplier: float

        def pld(self, **settings: Any) -> Any:
            grid = accounting.get_discretization(
                **{name: value for name, value in settings.items() if value is not None}
            )
            one = native.poisson_pld(
                native.gaussian_pld(self.noise_multiplier, grid.to_native()), p["q"]
            )
            return one.self_compose(p["steps"])

    def call(index: int) -> list[float]:
        found = accounting.calibrate(
            accounting.epsilon_budget(target(case, index), p["delta"]), Sampled, *_BRACKET
        )
        return [found.param]

    return Prepared(call=call, note="by a loss distribution, which needs less noise")


def reference(case: Case) -> Reference:
    """Stored: the noise below which two neighbours leak more, and what 156 orders need."""
    found = references.load(WORK.id)[case.id]
    return Reference(
        low=[found["leaks"]],
        high=[found["noise"]],
        tolerance=TOLERANCE,
        about="not less than where two neighbours leak the target, nor more than the best of the "
        "156 orders needs (40 digits)",
    )


def write_references() -> None:
    """Recompute the stored noise."""
    found = {}
    for case in CASES:
        p = case.parameters
        asked = {
            "epsilon": p["epsilon"],
            "delta": p["delta"],
            "sampling_probability": p["q"],
            "steps": p["steps"],
        }
        noise, order = references.noise_of_curve(**asked)
        least = references.least_noise(**asked, high=float(noise))
        found[case.id] = {
            "leaks": arb(least).str(17, radius=False),
            "noise": references.decimal(noise),
            "order": order,
        }
    references.store(
        WORK.id,
        "noise multiplier: at the target by the best of the 156 orders, and where two neighbours "
        "leak the target (rdpkit's lower bound)",
        found,
    )


WORK = Work(
    id="calibration",
    title="Noise for (epsilon, delta)",
    cases=CASES,
    adapters=[
        Adapter(library="rdpkit", prepare=ours),
        Adapter(library="dp-accounting", prepare=dp_accounting),
        Adapter(library="opacus", prepare=opacus),
        Adapter(library="autodp", prepare=autodp, slow=True),
        Adapter(library="prv-accountant", prepare=prv_accountant, slow=True),
        Adapter(library="opake-accounting", prepare=opake, slow=True),
    ],
    reference=reference,
    goals=[Goal(name="dp-accounting / rdpkit", against="dp-accounting", least=20.0)],
    about="The smallest noise multiplier for a target. Right: not less than where two neighbours "
    "leak the target, and not more (1e-5) than Renyi divergences at the 156 orders need.",
)
