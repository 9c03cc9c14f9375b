"""A replay as it is asked for, and the command line that repeats it."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shlex
from typing import Any

from rdpkit.adjacency import Adjacency
from rdpkit.verification.blackbox.pairs_of_target import pairs_of_target
from rdpkit.verification.evidence.requests import ClaimOptions, VerificationRequest
from rdpkit.verification.replay.agents import LocalAgent, ProcessAgent
from rdpkit.verification.replay.findings import ReplayResult
from rdpkit.verification.replay.pairs import DataSpace, space_of_pairs
from rdpkit.verification.replay.replay import SECONDS, Progress, replay


def replay_of(request: VerificationRequest, *, progress: Progress | None = None) -> ReplayResult:
    """Record and replay the target of a request.

    A target ``module:callable`` runs in a process of its own. Any other runs in this one.

    Parameters
    ----------
    request : VerificationRequest
        The target, its claim, and the options: of these ``false_alarm_rate``, ``seed``, ``records``
        and ``time_budget`` count here, and those that choose data sets where the target names no
        ``columns``.
    progress : callable, optional
        Called before each pair.

    Raises
    ------
    ValueError
        If there is no such target, claim or pair of data sets, or the target cannot be imported.
    """
    options = request.options.seeded()
    assert options.seed is not None
    subject = request.subject
    mechanism = subject.mechanism()
    asked = _with_the_claim_of(mechanism, request.claim)
    claim = asked.claim(subject.own)
    columns = getattr(mechanism, "columns", None)
    if columns is not None:
        records = options.records or getattr(mechanism, "records", None)
        space = DataSpace.of(
            columns,
            records=records,
            any_values=bool(getattr(mechanism, "any_values", False)),
            user=str(getattr(mechanism, "user", "")),
        )
    else:
        pairs = list(request.neighbours) or pairs_of_target(
            subject, claim=claim, options=options, delta=asked.delta
        )
        own = bool(request.neighbours) or subject.own is not None
        space = space_of_pairs(pairs, alone=own or options.neighbours is not None)
    agent: Any = LocalAgent(mechanism)
    if ":" in request.target and request.mechanism is None:
        agent = ProcessAgent(request.target, directory=os.getcwd())
    words = [*request.claim.words(), "--alpha", repr(options.false_alarm_rate)]
    with contextlib.closing(agent) if hasattr(agent, "close") else contextlib.nullcontext():
        return replay(
            agent,
            space,
            claim,
            name=request.target,
            seed=options.seed,
            seconds=options.time_budget or SECONDS,
            false_alarm_rate=options.false_alarm_rate,
            because=str(getattr(mechanism, "because", "")),
            command=shlex.join(
                ["rdpkit", "verify", request.target, "--replay", *words, "--seed", str(options.seed)]
            ),
            progress=progress,
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
