"""A trade-off curve from both sides, drawn with matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from flint import arb, ctx
from matplotlib.figure import Figure

from rdpkit.accountants.profiles import BITS
from rdpkit.formats.files import whole_file
from rdpkit.formats.text import rounded_up
from rdpkit.numerics.balls import upper_tail
from rdpkit.numerics.gaussian_profile import tail_quantile
from rdpkit.tradeoffs.chords import smallest_mu

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rdpkit.tradeoffs.curve import TradeoffCurve

# The colours of Okabe and Ito, which colour-blind readers can tell apart.
_PROVEN, _ATTAINED, _GAUSSIAN, _GUESS = "#0072B2", "#D55E00", "#009E73", "#777777"
_POINTS = 160  # Of a curve
_SIZE = (5.5, 4.5)


def draw(curve: TradeoffCurve, axes: Axes | None, *, logarithmic: bool) -> Axes:
    """Draw a curve; see :meth:`rdpkit.TradeoffCurve.plot`."""
    if axes is None:
        _, axes = plt.subplots(figsize=_SIZE, layout="constrained")
    rates = _rates(logarithmic)
    found = [curve.tpr(rate) for rate in rates.tolist()]
    low, high = np.array([one.lower for one in found]), np.array([one.upper for one in found])
    if curve.attained or curve.gaussian is not None:
        style = {"color": _ATTAINED, "ls": "--", "zorder": 3}
        _line(axes, rates, low, logarithmic, **style, label="an attack attains")
    _line(axes, rates, high, logarithmic, color=_PROVEN, label="proven for every attack")
    mu = _mu(curve)
    if mu is not None:
        _line(
            axes,
            rates,
            _gaussian(rates, mu),
            logarithmic,
            color=_GAUSSIAN,
            ls=":",
            label=f"Gaussian, mu = {rounded_up(mu)}",
        )
    _line(axes, rates, rates, logarithmic, color=_GUESS, lw=1.0, label="guessing")
    axes.set_xlabel("false positive rate")
    axes.set_ylabel("true positive rate" if logarithmic else "false negative rate")
    if logarithmic:
        axes.set_xscale("log")
        axes.set_yscale("log")
    axes.set_xlim(rates[0], 1.0)
    axes.set_ylim(rates[0] if logarithmic else 0.0, 1.0)
    axes.set_title("What an attack on one record achieves", fontsize=11)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    return axes


def save(
    curve: TradeoffCurve,
    path: Path,  # The file; it is written whole or not at all
) -> None:
    """Draw a curve to a file, PNG, SVG or PDF by its suffix, the same each time."""
    kind = path.suffix.lower().removeprefix(".")
    with mpl.rc_context({"svg.hashsalt": "rdpkit", "svg.fonttype": "none"}):
        figure = Figure(figsize=_SIZE, layout="constrained")
        draw(curve, figure.subplots(), logarithmic=False)
        with whole_file(path) as temporary:
            metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
            figure.savefig(temporary, format=kind, metadata=metadata, dpi=150)


def _rates(logarithmic: bool) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    if logarithmic:
        return np.geomspace(1e-6, 1.0, _POINTS)
    return np.linspace(0.0, 1.0, _POINTS)


def _line(axes: Axes, rates: Any, tpr: Any, logarithmic: bool, **style: Any) -> None:
    axes.plot(rates, tpr if logarithmic else 1.0 - tpr, **{"lw": 2.0, **style})


def _mu(curve: TradeoffCurve) -> float | None:
    """The mu of the Gaussian curve that is drawn; none where it would lie on the curve itself."""
    if curve.gaussian is not None:
        return None
    mu = smallest_mu(curve.profile)
    return mu if 0.0 < mu < 1e6 else None


def _gaussian(rates: Any, mu: float) -> Any:
    found = []
    with ctx.workprec(BITS):
        for rate in rates.tolist():
            if rate in (0.0, 1.0):
                found.append(rate)
                continue
            quantile = tail_quantile(arb(rate), 1 - arb(rate))
            found.append(float(upper_tail(quantile - mu)))
    return np.array(found)
