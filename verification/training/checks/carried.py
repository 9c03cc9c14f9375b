"""What a step keeps of its batch for the next one, and whether noise was added to it.

After one step, every array that the training holds is compared between two seeds and between two
batches. What is the same for both seeds and differs between the batches has no noise. If the next
update changes when that alone is exchanged, it releases the batch before it without noise. Lists of
losses for a plot change with the batch as well, but no update does with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rdpkit.verification.blackbox.mistakes import Mistake, MistakeKind, mistake_of
from rdpkit.verification.training.checks.effects import CLEAR
from rdpkit.verification.training.checks.trials import Trials
from rdpkit.verification.training.state import Held
from rdpkit.verification.training.trainer import Batch

_DIFFERS = 1e-5
_SHOWN = 3


def carried_mistakes(trials: Trials, one: Batch, other: Batch, *, seed: int) -> Iterator[Mistake]:
    """State that changes with the batch, not with the noise, and that the next update shows."""
    after = {}
    for name, batch, noise in (
        ("one", one, seed),
        ("noise", one, seed + 1),
        ("other", other, seed),
        # The last one shows what is not put back between trials.
        ("again", one, seed),
    ):
        trials.update(batch, noise)
        after[name] = trials.state.held()
    first, again = after["one"], after["again"]
    if first.keys() != again.keys() or any(first[place].differs(again[place]) for place in first):
        return
    clean = [
        place
        for place in after["one"]
        if all(place in found for found in after.values())
        and after["one"][place].differs(after["other"][place])
        and not after["one"][place].differs(after["noise"][place])
    ]
    shown = [place for place in clean if _shows(trials, one, place, after["other"][place], seed)]
    if shown:
        names = ", ".join(shown[:_SHOWN]) + (" and others" if len(shown) > _SHOWN else "")
        yield mistake_of(MistakeKind.STATE_HOLDS_DATA, names=names)


def _shows(trials: Trials, batch: Batch, place: str, exchanged: Held, seed: int) -> bool:
    """Whether the next update changes with this state alone."""
    updates: list[Any] = []
    for exchange in (False, True):
        trials.update(batch, seed)
        if exchange:
            held = trials.state.held().get(place)
            if held is None or not held.put(exchanged.value):
                return False
        trials.state.reseed(seed + 2)
        updates.append(trials.observed(batch))
    first, second = updates
    apart = float(np.linalg.norm(first.vector - second.vector))
    length = float(np.linalg.norm(first.vector))
    return bool(apart > max(_DIFFERS * length, CLEAR * (first.rounding + second.rounding)))
