"""Dataset condensation, Figure 1: the budgets of NDPDC against sigma, L and I."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping

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
    checked_points,
    computed,
    rounded,
)
from rdpkit import _validate

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
_SYMBOLS = {"noise_std": "\N{GREEK SMALL LETTER SIGMA}", "group_size": "L", "iterations": "I"}


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

    The parameters are described in :mod:`paper_figures.catalogue`;
    ``track`` shows progress.
    """
    target = _validate.open_probability("delta", delta)
    fixed = {
        "noise_std": _validate.positive("noise_std", noise_std),
        "group_size": _validate.positive("group_size", group_size),
        "iterations": _validate.integer("iterations", iterations),
    }
    tasks = [
        _tasks(name, size, fixed, points=points, delta=target)
        for name in _RANGES
        for size in SMALLEST_CLASS.values()
    ]
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
        panels=tuple(_panel(name, fixed, found) for name in _RANGES),
    )


def _tasks(
    name: str, size: int, fixed: Mapping[str, float], *, points: int | None, delta: float
) -> list[Task]:
    """The points of one curve, along the parameter with this name."""
    low, high, usual = _RANGES[name]
    count = usual if points is None else checked_points(points)
    places = [rounded(x) for x in np.linspace(low, high, count)]
    if name == "iterations":
        places = [float(round(x)) for x in places]
    return [
        functools.partial(
            budget_point,
            _event(size, {**fixed, name: x}),
            x=x,
            delta=delta,
            adjacency=ADJACENCY,
            published="ndpdc-thm3.2",
        )
        for x in places
    ]


def _panel(name: str, fixed: Mapping[str, float], found: Iterator[tuple[Point, ...]]) -> Panel:
    # The panel's own parameter is on the axis.
    others = {key: value for key, value in fixed.items() if key != name}
    return Panel(
        name=name,
        title=", ".join(f"{_SYMBOLS[key]} = {value:g}" for key, value in others.items()),
        x_label=_LABELS[name],
        y_label=BUDGET,
        x_logarithmic=False,
        y_logarithmic=False,
        curves=tuple(
            Curve(
                label=data_set,
                parameters={"data_set": data_set, "smallest_class": size, **others},
                points=next(found),
            )
            for data_set, size in SMALLEST_CLASS.items()
        ),
    )


def _event(size: int, parameters: Mapping[str, float]) -> rdpkit.NDPDC:
    return rdpkit.NDPDC(
        class_sizes=(size,),
        group_size=parameters["group_size"],
        iterations=int(parameters["iterations"]),
        noise_std=parameters["noise_std"],
        clip_norm=CLIP_NORM,
    )
