"""Pairs of neighbouring data sets that a test may be run on: worst-case pairs and random ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rdpkit import Event, _validate
from rdpkit.adjacency import Adjacency
from rdpkit.pairs.worst_pair import NeighbouringPair, worst_pair
from rdpkit.verification.blackbox.neighbours import Array, LabelledData, Neighbours, load
from rdpkit.verification.blackbox.options import MOST_PAIRS, USUAL_RECORDS, VerificationOptions

LEAST_DELTA = 1e-3
"""Worst-case pairs are looked up at no smaller delta, because a test cannot notice rarer events."""

# Multiplying records by this moves them off any grid of powers of two that the noise may lie on.
OFF_GRID = 0.9172635
# Random pairs are drawn by the child of the seed with this number.
_RANDOM_PAIRS = 2**31


def pairs_to_test(
    options: VerificationOptions,
    *,
    adjacency: Adjacency,
    event: Event | None,
    delta: float | None,
    own: Callable[[], list[Neighbours]] | None,
) -> list[Neighbours]:
    """The pairs of data sets that the options ask for.

    Parameters
    ----------
    options : VerificationOptions
        With a seed, from which random pairs are drawn.
    adjacency : Adjacency
        The neighbouring relation of the claim.
    event : Event or None
        What is claimed to be released.
    delta : float or None
        The delta at which a worst-case pair is looked up.
    own : callable or None
        Makes the target's own pairs; None if it has none under this adjacency.

    Raises
    ------
    ValueError
        If no such pair is known, or an option that it needs is missing.
    """
    about_data = (options.neighbours, options.dimension, options.records, options.record_norm)
    source = options.neighbours
    if source == "own" or (own is not None and about_data == (None, None, None, None)):
        if own is None:
            raise ValueError(
                "Expected a target with attributes event and adjacency for neighbours 'own', "
                f"got one that has none for adjacency {adjacency.value}."
            )
        return own()
    if source is None:
        source = "random" if event is None else "worst"
    if source == "worst":
        if event is None:
            raise ValueError("Expected an event with worst neighbours: they are the event's pair.")
        return worst_neighbours(
            event,
            adjacency=adjacency,
            delta=LEAST_DELTA if delta is None else delta,
            dimension=options.dimension,
            records=options.records,
        )
    if source == "random":
        if options.dimension is None or options.record_norm is None:
            raise ValueError(
                "Expected dimension and record_norm (--dimension and --record-norm) with random "
                "neighbours; --neighbours FILE.npz brings data sets of your own."
            )
        assert options.seed is not None
        seed = np.random.SeedSequence(entropy=options.seed, spawn_key=(_RANDOM_PAIRS,))
        return random_neighbours(
            count=options.pairs or MOST_PAIRS,
            records=options.records or USUAL_RECORDS,
            dimension=options.dimension,
            record_norm=options.record_norm,
            classes=options.classes,
            adjacency=adjacency,
            rng=np.random.default_rng(seed),
        )
    return [load(source, adjacency=adjacency)]


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
    filled = (f"both filled up with {missing} records at the origin",) if missing > 0 else ()
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
    own = getattr(event, "feature_dimension", None) or getattr(event, "dimension", None)
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
    return [found, found.scaled(OFF_GRID)]


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

    Raises
    ------
    ValueError
        If an argument is outside of its range.
    """
    relation = Adjacency.parse(adjacency)
    _validate.integer("count", count)
    n = _validate.integer("records", records)
    d = _validate.integer("dimension", dimension)
    norm = _validate.positive("record_norm", record_norm)
    _validate.integer("classes", classes)
    found = []
    for index in range(count):
        kind = ("ball", "point", "origin")[index % 3]
        others = _others(kind, n - 1, d, norm, rng)
        away = _direction(d, rng)
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


def _direction(dimension: int, rng: np.random.Generator) -> Array:
    vector = rng.standard_normal(dimension)
    return np.asarray(vector / np.linalg.norm(vector))


def _others(kind: str, count: int, d: int, norm: float, rng: np.random.Generator) -> Array:
    if kind == "origin":
        return np.zeros((count, d))
    if kind == "point":
        return np.tile(norm * _direction(d, rng), (count, 1))
    directions = rng.standard_normal((count, d))
    lengths = np.linalg.norm(directions, axis=1, keepdims=True)
    radii = norm * rng.random((count, 1)) ** (1.0 / d)
    return np.asarray(directions / lengths * radii)


__all__ = [
    "LEAST_DELTA",
    "OFF_GRID",
    "of_pair",
    "pairs_to_test",
    "random_neighbours",
    "worst_neighbours",
]
