"""The options of a test of code: their names, defaults, checks and meanings, each in one place.

``rdpkit verify`` makes its command-line options from these records, and claims files their keys of
``[claim.code]``. Those of a training are declared alike, for ``rdpkit verify-training`` and
``[claim.training]``. This module imports nothing heavy, so that ``--help`` answers at once.
"""

from __future__ import annotations

import dataclasses
import functools
import secrets
from collections.abc import Mapping
from typing import Any

from rdpkit.formats.records import ValueKind, choice, did_you_mean, flag, integer, number, refused

SAMPLES = 200_000
TIME_BUDGET = 60.0
"""Seconds, where a person gives neither a time budget nor a number of runs."""
SUITE_SAMPLES, SUITE_SECONDS = 20_000, 120.0
"""The same for one test of many in a suite, where neither is given."""
LEAST_TRAINING = 20
USUAL_RECORDS = 8
"""Records of the larger data set, where nothing else says how many there are."""
MOST_PAIRS = 24
FRESH_PROCESSES = 32
NEIGHBOURS = ("adversarial", "worst", "random", "own")
MODELS = ("logistic", "boosting")
"""Classifiers that scores can be learnt with."""
VIEWS = ("profile", "rdp")
"""What of an event can be tested: its privacy profile, or its RDP curve."""


def _read_neighbours(name: str, value: Any) -> str:
    if isinstance(value, str) and (value in NEIGHBOURS or value.endswith(".npz")):
        return value
    accepted = f"to be {', '.join(NEIGHBOURS)} or a file FILE.npz"
    raise ValueError(f"{refused(name, accepted, value)}{did_you_mean(value, NEIGHBOURS)}")


