"""Pairs of neighbouring data sets that a test may be run on, as the options ask for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np

from rdpkit import Event, _validate
from rdpkit.adjacency import Adjacency, ordinary
from rdpkit.events import (
    CustomProfile,
    CustomRdp,
    DiscreteGaussian,
    DiscreteLaplace,
    FixedSizeSampledGaussian,
    Gaussian,
    PoissonSampledGaussian,
    RandomizedResponse,
)
from rdpkit.events.losses import NoLossDistributionError
from rdpkit.formats.numbers import how_many
from rdpkit.pairs.worst_pair import NeighbouringPair, worst_pair
from rdpkit.verification.blackbox.adversarial_pairs import (
    OFF_GRID,
    USUAL_NORM,
    DataDomain,
    LabelLayout,
    adversarial_neighbours,
    from_ball,
    random_unit,
)
from rdpkit.verification.blackbox.neighbours import Array, LabelledData, Neighbours, load
from rdpkit.verification.blackbox.options import MOST_PAIRS, USUAL_RECORDS, VerificationOptions

LEAST_DELTA = 1e-3
"""Worst-case pairs are looked up at no smaller delta, because a test cannot notice rarer events."""
DIMENSIONS = (5, 2, 3, 4, 8, 10, 16, 20, 32, 50, 64, 100, 784, 1, 1024, 3072)
"""Numbers of features that are tried where nobody says how many there are. More than one come
first, because some mistakes show only between coordinates; most images are among the others."""

_OF_WHOLE_NUMBERS = (DiscreteGaussian, DiscreteLaplace, RandomizedResponse)
# Random pairs are drawn by the child of the seed with this number.
_RANDOM_PAIRS = 2**31
# The data set that shows whether code takes a number of features is drawn by this seed.
_TRIAL_SEED = 20_240_607


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedData:
    """What is said of the data that a mechanism is given; None stands for what nobody says."""

    dimension: int | None = None  # Number of features
    records: int | None = None  # Number of records of the larger data set
    record_norm: float | None = None  # The largest L2 norm of a record that the code is ever given
    classes: int | None = None  # Labels are 0, ..., classes - 1


def pairs_to_test(
    options: VerificationOptions,  # With a seed, from which pairs are drawn
    *,
    adjacency: Adjacency,  # The neighbouring relation of the claim
    event: Event | None,  # What is claimed to be released
    delta: float | None,  # The delta at which a worst-case pair is looked up
    # Makes the target's own pairs; None if it has none under this adjacency.
    own: Callable[[], list[Neighbours]] | None,
    stated: StatedData | None = None,  # What the target says of its data. Options overrule it.
    # Runs the mechanism on a data set, and raises if it does not take such data. The number of
    # features is found with it if nobody says how many there are.
    run_once: Callable[[LabelledData], object] | None = None,
) -> list[Neighbours]:
    """The pairs of data sets that the options ask for, the most important first."""
    about_data = (options.neighbours, options.dimension, options.records, options.record_norm)
    source = options.neighbours
    if source == "own" or (own is not None and about_data == (None, None, None, None)):
        if own is None:
            raise ValueError(
                "Expected a target with attributes event and adjacency for neighbours 'own', "
                f"got one that has none for adjacency {adjacency.value}."
            )
        return own()
    if source is not None and source.endswith(".npz"):
        return [load(source, adjacency=adjacency)]
    if source == "worst" and event is None:
        raise ValueError("Expected an event with worst neighbours: they are the event's pair.")
    said, note = _with_dimension(_stated(options, stated), event, run_once)
    assert options.seed is not None
    if source == "worst":
        assert event is not None
        found = _worst(event, adjacency, delta, said)
    elif source == "random":
        found = _random(options, adjacency, event, said)
    else:
        found = _adversarial(options, adjacency, event, delta, said)
    if note is None:
        return found
    return [replace(pair, description=(*pair.description, note)) for pair in found]


def _stated(options: VerificationOptions, stated: StatedData | None) -> StatedData:
    """What the options say, and else what the target says."""
    given = {field.name: getattr(options, field.name) for field in fields(StatedData)}
    chosen = {name: value for name, value in given.items() if value is not None}
    return replace(stated or StatedData(), **chosen)


def _with_dimension(
    said: StatedData, event: Event | None, run_once: Callable[[LabelledData], object] | None
) -> tuple[StatedData, str | None]:
    """The same with a number of features, and a note if that was found by trying."""
    own = None if event is None else _dimension_of(event)
    if said.dimension is not None or own is not None:
        return replace(said, dimension=own if said.dimension is None else said.dimension), None
    if run_once is None:
        raise ValueError(
            "Expected a dimension (--dimension): neither the target nor the event says how many "
            "features there are."
        )
    dimension = usable_dimension(run_once)
    note = (
        f"{dimension} features, because the code runs on them; --dimension says how many a record "
        "has"
    )
    return replace(said, dimension=dimension), note


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
            why = why or f"With {dimension} features: {error}"
            first = first or error.__cause__ or error
        else:
            return dimension
    raise ValueError(
        "Expected a dimension (--dimension), the number of features that the code takes: it raised "
        f"with each of {len(DIMENSIONS)} numbers of features from {min(DIMENSIONS)} to "
        f"{max(DIMENSIONS)}. {why}"
    ) from first


def _dimension_of(event: Event) -> int | None:
    """The number of features, if the event says how many."""
    return getattr(event, "feature_dimension", None) or getattr(event, "dimension", None)


def _parts(event: Event) -> list[Event]:
    """The events that an event is composed of, or itself."""
    inner = getattr(event, "events", None) or getattr(event, "event", None)
    if inner is None:
        return [event]
    return [
        part for one in (inner if isinstance(inner, tuple) else (inner,)) for part in _parts(one)
    ]


def _clip_norm(part: Event) -> float | None:
    """The norm that a mechanism clips records to; None if the event names none."""
    if isinstance(part, Gaussian | PoissonSampledGaussian | FixedSizeSampledGaussian):
        return part.record_norm
    return getattr(part, "clip_norm", None)


def _norm_of(event: Event | None) -> float:
    """The norm that records are clipped to, or a usual one."""
    norms = [] if event is None else [_clip_norm(part) for part in _parts(event)]
    return max((norm for norm in norms if norm is not None), default=USUAL_NORM)


def _worst(
    event: Event, adjacency: Adjacency, delta: float | None, said: StatedData
) -> list[Neighbours]:
    """The worst-case pair, within the largest norm that somebody stated."""
    pairs = worst_neighbours(
        event,
        adjacency=adjacency,
        delta=LEAST_DELTA if delta is None else delta,
        dimension=said.dimension,
        records=said.records,
    )
    if said.record_norm is None:
        return pairs
    norms = [np.linalg.norm(side.features, axis=1) for side in (pairs[0].first, pairs[0].second)]
    longest = float(np.concatenate(norms).max())
    if longest <= said.record_norm:
        return pairs
    # A little less, because norms are rounded.
    return [pair.scaled((1.0 - 1e-12) * said.record_norm / longest) for pair in pairs]


def _random(
    options: VerificationOptions, adjacency: Adjacency, event: Event | None, said: StatedData
) -> list[Neighbours]:
    """Random pairs within the norm."""
    assert said.dimension is not None
    assert options.seed is not None
    seed = np.random.SeedSequence(entropy=options.seed, spawn_key=(_RANDOM_PAIRS,))
    return random_neighbours(
        count=options.pairs or MOST_PAIRS,
        records=said.records or USUAL_RECORDS,
        dimension=said.dimension,
        record_norm=said.record_norm or _norm_of(event),
        classes=said.classes or 1,
        adjacency=adjacency,
        rng=np.random.default_rng(seed),
    )


def _adversarial(
    options: VerificationOptions,
    adjacency: Adjacency,
    event: Event | None,
    delta: float | None,
    said: StatedData,
) -> list[Neighbours]:
    """The event's worst-case pair if one is known, and then adversarial pairs."""
    assert said.dimension is not None
    assert options.seed is not None
    known: list[Neighbours] = []
    most = options.pairs or MOST_PAIRS
    parts = [] if event is None else _parts(event)
    # Such an event bounds its records in another way than by a clip: the unit cube, say.
    of_its_own = any(
        _clip_norm(part) is None and not isinstance(part, CustomRdp | CustomProfile)
        for part in parts
    )
    if event is not None:
        try:
            known = _worst(event, adjacency, delta, said)[:most]
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
    layout, population = None, 0
    if any(hasattr(part, name) for part in parts for name in ("population_size", "class_sizes")):
        layout = LabelLayout.of_pair(known[0]) if known else None
        population = max(getattr(part, "population_size", 0) for part in parts)
        size = known[0].size if known else population
        if said.records is not None and size and said.records != size:
            raise ValueError(
                f"Expected records (--records) to be {size}, as the event says, got {said.records}."
            )
    domain = DataDomain(
        dimension=said.dimension,
        record_norm=said.record_norm or _norm_of(event),
        bounded=said.record_norm is not None,
        records=said.records or population or None,
        classes=said.classes,
        layout=layout,
    )
    made = adversarial_neighbours(domain, adjacency=adjacency, count=left, seed=options.seed)
    return [*known, *made]


