"""Questions about one event: rdpkit epsilon, delta and tradeoff."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rdpkit import _validate, analysis
from rdpkit.bounds.base import Kind
from rdpkit.cli.event_commands import (
    about_one_event,
    adjacency_option,
    bound_option,
    claimed_epsilon_option,
    conversion_option,
    delta_option,
    event_of,
)
from rdpkit.cli.option_types import FILE, NUMBER, list_of
from rdpkit.cli.output import OUT_OF_REACH, answer_options, asked_format, print_answer
from rdpkit.formats.columns import as_csv, as_tex
from rdpkit.formats.numbers import as_given
from rdpkit.formats.screen import aligned, entry
from rdpkit.formats.text import guarantee_rows, in_columns, printable, rounded_down, rounded_up
from rdpkit.guarantee import Guarantee
from rdpkit.tradeoffs.curve import RATES, SMALLEST_DELTA, TradeoffCurve
from rdpkit.tradeoffs.curve import tradeoff as curve_of
from rdpkit.tradeoffs.gaussian import GaussianDP, gdp_of_curve

if TYPE_CHECKING:
    from rdpkit.pairs.claim_check import ClaimCheck


def claim_lines(claim: ClaimCheck) -> list[str]:
    """The verdict, and the reasons below it, each of them wrapped."""
    reasons = [("because", text) for text in claim.refutation]
    notes = [("note", text) for text in claim.notes]
    rows = [("claim", str(claim)), *reasons, *notes]
    return [line for name, text in rows for line in entry(name, printable(text), 11)]


_BOUND = (
    "The theorem to use, by the id that 'rdpkit epsilon EVENT --bound all' shows. best: the one "
    "with the smallest proven upper bound."
)

_lower_option = click.option(
    "--lower",
    is_flag=True,
    help="Also what an explicit pair of neighbouring data sets attains: no bound can be "
    "smaller; it takes about a quarter longer.",
)


@about_one_event("--epsilon 1")
@adjacency_option
@click.option(
    "--epsilon",
    type=NUMBER,
    required=True,
    help="The privacy loss, in nats, at least 0, for example 1.0.",
)
@bound_option(_BOUND)
@conversion_option()
@_lower_option
@answer_options("text", "json")
def delta(source: str, given: dict[str, Any], *, adjacency: str, **values: Any) -> None:
    """The delta of an event at a given epsilon.

    EVENT is a mechanism, or a TOML file that describes one.
    """
    found = analysis.delta(event_of(source, given, adjacency), adjacency=adjacency, **values)
    print_answer(found.as_dict(), in_columns(guarantee_rows(found)))


_ALL = "all"


@about_one_event("--delta 1e-5")
@adjacency_option
@delta_option()
@bound_option(f"{_BOUND} all: every one that applies, in one table.", more=(_ALL,))
@conversion_option()
@_lower_option
@claimed_epsilon_option
@answer_options("text", "json", "csv", "tex")
def epsilon(
    source: str,
    given: dict[str, Any],
    *,
    adjacency: str,
    delta: float,
    bound: str,
    claimed_epsilon: str | None,
    **values: Any,
) -> None:
    """The privacy loss epsilon of an event at a given delta, by one bound or all.

    EVENT is a mechanism, or a TOML file that describes one.
    """
    event = event_of(source, given, adjacency)
    if bound != _ALL:
        how = {"bound": bound, **values}
        try:
            found = [analysis.epsilon(event, delta=delta, adjacency=adjacency, **how)]
        except analysis.NoSuchBoundError as error:
            raise _validate.no_such("bound", bound, (*error.names, _ALL)) from None
    elif values["conversion"] or values["lower"]:
        raise ValueError("Expected no --conversion and no --lower with --bound all.")
    else:
        found = list(analysis.compare(event, delta=delta, adjacency=adjacency))
    claim = None
    if claimed_epsilon is not None:
        # Imported here because most questions are about no claim.
        from rdpkit.pairs.claim_check import check, claimed_number  # noqa: PLC0415

        number = claimed_number("--claimed-epsilon", claimed_epsilon)
        claim = check(event, epsilon=number, delta=delta, adjacency=adjacency)
    tables = [one.as_dict() for one in found]
    table: dict[str, Any] = {"bounds": tables} if bound == _ALL else tables[0]
    lines = _table_lines(found) if bound == _ALL else in_columns(guarantee_rows(found[0]))
    rows = list(map(_row, found))
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    if claim is not None:
        table, lines = {**table, "claim": claim.as_dict()}, [*lines, "", *claim_lines(claim)]
    print_answer(
        table, lines, csv=partial(as_csv, columns), tex=partial(as_tex, columns, "llrrlrll")
    )
    if claim is not None and asked_format() in ("csv", "tex"):
        click.echo("\n".join(claim_lines(claim)), err=True)
    if claim is not None and claim.soundness == "refuted":
        click.get_current_context().exit(OUT_OF_REACH)


def _row(g: Guarantee) -> dict[str, str]:
    """A bound in a table that stands alone: its delta, relation and assumptions are beside it."""
    return {
        "bound": g.bound,
        "kind": g.kind.value,
        "epsilon": (rounded_down if g.kind is Kind.LOWER else rounded_up)(g.epsilon),
        "delta": as_given(g.delta),
        "adjacency": g.adjacency.dashed,
        "order": "" if g.order is None else f"{g.order:.5g}",
        "conversion": g.conversion or "",
        "assumes": "; ".join(g.assumptions),
    }


_ON_A_SCREEN = ("bound", "kind", "epsilon", "order", "conversion")


def _table_lines(found: Sequence[Guarantee]) -> list[str]:
    about = f"epsilon at delta = {as_given(found[0].delta)}, {found[0].adjacency.dashed}"
    rows = [[row[name] for name in _ON_A_SCREEN] for row in map(_row, found)]
    table = aligned(_ON_A_SCREEN, rows, left=("bound", "kind", "conversion"))
    infinite = [g for g in found if g.kind is Kind.UPPER and math.isinf(g.epsilon)]
    texts = dict.fromkeys([
        *(("assumes", text) for g in found for text in g.assumptions),
        *(("note", text) for g in infinite for text in g.notes),
    ])  # fmt: skip
    below = [line for name, text in texts for line in ("", *entry(name, text, 9))]
    return [about, "", *table, *below]


_DRAWN = (".svg", ".png", ".pdf")
_RATES = ",".join(f"{rate:g}" for rate in RATES)


@about_one_event()
@adjacency_option
@click.option(
    "--fpr",
    type=list_of(float),
    help=f"False positive rates in [0, 1], for example 0.01,0.1.  [default: {_RATES}]",
)
@click.option(
    "--smallest-delta",
    type=NUMBER,
    help="The smallest delta for which the answer is to hold, in (0, 1).  "
    f"[default: {SMALLEST_DELTA:g}, less for the mu of events that leak very little]",
)
@click.option(
    "--plot",
    type=FILE,
    metavar="FILE",
    help="Draw the curve to this file, SVG, PNG or PDF by its suffix, as -o does with "
    "such a name. Needs matplotlib.",
)
@answer_options("text", "json", "csv", "tex", others=dict.fromkeys(_DRAWN, "plot"))
def tradeoff(
    source: str,
    given: dict[str, Any],
    *,
    adjacency: str,
    fpr: list[float] | None,
    smallest_delta: float | None,
    plot: Path | None,
) -> None:
    """What any attack on one record achieves at most.

    These are true positive rates at false positive rates, the advantage, and the smallest mu of
    Gaussian differential privacy that is proven. EVENT is a mechanism, or a TOML file that
    describes one.
    """
    if plot is not None and plot.suffix.lower() not in _DRAWN:
        raise ValueError(f"Expected --plot to end in .svg, .png or .pdf, got {str(plot)!r}.")
    event = event_of(source, given, adjacency)
    smallest = SMALLEST_DELTA if smallest_delta is None else smallest_delta
    found = curve_of(event, adjacency=adjacency, smallest_delta=smallest)
    mu = gdp_of_curve(event, found, closer=smallest_delta is None)
    table = {**found.as_dict(RATES if fpr is None else fpr), "gdp": mu.as_dict()}
    if plot is not None:
        from rdpkit.tradeoffs.drawing import save  # noqa: PLC0415 - it needs an optional library

        save(found, plot)
    print_answer(
        table,
        _curve_lines(found, table, mu),
        csv=lambda: as_csv(_columns(table, repr, repr)),
        tex=lambda: as_tex(_columns(table, rounded_down, rounded_up), "rrrrr"),
    )


def _columns(
    table: dict[str, Any], down: Callable[[float], str], up: Callable[[float], str]
) -> dict[str, list[str]]:
    """The curve as columns of texts; attained rates and proven ones are rounded to their sides."""
    found: dict[str, list[str]] = {
        name: [] for name in ("fpr", "tpr_attained", "tpr_proven", "fnr_proven", "fnr_attained")
    }
    for row in table["curve"]:
        (low, high), (least, most) = row["tpr"], row["fnr"]
        cells = (f"{row['fpr']!r}", down(low), up(high), down(least), up(most))
        for name, cell in zip(found, cells, strict=True):
            found[name].append(cell)
    return found


def _curve_lines(found: TradeoffCurve, table: dict[str, Any], mu: GaussianDP) -> list[str]:
    low, high = table["advantage"]
    rows = [("FPR", "TPR attained", "TPR at most")]
    for row in table["curve"]:
        attained, proven = row["tpr"]
        rows.append((f"{row['fpr']:g}", rounded_down(attained), rounded_up(proven)))
    return [
        *(f"{rate:<10} {attained:<13} {proven}" for rate, attained, proven in rows),
        "",
        f"advantage   {rounded_up(high)} at most, {rounded_down(low)} attained",
        *_mu_lines(mu),
        f"adjacency   {found.adjacency.dashed}",
        *(f"assumes     {text}" for text in found.assumptions),
        "note        FPR: how often an attack accuses somebody who was not in the data; TPR: how "
        "often it finds somebody who was.",
        *(f"note        {text}" for text in mu.notes),
    ]


def _mu_lines(found: GaussianDP) -> list[str]:
    everywhere = "no mu is known to hold for every delta"
    if math.isfinite(found.everywhere):
        everywhere = f"mu = {rounded_up(found.everywhere)} holds for every delta"
    return [
        f"mu          {rounded_up(found.mu)} at most for Gaussian DP, for delta >= "
        f"{found.smallest_delta:g} and epsilon up to {rounded_up(found.largest_epsilon)}; a pair "
        f"of data sets refutes every mu below {rounded_down(found.lower)}",
        f"regret      {rounded_up(found.regret.upper)} at most",
        f"everywhere  {everywhere}",
    ]
