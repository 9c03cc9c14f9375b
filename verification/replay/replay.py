"""Examine code by record and replay, and confirm what is found by ordinary runs."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np

from rdpkit.adjacency import Adjacency
from rdpkit.formats.numbers import how_many
from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours
from rdpkit.verification.blackbox.options import LEAST_TRAINING, VerificationOptions
from rdpkit.verification.blackbox.release_parts import MechanismError
from rdpkit.verification.blackbox.targets import ClaimUnderTest
from rdpkit.verification.blackbox.verification_result import VerificationResult
from rdpkit.verification.blackbox.verify import verify
from rdpkit.verification.estimators.privacy_claims import DpClaim, ProfileClaim
from rdpkit.verification.replay.agents import Agent, AgentError, Crew, ProcessAgent
from rdpkit.verification.replay.findings import (
    LEAST_PAIRS,
    Difference,
    DifferenceKind,
    PairFinding,
    ReplayResult,
    Spent,
    moves,
    shown_path,
    spent_by,
)
from rdpkit.verification.replay.pairs import DataSpace, RecordPair

SECONDS = 15.0
"""How long one target may take, unless somebody asks for another time."""
# The least part of it for what comes after the import.
_AFTER_IMPORT = 0.6
# The part of the time for ordinary runs and for what precedes them, that for the runs alone, and on
# how many of the pairs they are made.
_FOR_RUNS, _FOR_TESTS = 0.6, 0.5
# The part for runs where nothing differs, which hold the noise against what its calls say.
_FOR_NOISE = 0.25
# Parts of that time, and of the error rate: most is said of the pair on which most was found.
_SHARES = (0.6, 0.25, 0.15)
_RUNS = 8_000
# Runs that an agent makes at once: few at first, so that it is seen how long one takes.
_BATCH, _LATER_BATCH, _FIRST_BATCHES = 4, 16, 40
# Where nothing is known to differ, and only noise was not followed.
_FEWER_RUNS = 2_000
# The longest that one answer may take, in seconds, and that a first import of a large library may.
_ONE_ANSWER, _IMPORT = 60.0, 180.0
# What two processes show is of no pair of data sets, and runs in one process do not show it.
_PROCESSES = -1
# On so many of the first pairs it is asked whether noise is drawn anew: two are begun at once.
_ASKED_AGAIN = 2
# How often a finding is looked for again with its lines.
_ATTEMPTS, _TO_LOOK = 3, 2.0
_ROUNDING = 1.0 + 1e-9
# How many lines of a budget are named before those that ask for a sample of a user's records.
_BEFORE_SAMPLES = 4

# Of the pair, how many there are, and what is done.
Progress = Callable[[int, int, str], None]


def replay(
    # One that runs the target; or two, each in a process of its own, whose noise is compared.
    agents: Sequence[Agent],
    space: DataSpace,  # What data it takes
    claim: ClaimUnderTest,  # What is claimed
    *,
    name: str,  # What the target is called
    seed: int,  # Data sets and generators come from it
    seconds: float = SECONDS,  # About how long it may take. At least one pair is examined.
    false_alarm_rate: float = 0.05,  # How often a true claim may be refuted
    because: str = "",  # Why a difference may be all that can be said of this target
    reported: Sequence[str] = (),  # Where a difference of this target was reported in public
    command: str = "",  # The command that repeats this
    progress: Progress | None = None,  # Called before each pair
) -> ReplayResult:
    """Record a target on D, replay its noise on D', and say what else differs.

    Guarantee
    ---------
    A true claim is refuted with probability at most ``false_alarm_rate``: each of at most three
    tests of ordinary runs has a part of it. The pair and the parts of the release that are
    tested are fixed before these runs begin.

    Assumes
    -------
    Ordinary runs are independent of each other. Code that draws less the second time is not tested.

    Raises
    ------
    AgentError
        If the target cannot be imported.
    """
    now = time.perf_counter()
    began = (agents[0].began or now) if isinstance(agents[0], ProcessAgent) else now
    crew = Crew(agents)
    examined = _Examined(crew, claim, seed)
    pairs = space.pairs(claim.adjacency, seed)
    importing = {"do": "import", "data": pairs[0].plain()[0]}
    places = range(len(crew.agents))
    for begun in [crew.begin(importing, seconds=_IMPORT, place=place) for place in places]:
        begun.result()
    for helper in agents[1:]:
        assert isinstance(helper, ProcessAgent)
        examined.compare_processes(helper, pairs[0])
    # An import that takes long leaves most of the time to the search all the same.
    imported = time.perf_counter()
    seconds = max(seconds - (imported - began), _AFTER_IMPORT * seconds)

    def requests() -> Iterator[tuple[int, dict[str, Any]]]:
        for number, pair in enumerate(pairs):
            late = time.perf_counter() - imported
            enough = examined.usable >= LEAST_PAIRS or late > seconds
            if late > (1.0 - _FOR_RUNS) * seconds and examined.usable and enough:
                left = how_many(len(pairs) - number, "pair")
                examined.unseen[f"{left} of data sets that the time was too short for"] = None
                return
            if progress is not None:
                progress(number, len(pairs), "replaying")
            yield number, examined.request(number, pair)

    for number, answer in enumerate(crew.in_order(requests(), seconds=_ONE_ANSWER)):
        examined.look_at(number, pairs[number], answer)
    findings = sorted(examined.findings, key=lambda one: one.weight)
    wanted = [one.number for one in _tested(findings)]
    shown = [*wanted, *(one.number for one in findings[:1])]
    examined.add_sources(findings, shown, until=imported + (1.0 - _FOR_TESTS) * seconds)
    tested, test = None, None
    chosen = [one for number in wanted for one in findings if one.number == number]
    # Nobody has to believe what the calls say of their noise.
    chosen += [one for one in (examined.most_moved,) if one is not None and not findings]
    options = VerificationOptions(
        false_alarm_rate=false_alarm_rate,
        samples=_RUNS,
        training=LEAST_TRAINING,
        seed=seed,
        fresh_processes=0,
    )
    now = time.perf_counter()
    part = _FOR_TESTS if findings else _FOR_NOISE
    deadline = now + max(imported + seconds - now if findings else 0.0, part * seconds)
    tests = _confirmations(crew, claim, chosen, options, deadline=deadline)
    if examined.keeps_state:
        tests = iter(())
        examined.unseen[
            "what runs share: the code draws less the second time, so that ordinary runs are not "
            "independent, and no test of them is made"
        ] = None
    for one, result in tests:
        if isinstance(result, str):
            where = "a pair that differs" if findings else "the pair that spent most"
            examined.unseen[f"no ordinary runs on {where}: {_one_line(result)}"] = None
            continue
        tested, test = one, result
        if progress is not None:
            progress(len(pairs), len(pairs), "ordinary runs")
        if result.rejected:
            tested = examined.with_lines(findings, one)
            break
    crew.close()
    return ReplayResult(
        target=name,
        claim=claim.describe(),
        epsilon=_claimed(claim)[0],
        false_alarm_rate=false_alarm_rate,
        findings=tuple(one for one in findings if one.differences),
        pairs=examined.usable,
        wanted=len(pairs) - examined.unusable,
        unusable=examined.unusable,
        error=examined.error,
        most_spent=examined.most_spent,
        unseen=tuple(examined.unseen),
        confirmation=test,
        tested=tested,
        seconds=time.perf_counter() - began,
        seed=seed,
        command=command,
        because=because,
        reported=tuple(reported),
    )


class _Examined:
    """What was found on the pairs so far."""

    def __init__(self, crew: Crew, claim: ClaimUnderTest, seed: int) -> None:
        self._crew = crew
        self._claim = claim
        self._seed = seed
        self.findings: list[PairFinding] = []
        self.unseen: dict[str, None] = {}
        self.usable = 0
        self.unusable = 0
        self.error = ""
        self.most_spent: Spent | None = None
        # The pair within all ranges on which the noise spent most.
        self.most_moved: PairFinding | None = None
        self.keeps_state = False
        self.samples = False
        self._traced: set[int] = set()  # The numbers of pairs whose lines were looked for

    def request(self, number: int, pair: RecordPair, *, traced: bool = False) -> dict[str, Any]:
        """What an agent is asked: to record and replay on one pair."""
        again = traced or not self.usable or number < _ASKED_AGAIN
        # Other noise on every pair: what depends on the noise is seen on one of them or another.
        request = {"do": "examine", "pair": pair.plain(), "seed": self._seed + number}
        request["chain"] = list(pair.chain)
        return {**request, "again": again, "traced": traced}

    def look_at(self, number: int, pair: RecordPair, answer: Future[Any]) -> None:
        """Keep what was found on one pair."""
        try:
            found = answer.result()
        except AgentError as error:
            if not self.usable and not number:
                raise
            self.unseen[f"{pair.words}: {error}"] = None
            return
        if not found["usable"]:
            self.unusable += 1
            self.error = self.error or found["error"]
            return
        self.usable += 1
        self.keeps_state = self.keeps_state or found["keeps_state"]
        self.samples = self.samples or found["samples"]
        pair = pair.at(found["place"]) if pair.chain else pair
        finding = self._finding(number, pair, found)
        if finding is not None:
            self.findings.append(finding)

    def compare_processes(self, helper: ProcessAgent, pair: RecordPair) -> None:
        """Find noise that is the same in both processes: its seed is set at import."""
        request = {"do": "draws", "data": pair.plain()[0]}
        begun = [
            self._crew.begin(
                {**request, "seed": self._seed + place}, seconds=_ONE_ANSWER, place=place
            )
            for place in (1, 2)
        ]
        try:
            seen = [one.result()["draws"] for one in begun]
            if not seen[0] or seen[0] != seen[1]:
                return
            # The lines that set seeds are seen where the import is.
            with helper.fresh() as other:
                found = other.ask({**request, "seed": self._seed}, seconds=_IMPORT)
        except AgentError as error:
            self.unseen[f"noise of a new process: {error}"] = None
            return
        primitive, line, code, _ = seen[0][0]
        difference = Difference.of(
            kind=DifferenceKind.SEED,
            what=primitive,
            first="the same",
            second="in every new process",
            place=line,
            code=code,
            source="".join(found["seeded"][:1]),
            origins=found["seeded"],
        )
        self.findings.append(PairFinding(pair=pair, number=_PROCESSES, differences=(difference,)))

    def add_sources(
        self, findings: list[PairFinding], wanted: Sequence[int], *, until: float
    ) -> None:
        """Add the lines that computed what differs to findings on the pairs with these numbers.

        Noise that no seed governs has to let them show again.
        """
        rest = [
            place
            for place, one in enumerate(findings)
            if one.number in wanted and one.of_runs and one.number not in self._traced
        ]
        for attempt in range(_ATTEMPTS):
            # An agent has kept the noise of the pairs that it was asked about.
            requests = (
                (one.number, self.request(one.number, one.pair, traced=True))
                for place, one in [(place, findings[place]) for place in rest]
                if not (place or attempt) or time.perf_counter() < until
            )
            answers = self._crew.in_order(requests, seconds=_ONE_ANSWER)
            for place, answer in zip(list(rest), answers, strict=False):
                one = findings[place]
                try:
                    again = self._finding(one.number, one.pair, answer.result())
                except AgentError as error:
                    self.unseen[f"lines that computed what differs: {error}"] = None
                    continue
                # A number whose line is known may lead then.
                if again is not None and again.shows(one.leading):
                    findings[place] = again
                    self._traced.add(again.number)
                    rest.remove(place)

    def _finding(
        self, number: int, pair: RecordPair, found: Mapping[str, Any]
    ) -> PairFinding | None:
        self.unseen.update(dict.fromkeys(map(_one_line, found["unseen"])))
        _, delta = _claimed(self._claim)
        spent = spent_by(found["calls"], found["released"], delta)
        self._keep(number, pair, spent, found["calls"])
        differences = [Difference.of(**one) for one in found["differences"]]
        if pair.beyond and any(one.kind is DifferenceKind.ERROR for one in differences):
            # Code may refuse what it never said to take; that it does is no fault to be counted.
            error = next(one for one in differences if one.kind is DifferenceKind.ERROR)
            text = f"{pair.beyond}: {error.first} | {error.second}"
            self.unseen[f"the code refuses data with {_one_line(text)[:160]}"] = None
            return None
        differences += self._overspent(spent, found)
        if not differences and not found["possible"]:
            return None
        return PairFinding(
            pair=pair,
            number=number,
            differences=tuple(sorted(differences, key=lambda one: one.rank)),
            possible=tuple(Difference.of(**one) for one in found["possible"]),
            parts=tuple(found["parts"]),
            spent=spent,
        )

    def _keep(
        self, number: int, pair: RecordPair, spent: Spent | None, calls: Sequence[Mapping[str, Any]]
    ) -> None:
        """Keep what the noise spent most, and the pair within all ranges on which it did."""
        if spent is None:
            return
        if self.most_spent is None or spent.epsilon > self.most_spent.epsilon:
            self.most_spent = spent
        before = self.most_moved.spent if self.most_moved is not None else None
        if not pair.within or (before and before.epsilon >= spent.epsilon):
            return
        moved = [one for one in calls if moves(one)]
        lines = list(dict.fromkeys((one["line"], one["code"]) for one in moved))
        difference = Difference.of(
            kind=DifferenceKind.NOISE,
            what=moved[0]["primitive"],
            first=f"epsilon {spent.epsilon:.6g} is declared",
            second="runs tell more",
            place=lines[0][0],
            code=lines[0][1],
            through=map("  ".join, lines[1:]),
        )
        self.most_moved = PairFinding(pair=pair, number=number, possible=(difference,), spent=spent)

    def with_lines(self, findings: list[PairFinding], finding: PairFinding) -> PairFinding:
        """Add lines to what was confirmed: there was no time for those of all that was tested.

        Of noise that is not what its calls declare, they are those that compute it in a run.
        """
        self.add_sources(findings, [finding.number], until=time.perf_counter() + _TO_LOOK)
        for one in findings:
            if one.number == finding.number:
                return one
        asked = {"do": "computes", "data": finding.pair.plain()[0], "seed": self._seed}
        try:
            found = self._crew.begin(asked, seconds=_ONE_ANSWER, place=0).result()
        except AgentError:
            return finding
        leading = dataclasses.replace(finding.leading, origins=tuple(map(shown_path, found)))
        return dataclasses.replace(finding, possible=(leading,))

    def _overspent(self, spent: Spent | None, found: Mapping[str, Any]) -> list[Difference]:
        """The difference between what was spent and what was claimed, if that is a fault."""
        epsilon, _ = _claimed(self._claim)
        if spent is None or spent.epsilon <= epsilon * _ROUNDING:
            return []
        if self.samples:
            # Records that are sampled, for one, spend less than what all draws together do.
            return []
        calls = [one for one in found["calls"] if one["line"] and moves(one)]
        lines = list(dict.fromkeys(f"{one['line']}  {one['code']}" for one in calls))
        in_turn = itertools.chain(*itertools.zip_longest(*(one["budget"] for one in calls)))
        named = list(dict.fromkeys(filter(None, in_turn)))
        # What is sampled of the records that differ bounds what they contribute.
        alone = (one for one in found["calls"] if not one["known"] and not one["hides"])
        budget = dict.fromkeys(
            [*named[:_BEFORE_SAMPLES], *(line for one in alone for line in one["budget"]), *named]
        )
        place, _, code = lines[0].partition("  ") if lines else ("", "", "")
        computed, of_scale = next((one for call in calls for one in call["computed"]), ("", False))
        # A line that only hands a scale on has not computed it.
        hands_on = of_scale and re.search(r"[*/]", code) is None
        return [
            Difference.of(
                kind=DifferenceKind.SPENT if spent.released else DifferenceKind.ADDS_UP,
                what=f"epsilon of the noise at delta {spent.delta:g}",
                first=f"{spent.epsilon:.6g} is spent",
                second=f"{epsilon:.6g} is claimed",
                place=place,
                code=code,
                source=computed if hands_on else "",
                reads=computed,
                through=lines[1:],
                origins=[one for one in budget if one not in lines],
                size=math.log(spent.epsilon / epsilon) if epsilon else math.inf,
            )
        ]


def _one_line(text: str) -> str:
    return " ".join(map(shown_path, text.split()))


def _claimed(claim: ClaimUnderTest) -> tuple[float, float]:
    """The claim as epsilon and delta; of a profile, the point with the smallest delta."""
    part = claim.part
    if isinstance(part, DpClaim):
        return part.epsilon, part.delta
    if isinstance(part, ProfileClaim):
        return float(part.epsilons[-1]), float(part.deltas[-1])
    return math.inf, 1e-6


def _confirmations(
    crew: Crew,
    claim: ClaimUnderTest,
    chosen: Sequence[PairFinding],  # At most three
    options: VerificationOptions,
    *,
    deadline: float,
) -> Iterator[tuple[PairFinding, VerificationResult | str]]:
    """Tests of ordinary runs on the pairs on which most was found, each with a part of the rate."""
    pair = _stand_in(claim.adjacency)
    assert options.seed is not None
    for place, finding in enumerate(chosen):
        left = (deadline - time.perf_counter()) * _SHARES[place] / sum(_SHARES[place : len(chosen)])
        runs = _OrdinaryRuns(crew, finding, seed=options.seed + place)
        given = dataclasses.replace(
            options,
            false_alarm_rate=options.false_alarm_rate
            * _SHARES[place]
            / sum(_SHARES[: len(chosen)]),
            samples=_RUNS if finding.differences else _FEWER_RUNS,
            time_budget=max(1.0, left),
        )
        try:
            found = verify(
                runs, claim=claim, neighbours=pair, options=given, fresh_processes=False, jobs=1
            )
        except MechanismError as error:
            yield finding, str(error)
            continue
        except ValueError as error:
            # It is too slow for a test in this time, and for one in less.
            yield finding, str(error)
            return
        yield finding, found


def _tested(findings: Sequence[PairFinding]) -> list[PairFinding]:
    """The findings that ordinary runs are to confirm: different kinds at different places."""
    tested = [one for one in findings if one.pair.within and one.of_runs and one.of_releases]
    first: dict[Any, PairFinding] = {}
    for one in tested:
        first.setdefault((*one.leading.shown_by, one.leading.place), one)
    # What shows in one way alone is tested on another pair, too.
    return tested[:2] if len(first) == 1 else list(first.values())[: len(_SHARES)]


def _stand_in(adjacency: Adjacency) -> Neighbours:
    """The smallest pair: it says which of the two data sets that were found a run is on."""
    other = [[0.0]] if adjacency is Adjacency.ADD_OR_REMOVE_ONE else [[0.0], [2.0]]
    return Neighbours(
        first=LabelledData(features=[[0.0], [1.0]]),
        second=LabelledData(features=other),
        adjacency=adjacency,
        description=("the pair on which the replay differs",),
    )


class _OrdinaryRuns:
    """A mechanism that makes ordinary runs of a target on the pair that was found."""

    def __init__(self, crew: Crew, finding: PairFinding, *, seed: int) -> None:
        self._crew = crew
        self._data = finding.pair.plain()
        self._parts = list(finding.parts)
        self._seed = seed
        self._begun: tuple[list[Future[Any]], list[Future[Any]]] = ([], [])
        self._asked = 0
        self._runs = (self._of(0), self._of(1))
        self.__qualname__ = "ordinary runs"

    def __call__(self, dataset: LabelledData, rng: np.random.Generator) -> Any:
        return next(self._runs[len(dataset) == 1 or float(dataset.features[-1, 0]) == 2.0])

    def _of(self, side: int) -> Iterator[Any]:
        """Releases on a data set, without end."""
        while True:
            if not self._begun[side]:
                self._begin()
            yield from reversed(self._begun[side].pop(0).result())

    def _begin(self) -> None:
        """Ask for runs on either data set, which are needed in equal numbers, at once."""
        self._asked += 1
        for side, begun in enumerate(self._begun):
            request = {
                "do": "release",
                "data": self._data[side],
                "parts": self._parts,
                "count": _BATCH if self._asked <= _FIRST_BATCHES else _LATER_BATCH,
                # Every batch has a seed of its own, so that all runs are independent.
                "seed": [self._seed, side, self._asked],
            }
            # Either process makes half of the runs on either data set: what is of one process alone
            # is no difference of the data.
            place = self._asked + side
            begun.append(self._crew.begin(request, seconds=_ONE_ANSWER, place=place))