def of_pair(pair: NeighbouringPair, *, dimension: int, records: int = 0) -> Neighbours:
    """The data sets of a worst-case pair, in ``dimension`` coordinates.

    Parameters
    ----------
    pair : NeighbouringPair
        From :func:`rdpkit.worst_pair`.
    dimension : int
        Number of features.
    records : int
        Add records at the origin to both data sets until the larger one has this many. This is
        for pairs of at most one record a side, which leave the number of records open.

    Raises
    ------
    ValueError
        If the pair is for a stated number of records.
    """
    (features, labels), (other_features, other_labels) = pair.datasets(dimension)
    missing = _validate.integer("records", records, minimum=0) - max(len(labels), len(other_labels))
    if missing > 0:
        if max(len(labels), len(other_labels)) > 1:
            raise _validate.fail(
                "records",
                f"to be 0: the pair of {pair.event.mechanism!r} has the number of records that "
                "the event says",
                records,
            )
        rest = np.zeros((missing, dimension))
        features, other_features = np.vstack([rest, features]), np.vstack([rest, other_features])
        same = np.zeros(missing, dtype=np.int64)
        labels, other_labels = np.append(same, labels), np.append(same, other_labels)
    added = f"both filled up with {how_many(missing, 'record')} at the origin"
    filled = (added,) if missing > 0 else ()
    return Neighbours(
        first=LabelledData(features=features, labels=labels),
        second=LabelledData(features=other_features, labels=other_labels),
        adjacency=pair.adjacency,
        description=(*pair.describe()[:3], *filled),
    )


