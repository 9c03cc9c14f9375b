"""What a replay found: differences that one record makes, what noise spent, and the verdict.

Every call whose noise is known is a pair of distributions: the same noise around the value on D and
around that on D'. Composed, they are what an adversary learns who sees every noisy value. An
adversary who sees less learns no more, so this number is an upper bound for the pair, and more than
the claim is a fault only where every noisy value is released.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rdpkit
from rdpkit import Composed, EpsilonDelta, Event, Gaussian, Laplace
from rdpkit.formats.numbers import how_many
from rdpkit.verification.blackbox.verification_result import VerificationResult
from rdpkit.verification.replay.pairs import RecordPair

# One value moves by what one record contributes, whichever relation moved the record.
_RELATION = rdpkit.Adjacency.ADD_OR_REMOVE_ONE
# Noise whose losses add up to epsilon: what moved, in units of the noise, is the loss itself.
_PURE = ("categorical", "discrete laplace")
_LARGEST = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What one pair of runs spent."""

    epsilon: float  # At the claim's delta, an upper bound for the pair
    delta: float
    calls: int  # Calls that were composed
    open_calls: int  # Calls that moved, and whose noise is not known
    released: bool  # Whether every noisy value that moved is in the release

    def describe(self) -> str:
        """In words."""
        text = f"epsilon {self.epsilon:.4g} at delta {self.delta:g}, by "
        text += f"{how_many(self.calls, 'call')} of noise that the record moved"
        if self.open_calls:
            text += f"; {self.open_calls} more could not be counted"
        return text


def spent_by(
    calls: Sequence[Mapping[str, Any]],  # As an agent describes them
    released: Sequence[bool],  # For each, whether its noisy value is in the release
    delta: float,  # The claim's
) -> Spent | None:
    """What the calls spent; None if nothing was moved."""
    events: list[Event] = []
    unknown, shown = 0, True
    for place, call in enumerate(calls):
        if not moves(call):
            continue
        event = _event_of(call)
        if event is None:
            unknown += 1
            continue
        events.append(event)
        shown = shown and place < len(released) and released[place]
    if not events:
        return None
    epsilon = _composed(tuple(sorted(events, key=repr)), delta)
    return Spent(
        epsilon=epsilon, delta=delta, calls=len(events), open_calls=unknown, released=shown
    )


@functools.lru_cache(maxsize=256)
def _composed(events: tuple[Event, ...], delta: float) -> float:
    """The epsilon of some events, in whatever order: one record often moves the same as another."""
    event = events[0] if len(events) == 1 else Composed(events=events)
    return rdpkit.epsilon(event, delta=delta, adjacency=_RELATION).epsilon


def moves(call: Mapping[str, Any]) -> bool:
    """Whether the record moved what the call hides, as far as that can be seen."""
    if call["relative"] is not None:
        return bool(call["relative"][0] > 0.0)
    if call["moved"] is not None:
        return bool(call["moved"][0] > 0.0)
    return call["declared"] is not None or bool(call["hides"])


def _event_of(call: Mapping[str, Any]) -> Event | None:
    """The call as an event; None if its noise is not known, or hides nothing at all."""
    if not call["known"]:
        return None
    if call["declared"] is not None:
        epsilon, delta = call["declared"]
        return _stated(epsilon, delta) if epsilon < math.inf else None
    if call["relative"] is None:
        return None
    total, length = call["relative"]
    if not total < _LARGEST:
        return None
    if call["family"] == "normal":
        return Gaussian(noise_std=1.0, record_norm=length)
    if call["family"] == "laplace":
        return Laplace(noise_scale=1.0, record_norm=total)
    return _stated(total, 0.0) if call["family"] in _PURE else None


def _stated(epsilon: float, delta: float) -> EpsilonDelta:
    return EpsilonDelta(epsilon=epsilon, delta=delta, adjacency=_RELATION)


_SHOWN, _MOST_LINES, _OTHERS = 5, 12, 3
LEAST_PAIRS = 8
"""Pairs of data sets without which nothing is said to have been looked for."""


class DifferenceKind(enum.StrEnum):
    """What one record changes although all noise is the same, what weighs most first."""

    STRUCTURE = "structure"
    VALUE = "value"
    ERROR = "error"
    CALLS = "calls"
    PARAMETER = "parameter"
    SEED = "seed"
    REUSED = "reused noise"
    SENSITIVITY = "sensitivity"
    SPENT = "spent"
    ADDS_UP = "adds up"
    NOISE = "noise"
    MESSAGE = "message"

    @property
    def rank(self) -> int:
        """Its place in the order of weights."""
        return list(DifferenceKind).index(self)

    def sentence(self, *, refuted: bool) -> str:
        """What it says, and what it does not where no runs refute the claim."""
        said, private = _SENTENCES[self]
        return said if refuted or not private else f"{said}; {private}, so this refutes nothing"


