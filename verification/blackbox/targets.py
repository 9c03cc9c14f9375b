"""What is verified: a target, and the claim that it is tested against.

A target is a mechanism of the zoo or of this library, or a ``module:callable``, which is code of
the user. That is imported from the current directory, or from wherever Python finds it, and called,
because the user named it. No other code of the user is imported or executed, and data sets are read
without pickle.

A target may say what it claims, and on which data sets that is to be tested
(:class:`TargetDescription`).
"""

from __future__ import annotations

import functools
import importlib
import math
import operator
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import rdpkit
from rdpkit import Event, _validate
from rdpkit.accountants.loss_distributions import UPPER_ID
from rdpkit.adjacency import Adjacency
from rdpkit.events.losses import NoLossDistributionError
from rdpkit.extensions import install_line
from rdpkit.formats.records import did_you_mean
from rdpkit.mechanisms.algorithms import find_mechanism, mechanism_names
from rdpkit.verification.blackbox.candidate_pairs import LEAST_DELTA, worst_neighbours
from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours
from rdpkit.verification.blackbox.options import VIEWS
from rdpkit.verification.blackbox.scores.named_score import NamedScore
from rdpkit.verification.blackbox.zoo import ENTRIES, FIXED, NAMES
from rdpkit.verification.blackbox.zoo.base import ZooEntry
from rdpkit.verification.estimators.privacy_claims import (
    DpClaim,
    PrivacyClaim,
    ProfileClaim,
    RdpClaim,
)

# The privacy profile of an event is tested at these deltas, and at epsilon = 0.
DELTAS = (1e-1, 1e-2, 1e-3, 1e-4)
ORDERS = (1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 32.0, 64.0)
_LARGEST_EPSILON = 500.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimUnderTest:
    """A claim under a neighbouring relation."""

    statement: str  # The claim in words
    adjacency: Adjacency  # The neighbouring relation
    part: PrivacyClaim  # The claim in the form that tests need
    event: rdpkit.Event | None = None  # What is claimed to be released

    def describe(self) -> str:
        """The claim in words, with its adjacency."""
        return f"{self.statement} under {self.adjacency.value}"


def dp_claim(*, epsilon: float, delta: float, adjacency: Adjacency | str) -> ClaimUnderTest:
    """The claim of (epsilon, delta)-DP."""
    claim = DpClaim(epsilon=epsilon, delta=delta)
    return ClaimUnderTest(
        statement=claim.describe(), adjacency=Adjacency.parse(adjacency), part=claim
    )


@functools.lru_cache(maxsize=64)
def event_claim(
    event: rdpkit.Event,
    *,
    adjacency: Adjacency | str,
    delta: float | None = None,
    epsilon: float | None = None,
    view: str = "profile",
) -> ClaimUnderTest:
    """The claim that a mechanism releases this event, and nothing more.

    With ``delta`` or ``epsilon``, the claim is the best known upper bound for the event at that
    delta or epsilon. With neither, it is the event's privacy profile at some points, or its RDP
    curve.

    Guarantee
    ---------
    If the event describes what is released, the claim is true.

    Parameters
    ----------
    event : Event
        What is claimed to be released.
    adjacency : Adjacency or str
        The neighbouring relation.
    delta, epsilon : float, optional
        At most one of them.
    view : {"profile", "rdp"}
        What to test if neither is given. The profile says more, and is tested faster.

    Raises
    ------
    ValueError
        If the event claims nothing under that adjacency.
    """
    relation = Adjacency.parse(adjacency)
    if delta is not None and epsilon is not None:
        raise ValueError("Expected at most one of delta and epsilon with an event.")
    name = event.mechanism
    if delta is not None or epsilon is not None:
        found = (
            rdpkit.epsilon(event, delta=delta, adjacency=relation)
            if delta is not None
            else rdpkit.delta(
                event, epsilon=_validate.non_negative("epsilon", epsilon), adjacency=relation
            )
        )
        if not (found.epsilon <= _LARGEST_EPSILON and found.delta < 1.0):
            raise ValueError(
                f"The event {name!r} claims nothing there: ({found.epsilon:g}, {found.delta:g})-DP."
            )
        claim = DpClaim(epsilon=found.epsilon, delta=found.delta)
        statement = f"{claim.describe()} of {name}, by {found.bound}"
        return ClaimUnderTest(statement=statement, adjacency=relation, part=claim, event=event)
    _validate.choice("view", view, VIEWS)
    part = _profile(event, relation) if view == "profile" else _curve(event, relation)
    if part is None:
        raise ValueError(f"The event {name!r} claims nothing under {relation.value}.")
    return ClaimUnderTest(
        statement=f"{name}: {part.describe()}", adjacency=relation, part=part, event=event
    )


