"""What the accountants of other libraries print for a training, computed by them as installed."""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from rdpkit import _validate
from rdpkit.events import DPSGD

# Opacus's PRV takes half a minute and a gigabyte for so many points, and then more than in
# proportion: 144 million of them, for 100,000 steps at a half and noise 5, take minutes and 5 GB.
_MOST_POINTS = 12e6
# dp-accounting's PLD has ten thousand points for each nat, and goes to about this epsilon.
_LARGEST_LOSS = 2000.0


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
    from opacus.accountants.analysis import prv  # noqa: PLC0415

    def asked(accountant: Any, rate: float, count: int) -> float:
        if isinstance(accountant, PRVAccountant):
            # How many points its grid has, with the errors that it takes by default.
            one = prv.PoissonSubsampledGaussianPRV(rate, event.noise_multiplier)
            reach = prv.compute_safe_domain_size([one], [count], 0.01, delta / 1000)
            points = 2.0 * reach / 0.01 * math.sqrt(count * math.log(12e3 / delta) / 2.0)
            if points > _MOST_POINTS:
                millions = f"{points / 1e6:.0f} million points"
                raise _NotAskedError(f"not asked: its {millions} take too long")
        accountant.history = [(event.noise_multiplier, rate, count)]
        return float(accountant.get_epsilon(delta))

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
            name = accountant.mechanism().upper()
            yield _number(library, name, partial(asked, accountant, rate, count), note)


def _dp_accounting(library: str, event: DPSGD, delta: float) -> Iterator[OtherEpsilon]:
    from dp_accounting import dp_event, pld, rdp  # noqa: PLC0415 - takes a second

    noise = dp_event.GaussianDpEvent(event.noise_multiplier / event.record_norm)
    step = dp_event.PoissonSampledDpEvent(event.sampling_probability, noise)

    def told(accountant: Any, repeated: Any, count: int) -> Callable[[], float]:
        return lambda: accountant().compose(repeated, count).get_epsilon(delta)

    if event.sampling == "poisson":
        by_orders = _number(library, "RDP", told(rdp.RdpAccountant, step, event.updates))
        if (by_orders.epsilon or math.inf) > _LARGEST_LOSS:
            note = "not asked: losses this large take too long"
            yield OtherEpsilon(library=library, accountant="PLD", epsilon=None, note=note)
        else:
            yield _number(library, "PLD", told(pld.PLDAccountant, step, event.updates))
        yield by_orders
    if event.epochs is None:
        return
    # The statement doubles the sensitivity with microbatches, and rounds epochs and steps up.
    steps = math.ceil(event.epochs / event.sampling_probability)
    statement = f"TensorFlow Privacy's statement, by {library}"
    yield _number(statement, "Poisson sampling", told(rdp.RdpAccountant, step, steps))
    whole = told(rdp.RdpAccountant, noise, math.ceil(event.epochs))
    yield _number(statement, "each example once per epoch", whole)


class _NotAskedError(ValueError):
    """Another library would take too much time and memory."""


def _number(
    library: str, accountant: str, asked: Callable[[], float], note: str = ""
) -> OtherEpsilon:
    """What is printed; failures of other libraries are part of the answer."""
    epsilon = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Of orders that one leaves out: its number stands without them.
            logging.disable(logging.WARNING)
            epsilon = float(asked())
        if not math.isfinite(epsilon):
            epsilon, note = None, f"prints {epsilon}"
    except _NotAskedError as error:
        note = str(error)
    except (ArithmeticError, AssertionError, MemoryError, RuntimeError, ValueError) as error:
        note = f"fails with {type(error).__name__}"
    finally:
        logging.disable(logging.NOTSET)
    return OtherEpsilon(library=library, accountant=accountant, epsilon=epsilon, note=note)
