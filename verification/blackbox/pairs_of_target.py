"""The pairs of data sets that a target is tested on, for ``rdpkit verify`` and for audits alike."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from rdpkit import Event, _validate
from rdpkit.events import (
    CustomProfile,
    CustomRdp,
    FixedSizeSampledGaussian,
    Gaussian,
    PoissonSampledGaussian,
)
from rdpkit.events.losses import NoLossDistributionError
from rdpkit.verification.blackbox.adversarial_pairs import (
    USUAL_NORM,
    DataDomain,
    LabelLayout,
    adversarial_neighbours,
    from_ball,
)
from rdpkit.verification.blackbox.candidate_pairs import (
    LEAST_DELTA,
    dimension_of,
    parts_of,
    random_neighbours,
    worst_neighbours,
)
from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours, load
from rdpkit.verification.blackbox.options import (
    MOST_PAIRS,
    OPTIONS,
    USUAL_RECORDS,
    VerificationOptions,
)
from rdpkit.verification.blackbox.targets import ClaimUnderTest, TargetReference

DIMENSIONS = (5, 2, 3, 4, 8, 10, 16, 20, 32, 50, 64, 100, 784, 1, 1024, 3072)
"""Numbers of features that are tried where nobody says how many there are. More than one come
first, because some mistakes show only between coordinates; most images are among the others."""
# What options, or attributes of a target, say of the data that a mechanism is given.
_STATED = ("dimension", "records", "record_norm", "classes")
# Random pairs are drawn by the child of the seed with this number.
_RANDOM_PAIRS = 2**31
# The data set that shows whether code takes a number of features is drawn by this seed.
_TRIAL_SEED = 20_240_607


def pairs_of_target(
    subject: TargetReference,
    *,
    claim: ClaimUnderTest,
    options: VerificationOptions,  # With a seed, from which pairs are drawn
    delta: float | None = None,  # The delta at which a worst-case pair is looked up
) -> list[Neighbours]:
    """The pairs of data sets that a target is tested on, the most important first.

    They are the target's own if it has any for the claim's adjacency and no option asks for others.
    A target may state what it is given by attributes ``dimension``, ``records``, ``record_norm``
    and ``classes``, which options of the same names overrule.
    """
    own, source, event = subject.own, options.neighbours, claim.event
    # Without data sets of its own, a target with an event gets those of any other target.
    brings = subject.entry is not None or callable(getattr(subject.mechanism(), "neighbours", None))
    said: dict[str, Any] = {}
    for option in OPTIONS if subject.entry is None else ():
        value = getattr(subject.mechanism(), option.name, None)
        if option.name in _STATED and value is not None and not callable(value):
            said[option.name] = option.checked(value, f"{subject.name}: its {option.name}")
    about_data = (source, options.dimension, options.records, options.record_norm)
    if source == "own" or about_data == (None, None, None, None):
        if own is not None and own.adjacency is claim.adjacency and (brings or source == "own"):
            return own.neighbours()
        if source == "own":
            raise ValueError(
                "Expected a target with attributes event and adjacency for neighbours 'own', "
                f"got one that has none for adjacency {claim.adjacency.value}."
            )
    if source is not None and source.endswith(".npz"):
        return [load(source, adjacency=claim.adjacency)]
    if source == "worst" and event is None:
        raise ValueError("Expected an event with worst neighbours: they are the event's pair.")
    if own is not None and brings and "dimension" not in said:
        said["dimension"] = own.neighbours()[0].first.dimension
    given = {name: getattr(options, name) for name in _STATED}
    said |= {name: value for name, value in given.items() if value is not None}
    note = ""
    if "dimension" not in said:
        said["dimension"] = None if event is None else dimension_of(event)
    if said["dimension"] is None:
        said["dimension"] = usable_dimension(lambda data: _takes(subject, data))
        note = (
            f"{said['dimension']} features, because the code runs on them; --dimension says how "
            "many a record has"
        )
    assert options.seed is not None
    if source == "worst":
        assert event is not None
        found = _worst(event, claim, delta, said)
    elif source == "random":
        seed = np.random.SeedSequence(entropy=options.seed, spawn_key=(_RANDOM_PAIRS,))
        found = random_neighbours(
            count=options.pairs or MOST_PAIRS,
            records=said.get("records") or USUAL_RECORDS,
            dimension=said["dimension"],
            record_norm=said.get("record_norm") or _norm_of(event),
            classes=said.get("classes") or 1,
            adjacency=claim.adjacency,
            rng=np.random.default_rng(seed),
        )
    else:
        found = _adversarial(options, claim, delta, said)
    return (
        [replace(pair, description=(*pair.description, note)) for pair in found] if note else found
    )


def usable_dimension(
    # Runs the mechanism on a data set, and raises if it does not take such data.
    run_once: Callable[[LabelledData], object],
) -> int:
    """A number of features that a mechanism runs on, one above 1 if there is one."""
    why, first = "", None
    for dimension in DIMENSIONS:
        rng = np.random.default_rng(_TRIAL_SEED)
        features = from_ball(USUAL_RECORDS, dimension, USUAL_NORM, rng)
        data = LabelledData(features=features, labels=np.arange(USUAL_RECORDS) % 2)
        try:
            run_once(data)
        except (Exception, SystemExit) as error:
            why = why or f"With {dimension} features: {_validate.words_of(error)}"
            first = first or error.__cause__ or error
        else:
            return dimension
    raise ValueError(
        "Expected a dimension (--dimension), the number of features that the code takes: it raised "
        f"with each of {len(DIMENSIONS)} numbers of features from {min(DIMENSIONS)} to "
        f"{max(DIMENSIONS)}. {why}"
    ) from first


def _clip_norm(part: Event) -> float | None:
    """The norm that a mechanism clips records to; None if the event names none."""
    if isinstance(part, Gaussian | PoissonSampledGaussian | FixedSizeSampledGaussian):
        return part.record_norm
    return getattr(part, "clip_norm", None)


def _norm_of(event: Event | None) -> float:
    """The norm that records are clipped to, or a usual one."""
    norms = [] if event is None else [_clip_norm(part) for part in parts_of(event)]
    return max((norm for norm in norms if norm is not None), default=USUAL_NORM)


def _worst(
    event: Event, claim: ClaimUnderTest, delta: float | None, said: dict[str, Any]
) -> list[Neighbours]:
    """The worst-case pair, within the largest norm that somebody stated."""
    pairs = worst_neighbours(
        event,
        adjacency=claim.adjacency,
        delta=LEAST_DELTA if delta is None else delta,
        dimension=said["dimension"],
        records=said.get("records"),
    )
    norm = said.get("record_norm")
    if norm is None or pairs[0].longest <= norm:
        return pairs
    # A little less, because norms are rounded.
    return [pair.scaled((1.0 - 1e-12) * norm / pairs[0].longest) for pair in pairs]


def _adversarial(
    options: VerificationOptions, claim: ClaimUnderTest, delta: float | None, said: dict[str, Any]
) -> list[Neighbours]:
    """The event's worst-case pair if one is known, and then adversarial pairs."""
    event, known = claim.event, list[Neighbours]()
    most = options.pairs or MOST_PAIRS
    parts = [] if event is None else parts_of(event)
    # Such an event bounds its records in another way than by a clip: the unit cube, say.
    of_its_own = any(
        _clip_norm(part) is None and not isinstance(part, CustomRdp | CustomProfile)
        for part in parts
    )
    if event is not None:
        try:
            known = _worst(event, claim, delta, said)[:most]
        except NoLossDistributionError:
            if of_its_own and options.neighbours is None:
                raise NoLossDistributionError(
                    f"No data sets are written out for the mechanism {event.mechanism!r}: hand in "
                    "a pair (--neighbours FILE.npz), or let the usual ones be tried if the code "
                    "takes any records (--neighbours adversarial)."
                ) from None
    left = most - len(known)
    if left <= 0 or (known and of_its_own):
        # The code need not take other data than its event speaks of.
        return known
    records, layout, population = said.get("records"), None, 0
    if any(hasattr(part, name) for part in parts for name in ("population_size", "class_sizes")):
        layout = LabelLayout.of_pair(known[0]) if known else None
        population = max(getattr(part, "population_size", 0) for part in parts)
        size = known[0].size if known else population
        if records is not None and size and records != size:
            raise ValueError(
                f"Expected records (--records) to be {size}, as the event says, got {records}."
            )
    domain = DataDomain(
        dimension=said["dimension"],
        record_norm=said.get("record_norm") or _norm_of(event),
        bounded="record_norm" in said,
        records=records or population or None,
        classes=said.get("classes"),
        layout=layout,
    )
    assert options.seed is not None
    adjacency = claim.adjacency
    made = adversarial_neighbours(domain, adjacency=adjacency, count=left, seed=options.seed)
    return [*known, *made]


def _takes(subject: TargetReference, data: LabelledData) -> None:
    """Run the mechanism, and raise if it takes such data neither with nor without a record.

    An error with one of the two alone tells them apart, and is for the test to find.
    """
    mechanism: Any = subject.mechanism()
    less = LabelledData(features=data.features[:-1], labels=data.labels[:-1])
    errors: list[BaseException] = []
    for tried in (data, less):
        rng = np.random.default_rng(0)
        try:
            with contextlib.redirect_stdout(sys.stderr):
                if hasattr(mechanism, "many"):
                    mechanism.many(tried, rng, 1)
                else:
                    mechanism(tried, rng)
        except (Exception, SystemExit) as error:
            errors.append(error)
        else:
            return
    frame = traceback.extract_tb(errors[0].__traceback__)[-1]
    said = _validate.words_of(errors[0])
    raise ValueError(
        f"{subject.name} raised {type(errors[0]).__name__}: {said} (at {frame.filename}:"
        f"{frame.lineno})"
    ) from errors[0]
