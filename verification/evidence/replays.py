"""A replay as it is asked for, and the command line that repeats it."""

from __future__ import annotations

import contextlib
import dataclasses
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from rdpkit import Event, _validate
from rdpkit.adjacency import Adjacency, ordinary
from rdpkit.verification.blackbox.pairs_of_target import pairs_of_target
from rdpkit.verification.blackbox.targets import Mechanism
from rdpkit.verification.evidence.requests import ClaimOptions, VerificationRequest, request_of
from rdpkit.verification.replay.agents import Agent, LocalAgent, ProcessAgent, agents_of
from rdpkit.verification.replay.findings import ReplayResult
from rdpkit.verification.replay.pairs import DataSpace, space_of_pairs
from rdpkit.verification.replay.replay import SECONDS, Progress, replay


def replay_of(
    # The target, its claim, and the options: of these ``false_alarm_rate``, ``seed``, ``records``
    # and ``time_budget`` count here, and those that choose data sets where the target names no
    # ``columns``.
    request: VerificationRequest,
    *,
    space: DataSpace | None = None,  # What data the target takes; what it says itself by default
    command: str = "",  # The command that repeats it; ``rdpkit verify`` with this target by default
    agents: Sequence[ProcessAgent] = (),  # Those of :func:`agents_of` for it, if they were begun
    progress: Progress | None = None,  # Called before each pair
) -> ReplayResult:
    """Record and replay the target of a request.

    A target ``module:callable`` runs in a process of its own. Any other runs in this one.
    """
    options = request.options.seeded()
    assert options.seed is not None
    subject = request.subject
    mechanism = subject.mechanism()
    asked = _with_the_claim_of(mechanism, request.claim)
    claim = asked.claim(subject.own)
    space = space or _stated_space(mechanism, options.records)
    if space is None:
        pairs = list(request.neighbours) or pairs_of_target(
            subject, claim=claim, options=options, delta=asked.delta
        )
        own = bool(request.neighbours) or subject.own is not None
        space = space_of_pairs(pairs, alone=own or options.neighbours is not None)
    begun = [] if request.mechanism is not None else agents or agents_of(request.target)
    used: Sequence[Agent] = begun or [LocalAgent(mechanism)]
    words = ["rdpkit", "verify", request.target, "--replay", *request.claim.words()]
    words += ["--alpha", repr(options.false_alarm_rate), "--seed", str(options.seed)]
    with contextlib.ExitStack() as stack:
        for one in used:
            stack.enter_context(contextlib.closing(one))
        return replay(
            used,
            space,
            claim,
            name=request.target,
            seed=options.seed,
            seconds=options.time_budget or SECONDS,
            false_alarm_rate=options.false_alarm_rate,
            because=str(getattr(mechanism, "because", "")),
            command=command or shlex.join(words),
            progress=progress,
        )


def verify_by_replay(
    mechanism: str | Mechanism,
    event: Event | None = None,
    *,
    adjacency: Adjacency | str | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    columns: Mapping[str, Any] | None = None,
    any_values: bool = False,
    user: str = "",
    seed: int | None = None,
    seconds: float = SECONDS,
    false_alarm_rate: float = 0.05,
) -> ReplayResult:
    """Record a run of a mechanism on D, replay its noise on D', and say what else differs.

    Guarantee
    ---------
    A true claim is refuted with probability at most ``false_alarm_rate``. What is unaccounted is a
    fact about two runs, and no refutation.

    Parameters
    ----------
    mechanism : callable or str
        Called as ``mechanism(dataset, rng)``; or ``module:callable``, which runs in a process of
        its own.
    event : Event, optional
        What is claimed to be released. Without it, ``epsilon`` and ``delta`` are the claim.
    adjacency : Adjacency or str, optional
        The neighbouring relation; the mechanism's own by default.
    epsilon, delta : float, optional
        The claim; the mechanism's own by default.
    columns : mapping of str, optional
        For every column (low, high), or its categories; of the ``user`` anything, such as [].
        By default records are arrays.
    any_values : bool
        Whether the claim holds for values beyond these as well.
    user : str
        Which of the columns says whose a record is; then all records of a user differ.
    seed : int, optional
        From the operating system by default.
    seconds : float
        About how long it may take.
    false_alarm_rate : float
        How often a true claim may be refuted.

    Raises
    ------
    ValueError
        If there is no claim, or the mechanism cannot be imported.

    Examples
    --------
    >>> def count(dataset, rng):
    ...     return len(dataset) + rng.laplace(scale=1.0)
    >>> result = verify_by_replay(
    ...     count, adjacency="add_or_remove_one", epsilon=1.0, delta=0.0, seed=1
    ... )
    >>> str(result.verdict)
    'nothing found'
    """
    if adjacency is not None:
        adjacency = ordinary(Adjacency.parse(adjacency), because="code runs on ordinary records")
    request = request_of(
        mechanism,
        name=getattr(mechanism, "__name__", "code"),
        event=event,
        adjacency=adjacency,
        epsilon=epsilon,
        delta=delta,
        replay=True,
        seed=seed,
        time_budget=seconds,
        false_alarm_rate=false_alarm_rate,
    )
    space, command = None, ""
    if not isinstance(mechanism, str):
        command = f"rdpkit.verification.verify_by_replay({request.target}, ...)"
        command += "" if seed is None else f" with seed={seed}"
    if columns is None and user:
        raise _validate.fail("user", "to be one of the columns (columns=...)", user)
    if columns is not None:
        space = DataSpace.of(columns, any_values=any_values, user=user)
    return replay_of(request, space=space, command=command)


def _stated_space(mechanism: Any, records: int | None) -> DataSpace | None:
    """The data that a target says to take; None if it says nothing."""
    columns = getattr(mechanism, "columns", None)
    if columns is None:
        return None
    return DataSpace.of(
        columns,
        records=records or getattr(mechanism, "records", None),
        any_values=bool(getattr(mechanism, "any_values", False)),
        user=str(getattr(mechanism, "user", "")),
    )


def _with_the_claim_of(mechanism: Any, asked: ClaimOptions) -> ClaimOptions:
    """The claim with what the target itself says, where nobody else says anything."""
    adjacency = asked.adjacency or getattr(mechanism, "adjacency", None)
    epsilon = getattr(mechanism, "epsilon", None)
    if adjacency is not None:
        asked = dataclasses.replace(asked, adjacency=Adjacency.parse(adjacency))
    silent = (asked.event, asked.epsilon, asked.delta) == (None, None, None)
    if not silent or epsilon is None or hasattr(mechanism, "event"):
        return asked
    delta = float(getattr(mechanism, "delta", 0.0))
    return dataclasses.replace(asked, epsilon=float(epsilon), delta=delta)
