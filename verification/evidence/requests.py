"""A test of code as it is asked for, and the command line that repeats it exactly.

``rdpkit verify`` and ``rdpkit audit --allow-code`` both run tests through this module. So a test is
the same whoever asks for it, and one function writes down how to repeat it.
"""

from __future__ import annotations

import dataclasses
import json
import shlex
from typing import Any

from rdpkit import Adjacency, Event, _validate
from rdpkit.formats.tables import event_in_file, event_to_table, read_event
from rdpkit.verification.blackbox import targets
from rdpkit.verification.blackbox.betting.search import Progress
from rdpkit.verification.blackbox.neighbours import Neighbours
from rdpkit.verification.blackbox.options import (
    OPTIONS,
    VIEWS,
    VerificationOptions,
    options_of_test,
    words_of,
)
from rdpkit.verification.blackbox.pairs_of_target import pairs_of_target
from rdpkit.verification.blackbox.targets import (
    ClaimUnderTest,
    Mechanism,
    TargetDescription,
    TargetReference,
    dp_claim,
    event_claim,
)
from rdpkit.verification.blackbox.verification_result import VerificationResult
from rdpkit.verification.blackbox.verify import verify

OF_THE_RESULT = {
    "samples": "runs",
    "training": "training",
    "pairs": "pairs",
    "fresh_processes": "processes",
    "seed": "seed",
}
"""The options that a replay takes from the result: it names numbers of runs, and no seconds."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ClaimOptions:
    """What is claimed, as the options of ``rdpkit verify`` say it."""

    event: Event | None = None
    """What is released; None for the target's own event, or for a claim without one."""
    event_word: str = ""
    """How the event is written on a command line: the name of its file. By default it is the event
    itself, as JSON.
    """
    # The claim, or a part of it.
    epsilon: float | None = None
    delta: float | None = None
    adjacency: Adjacency | None = None  #: The neighbouring relation; None for the target's own
    view: str | None = None  #: What of an event is tested, if neither epsilon nor delta is given

    def words(self) -> list[str]:
        """The options, as they are typed."""
        event = self.event_word
        if self.event is not None and not event:
            event = json.dumps(event_to_table(self.event), allow_nan=False)
        relation = None if self.adjacency is None else self.adjacency.value
        given = {
            "--event": event or None,
            "--epsilon": self.epsilon,
            "--delta": self.delta,
            "--adjacency": relation,
            "--view": self.view,
        }
        return [word for flag, v in given.items() if v is not None for word in (flag, str(v))]

    def completed(self, own: TargetDescription | None) -> ClaimOptions:
        """The same claim with the target's own event and adjacency where none are given.

        Raises
        ------
        ValueError
            If there is no claim, or no adjacency.
        """
        event, adjacency = self.event, self.adjacency
        if event is None and own is not None and (self.epsilon is None or self.delta is None):
            event, adjacency = own.event, adjacency or own.adjacency
        if event is None and self.epsilon is None and self.delta is None:
            raise ValueError("Expected a claim: --event FILE.toml, or --epsilon and --delta.")
        if adjacency is None:
            accepted = ", ".join(member.value for member in Adjacency)
            raise ValueError(f"Expected --adjacency, one of {accepted}.")
        if event is None and (self.epsilon is None or self.delta is None):
            raise ValueError("Expected both --epsilon and --delta, or --event.")
        return dataclasses.replace(self, event=event, adjacency=adjacency)

    def claim(self, own: TargetDescription | None) -> ClaimUnderTest:
        """What is tested.

        Raises
        ------
        ValueError
            If there is no claim, no adjacency, or the event claims nothing there.
        """
        found = self.completed(own)
        assert found.adjacency is not None
        if found.event is None:
            assert found.epsilon is not None
            assert found.delta is not None
            return dp_claim(epsilon=found.epsilon, delta=found.delta, adjacency=found.adjacency)
        return event_claim(
            found.event,
            adjacency=found.adjacency,
            delta=found.delta,
            epsilon=found.epsilon,
            view=found.view or VIEWS[0],
        )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class VerificationRequest:
    """A test of code, as it is asked for."""

    target: str
    """A mechanism's name, or ``module:callable``; with ``mechanism``, whatever it is called."""
    claim: ClaimOptions  #: What is claimed
    options: VerificationOptions  #: How to test it
    mechanism: Mechanism | None = None  #: The target itself, if it was handed in
    neighbours: tuple[Neighbours, ...] = ()  #: The data sets, if they were handed in
    asked: int = 0  #: How many runs were asked for; 0 if as many as the time allows

    @property
    def subject(self) -> TargetReference:
        """The target, looked up.

        Raises
        ------
        ValueError
            If there is no such target.
        """
        if self.mechanism is None:
            return targets.target(self.target)
        return TargetReference(name=self.target, handed_in=self.mechanism)

    def run(
        self, *, jobs: int | None = None, progress: Progress | None = None
    ) -> VerificationResult:
        """Test the claim. The code of the target is imported and run.

        Parameters
        ----------
        jobs : int, optional
            Processes; the result does not depend on it.
        progress : callable, optional
            Called before each portion of runs.

        Raises
        ------
        ValueError
            If there is no such target, claim or pair of data sets, or the target fails.
        """
        options = self.options.seeded()
        subject = self.subject
        claim = self.claim.claim(subject.own)
        pairs = list(self.neighbours) or pairs_of_target(
            subject, claim=claim, options=options, delta=self.claim.delta
        )
        return verify(
            subject, claim=claim, neighbours=pairs, options=options, jobs=jobs, progress=progress
        )

    def replay(self, result: VerificationResult) -> str:
        """The command line that gives the identical result again.

        Assumes
        -------
        The code is the same, and draws all its randomness from ``rng``.
        """
        asked = {one.name: getattr(self.options, one.name) for one in OPTIONS}
        given = {one.name: asked[one.name] for one in OPTIONS if asked[one.name] != one.default}
        given.pop("time_budget", None)
        given |= {name: getattr(result, told) for name, told in OF_THE_RESULT.items()}
        # Where releases of new processes refuted the claim no other runs were made, but the option
        # wants to leave room for them.
        given["samples"] = given["samples"] or 2 * (result.training + 1)
        words = [*self.claim.words(), *words_of(given, OPTIONS)]
        return shlex.join(["rdpkit", "verify", self.target, *words])


