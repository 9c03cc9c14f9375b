"""DP-CDA, Figure 3: the privacy budget against the noise, for several orders of mixture."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

import rdpkit
from paper_figures.model import (
    BUDGET,
    Curve,
    Figure,
    Panel,
    Point,
    Task,
    Track,
    budget_point,
    checked_integers,
    checked_limits,
    checked_points,
    checked_releases,
    computed,
    rounded,
)
from rdpkit import _validate

CLASSES = 10
CLASS_SIZE = 6000
ADJACENCY = "replace_one"

# A budget above this promises nothing, and its lower bound would take seconds a point.
LOWER_UP_TO = 20.0
_Y_HIGHEST = 1000.0

_NOTES = (
    "T, delta and c are not printed in the paper and are chosen here.",
    "Published: Theorem 1 with p = l/N at orders 3 and 4, the only ones at which it is "
    "defined as printed.",
    "Upper and lower: the best sound bound and a pair of neighbours, for features scaled "
    "with public constants and samples drawn within a class, as Algorithm 1 draws them.",
    f"No lower bound is computed where the upper one is above {LOWER_UP_TO:g}.",
    "Where the published curve is below the lower one, it is refuted.",
)


def figure(
    *,
    orders_of_mixture: Sequence[int],
    releases: int,
    delta: float,
    clip_norm: float,
    points: int,
    noise: Sequence[float],
    track: Track,
) -> Figure:
    """Figure 3 of DP-CDA, with the bounds that hold beside the published one.

    The parameters are described in :mod:`paper_figures.catalogue`;
    ``track`` shows progress.
    """
    orders = checked_integers("orders_of_mixture", orders_of_mixture)
    total = checked_releases(releases, classes=CLASSES)
    target = _validate.open_probability("delta", delta)
    low, high = checked_limits("noise", noise)
    places = [rounded(x) for x in np.geomspace(low, high, checked_points(points))]

    def event(order_of_mixture: int, sigma: float) -> rdpkit.DPCDA:
        return rdpkit.DPCDA(
            class_sizes=(CLASS_SIZE,) * CLASSES,
            samples_per_class=total // CLASSES,
            order_of_mixture=order_of_mixture,
            clip_norm=clip_norm,
            feature_noise=sigma,
            label_noise=sigma,
        )

    def task(order_of_mixture: int, sigma: float) -> Task:
        return functools.partial(
            budget_point,
            event(order_of_mixture, sigma),
            x=sigma,
            delta=target,
            adjacency=ADJACENCY,
            published="dpcda-theorem1",
            lower_up_to=LOWER_UP_TO,
        )

    # All events are built first, so that a wrong parameter is reported before the work begins.
    found = computed([[task(order, sigma) for sigma in places] for order in orders], track)
    return Figure(
        id="dpcda-figure3",
        title="DP-CDA: privacy budget against noise",
        source="DP-CDA (Saha, Tonoy and Imtiaz), Figure 3",
        parameters={
            "N": CLASSES * CLASS_SIZE,
            "classes": CLASSES,
            "T": total,
            "delta": target,
            "c": float(clip_norm),
            "adjacency": ADJACENCY,
        },
        notes=_NOTES,
        panels=tuple(
            _panel(order, curve_points) for order, curve_points in zip(orders, found, strict=True)
        ),
    )


def _panel(order: int, points: tuple[Point, ...]) -> Panel:
    return Panel(
        name=f"l={order}",
        title=f"order of mixture l = {order}",
        x_label="noise \N{GREEK SMALL LETTER SIGMA}x = \N{GREEK SMALL LETTER SIGMA}y "
        "(standard deviation, in units of the features)",
        y_label=BUDGET,
        x_logarithmic=True,
        y_logarithmic=True,
        y_highest=_Y_HIGHEST,
        curves=(Curve(label=f"l = {order}", parameters={"l": order}, points=points),),
    )
