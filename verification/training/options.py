"""The options of checking a training, declared as those of a test of code are."""

from __future__ import annotations

import dataclasses
import secrets
import shlex
from typing import Any

from rdpkit.formats.records import ValueKind, choice, integer, many, number, refused
from rdpkit.verification.blackbox.options import check_values, option, options_of, words_of

CHECKS = ("step", "sampler", "accountant", "run")
"""The checks, in the order in which they are made."""


def _read_checks(name: str, value: Any) -> tuple[str, ...]:
    """Names of checks, each once, in the order in which they are made."""
    given = list(value) if isinstance(value, tuple) else value
    found = many(choice(CHECKS), "checks").read(name, given)
    if not found or len(set(found)) < len(found):
        raise refused(name, "to be a list of different checks", value)
    return tuple(check for check in CHECKS if check in found)


_CHECKS = ValueKind(
    _read_checks,
    {"type": "array", "minItems": 1, "uniqueItems": True, "items": {"enum": list(CHECKS)}},
)
_BETWEEN = number("in (0, 1)", above=0.0, below=1.0)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TrainingOptions:
    """How a training is checked. :data:`OPTIONS` says what each field means."""

    checks: tuple[str, ...] = option(
        CHECKS,
        _CHECKS,
        "Which checks are made.",
        flag="--check",
        command_line="May be repeated.",
        usual="all",
    )
    false_alarm_rate: float = option(
        0.01,
        _BETWEEN,
        "How often a correct training may be rejected, by all checks together.",
        flag="--alpha",
    )
    confidence: float = option(0.95, _BETWEEN, "Of each lower bound on epsilon.")
    canaries: int = option(1000, integer(2), "How many canaries the run has.")
    steps: int | None = option(
        None, integer(1), "How many steps the run makes.", usual="all, or what the time allows"
    )
    seconds: float = option(
        60.0, number("> 0", above=0.0, maximum=1e9), "About how long all checks may take."
    )
    seed: int | None = option(
        None,
        integer(0, 2**63 - 1),
        "All choices of the checks come from it.",
        usual="from the operating system",
    )

    def __post_init__(self) -> None:
        check_values(self)

    @property
    def rate_of_a_check(self) -> float:
        """The false-alarm rate of each check, so that all together have theirs."""
        return self.false_alarm_rate / len(CHECKS)

    @property
    def known_seed(self) -> int:
        """The seed, of options that have one: see :meth:`seeded`."""
        assert self.seed is not None
        return self.seed

    def seeded(self) -> TrainingOptions:
        """The same options with a seed."""
        if self.seed is not None:
            return self
        return dataclasses.replace(self, seed=secrets.randbits(32))


OPTIONS = options_of(TrainingOptions)


def replay_of(target: str, options: TrainingOptions) -> str:
    """The command line that makes the same checks with the same choices."""
    given = {one.name: getattr(options, one.name) for one in OPTIONS}
    chosen = {one.name: given[one.name] for one in OPTIONS if given[one.name] != one.default}
    return shlex.join(["rdpkit", "verify-training", target, *words_of(chosen, OPTIONS)])
