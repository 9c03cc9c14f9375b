"""The verdict on a release: is it private, and for which reasons?

Some checks follow from what a manifest states: the source of the noise, delta, epsilon and the
event. They are computed here, for new releases and for manifests that are read, so that no file can
say better of itself than its own numbers do. The other checks are statements of the mechanism.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from rdpkit import Event, Group, Guarantee, Kind, Parallel
from rdpkit.events import GaussianSynthesis
from rdpkit.formats.text import rounded_up
from rdpkit.guarantee import UncertifiedEnclosure
from rdpkit.mechanisms.data.dataset import Source
from rdpkit.mechanisms.parts.checks import (
    CHECK_NAMES,
    STATUSES,
    PrivacyCheck,
    Status,
    source_checks,
)

LARGEST_DELTA = 0.1
"""From this delta on a guarantee is not called private, whatever the number of records."""

WEAK_EPSILON = 10.0
"""Above this epsilon a verdict has a warning: Ponomareva et al. (2023) call it weak."""

LARGEST_EPSILON = 20.0
"""Above this epsilon a release is private only where its maker has accepted such an epsilon."""

_UNKNOWN = {
    "secret_noise": "the manifest says nothing about where the noise came from",
    "public_parameters": "the manifest does not say whether the numbers that it shows, such as "
    "class sizes, were read from the private data without being paid for",
    "preconditions": "the manifest does not say whether the theorem holds for every data set",
    "code_path": "the manifest does not say which code made the release",
}


_SEEDED = PrivacyCheck(
    "secret_noise", "fails", "the noise was drawn from a seed: whoever knows the seed subtracts it"
)
_SECRET = PrivacyCheck(
    "secret_noise", "holds", "noise and sampled subsets come from the operating system's entropy"
)


def delta_check(delta: float, records: int | None) -> PrivacyCheck:
    """Whether delta is small enough for a guarantee to mean anything.

    A mechanism that publishes each record with probability delta, whole, is (0, delta)-private. So
    a delta of 1/n or more permits it to release a record outright (Dwork and Roth 2014, Section
    2.3).

    Parameters
    ----------
    delta : float
        Of the guarantee.
    records : int or None
        A public or noisy number of records. The exact number must not be given, unless it is
        public: the sentence shows it.
    """
    if delta >= LARGEST_DELTA:
        return PrivacyCheck(
            "delta",
            "fails",
            f"delta = {delta:g} is not below {LARGEST_DELTA:g}: a mechanism that releases every "
            f"record outright with probability {delta:g} would have this guarantee",
        )
    if records is None:
        return PrivacyCheck(
            "delta",
            "depends",
            f"delta = {delta:g} is below 1/n if there are fewer than {math.ceil(1.0 / delta)} "
            "records, and the manifest states no public number of them",
        )
    if delta * records >= 1.0:
        return PrivacyCheck(
            "delta",
            "fails",
            f"delta = {delta:g} is not below 1/n, where the public or noisy number of records is "
            f"{records}: a mechanism that releases {delta * records:.3g} records outright, on "
            "average, would have this guarantee",
        )
    return PrivacyCheck(
        "delta",
        "holds",
        f"delta = {delta:g} is below 1/n for fewer than {math.ceil(1.0 / delta)} records, and the "
        f"public or noisy number of them is {records}",
    )


def epsilon_check(
    guarantee: Guarantee | None, accepted: float | None, event: Event | None = None
) -> PrivacyCheck:
    """Whether epsilon is a finite upper bound, and small enough to be called private.

    Parameters
    ----------
    guarantee : Guarantee or None
        None where nothing is guaranteed.
    accepted : float or None
        The largest epsilon that whoever made the release has accepted, where that is stated.
    event : Event, optional
        What was released; it tells whether neighbours differ in all records of a person.
    """
    found = partial(PrivacyCheck, "epsilon")
    if guarantee is None:
        return found("fails", "nothing is guaranteed: no epsilon is known")
    epsilon = guarantee.epsilon
    if guarantee.kind is not Kind.UPPER:
        return found(
            "fails", f"the stated epsilon is no proven upper bound ({guarantee.kind.value})"
        )
    if not math.isfinite(epsilon):
        return found("fails", "epsilon is infinite: no theorem bounds what the release reveals")
    if isinstance(guarantee.computed, UncertifiedEnclosure):
        status: Status = "depends"
        origin = "from floating-point sums whose rounding errors are not bounded"
    else:
        status, origin = "holds", f"an upper bound by {guarantee.bound}"
    shown = rounded_up(epsilon)
    odds = f"epsilon = {shown}: the odds of any event may change by a factor of e^{shown}"
    if event is not None and (most := event.fold(_of_a_person)):
        odds += f" with all records of one person, of which at most {most} were used"
    if epsilon > LARGEST_EPSILON:
        if accepted is None or epsilon > accepted:
            return found(
                "fails",
                f"{odds}, which is above {LARGEST_EPSILON:g} and protects almost nobody; state "
                f"accept_epsilon >= {shown} if this is what you want",
            )
        return found(
            "depends",
            f"{odds}, which is far above what is called private; whoever made the release accepted "
            f"an epsilon of up to {accepted:g}",
        )
    if epsilon > WEAK_EPSILON:
        origin += f"; this is a weak guarantee, {WEAK_EPSILON:g} is a usual limit"
    return found(status, f"{odds}; {origin}")


def _preconditions(event: Event, guarantee: Guarantee) -> PrivacyCheck:
    """What the theorem assumes of the data, as far as the event tells."""
    if event.fold(lambda one, inside: isinstance(one, GaussianSynthesis) or any(inside)):
        return PrivacyCheck(
            "preconditions",
            "fails",
            "the theorem assumes a smallest eigenvalue of the covariance of the data and of each "
            "neighbour; a mechanism that tests this on the data releases one neighbour and refuses "
            "the other",
        )
    assumed = "".join(f"; {text}" for text in guarantee.assumptions)
    return PrivacyCheck(
        "preconditions",
        "depends",
        "the theorem assumes that the code keeps every record within the event's parameters, "
        f"and refuses no data set{assumed}",
    )


def _of_a_person(event: Event, parts: tuple[int, ...]) -> int:
    return max((event.size if isinstance(event, Group) else 0, *parts))


def stated_records(event: Event) -> int | None:
    """The number of records that an event states as public; None where it states none."""
    return event.fold(_stated)


def _stated(event: Event, parts: tuple[int | None, ...]) -> int | None:
    for name in ("population_size", "records"):
        number = getattr(event, name, None)
        if isinstance(number, int):
            return number
    sizes = getattr(event, "class_sizes", None)
    if isinstance(sizes, tuple):
        return int(sum(sizes))
    known = [number for number in parts if number is not None]
    if isinstance(event, Parallel):
        # Its parts see different records.
        return sum(known) if len(known) == len(parts) else None
    return max(known, default=None)


def computed_checks(
    *,
    event: Event | None,
    guarantee: Guarantee | None,
    reproducible_noise: bool,
    accept_epsilon: float | None,
    public: Mapping[str, Source] = MappingProxyType({}),
) -> tuple[PrivacyCheck, ...]:
    """The checks that follow from the numbers of a manifest, and from its public parameters."""
    found = [
        _SEEDED if reproducible_noise else _SECRET,
        epsilon_check(guarantee, accept_epsilon, event),
        *source_checks(public),
    ]
    if event is not None and guarantee is not None:
        found.append(_preconditions(event, guarantee))
        found.append(delta_check(guarantee.delta, stated_records(event)))
    return tuple(found)


def unstated_checks(
    stated: Sequence[PrivacyCheck],  # What the mechanism says
    guarantee: Guarantee,  # Of the release
    *,
    tested_as: str | None,  # What ``rdpkit verify`` takes to test the mechanism's code
    device: str | None,  # The device on which the arrays were computed, if it is not the processor
) -> Iterator[PrivacyCheck]:
    """What a new release says of the names that its mechanism says nothing about."""
    if "code_path" not in {check.name for check in stated}:
        tested = (
            "`rdpkit verify` can test the code that made it"
            if tested_as is None
            else f"`rdpkit verify {tested_as}` tests the code that made it, with small parameters"
        )
        if device not in (None, "cpu"):
            tested += f", on the processor, while the release was computed on {device}"
        yield PrivacyCheck(
            "code_path",
            "depends",
            f"the guarantee is that of the event, by {guarantee.bound}; {tested}; the "
            "theorem is about real numbers, and floating-point noise is not covered by a proof",
        )


def complete(
    stated: Iterable[PrivacyCheck], computed: Iterable[PrivacyCheck]
) -> tuple[PrivacyCheck, ...]:
    """All checks, stated, computed and unknown, in the order of their names, the worst first.

    A statement of the mechanism takes the place of a computed check of the same name, which knows
    less. No statement takes the place of a computed failure.
    """
    given = tuple(stated)
    found = list(given)
    for check in computed:
        said = [one for one in given if one.name == check.name]
        if check in found or (check.status != "fails" and said):
            continue
        found.append(check)
    for name in CHECK_NAMES:
        if all(one.name != name for one in found):
            sentence = _UNKNOWN.get(name, "nothing is guaranteed, so there is nothing to check")
            found.append(PrivacyCheck(name, "unknown", sentence))
    ranks = {name: number for number, name in enumerate(CHECK_NAMES)}
    worst_first = sorted(found, key=lambda check: -STATUSES.index(check.status))
    return tuple(sorted(worst_first, key=lambda check: ranks[check.name]))


def failures(checks: Iterable[PrivacyCheck]) -> tuple[PrivacyCheck, ...]:
    """The checks that fail."""
    return tuple(check for check in checks if check.status == "fails")


def reasons_against(checks: Sequence[PrivacyCheck]) -> tuple[PrivacyCheck, ...]:
    """Why a release is not private: the checks that fail, or else those that nobody made."""
    return failures(checks) or tuple(check for check in checks if check.status == "unknown")


def is_private(checks: Iterable[PrivacyCheck]) -> bool:
    """Whether every check holds, or depends on nothing but a statement."""
    return all(check.status in ("holds", "depends") for check in checks)


def verdict_lines(private: bool, checks: Sequence[PrivacyCheck]) -> list[str]:
    """The verdict in words: one line for itself, and one for each reason, the worst first."""
    first = "PRIVATE" if private else "NOT PRIVATE"
    if private and any(check.status == "depends" for check in checks):
        first += ", if what it depends on is true"
    if private and any(check.status == "unknown" for check in checks):
        first += ", as far as is known"
    order = ("fails", "unknown", "depends", "holds")
    ranked = sorted(checks, key=lambda check: order.index(check.status))
    return [
        f"verdict    {first}",
        *(f"  {one.status:<8} {one.name.replace('_', ' ')}: {one.sentence}" for one in ranked),
    ]