def worst_neighbours(
    event: Event,
    *,
    adjacency: Adjacency | str,
    delta: float,
    dimension: int | None = None,
    records: int | None = None,
) -> list[Neighbours]:
    """The worst-case pair of an event, and the same pair scaled off any grid of the noise.

    Noise of integers is for records of integers, and answers for buckets, so these are not scaled.

    Parameters
    ----------
    event : Event
        What is claimed to be released.
    adjacency : Adjacency or str
        The neighbouring relation.
    delta : float
        The delta at which the pair leaks most. A delta below 1e-3 is raised to that, because tests
        cannot notice rarer events.
    dimension : int, optional
        Number of features; needed unless the event says how many.
    records : int, optional
        Records of the larger data set, where the pair leaves this open; by default 8.

    Raises
    ------
    ValueError
        If no pair is known, or an argument is missing or not what the event says.
    """
    own = _dimension_of(event)
    if own is not None and dimension not in (None, own):
        raise ValueError(
            f"Expected dimension (--dimension) to be {own}, as the event says, got {dimension}."
        )
    if own is None and dimension is None:
        raise ValueError(
            "Expected a dimension (--dimension): the event does not say how many features there "
            "are."
        )
    pair = worst_pair(event, adjacency=adjacency, delta=max(delta, LEAST_DELTA))
    left_open = max(len(pair.first), len(pair.second)) <= 1
    size = (records or USUAL_RECORDS) if left_open else (records or 0)
    found = of_pair(pair, dimension=own or dimension or 1, records=size)
    whole = any(isinstance(part, _OF_WHOLE_NUMBERS) for part in _parts(event))
    return [found] if whole else [found, found.scaled(OFF_GRID)]


def random_neighbours(
    *,
    count: int,
    records: int,
    dimension: int,
    record_norm: float,
    classes: int,
    adjacency: Adjacency | str,
    rng: np.random.Generator,
) -> list[Neighbours]:
    """Random pairs to choose from, in which the changed record has the largest norm.

    The other records are, in turn, drawn from the ball, all at one point of the sphere, or all at
    the origin. The changed record lies opposite to their mean or in
    a random direction. Under replace-one its mirror image or one of the others replaces it.

    Parameters
    ----------
    count : int
        How many pairs.
    records : int
        Records of the larger data set.
    dimension : int
        Number of features.
    record_norm : float
        Largest L2 norm of a record.
    classes : int
        Labels are drawn from 0, ..., classes - 1; the changed record keeps its class.
    adjacency : Adjacency or str
        The neighbouring relation.
    rng : numpy.random.Generator
        Draws them.
    """
    relation = ordinary(Adjacency.parse(adjacency), because="code is run on ordinary records alone")
    _validate.integer("count", count)
    n = _validate.integer("records", records)
    d = _validate.integer("dimension", dimension)
    norm = _validate.positive("record_norm", record_norm)
    _validate.integer("classes", classes)
    found = []
    for index in range(count):
        kind = ("ball", "point", "origin")[index % 3]
        others = _others(kind, n - 1, d, norm, rng)
        away = random_unit(d, rng)
        if index % 2 == 0 and len(others) and np.linalg.norm(others.mean(axis=0)) > 0.0:
            away = -others.mean(axis=0) / np.linalg.norm(others.mean(axis=0))
        changed = norm * away
        labels = rng.integers(classes, size=n)
        other = -changed
        if len(others) and kind != "origin" and index % 4 < 2:
            other = others[0]
        if np.array_equal(other, changed):
            other = -changed
        first = LabelledData(features=np.vstack([others, changed]), labels=labels)
        second = (
            LabelledData(features=others.reshape(n - 1, d), labels=labels[:-1])
            if relation is Adjacency.ADD_OR_REMOVE_ONE
            else LabelledData(features=np.vstack([others, other]), labels=labels)
        )
        found.append(
            Neighbours(
                first=first,
                second=second,
                adjacency=relation,
                description=(f"random pair {index}: the others are from the {kind}",),
            )
        )
    return found


def _others(kind: str, count: int, d: int, norm: float, rng: np.random.Generator) -> Array:
    if kind == "origin":
        return np.zeros((count, d))
    if kind == "point":
        return np.tile(norm * random_unit(d, rng), (count, 1))
    return from_ball(count, d, norm, rng)
