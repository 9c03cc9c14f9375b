"""A figure as plain data: panels of curves, each with a published, an upper and a lower number."""

from __future__ import annotations

import contextlib
import csv
import functools
import io
import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import rdpkit
from rdpkit import Event, _validate
from rdpkit.events.losses import NoLossDistributionError
from rdpkit.formats.records import as_plain
from rdpkit.formats.text import rounded_up

Number = float | None
"""None where there is no number: outside of a theorem's range, or not computed."""

Parameter = int | float | str

Task = Callable[[], "Point"]
Track = Callable[[Sequence[Task]], Iterator[Task]]
"""Returns the tasks one by one, and may show how many are done."""

BUDGET = "privacy budget \N{GREEK SMALL LETTER EPSILON} (nats)"
"""The label of an axis of epsilons."""

MOST_POINTS = 1000
MOST_CURVES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Three numbers at one place on the axis; inf where no finite number is a bound."""

    x: float
    published: Number
    upper: Number
    lower: Number

    @property
    def refuted(self) -> bool:
        """Whether two neighbouring data sets leak more than was published."""
        return self.published is not None and self.lower is not None and self.published < self.lower


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Points from left to right, and the parameters that tell this curve from the others."""

    label: str
    parameters: Mapping[str, Parameter]
    points: tuple[Point, ...]

    def column(self, name: str) -> list[float]:
        """One of x, published, upper and lower, with NaN where there is no finite number."""
        values = [getattr(point, name) for point in self.points]
        return [v if v is not None and math.isfinite(v) else math.nan for v in values]


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Axes and the curves on them."""

    name: str
    title: str
    x_label: str
    y_label: str
    x_logarithmic: bool
    y_logarithmic: bool
    curves: tuple[Curve, ...]
    y_highest: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure: its panels, and the words around them."""

    id: str  # What the command line calls it
    # What it shows, and where it was published.
    title: str
    source: str
    parameters: Mapping[str, Parameter]
    """What is the same everywhere, whether the paper prints it or leaves it open."""
    notes: tuple[str, ...]  # How each of the three numbers was computed, and remarks
    panels: tuple[Panel, ...]  # From left to right

    def caption(self) -> tuple[str, ...]:
        """The lines printed below the drawing and on the terminal."""
        fixed = ", ".join(
            f"{name.replace('_', ' ')} = {f'{value:g}' if isinstance(value, float) else value}"
            for name, value in self.parameters.items()
        )
        return (f"Fixed: {fixed}.", *self.notes, *self._gaps())

    def _gaps(self) -> tuple[str, ...]:
        gaps = [
            100.0 * (point.upper - point.lower) / point.lower
            for panel in self.panels
            for curve in panel.curves
            for point in curve.points
            if point.upper is not None and point.lower is not None
            if point.lower > 0.0 and point.upper < math.inf
        ]
        if not gaps:
            return ()
        widest, middle = (rounded_up(gap, digits=2) for gap in (max(gaps), statistics.median(gaps)))
        return (
            f"Upper and lower are at most {widest} % apart where both are finite "
            f"(median {middle} %).",
        )

    def refuted(self) -> list[tuple[Panel, Curve, Point]]:
        """Every point at which the published number is refuted."""
        return [
            (panel, curve, point)
            for panel in self.panels
            for curve in panel.curves
            for point in curve.points
            if point.refuted
        ]

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON: infinity is the text "inf", and null stands for no number."""
        return {
            "figure": self.id,
            "title": self.title,
            "source": self.source,
            "parameters": dict(self.parameters),
            "notes": list(self.notes),
            "panels": [
                {
                    "panel": panel.name,
                    "x": panel.x_label,
                    "y": panel.y_label,
                    "curves": [
                        {
                            "parameters": dict(curve.parameters),
                            "points": as_plain(curve.points),
                        }
                        for curve in panel.curves
                    ],
                }
                for panel in self.panels
            ],
        }

    def as_csv(self) -> str:
        """One row for each point; a cell is empty where there is no number."""
        names = dict.fromkeys(
            name for p in self.panels for curve in p.curves for name in curve.parameters
        )
        fixed = [name for name in self.parameters if name not in names]
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["panel", *names, *fixed, "x", "published", "upper", "lower"])
        for panel in self.panels:
            for curve in panel.curves:
                series = [curve.parameters.get(name, "") for name in names]
                same = [self.parameters[name] for name in fixed]
                for point in curve.points:
                    numbers = (point.x, point.published, point.upper, point.lower)
                    shown = ["" if number is None else repr(number) for number in numbers]
                    writer.writerow([panel.name, *series, *same, *shown])
        return text.getvalue()


def computed(tasks: Sequence[Sequence[Task]], track: Track) -> list[tuple[Point, ...]]:
    """The points of several curves, curve by curve."""
    points = iter([task() for task in track([task for curve in tasks for task in curve])])
    return [tuple(next(points) for _ in curve) for curve in tasks]


def budget_point(
    event: Event,  # What is released
    *,
    x: float,  # Its place on the axis
    delta: float,  # In (0, 1)
    adjacency: str,  # The neighbouring relation
    published: str,  # The id of the published bound
    lower_up_to: float = math.inf,  # No lower bound is computed where the upper one is above this
) -> Point:
    """The published, the upper and the lower epsilon of an event."""
    # Certified numbers would differ by less than the width of a line, and take longer.
    ask = functools.partial(rdpkit.epsilon, event, delta=delta, adjacency=adjacency, certify=False)
    upper = ask(bound="best").epsilon
    lower = None
    if upper <= lower_up_to:
        with contextlib.suppress(NoLossDistributionError):
            lower = ask(bound="pair-lower").epsilon
    return Point(x=x, published=ask(bound=published).epsilon, upper=upper, lower=lower)


def checked_points(value: int) -> int:
    """How many points a curve has."""
    return _validate.integer("points", value, minimum=2, maximum=MOST_POINTS)


def checked_releases(value: int, *, classes: int) -> int:
    """How many synthetic records there are, if each class has the same number of them."""
    total = _validate.integer("releases", value, minimum=classes)
    if total % classes:
        raise _validate.fail("releases", f"to be a multiple of {classes} (classes)", value)
    return total


def checked_limits(name: str, limits: Sequence[float]) -> tuple[float, float]:
    """Two positive numbers, the smaller one first."""
    low, high = (_validate.positive(name, value) for value in limits)
    if not low < high:
        raise _validate.fail(name, "to be two numbers, LOW < HIGH", (low, high))
    return low, high


def checked_integers(
    name: str, values: Sequence[int], *, minimum: int = 1, most: int = MOST_CURVES
) -> tuple[int, ...]:
    """Different integers, at most ``most`` of them; by default as many as there may be curves."""
    found = _validate.integers(name, values, minimum=minimum)
    if len(set(found)) < len(found) or len(found) > most:
        raise _validate.fail(name, f"to be at most {most} different integers", values)
    return found


def rounded(value: float) -> float:
    """A place on an axis with six digits, which are easy to read and to type."""
    return float(f"{value:.6g}")