# What each kind of difference means, and which private code shows it.
_SENTENCES = {
    DifferenceKind.ERROR: ("an exception that one record decides about", ""),
    DifferenceKind.STRUCTURE: (
        "the form of the release follows from one record",
        "a stability histogram, which releases a group where its noisy count is large, is private",
    ),
    DifferenceKind.VALUE: ("a released number follows from one record, past all noise", ""),
    DifferenceKind.CALLS: (
        "whether noise is drawn follows from one record",
        "private code may do so where a noisy comparison decides: a stability histogram, "
        "permute-and-flip, a search that stops",
    ),
    DifferenceKind.PARAMETER: (
        "a parameter of the noise follows from one record",
        "smooth sensitivity, propose-test-release and an exponential mechanism over intervals "
        "between records do so and are private",
    ),
    DifferenceKind.SEED: ("the noise is the same in every run, so that it hides nothing", ""),
    DifferenceKind.REUSED: (
        "one draw of noise hides several values, and their difference is bare",
        "code that releases one of them may be private",
    ),
    DifferenceKind.SENSITIVITY: (
        "a value moves by more than the sensitivity that the call declares",
        "",
    ),
    DifferenceKind.SPENT: ("the noisy values that are released tell more than is claimed", ""),
    DifferenceKind.ADDS_UP: (
        "all draws together tell more than is claimed to somebody who sees each",
        "private code may release less: the index of a maximum, a sparse vector, a point of an "
        "interval that is chosen",
    ),
    DifferenceKind.NOISE: (
        "ordinary runs tell more than the parameters of the noise say: it is not what its calls "
        "declare",
        "",
    ),
    DifferenceKind.MESSAGE: (
        "a warning, a log or a printed line follows from one record",
        "it is no part of what the code returns, which is all that ordinary runs test",
    ),
}


class ReplayVerdict(enum.StrEnum):
    """What came of a replay."""

    REFUTED = "refuted"
    UNACCOUNTED = "unaccounted"
    NOTHING_FOUND = "nothing found"
    INCONCLUSIVE = "inconclusive"
    NOT_EXAMINED = "not examined"