def request_of(
    mechanism: str | Mechanism,  # A name or ``module:callable``, or the mechanism itself
    *,
    name: str,  # What the mechanism is called if it was handed in
    event: Event | None = None,  # What is claimed to be released
    # The neighbouring relation; None for the target's own, in a replay.
    adjacency: Adjacency | str | None,
    # The claim, or the point at which the event is tested.
    epsilon: float | None = None,
    delta: float | None = None,
    view: str | None = None,  # What of the event is tested; one of {"profile", "rdp"}
    # Those of :class:`rdpkit.verification.blackbox.options.VerificationOptions`; ``neighbours`` may
    # be a pair of data sets, or a list of them.
    **options: Any,
) -> VerificationRequest:
    """A test of code as it is asked for in Python, with the defaults of tests in a suite."""
    pairs: tuple[Neighbours, ...] = ()
    given = options.get("neighbours")
    if given is not None and not isinstance(given, str):
        pairs = (given,) if isinstance(given, Neighbours) else tuple(given)
        for pair in pairs:
            _validate.one_of_a_kind("neighbours", pair, Neighbours)
        options["neighbours"] = None
    if not isinstance(mechanism, str) and not callable(mechanism):
        raise _validate.fail("mechanism", "to be a name or a callable", mechanism)
    return VerificationRequest(
        target=mechanism if isinstance(mechanism, str) else name,
        claim=ClaimOptions(
            event=event,
            epsilon=epsilon,
            delta=delta,
            adjacency=None if adjacency is None else Adjacency.parse(adjacency),
            view=view,
        ),
        options=(chosen := options_of_test(options)),
        mechanism=None if isinstance(mechanism, str) else mechanism,
        neighbours=pairs,
        # With a time alone, the number of runs is a limit that nobody asked for.
        asked=0
        if options.get("samples") is None and options.get("time_budget")
        else chosen.samples,
    )


def event_option(word: str) -> Event:
    """The event that an option ``--event`` names: a TOML file, or the event itself as JSON."""
    if not word.lstrip().startswith("{"):
        return read_event(word)
    try:
        table = json.loads(word)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"Expected --event to be a TOML file or an event in JSON: {error}."
        ) from None
    return event_in_file("--event", table)
