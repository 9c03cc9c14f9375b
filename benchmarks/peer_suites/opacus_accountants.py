"""Our accountant under the names of Opacus' two that give upper bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import opacus.accountants as theirs
from opacus.accountants import registry, utils

from benchmarks.peer_suites import answers
from rdpkit.interop.opacus import ADJACENCY, OpacusAccountant


class _Recorded(OpacusAccountant):
    """Keeps what it was asked, and carries the name of the accountant whose place it takes."""

    name = ""
    bound = "best"

    @classmethod
    def mechanism(cls) -> str:
        """Their name."""
        return cls.name

    def get_epsilon(self, delta: float, **kwargs: Any) -> float:
        """Epsilon, remembered with what a pair of data sets attains."""
        answers.CURRENT.asked = True
        for option in ("alphas", "eps_error", "delta_error", "poisson"):
            kwargs.pop(option, None)
        found = super().get_epsilon(delta, bound=self.bound, **kwargs)
        event = self.event
        if event is not None and math.isfinite(found):
            lower = partial(answers.attained, event, ADJACENCY, delta=delta)
            question = f"epsilon at delta = {delta:g}"
            answers.CURRENT.answers.append(answers.Answer(question, found, lower))
        return found


class RDPAccountant(_Recorded):
    """In place of ``RDPAccountant``."""

    name = "rdp"
    # Searches ask hundreds of times; certified Renyi divergences are quicker.
    bound = "best-rdp"


class PRVAccountant(_Recorded):
    """In place of ``PRVAccountant``."""

    name = "prv"


def install() -> None:
    """Put ours in the registry and in the package; noise that is found is remembered, too."""
    for ours in (RDPAccountant, PRVAccountant):
        setattr(theirs, ours.__name__, ours)
        registry._ACCOUNTANTS[ours.name] = ours
    utils.get_noise_multiplier = _remembered(utils.get_noise_multiplier)


def _remembered(search: Callable[..., float]) -> Callable[..., float]:
    def found(**given: Any) -> float:
        noise = search(**given)
        target = given["target_epsilon"]
        reached = answers.CURRENT.answers[-1].ours if answers.CURRENT.answers else math.inf
        sound = given.get("accountant", "rdp") in ("rdp", "prv") and reached <= target
        question = f"noise for epsilon = {target:g}, which ours proves with it"
        needed = partial(_needed, given, noise)
        answers.CURRENT.answers.append(answers.Answer(question, noise, needed, certified=sound))
        return noise

    return found


def _needed(given: dict[str, Any], noise: float) -> float | None:
    """Noise with which two data sets attain more than was asked for: a little less than ours."""
    less, rate = 0.99 * noise, given["sample_rate"]
    accountant = PRVAccountant()
    accountant.history = [(less, rate, given.get("steps") or int(given["epochs"] / rate))]
    assert accountant.event is not None
    lower = answers.attained(accountant.event, ADJACENCY, delta=given["target_delta"])
    return less if lower and lower > given["target_epsilon"] else None
