"""Synthesis from mean and covariance, Figure 3: Renyi divergence against the order."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

import rdpkit
from paper_figures.model import (
    Curve,
    Figure,
    Panel,
    Point,
    Task,
    Track,
    checked_integers,
    checked_limits,
    checked_points,
    computed,
    rounded,
)
from rdpkit import Adjacency, _validate
from rdpkit.analysis import published_rdp
from rdpkit.pairs.synthesis import attained_pair

# A curve that becomes infinite at some order is drawn up to this part of the way from 1 to there.
_UP_TO = 0.995

_THEOREMS = {
    Adjacency.ADD_OR_REMOVE_ONE: ("unbounded", "miura2023-thm3.1", "Theorem 3.1"),
    Adjacency.REPLACE_ONE: ("bounded", "miura2023-cor3.2", "Corollary 3.2"),
}


def figure(
    *,
    records: Sequence[int],
    dimension: int,
    min_eigenvalue: float,
    orders: Sequence[float],
    points: int,
    track: Track,
) -> Figure:
    """Figure 3 of the paper, with the bounds that hold beside the published one.

    The parameters are described in :mod:`paper_figures.catalogue`;
    ``track`` shows progress.
    """
    sizes = checked_integers("records", records, minimum=2)
    low, high = checked_limits("orders", orders)
    _validate.order("orders", low)
    places = [rounded(x) for x in np.geomspace(low, high, checked_points(points))]
    curves = {
        (adjacency, n): _event(n, dimension, min_eigenvalue)
        for n in sizes
        for adjacency in _THEOREMS
    }
    tasks = [_tasks(event, adjacency, places) for (adjacency, _), event in curves.items()]
    found = dict(zip(curves, computed(tasks, track), strict=True))
    return Figure(
        id="synthesis-figure3",
        title="Synthesis from mean and covariance: Renyi divergence against the order",
        source="Miura et al. 2023, Figure 3",
        parameters={
            "d": dimension,
            "sigma": float(min_eigenvalue),
            "outputs": "n",
        },
        notes=(
            "Published: Theorem 3.1 (unbounded, a record added or removed) and Corollary 3.2 "
            "(bounded, a record replaced), within the orders that they cover.",
            "Upper: the smallest sound bound. Lower: a pair of neighbours whose covariances "
            "satisfy the condition on eigenvalues.",
            "A curve ends where its bound becomes infinite.",
        ),
        panels=tuple(
            Panel(
                name=name,
                title=f"{name} neighbours ({adjacency.value.replace('_', ' ')})",
                x_label="order \N{GREEK SMALL LETTER ALPHA}",
                y_label="Renyi divergence \N{GREEK SMALL LETTER EPSILON} of n outputs (nats)",
                x_logarithmic=True,
                y_logarithmic=True,
                curves=tuple(
                    Curve(label=_label(n), parameters={"n": n}, points=found[adjacency, n])
                    for n in sizes
                ),
            )
            for adjacency, (name, _, _) in _THEOREMS.items()
        ),
    )


def _event(n: int, dimension: int, min_eigenvalue: float) -> rdpkit.GaussianSynthesis:
    return rdpkit.GaussianSynthesis(
        records=n, outputs=n, dimension=dimension, min_eigenvalue=min_eigenvalue
    )


def _label(n: int) -> str:
    power = round(math.log10(n))
    if n != 10**power:
        return f"n = {n}"
    digits = str(power).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"n = 10{digits}"


def _published(event: rdpkit.GaussianSynthesis, adjacency: Adjacency, order: float) -> float:
    theorem = _THEOREMS[adjacency][1]
    return published_rdp(event, order=order, adjacency=adjacency, bound=theorem)


def _upper(event: rdpkit.GaussianSynthesis, adjacency: Adjacency, order: float) -> float:
    # A certified number would differ by less than the width of a line.
    one = rdpkit.gaussian_synthesis_rdp(
        [order],
        n=event.records,
        d=event.dimension,
        min_eigenvalue=event.min_eigenvalue,
        adjacency=adjacency,
    )
    return event.outputs * float(one[0])


def _tasks(
    event: rdpkit.GaussianSynthesis, adjacency: Adjacency, places: Sequence[float]
) -> list[Task]:
    ends = {
        rounded(1.0 + _UP_TO * (end - 1.0))
        for bound in (_published, _upper)
        if (end := _end(functools.partial(bound, event, adjacency), places)) is not None
    }
    orders = sorted({*places, *(order for order in ends if order > places[0])})
    return [functools.partial(_point, event, adjacency, order) for order in orders]


def _end(bound: functools.partial[float], places: Sequence[float]) -> float | None:
    """The first order without a finite bound, by bisection; None if all bounds are finite."""
    low, high = 1.0, places[-1]
    if math.isfinite(bound(high)):
        return None
    for _ in range(40):
        middle = (low + high) / 2.0
        if middle <= 1.0 or math.isfinite(bound(middle)):
            low = middle
        else:
            high = middle
    return low


def _point(event: rdpkit.GaussianSynthesis, adjacency: Adjacency, order: float) -> Point:
    published = _published(event, adjacency, order)
    try:
        lower = event.outputs * attained_pair(event, order, adjacency).divergence
    except ValueError:  # too few records for data sets of the pair's form
        lower = None
    return Point(
        x=order,
        published=published if math.isfinite(published) else None,
        upper=_upper(event, adjacency, order),
        lower=lower,
    )
