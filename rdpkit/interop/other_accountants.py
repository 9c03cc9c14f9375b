"""What the accountants of other libraries print for a training, computed by them as installed."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from rdpkit import _validate
from rdpkit.events import DPSGD


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherEpsilon:
    """One number that another library prints; all are about add-or-remove-one."""

    library: str  # The library and its version
    accountant: str
    epsilon: float | None  # What it prints; None where it fails
    note: str = ""  # What it was told, where that is not the event itself, or how it failed

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


def other_accountants(
    event: DPSGD,  # The settings of the training
    *,
    delta: float,  # In (0, 1)
) -> list[OtherEpsilon]:
    """What Opacus, dp-accounting and TensorFlow Privacy's statement print for a training.

    Libraries that are not installed are left out, and so is what cannot be told to a library.

    Source
    ------
    opacus 1.6.0, ``accountants``; dp-accounting 0.6.0, ``rdp`` and ``pld``;
    tensorflow_privacy 0.9.0, ``compute_dp_sgd_privacy_lib.py``, which asks dp-accounting.
    """
    # Imported here because it takes as long as all of the rest.
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    _validate.one_of_a_kind("event", event, DPSGD)
    delta = _validate.open_probability("delta", delta)
    if event.sampling not in ("poisson", "shuffle") or event.examples_per_user > 1:
        return []
    found: list[OtherEpsilon] = []
    for library, numbers in (("opacus", _opacus), ("dp-accounting", _dp_accounting)):
        try:
            name = f"{library} {version(library)}"
        except PackageNotFoundError:
            continue
        found += numbers(name, event, delta)
    return found


def _opacus(library: str, event: DPSGD, delta: float) -> Iterator[OtherEpsilon]:
    if event.microbatch_size > 1:
        return
    # Imported here because they bring torch.
    from opacus.accountants import PRVAccountant, RDPAccountant  # noqa: PLC0415

    batches = event.batches
    if event.sampling == "poisson":
        batches = math.ceil(event.dataset_size / event.logical_batch)
    told = [(event.sampling_probability, event.updates, "")]
    # Opacus samples with probability one over the length of the loader.
    steps = batches * event.passes if event.steps is None else event.steps
    if (1 / batches, steps) != told[0][:2]:
        told.append((1 / batches, steps, f"its own loader: {steps} steps at 1/{batches}"))
    for rate, count, note in told:
        for accountant in (PRVAccountant(), RDPAccountant()):
            accountant.history = [(event.noise_multiplier, rate, count)]
            name = accountant.mechanism().upper()
            yield _number(library, name, partial(accountant.get_epsilon, delta), note)


def _dp_accounting(library: str, event: DPSGD, delta: float) -> Iterator[OtherEpsilon]:
    from dp_accounting import dp_event, pld, rdp  # noqa: PLC0415 - takes a second

    noise = dp_event.GaussianDpEvent(event.noise_multiplier / event.record_norm)
    step = dp_event.PoissonSampledDpEvent(event.sampling_probability, noise)

    def told(accountant: Any, repeated: Any, count: int) -> Callable[[], float]:
        return lambda: accountant().compose(repeated, count).get_epsilon(delta)

    if event.sampling == "poisson":
        yield _number(library, "PLD", told(pld.PLDAccountant, step, event.updates))
        yield _number(library, "RDP", told(rdp.RdpAccountant, step, event.updates))
    if event.epochs is None:
        return
    # The statement doubles the sensitivity with microbatches, and rounds epochs and steps up.
    steps = math.ceil(event.epochs / event.sampling_probability)
    statement = f"TensorFlow Privacy's statement, by {library}"
    yield _number(statement, "Poisson sampling", told(rdp.RdpAccountant, step, steps))
    whole = told(rdp.RdpAccountant, noise, math.ceil(event.epochs))
    yield _number(statement, "each example once per epoch", whole)


def _number(
    library: str, accountant: str, asked: Callable[[], float], note: str = ""
) -> OtherEpsilon:
    """What is printed; failures of other libraries are part of the answer."""
    epsilon = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            epsilon = float(asked())
        if not math.isfinite(epsilon):
            epsilon, note = None, f"prints {epsilon}"
    except (ArithmeticError, AssertionError, MemoryError, RuntimeError, ValueError) as error:
        note = f"fails with {type(error).__name__}"
    return OtherEpsilon(library=library, accountant=accountant, epsilon=epsilon, note=note)
