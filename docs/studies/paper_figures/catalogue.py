"""The figures that can be drawn: their names and parameters, without the code that computes them.

Nothing heavy is imported here, so that ``figures.py --help`` answers at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from paper_figures.model import Figure, Track

Kind = Literal["integer", "number", "integers", "numbers", "range"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureParameter:
    """A parameter that a paper leaves open, or that sets the axes."""

    name: str  # The argument of the figure's function, and with dashes the option
    kind: Kind
    """A value, a list of values separated by commas, or two numbers; one of {"integer", "number",
    "integers", "numbers", "range"}.
    """
    default: Any  # Its value unless another is given; if it is None, ``meaning`` says what happens
    meaning: str  # What it is, with the paper's symbol


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureEntry:
    """A figure that can be drawn."""

    id: str  # Its name on the command line
    module: str  # The module of this package whose function ``figure`` computes it
    summary: str  # One line about it
    parameters: tuple[FigureParameter, ...]  # What may be chosen
    points: int  # How many points it has with the defaults
    seconds: float  # How long one point takes, about, on one core that does nothing else

    def compute(
        self,
        *,
        track: Track | None = None,  # Returns the tasks one by one, and may show progress
        **given: Any,  # Parameters by their names
    ) -> Figure:
        """The figure as data, with defaults for parameters that are not given."""
        module = import_module(f"paper_figures.{self.module}")
        values = {parameter.name: parameter.default for parameter in self.parameters} | given
        figure: Figure = module.figure(**values, track=track or iter)
        return figure


def _parameter(name: str, kind: Kind, default: Any, meaning: str) -> FigureParameter:
    return FigureParameter(name=name, kind=kind, default=default, meaning=meaning)


_DELTA = _parameter("delta", "number", 1e-5, "In (0, 1).")
_CLIP_NORM = _parameter("clip_norm", "number", 1.0, "c of the paper.")
_RELEASES = _parameter(
    "releases", "integer", 10000, "T: synthetic records of all ten classes; a multiple of ten."
)


def _points(default: int | None, more: str = "") -> FigureParameter:
    return _parameter("points", "integer", default, f"Points on each curve, at least 2.{more}")


_ENTRIES = (
    FigureEntry(
        id="dpcda-figure3",
        module="dpcda",
        summary="DP-CDA, Figure 3: budget against noise for each order of mixture.",
        parameters=(
            _parameter("orders_of_mixture", "integers", (4, 16, 64, 256), "l, a panel each."),
            _RELEASES,
            _DELTA,
            _CLIP_NORM,
            _points(10),
            _parameter("noise", "range", (0.01, 0.5), "The ends of the axis of sigma_x = sigma_y."),
        ),
        points=40,
        seconds=0.28,
    ),
    FigureEntry(
        id="dpcda-order-of-mixture",
        module="dpcda_mixture",
        summary="DP-CDA's open question: noise and noise-to-signal ratio against the order of "
        "mixture.",
        parameters=(
            _parameter("epsilons", "numbers", (1.0, 10.0), "The budgets, a curve each."),
            _parameter(
                "orders_of_mixture", "integers", tuple(2**k for k in range(13)), "l of the paper."
            ),
            _RELEASES,
            _DELTA,
            _CLIP_NORM,
        ),
        points=26,
        seconds=1.0,
    ),
    FigureEntry(
        id="ndpdc-figure1",
        module="ndpdc",
        summary="Dataset condensation, Figure 1: budgets of NDPDC against sigma, L and I.",
        parameters=(
            _parameter("noise_std", "number", 1.0, "sigma of the paper."),
            _parameter("group_size", "number", 50.0, "L of the paper."),
            _parameter("iterations", "integer", 10000, "I of the paper."),
            _DELTA,
            _points(None, "  [default: the paper's values and some between]"),
        ),
        points=81,
        seconds=0.11,
    ),
    FigureEntry(
        id="synthesis-figure3",
        module="synthesis",
        summary="Synthesis from mean and covariance, Figure 3: divergence against the order.",
        parameters=(
            _parameter(
                "records",
                "integers",
                (10**4, 10**5, 10**6, 10**7),
                "n of the paper, one curve each; as many records are synthesized.",
            ),
            _parameter("dimension", "integer", 6, "d of the paper."),
            _parameter("min_eigenvalue", "number", 0.01, "sigma of the paper."),
            _parameter("orders", "range", (1.1, 30.0), "The ends of the axis of orders."),
            _points(41, " Two more are added where a curve ends."),
        ),
        points=333,
        seconds=0.004,
    ),
)

FIGURES: Mapping[str, FigureEntry] = MappingProxyType({entry.id: entry for entry in _ENTRIES})
"""All figures by their names."""
