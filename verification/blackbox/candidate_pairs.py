"""The worst-case pair of an event as data sets, and random pairs."""

from __future__ import annotations

import numpy as np

from rdpkit import Event, _validate
from rdpkit.adjacency import Adjacency, ordinary
from rdpkit.events import DiscreteGaussian, DiscreteLaplace, RandomizedResponse
from rdpkit.formats.numbers import how_many
from rdpkit.pairs.worst_pair import NeighbouringPair, worst_pair
from rdpkit.verification.blackbox.adversarial_pairs import OFF_GRID, from_ball, random_unit
from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours
from rdpkit.verification.blackbox.options import USUAL_RECORDS

LEAST_DELTA = 1e-3
"""Worst-case pairs are looked up at no smaller delta, because a test cannot notice rarer events."""
_OF_WHOLE_NUMBERS = (DiscreteGaussian, DiscreteLaplace, RandomizedResponse)


def dimension_of(event: Event) -> int | None:
    """The number of features, if the event says how many."""
    return getattr(event, "feature_dimension", None) or getattr(event, "dimension", None)


def parts_of(event: Event) -> list[Event]:
    """The events that an event is composed of, or itself."""
    inner = getattr(event, "events", None) or getattr(event, "event", None)
    if inner is None:
        return [event]
    several = inner if isinstance(inner, tuple) else (inner,)
    return [part for one in several for part in parts_of(one)]


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
    sides = pair.datasets(dimension)
    larger = max(len(labels) for _, labels in sides)
    missing = max(0, _validate.integer("records", records, minimum=0) - larger)
    if missing and larger > 1:
        raise _validate.fail(
            "records",
            f"to be 0: the pair of {pair.event.mechanism!r} has the number of records that the "
            "event says",
            records,
        )
    first, second = (
        LabelledData(
            features=np.vstack([np.zeros((missing, dimension)), features]) if missing else features,
            labels=np.append(np.zeros(missing, dtype=np.int64), labels) if missing else labels,
        )
        for features, labels in sides
    )
    added = f"both filled up with {how_many(missing, 'record')} at the origin"
    return Neighbours(
        first=first,
        second=second,
        adjacency=pair.adjacency,
        description=(*pair.describe()[:3], *([added] if missing else [])),
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
    own = dimension_of(event)
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
    whole = any(isinstance(part, _OF_WHOLE_NUMBERS) for part in parts_of(event))
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
    the origin. The changed record lies opposite to their mean or in a random direction. Under
    replace-one its mirror image or one of the others replaces it.

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
        if kind == "ball":
            others = from_ball(n - 1, d, norm, rng)
        elif kind == "point":
            others = np.tile(norm * random_unit(d, rng), (n - 1, 1))
        else:
            others = np.zeros((n - 1, d))
        away = random_unit(d, rng)
        if index % 2 == 0 and len(others) and np.linalg.norm(others.mean(axis=0)) > 0.0:
            away = -others.mean(axis=0) / np.linalg.norm(others.mean(axis=0))
        changed = norm * away
        labels = rng.integers(classes, size=n)
        other = others[0] if len(others) and kind != "origin" and index % 4 < 2 else -changed
        if np.array_equal(other, changed):
            other = -changed
        removed = relation is Adjacency.ADD_OR_REMOVE_ONE
        found.append(
            Neighbours(
                first=LabelledData(features=np.vstack([others, changed]), labels=labels),
                second=LabelledData(
                    features=others.reshape(n - 1, d) if removed else np.vstack([others, other]),
                    labels=labels[:-1] if removed else labels,
                ),
                adjacency=relation,
                description=(f"random pair {index}: the others are from the {kind}",),
            )
        )
    return found
