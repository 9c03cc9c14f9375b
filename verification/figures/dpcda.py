"""DP-CDA, Figure 3: the privacy budget against the noise, for several orders of mixture."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

import rdpkit
from rdpkit import _validate
from rdpkit.events.losses import NoLossDistributionError
from rdpkit.verification.figures.model import (
    Curve,
    Figure,
    Panel,
    Point,
    Track,
    checked_curves,
    checked_limits,
    checked_points,
    checked_releases,
    computed,
    rounded,
)

CLASSES = 10
CLASS_SIZE = 6000
ADJACENCY = "replace_one"

# A budget above this promises nothing, and its lower bound would take seconds a point.
LOWER_UP_TO = 20.0
_Y_HIGHEST = 1000.0


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

    Parameters
    ----------
    orders_of_mixture : sequence of int
        l of the paper, one panel each.
    releases : int
        T of the paper: synthetic records of all ten classes together; a multiple of ten.
    delta : float
        In (0, 1).
    clip_norm : float
        c of the paper.
    points : int
        Points on each curve, at least 2.
    noise : pair of float
        The smallest and the largest sigma_x = sigma_y.
    track : callable
        Shows progress.

    Raises
    ------
    ValueError
        If a parameter is outside of its range.
    """
    orders = checked_curves("orders_of_mixture", orders_of_mixture)
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

    # All events are built first, so that a wrong parameter is reported before the work begins.
    tasks = [
        [functools.partial(_point, event(order, sigma), target) for sigma in places]
        for order in orders
    ]
    found = computed(tasks, track)
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
        notes=(
            "T, delta and c are not printed in the paper and are chosen here.",
            "Published: Theorem 1 with p = l/N at orders 3 and 4, the only ones at which it is "
            "defined as printed.",
            "Upper and lower: the best sound bound and a pair of neighbours, for features scaled "
            "with public constants and samples drawn within a class, as Algorithm 1 draws them.",
            f"No lower bound is computed where the upper one is above {LOWER_UP_TO:g}.",
            "Where the published curve is below the lower one, it is refuted.",
        ),
        panels=tuple(
            Panel(
                name=f"l={order}",
                title=f"order of mixture l = {order}",
                x_label="noise \N{GREEK SMALL LETTER SIGMA}x = \N{GREEK SMALL LETTER SIGMA}y "
                "(standard deviation, in units of the features)",
                y_label="privacy budget \N{GREEK SMALL LETTER EPSILON} (nats)",
                x_logarithmic=True,
                y_logarithmic=True,
                y_highest=_Y_HIGHEST,
                curves=(Curve(label=f"l = {order}", parameters={"l": order}, points=curve_points),),
            )
            for order, curve_points in zip(orders, found, strict=True)
        ),
    )


def _point(event: rdpkit.DPCDA, delta: float) -> Point:
    # Certified numbers would differ by less than the width of a line, and take longer.
    ask = functools.partial(rdpkit.epsilon, event, delta=delta, adjacency=ADJACENCY, certify=False)
    upper = ask(bound="best").epsilon
    lower = None
    if upper <= LOWER_UP_TO:
        try:
            lower = ask(bound="pair-lower").epsilon
        except NoLossDistributionError:
            lower = None
    return Point(
        x=event.feature_noise,
        published=ask(bound="dpcda-theorem1").epsilon,
        upper=upper,
        lower=lower,
    )