def _read_scores(name: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise refused(name, "to be a list of names", value)
    return tuple(_SCORE.read(name, one) for one in value)


_SCORE = choice(("linear", *MODELS))
_SCORES = ValueKind(_read_scores, {"type": "array", "items": _SCORE.schema})
_NEIGHBOURS = ValueKind(_read_neighbours, {"type": "string"})
_COUNT = integer(1)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option of a test of code or of a check of a training."""

    name: str  # The field of the record of options, and the key in claims files
    kind: ValueKind  # What its values may be
    default: Any
    """None, or an empty tuple, where the default depends on other things: see ``usual``."""
    meaning: str  # What it does, for help texts and editors
    flag: str  # The option on the command line
    metavar: str = ""  # How help shows a value
    command_line: str = ""  # What only the help of the command says
    usual: str = ""  # The default in words, where it is no single value

    def checked(self, value: Any, name: str) -> Any:
        """The value if it is accepted; an error gives the option this name."""
        try:
            return self.kind.read(name, value)
        except ValueError as error:
            raise ValueError(str(error)[0].upper() + str(error)[1:]) from None


def option(default: Any, kind: ValueKind, meaning: str, **more: str) -> Any:
    """A field of a record of options; ``more`` are further fields of its :class:`Option`."""
    return dataclasses.field(
        default=default, metadata={"kind": kind, "meaning": meaning, "more": more}
    )


@functools.cache
def options_of(record: type) -> tuple[Option, ...]:
    """All options that a kind of record declares, in the order in which help lists them."""
    return tuple(
        Option(
            name=field.name,
            kind=field.metadata["kind"],
            default=field.default,
            meaning=field.metadata["meaning"],
            **{"flag": f"--{field.name.replace('_', '-')}", **field.metadata["more"]},
        )
        for field in dataclasses.fields(record)
    )


def check_values(record: Any) -> None:
    """Check all values of a record of options when it is made; None stands for none."""
    for one in options_of(record.__class__):
        value = getattr(record, one.name)
        if value is not None:
            object.__setattr__(record, one.name, one.checked(value, one.name))


def words_of(given: Mapping[str, Any], options: tuple[Option, ...]) -> list[str]:
    """Options as they are typed, by their names; a float is written with all of its digits."""
    words = []
    for one in options:
        if one.name in given:
            value = given[one.name]
            values = value if isinstance(value, tuple) else (value,)
            words += [word for each in values for word in (one.flag, str(each))]
    return words


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class VerificationOptions:
    """How a claim is tested against code. :data:`OPTIONS` says what each field means.

    Examples
    --------
    >>> VerificationOptions(samples=10_000, seed=1).false_alarm_rate
    0.05
    """

    neighbours: str | None = option(
        None,
        _NEIGHBOURS,
        "The data sets: pairs that show common mistakes, after the event's worst-case pair where "
        "one is known; that pair alone; random pairs; or the code's own pair.",
        metavar="adversarial|worst|random|own|FILE.npz",
        command_line="A file holds arrays features, labels, features_prime and labels_prime.",
        usual="own if the target has any, else adversarial",
    )
    dimension: int | None = option(
        None,
        _COUNT,
        "Features of a record.",
        usual="what the target or the event says, else a number that the code runs on",
    )
    records: int | None = option(
        None,
        _COUNT,
        "Records of the larger data set of every pair, if their number is fixed and public.",
        usual=f"{USUAL_RECORDS}, and 1, 2 and 50 in some adversarial pairs",
    )
    record_norm: float | None = option(
        None,
        number("> 0 and finite", above=0.0),
        "The largest L2 norm of a record that the code is ever given: no record is longer.",
        usual="the norm that the event says, or 1; adversarial pairs have longer records too, "
        "because code is expected to clip them",
    )
    classes: int | None = option(
        None,
        _COUNT,
        "Labels are whole numbers from 0 to one less than this.",
        usual="2 in some adversarial pairs, and 1 in random ones",
    )
    pairs: int | None = option(
        None,
        _COUNT,
        "How many pairs of data sets to try; most runs are made on the clearest of them.",
        usual=f"{MOST_PAIRS}, fewer where runs or time are short",
    )
    false_alarm_rate: float = option(
        0.05,
        number("in (0, 1)", above=0.0, below=1.0),
        "False-alarm rate: how often a true claim may be rejected.",
        flag="--alpha",
    )
    samples: int = option(
        SAMPLES,
        integer(2 * (LEAST_TRAINING + 1)),
        "The most runs of the code, on both data sets together.",
    )
    training: int | None = option(
        None,
        integer(LEAST_TRAINING),
        "Runs on each data set before the first bet, from which the first scores are learnt.",
        usual="256",
    )
    fresh_processes: int = option(
        FRESH_PROCESSES,
        integer(0),
        "The most new processes on each data set, which show a generator that is seeded at import. "
        "Two are made if nothing repeats.",
    )
    time_budget: float | None = option(
        None,
        number("in (0, 86400]", above=0.0, maximum=86400.0),
        "Make fewer runs if they would take more seconds than this.",
        metavar="SECONDS",
        usual=f"{TIME_BUDGET:g}; no limit if samples is given; 15 for a replay",
    )
    scores: tuple[str, ...] = option(
        (),
        _SCORES,
        "Scores to test: 'linear' for the linear one alone, and classifiers to learn others with.",
        flag="--score",
        command_line="May be repeated.",
        usual="all, for outputs of more than one number",
    )
    seed: int | None = option(
        None,
        integer(0, 2**63 - 1),
        "All randomness comes from it; the same seed gives the same result.",
        usual="from the operating system",
    )

    replay: bool = option(
        False,
        flag(),
        "Record the noise of a run on D, give it again on D', and say what else differs; then "
        "confirm that by ordinary runs.",
    )

    def __post_init__(self) -> None:
        check_values(self)

    def seeded(self) -> VerificationOptions:
        """The same options with a seed: the given one, or one from the operating system."""
        if self.seed is not None:
            return self
        return dataclasses.replace(self, seed=secrets.randbits(48))


OPTIONS = options_of(VerificationOptions)


def read_options(
    # By the names of the options; None and an empty tuple stand for an option that was not given.
    given: Mapping[str, Any],
    *,
    by_flag: bool = False,  # Whether an error names the option as on the command line
) -> VerificationOptions:
    """The options that a person gave, on a command line or in a file."""
    values = {}
    for one in OPTIONS:
        value = given.get(one.name)
        if value is not None and value != ():
            values[one.name] = one.checked(value, one.flag if by_flag else one.name)
    # A replay has a time of its own.
    if not {"samples", "time_budget"} & {*values} and not values.get("replay"):
        values["time_budget"] = TIME_BUDGET
    return VerificationOptions(**values)


def options_of_test(
    # By the names of the options; None stands for an option that was not given.
    given: Mapping[str, Any],
) -> VerificationOptions:
    """The options of one test of many, as keywords say them.

    Without ``samples`` and ``time_budget``, there are 20,000 runs, or as many as fit into two
    minutes; a test that makes far fewer is inconclusive. The seed decides a test that is not short
    of time.
    """
    known = [one.name for one in OPTIONS]
    for name in given:
        if name not in known:
            raise ValueError(
                f"Expected options of a test to be {', '.join(known)}, got {name!r}."
                f"{did_you_mean(name, known)}"
            )
    values = {name: value for name, value in given.items() if value is not None}
    if not {"samples", "time_budget"} & {*values} and not values.get("replay"):
        values |= {"samples": SUITE_SAMPLES, "time_budget": SUITE_SECONDS}
    return VerificationOptions(**values)