def _profile(event: rdpkit.Event, adjacency: Adjacency) -> ProfileClaim | None:
    pairs = []
    # All points come from the privacy loss distribution, or else all from Renyi divergences.
    for bound in (UPPER_ID, "best-rdp"):
        try:
            start = rdpkit.delta(event, epsilon=0.0, adjacency=adjacency, bound=bound).delta
            pairs = [(0.0, start)]
            for delta in DELTAS:
                if delta < start:
                    found = rdpkit.epsilon(event, delta=delta, adjacency=adjacency, bound=bound)
                    pairs.append((found.epsilon, found.delta))
            break
        except NoLossDistributionError:
            continue
    pairs = [(e, d) for e, d in pairs if e <= _LARGEST_EPSILON and d < 1.0]
    if not pairs:
        return None
    return ProfileClaim(epsilons=[e for e, _ in pairs], deltas=[d for _, d in pairs])


def _curve(event: rdpkit.Event, adjacency: Adjacency) -> RdpClaim | None:
    curve = rdpkit.RdpCurve.of(event, orders=ORDERS, adjacency=adjacency)
    finite = np.isfinite(curve.values)
    # A curve with larger values allows nearly everything, so a bet on it gains nothing.
    finite &= (curve.orders - 1.0) * np.where(finite, curve.values, math.inf) <= _LARGEST_EPSILON
    if not finite.any():
        return None
    return RdpClaim(orders=curve.orders[finite], values=curve.values[finite])


Mechanism = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetDescription:
    """What a target says of itself.

    Every mechanism of the zoo has a description. Any other target has one if it has an attribute
    ``event``, an :class:`rdpkit.Event`, and an attribute ``adjacency``. Three more attributes are
    optional: a method ``neighbours()`` that returns a pair of data sets, each (features, labels),
    or :class:`rdpkit.verification.blackbox.neighbours.Neighbours`; a number ``dimension``, the
    features of a record; and a method ``score(outputs)`` that turns flattened outputs of shape
    (n, d) into scores of shape (n,). What else a target may say of its data, and which pairs it is
    tested on without such a method, says
    :func:`rdpkit.verification.blackbox.pairs_of_target.pairs_of_target`.

    Whether it has a description or not, a target may have a method ``summary(release)`` that makes
    of a release what is tested in its place, such as an array: for releases that are none of the
    kinds that are known, or of which only a part is published.
    """

    event: Event  #: What it claims to release
    adjacency: Adjacency  #: The neighbouring relation of the claim
    neighbours: Callable[[], list[Neighbours]]
    """Makes its own pairs of data sets, or the event's worst-case pair if it brings none."""
    score: NamedScore | None = None  #: A score that is tested in addition to those that are learnt


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetReference:
    """A mechanism by its name, so that another process can find it, or the mechanism itself."""

    name: str
    """A name of the zoo or of a mechanism, ``module:callable``, or the name of a callable that was
    handed in.
    """
    directory: str | None = None
    """A folder in which modules are looked for before Python's path, if there is one."""
    handed_in: Mechanism | None = None
    """The mechanism itself, if it was handed in and has no name that could be looked up."""

    @property
    def entry(self) -> ZooEntry | None:
        """The entry of the zoo with this name, if there is one."""
        return ENTRIES.get(self.name.removesuffix(FIXED)) if self.handed_in is None else None

    @property
    def own(self) -> TargetDescription | None:
        """What the target says of itself; None if it says nothing."""
        entry = self.entry
        if entry is None:
            return _own_of(self.name, self.mechanism())
        score = entry.score
        return TargetDescription(
            event=entry.event,
            adjacency=entry.adjacency,
            neighbours=lambda: [entry.neighbours()],
            score=None if score is None else NamedScore(name=entry.statistic, score=score()),
        )

    @property
    def summary(self) -> Mechanism | None:
        """The target's own function that makes arrays of a release, if it has one."""
        found = getattr(self.mechanism(), "summary", None)
        return found if callable(found) else None

    def mechanism(self) -> Mechanism:
        """The callable."""
        if self.handed_in is not None:
            return self.handed_in
        entry = self.entry
        if entry is not None:
            return entry.fixed if self.name.endswith(FIXED) else entry.broken
        return _imported(self.name, self.directory)