# The fields of a difference that are lines of code.
_LINES, _SEVERAL = ("place", "source", "branch", "reads"), ("origins", "through")


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Something that one record changes although all noise is the same."""

    kind: DifferenceKind
    what: str  # The part of the release, or the primitive and its parameter
    first: str  # What it is on D
    second: str  # What it is on D'
    place: str = ""  # The line of code, file:line
    code: str = ""  # The text of that line
    size: float = 0.0  # How large the difference is: the logarithm of a ratio of numbers
    source: str = ""  # The line at which the two values were computed, with its text
    branch: str = ""  # The line at which the two runs part, with its text
    reads: str = ""  # The nearest line that computes what these read and differs, with its text
    origins: tuple[str, ...] = ()  # The lines that assign what these lines read, the nearest first
    through: tuple[str, ...] = ()  # The lines that led there, the outermost first

    @classmethod
    def of(cls, *, kind: str, **found: Any) -> Difference:
        """From what an agent answers: the fields, with paths as they are in its environment."""
        lines = {name: shown_path(found[name]) for name in _LINES if name in found}
        several = {name: tuple(map(shown_path, found[name])) for name in _SEVERAL if name in found}
        return cls(kind=DifferenceKind(kind), **{**found, **lines, **several})

    @property
    def shown_by(self) -> tuple[DifferenceKind, str]:
        """What it is told from others by."""
        return self.kind, self.what

    @property
    def rank(self) -> tuple[bool, int]:
        """Its place in the order of weights: a number that nothing is known of comes last.

        Where no line is known to have computed it, the noise that was not drawn comes before.
        """
        of_value = self.kind is DifferenceKind.VALUE
        if of_value and not (self.source or self.branch):
            return not self.place, DifferenceKind.MESSAGE.rank
        return False, self.kind.rank

    def describe(self) -> str:
        """In words."""
        lines = [f"at {self.place}  {self.code}"] if self.place else []
        if self.kind in (DifferenceKind.SPENT, DifferenceKind.ADDS_UP, DifferenceKind.NOISE):
            lines += [f"and at {line}" for line in self.through[:_SHOWN]]
        # What causes a difference comes before the line that shows it.
        if self.source:
            how = "seeded" if self.kind is DifferenceKind.SEED else "computed"
            lines.insert(0, f"{how} at {self.source}")
        if self.reads and self.reads != self.source:
            lines.append(f"computed of {self.reads}")
        if self.branch:
            first = self.kind is DifferenceKind.CALLS
            lines.insert(0 if first else len(lines), f"the runs part at {self.branch}")
        where = "; ".join(lines).strip()
        where = f" {where}" if where.startswith("at ") else f", {where}" if where else ""
        return f"{self.kind.value}: {self.what}: {self.first} | {self.second}{where}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        found = dataclasses.asdict(self)
        del found["size"]
        return {**found, "kind": self.kind.value, **{name: list(found[name]) for name in _SEVERAL}}


def shown_path(path: str) -> str:
    """A path from the package or the current directory on, and not from the root."""
    for mark in ("/site-packages/", "/dist-packages/"):
        if mark in path:
            return path.partition(mark)[2]
    here = f"{Path.cwd()}/"
    return path.removeprefix(here)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairFinding:
    """What was found on one pair of data sets."""

    pair: RecordPair
    number: int  # Its place among the pairs that were tried; negative if it is of new processes
    differences: tuple[Difference, ...] = ()
    possible: tuple[Difference, ...] = ()  # Numbers that differ, perhaps by what noise hides
    parts: tuple[str, ...] = ()  # The parts of the release that differ
    spent: Spent | None = None

    @property
    def leading(self) -> Difference:
        """What weighs most of it."""
        return (self.differences or self.possible)[0]

    def shows(self, other: Difference) -> bool:
        """Whether it has a difference of the same kind in the same part."""
        return any(one.shown_by == other.shown_by for one in (*self.differences, *self.possible))

    @property
    def of_runs(self) -> bool:
        """Whether runs in one process show it; otherwise it was seen of new processes."""
        return self.number >= 0

    @property
    def of_releases(self) -> bool:
        """Whether it is about what the code returns, and not about messages alone."""
        return bool(self.parts) or any(
            one.kind is not DifferenceKind.MESSAGE for one in self.differences
        )

    @property
    def weight(self) -> tuple[bool, int, float, float]:
        """Findings with a smaller weight come first: data within the ranges, graver kinds."""
        rank = min((one.kind.rank for one in self.differences), default=len(DifferenceKind))
        of_rank = self.differences or self.possible
        size = max(one.size for one in of_rank if not self.differences or one.kind.rank == rank)
        spent = 0.0 if self.spent is None else self.spent.epsilon
        return not self.pair.within, rank, -size, -spent


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayResult:
    """The result of a replay.

    Guarantee
    ---------
    ``refuted`` is said of code that keeps its claim with probability at most
    ``false_alarm_rate``: it comes from a test of ordinary runs alone. ``unaccounted`` is a fact
    about two runs with the same noise, and no refutation. ``nothing found`` is no proof.
    """

    target: str  #: What was examined
    claim: str  #: The claim in words
    epsilon: float  #: The claimed epsilon, infinite where an event is claimed
    false_alarm_rate: float  #: How often a true claim may be refuted
    command: str  #: The command that repeats it
    seed: int  #: All randomness comes from it, but for what the target draws elsewhere
    findings: tuple[PairFinding, ...] = ()  #: What was found, what weighs most first
    pairs: int = 0  #: Pairs of data sets on which the target ran
    wanted: int = 0  #: Pairs that there are, but for those on which it raised on both sides
    unusable: int = 0  #: Pairs on which it raised on both sides
    error: str = ""  #: What it raised there first
    most_spent: Spent | None = None  #: The most that the noise of one pair spent
    unseen: tuple[str, ...] = ()  #: What could not be seen
    confirmation: VerificationResult | None = None
    """The test of ordinary runs that refuted the claim, or the last one that did not."""
    tested: PairFinding | None = None  #: What that test was about
    seconds: float = 0.0  #: How long it took
    because: str = ""  #: Why what is unaccounted is all that can be said, where the target says so
    reported: tuple[str, ...] = ()  #: Where such a difference was reported in public

    @property
    def verdict(self) -> ReplayVerdict:
        """What came of it."""
        if self.confirmation is not None and self.confirmation.rejected:
            return ReplayVerdict.REFUTED
        if self.findings:
            return ReplayVerdict.UNACCOUNTED
        if not self.pairs:
            return ReplayVerdict.NOT_EXAMINED
        enough = self.pairs >= min(LEAST_PAIRS, self.wanted + self.unusable)
        return ReplayVerdict.NOTHING_FOUND if enough else ReplayVerdict.INCONCLUSIVE

    @property
    def shown(self) -> PairFinding | None:
        """The finding that is shown: the confirmed one, or the gravest."""
        if self.verdict is ReplayVerdict.REFUTED:
            return self.tested
        return self.findings[0] if self.findings else None

    @property
    def conclusive(self) -> bool:
        """Whether the claim is refuted, or nothing was found that would need a reason."""
        return self.verdict in (ReplayVerdict.REFUTED, ReplayVerdict.NOTHING_FOUND)

    @property
    def summary(self) -> str:
        """What was found, in a line; what was tried, where nothing was."""
        shown = self.shown
        if shown is None:
            return self._tried() if self.pairs or not self.error else self.error
        return shown.leading.describe()

    def rows(self) -> list[tuple[str, str]]:
        """The result in words: headings, and what is said under each."""
        rate = f" (false-alarm rate {self.false_alarm_rate:g})"
        refuted = self.verdict is ReplayVerdict.REFUTED
        found = [
            ("target", self.target),
            ("claim", self.claim),
            ("verdict", self.verdict.value + (rate if refuted else "")),
        ]
        shown = self.shown
        if shown is not None:
            found += self._rows_of(shown)
        if self.because and self.verdict is ReplayVerdict.UNACCOUNTED:
            found.append(("note", self.because))
        if shown is not None:
            found += [("reported", one) for one in self.reported]
        if self.confirmation is not None:
            test = self.confirmation
            how = f"{test.releases} ordinary runs, p-value {test.p_value:.2g}"
            said = "reject the claim" if refuted else "do not reject the claim"
            found.append(("ordinary", f"{how}: they {said}"))
        if self.most_spent is not None:
            text = "on the pair that spent most, by the noise of these runs: "
            found.append(("spent", f"{text}{self.most_spent.describe()}"))
        found.append(("tried", self._tried()))
        found += [("not seen", one) for one in self.unseen]
        if self.verdict in (ReplayVerdict.NOTHING_FOUND, ReplayVerdict.UNACCOUNTED):
            found.append(("note", "a replay shows what differs; it proves no claim"))
        return [*found, ("repeat", self.command)]

    def _rows_of(self, shown: PairFinding) -> list[tuple[str, str]]:
        """A finding in words, and what shows on other pairs alone."""
        differences = shown.differences or shown.possible
        first, more = differences[:_SHOWN], len(differences) - _SHOWN
        origins = list(dict.fromkeys(line for one in first for line in one.origins))
        others = {one.leading.shown_by: one.leading for one in self.findings[::-1]}
        known = {one.shown_by for one in differences}
        also = sorted(
            (one for one in others.values() if one.shown_by not in known), key=lambda one: one.rank
        )
        refuted = self.verdict is ReplayVerdict.REFUTED
        kinds = dict.fromkeys(one.kind for one in differences)
        found = [
            ("pair", shown.pair.describe()),
            *(("difference", one.describe()) for one in first),
            *(("computed of", line) for line in origins[:_MOST_LINES]),
            *([("", f"and {how_many(more, 'other')}")] if more > 0 else []),
            *(("also", one.describe()) for one in also[:_OTHERS]),
            *(("which means", kind.sentence(refuted=refuted)) for kind in kinds),
        ]
        if not shown.pair.within:
            text = f"the record that differs has {shown.pair.beyond}"
            found.append(("note", f"{text}, which the target does not say to take"))
        return found

    def _tried(self) -> str:
        text = (
            f"{self.pairs} of {how_many(self.wanted, 'pair')} of data sets in {self.seconds:.1f} s"
        )
        if self.unusable:
            text += f"; on {self.unusable} more the code raised on both sides ({self.error})"
        return text

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        test = self.confirmation
        # What ordinary runs alone show is no finding of a replay, but it is what is refuted.
        shown = self.shown
        bare = shown is not None and not shown.differences
        findings = [*([shown] if bare and shown else []), *self.findings]
        return {
            "target": self.target,
            "verdict": self.verdict.value,
            "summary": self.summary,
            "claim": self.claim,
            "false_alarm_rate": self.false_alarm_rate,
            "findings": [
                {
                    "pair": one.pair.describe(),
                    "beyond": one.pair.beyond,
                    "differences": [each.as_dict() for each in one.differences or one.possible],
                }
                for one in findings
            ],
            "tested_on": None if self.tested is None else self.tested.pair.describe(),
            "p_value": None if test is None else test.p_value,
            "runs": 0 if test is None else test.releases,
            "spent_epsilon": None
            if self.most_spent is None or math.isinf(self.most_spent.epsilon)
            else self.most_spent.epsilon,
            "pairs": self.pairs,
            "unusable_pairs": self.unusable,
            "unseen": list(self.unseen),
            "because": self.because,
            "reported": list(self.reported),
            "seed": self.seed,
            "repeat": self.command,
        }


def not_examined(target: str, error: str, *, seed: int, command: str) -> ReplayResult:
    """The result for a target that could not be run at all."""
    return ReplayResult(
        target=target,
        claim="not known",
        epsilon=math.inf,
        false_alarm_rate=0.0,
        command=command,
        seed=seed,
        error=error,
        unseen=(error,),
    )
