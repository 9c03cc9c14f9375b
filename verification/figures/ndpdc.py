"""Dataset condensation, Figure 1: the budgets of NDPDC against sigma, L and I."""

from __future__ import annotations

import functools
from collections.abc import Mapping

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
    checked_points,
    computed,
    rounded,
)

ADJACENCY = "add_or_remove_one"
CLIP_NORM = 1.0

SMALLEST_CLASS: Mapping[str, int] = {"MNIST": 5421, "FMNIST": 6000, "CIFAR10": 5000}
"""Under add-or-remove-one a record affects its own class only, and it is sampled most often in the
smallest class. So the budget of that class is the budget of all."""

# The lowest value, the highest value, and a number of points with the paper's values among them.
_RANGES: Mapping[str, tuple[float, float, int]] = {
    "noise_std": (0.75, 2.0, 11),
    "group_size": (25.0, 100.0, 7),
    "iterations": (2000.0, 10000.0, 9),
}
_LABELS = {
    "noise_std": "noise \N{GREEK SMALL LETTER SIGMA} (standard deviation, in units of G)",
    "group_size": "group size L (records)",
    "iterations": "iterations I",
}


def figure(
    *,
    noise_std: float,
    group_size: float,
    iterations: int,
    delta: float,
    points: int | None,
    track: Track,
) -> Figure:
    """Figure 1 of the paper, with the bounds that hold beside the published one.

    Parameters
    ----------
    noise_std, group_size, iterations
        sigma, L and I of the paper in the two panels in which they are not on the axis.
    delta : float
        In (0, 1).
    points : int or None
        Points on each curve; None for enough to have the paper's values among them.
    track : callable
        Shows progress.

    Raises
    ------
    ValueError
        If a parameter is outside of its range.
    """
    target = _validate.open_probability("delta", delta)
    fixed = {
        "noise_std": _validate.positive("noise_std", noise_std),
        "group_size": _validate.positive("group_size", group_size),
        "iterations": _validate.integer("iterations", iterations),
    }
    tasks = []
    for name, (low, high, usual) in _RANGES.items():
        count = usual if points is None else checked_points(points)
        places = [rounded(x) for x in np.linspace(low, high, count)]
        if name == "iterations":
            places = [float(round(x)) for x in places]
        for size in SMALLEST_CLASS.values():
            tasks.append(
                [
                    functools.partial(_point, _event(size, {**fixed, name: x}), target, x)
                    for x in places
                ]
            )
    found = iter(computed(tasks, track))
    return Figure(
        id="ndpdc-figure1",
        title="NDPDC: privacy budget against noise, group size and iterations",
        source="Differentially private dataset condensation, Figure 1",
        parameters={"delta": target, "G": CLIP_NORM, "adjacency": ADJACENCY},
        notes=(
            f"Where they are not on the axis, \N{GREEK SMALL LETTER SIGMA} = {noise_std:g}, "
            f"L = {group_size:g} and I = {iterations}.",
            "Published: Theorem 3.2 by its paper's conversion over its accountant's grid of "
            "orders.",
            "Upper and lower: a privacy loss distribution from above, and a pair of neighbours.",
            "Smallest classes: "
            + ", ".join(f"{name} {size}" for name, size in SMALLEST_CLASS.items())
            + "; the others leak less.",
        ),
        panels=tuple(
            Panel(
                name=name,
                title=_title(name, fixed),
                x_label=label,
                y_label="privacy budget \N{GREEK SMALL LETTER EPSILON} (nats)",
                x_logarithmic=False,
                y_logarithmic=False,
                curves=tuple(
                    Curve(
                        label=data_set,
                        parameters={
                            "data_set": data_set,
                            "smallest_class": size,
                            # The panel's own parameter is x.
                            **{key: value for key, value in fixed.items() if key != name},
                        },
                        points=next(found),
                    )
                    for data_set, size in SMALLEST_CLASS.items()
                ),
            )
            for name, label in _LABELS.items()
        ),
    )


def _title(name: str, fixed: Mapping[str, float]) -> str:
    symbols = {"noise_std": "\N{GREEK SMALL LETTER SIGMA}", "group_size": "L", "iterations": "I"}
    return ", ".join(f"{symbols[key]} = {value:g}" for key, value in fixed.items() if key != name)


def _event(size: int, parameters: Mapping[str, float]) -> rdpkit.NDPDC:
    return rdpkit.NDPDC(
        class_sizes=(size,),
        group_size=parameters["group_size"],
        iterations=int(parameters["iterations"]),
        noise_std=parameters["noise_std"],
        clip_norm=CLIP_NORM,
    )


def _point(event: rdpkit.NDPDC, delta: float, x: float) -> Point:
    # Certified numbers would differ by less than the width of a line, and take longer.
    ask = functools.partial(rdpkit.epsilon, event, delta=delta, adjacency=ADJACENCY, certify=False)
    try:
        lower = ask(bound="pair-lower").epsilon
    except NoLossDistributionError:
        lower = None
    return Point(
        x=x,
        published=ask(bound="ndpdc-thm3.2").epsilon,
        upper=ask(bound="best").epsilon,
        lower=lower,
    )