def _own_of(name: str, mechanism: Mechanism) -> TargetDescription | None:
    event = getattr(mechanism, "event", None)
    adjacency = getattr(mechanism, "adjacency", None)
    if not isinstance(event, Event) or adjacency is None:
        return None
    try:
        relation = Adjacency.parse(adjacency)
    except ValueError as error:
        raise ValueError(f"{name}: its adjacency: {error}") from None
    score = getattr(mechanism, "score", None)
    return TargetDescription(
        event=event,
        adjacency=relation,
        neighbours=lambda: _own_neighbours(name, mechanism, event, relation),
        score=NamedScore(name="the target's own", score=score) if callable(score) else None,
    )


def _own_neighbours(
    name: str, mechanism: Mechanism, event: Event, adjacency: Adjacency
) -> list[Neighbours]:
    make = getattr(mechanism, "neighbours", None)
    dimension = getattr(mechanism, "dimension", None)
    if not callable(make):
        return worst_neighbours(event, adjacency=adjacency, delta=LEAST_DELTA, dimension=dimension)
    with _validate.ErrorsOf(f"{name}: its neighbours()"):
        found = make()
    if isinstance(found, Neighbours):
        return [found]
    try:
        (features, labels), (other_features, other_labels) = found
    except (TypeError, ValueError):
        raise ValueError(
            f"{name}: expected its neighbours() to return a pair of data sets, each (features, "
            f"labels), got {found!r:.100}."
        ) from None
    try:
        pair = Neighbours(
            first=LabelledData(features=features, labels=labels),
            second=LabelledData(features=other_features, labels=other_labels),
            adjacency=adjacency,
            description=("the target's own pair",),
        )
    except ValueError as error:
        raise ValueError(f"{name}: its neighbours(): {error}") from None
    return [pair]


def target(
    # A name of the zoo or of a mechanism, with dashes or underscores, ``module:callable``, or the
    # mechanism itself, called as ``mechanism(dataset, rng)``.
    what: str | Mechanism | TargetReference,
) -> TargetReference:
    """The target of a verification."""
    if isinstance(what, TargetReference):
        return what
    if isinstance(what, str):
        dashed = what.replace("_", "-")
        name = dashed if dashed in NAMES or dashed in mechanism_names() else what
        found = TargetReference(name=name, directory=None if ":" not in what else os.getcwd())
        found.mechanism()
        return found
    if not callable(what):
        raise _validate.fail("target", "to be a name or a callable", what)
    return TargetReference(
        name=getattr(what, "__qualname__", type(what).__qualname__), handed_in=what
    )


@functools.lru_cache(maxsize=32)
def _imported(name: str, directory: str | None) -> Mechanism:
    return imported(name, directory, "(dataset, rng)") if ":" in name else _of_library(name)


def imported(
    name: str,  # ``module:callable``
    directory: str | None,  # Where modules are looked for before Python's path
    takes: str,  # What the callable takes, in brackets
) -> Mechanism:
    """A callable of the user, whose module is imported because the user named it."""
    module_name, _, path = name.partition(":")
    if not module_name or not path:
        raise _validate.fail("TARGET", "to be module:callable", name)
    if directory is not None and directory not in sys.path:
        sys.path.insert(0, directory)
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise ValueError(
            f"{name}: the module {module_name!r} could not be imported: "
            f"{type(error).__name__}: {_validate.words_of(error)}"
        ) from error
    try:
        found = operator.attrgetter(path)(module)
    except AttributeError:
        raise ValueError(f"{name}: the module {module_name!r} has no {path!r}.") from None
    if not callable(found):
        raise ValueError(f"{name}: expected a callable {takes}, got {found!r:.100}.")
    return found  # type: ignore[no-any-return]


def _of_library(name: str) -> Mechanism:
    """The small instance of a mechanism of this library that its specification offers for tests."""
    if name not in mechanism_names():
        accepted = (*NAMES, *mechanism_names())
        raise ValueError(
            f"Expected TARGET to be module:callable, or one of {', '.join(accepted)}, got {name!r}."
            f"{did_you_mean(name, accepted)}"
        )
    try:
        found: Mechanism | None = find_mechanism(name).verify
    except ModuleNotFoundError as error:
        raise ValueError(f"{name}: {error}; {install_line('mechanisms')}.") from None
    if found is None:
        raise ValueError(
            f"Expected TARGET to be a mechanism that can be verified by its name, got {name!r}. "
            "Name a callable of your own instead: module:callable."
        )
    return found
