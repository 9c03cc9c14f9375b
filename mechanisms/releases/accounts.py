"""What a ledger says of one data set: its releases, what they cost together, and what is left."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import rdpkit
from rdpkit import Adjacency, Event, Guarantee
from rdpkit.events import Composed, CustomProfile, EpsilonDelta
from rdpkit.events.composition import composed_of
from rdpkit.formats.numbers import how_many
from rdpkit.mechanisms.releases.manifest import Manifest
from rdpkit.mechanisms.releases.verdict import reasons_against
from rdpkit.planning.budgets import BudgetLeft

# A guarantee may be this much below what is computed now, by other versions of libraries.
_ROUNDING = 1e-9
# Of more different events than this, Renyi divergences alone are composed.
_MANY_EVENTS = 50


class LedgerRefusalError(ValueError):
    """A release was refused, and nothing was written down; the message says what, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRelease:
    """One release, or one charge, of a ledger."""

    number: int  #: Its line in the file, counted from 0
    path: str  #: The manifest, relative to the folder of the ledger
    mechanism: str  #: What made it
    event: Event | None
    """What was charged; None for a release that is recorded without any account."""
    delta: float
    """What was paid of the deltas of single releases; 0 for what is charged by its divergences."""
    epsilon: float | None
    """What the manifest states; None before the release is made, and where nothing is stated."""
    sha256: str | None  #: Of the manifest; None as long as there is only a charge
    data: str | None
    """Of the hashes of its arrays and files, by which the same release is recognised."""
    reason: str | None = None  #: Why no account covers it; None for all that was charged


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerAccount:
    """What was spent of one data set."""

    dataset: str  #: The user's name for it
    adjacency: Adjacency  #: The neighbouring relation of all its releases
    delta: float  #: The delta of all numbers here
    budget: float | None  #: The epsilon that may be spent; None where releases are only recorded
    releases: tuple[LedgerRelease, ...]  #: All that was charged or recorded, in order
    fixed: Guarantee | None
    """All charged releases together, by the tightest accountant: an upper bound that holds if which
    releases are made, and how many, was fixed before the first one. None before the first one.
    """
    adaptive: float | None
    """An upper bound on epsilon so far that holds however later releases were chosen by earlier
    ones; None where none is known but the budget itself.
    """
    left: BudgetLeft | None
    of_persons: bool = False  #: Whether neighbours differ in all records of one person

    @property
    def unaccounted(self) -> tuple[LedgerRelease, ...]:
        """Releases that no account covers."""
        return tuple(one for one in self.releases if one.reason is not None)

    @property
    def private(self) -> bool:
        """Whether an account covers everything that is recorded."""
        return not self.unaccounted

    @property
    def event(self) -> Event | None:
        """Everything that was charged, as one event; None if nothing was."""
        return together(self.releases)


def together(releases: tuple[LedgerRelease, ...]) -> Event | None:
    """Everything that was charged, as one event; None if nothing was."""
    return composed_of(Counter(one.event for one in releases if one.event is not None))


def fixed_guarantee(
    releases: tuple[LedgerRelease, ...], *, delta: float, adjacency: Adjacency
) -> Guarantee | None:
    """What the charged releases guarantee together, if all of them were fixed in advance.

    Releases that paid with a delta of their own may have no divergences, and others no loss
    distribution, so that no accountant knows both. Then epsilons of the first are added.
    """
    event = together(releases)
    if event is None:
        return None
    found = _guarantee(event, delta, adjacency)
    with_delta = [one for one in releases if one.delta > 0.0 and one.event is not None]
    others = together(tuple(one for one in releases if one.delta <= 0.0))
    left = Fraction(delta) - sum(Fraction(one.delta) for one in with_delta)
    # Below it as a float.
    rest = math.nextafter(float(left), 0.0)
    if math.isfinite(found.epsilon) or others is None or not rest > 0.0:
        return found
    own = _guarantee(others, rest, adjacency)
    parts = [own.epsilon]
    for one in with_delta:
        assert one.event is not None
        parts.append(rdpkit.epsilon(one.event, delta=one.delta, adjacency=adjacency).epsilon)
    if not all(map(math.isfinite, parts)):
        return found
    epsilon = math.nextafter(float(sum(map(Fraction, parts))), math.inf)
    note = f"the epsilons of {how_many(len(with_delta), 'release')} with a delta are added"
    return replace(
        own, epsilon=epsilon, delta=delta, computed=None, notes=(*own.notes, note), profile=None
    )


def _guarantee(event: Event, delta: float, adjacency: Adjacency) -> Guarantee:
    if isinstance(event, Composed) and len(event.events) > _MANY_EVENTS:
        return rdpkit.epsilon(event, delta=delta, adjacency=adjacency, bound="best-rdp")
    return rdpkit.epsilon(event, delta=delta, adjacency=adjacency)


def charged_event(manifest: Manifest) -> tuple[Event, float]:
    """What a release is charged, and the delta that it is charged with.

    Numbers of records that were estimated with noise decide what comes after them. So a release
    with such counts is charged as its guarantee, an epsilon at a delta, and all others as their
    events. Raises LedgerRefusalError if the manifest states no guarantee, or less than its event
    needs.
    """
    event, guarantee = manifest.event, manifest.guarantee
    if event is None or guarantee is None:
        raise LedgerRefusalError(f"the manifest of {manifest.mechanism!r} guarantees nothing")
    if not manifest.has_noisy_counts:
        return event, 0.0
    parts = event.events if isinstance(event, Composed) else ()
    if len(parts) != 2 or not isinstance(parts[0], CustomProfile):
        raise LedgerRefusalError("its noisy counts are no part of its event")
    counts, own = parts[0], parts[1]
    rest = guarantee.delta - counts.deltas[0]
    needed = counts.epsilons[0]
    if rest > 0.0:
        needed += rdpkit.epsilon(own, delta=rest, adjacency=guarantee.adjacency).epsilon
    if not rest > 0.0 or guarantee.epsilon < needed * (1.0 - _ROUNDING):
        raise LedgerRefusalError(
            f"it states epsilon {guarantee.epsilon:g}, and its event is known for {needed:g} only"
        )
    stated = EpsilonDelta(
        epsilon=max(guarantee.epsilon, needed), delta=guarantee.delta, adjacency=guarantee.adjacency
    )
    return stated, guarantee.delta


def not_private(manifest: Manifest) -> str | None:
    """Why a manifest is not private; None if it is."""
    if manifest.private:
        return None
    words = "; ".join(check.sentence for check in reasons_against(manifest.checks))
    return f"its manifest says that it is not private: {words}"


def data_of(manifest: Manifest) -> str:
    """One hash for the data of a release, under whatever names and in whatever format."""
    found = {
        name: entry["sha256"]
        for described in (manifest.arrays, manifest.files)
        for name, entry in described.items()
    }
    content = json.dumps(sorted(found.values()) or manifest.as_dict(), sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def sha256_of_manifest(path: Path) -> str:
    """The hash of a manifest's bytes."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
