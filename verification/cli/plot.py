"""``rdpkit plot``: a paper's figure again, with what is true beside what was published."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from rdpkit.verification.figures import dpcda, dpcda_mixture, drawing, ndpdc, synthesis
from rdpkit.verification.figures.model import Figure, Task
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from rdpkit.cli.output import BadInput, format_option, one_line_errors
from rdpkit.files import write_whole
from rdpkit.text import as_json, printable, rounded_down, rounded_up


class _Figures(click.Group):
    """The figures, and an error that lists them."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As in click, with an error that lists the figures."""
        if args and self.get_command(ctx, args[0]) is None:
            names = ", ".join(self.list_commands(ctx))
            raise BadInput(f"Expected FIGURE to be one of {names}, got {args[0]!r}.")
        return super().resolve_command(ctx, args)


def _integers(ctx: click.Context, option: click.Parameter, value: str) -> tuple[int, ...]:
    try:
        return tuple(int(item) for item in value.split(","))
    except ValueError:
        raise BadInput(
            f"Expected {option.opts[0]} to be a list of integers like 10,20,30, got {value!r}."
        ) from None


def _numbers(ctx: click.Context, option: click.Parameter, value: str) -> tuple[float, ...]:
    try:
        return tuple(float(item) for item in value.split(","))
    except ValueError:
        raise BadInput(
            f"Expected {option.opts[0]} to be a list of numbers like 1,2.5,10, got {value!r}."
        ) from None


def _listed(values: Sequence[float]) -> str:
    return ",".join(f"{value:g}" for value in values)


def _output_options(function: Callable[..., None]) -> Callable[..., None]:
    """Where a figure goes; every figure has these."""
    options = (
        click.option(
            "--output",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Draw to this file, PNG or SVG by its suffix.  [default: FIGURE.svg; with "
            "--format json nothing is drawn unless asked for]",
        ),
        click.option(
            "--data",
            type=click.Path(path_type=Path),
            metavar="FILE.csv",
            help="Write the data to this file: one row a point.",
        ),
        format_option,
    )
    for option in reversed(options):
        function = option(function)
    return function


@click.group(cls=_Figures, subcommand_metavar="FIGURE [OPTIONS]")
def plot() -> None:
    """Draw a paper's figure again: published, upper and lower curves together.

    Parameters that a paper leaves open are options with defaults, and are printed with the figure.

    Exit status: 0 fine, 2 bad usage or bad input.
    """


@plot.command(dpcda.ID)
@click.option(
    "--orders-of-mixture",
    callback=_integers,
    metavar="N,N,...",
    default=_listed(dpcda.ORDERS_OF_MIXTURE),
    show_default=True,
    help="l of the paper, a panel each.",
)
@click.option(
    "--releases",
    type=int,
    default=dpcda.RELEASES,
    show_default=True,
    help="T: synthetic records of all ten classes; a multiple of ten.",
)
@click.option("--delta", type=float, default=dpcda.DELTA, show_default=True, help="In (0, 1).")
@click.option(
    "--clip-norm", type=float, default=dpcda.CLIP_NORM, show_default=True, help="c of the paper."
)
@click.option("--points", type=int, default=dpcda.POINTS, show_default=True, help="On each curve.")
@click.option(
    "--noise",
    type=float,
    nargs=2,
    metavar="LOW HIGH",
    default=dpcda.NOISE,
    show_default=True,
    help="The ends of the axis of sigma_x = sigma_y.",
)
@_output_options
@one_line_errors
def _dpcda(**options: Any) -> None:
    """DP-CDA, Figure 3: budget against noise for each order of mixture."""
    _make(dpcda.ID, dpcda.figure, **options)


@plot.command(dpcda_mixture.ID)
@click.option(
    "--epsilons",
    callback=_numbers,
    metavar="X,X,...",
    default=_listed(dpcda_mixture.EPSILONS),
    show_default=True,
    help="The budgets, a curve each.",
)
@click.option(
    "--orders-of-mixture",
    callback=_integers,
    metavar="N,N,...",
    default=_listed(dpcda_mixture.ORDERS_OF_MIXTURE),
    show_default=True,
    help="l of the paper.",
)
@click.option(
    "--releases",
    type=int,
    default=dpcda_mixture.RELEASES,
    show_default=True,
    help="T: synthetic records of all ten classes; a multiple of ten.",
)
@click.option(
    "--delta", type=float, default=dpcda_mixture.DELTA, show_default=True, help="In (0, 1)."
)
@click.option(
    "--clip-norm",
    type=float,
    default=dpcda_mixture.CLIP_NORM,
    show_default=True,
    help="c of the paper.",
)
@_output_options
@one_line_errors
def _dpcda_mixture(**options: Any) -> None:
    """DP-CDA's open question: noise and noise-to-signal ratio against the order of mixture."""
    _make(dpcda_mixture.ID, dpcda_mixture.figure, **options)


@plot.command(ndpdc.ID)
@click.option(
    "--noise-std",
    type=float,
    default=ndpdc.NOISE_STD,
    show_default=True,
    help="sigma of the paper.",
)
@click.option(
    "--group-size", type=float, default=ndpdc.GROUP_SIZE, show_default=True, help="L of the paper."
)
@click.option(
    "--iterations", type=int, default=ndpdc.ITERATIONS, show_default=True, help="I of the paper."
)
@click.option("--delta", type=float, default=ndpdc.DELTA, show_default=True, help="In (0, 1).")
@click.option(
    "--points", type=int, help="On each curve.  [default: the paper's values and some between]"
)
@_output_options
@one_line_errors
def _ndpdc(**options: Any) -> None:
    """Dataset condensation, Figure 1: budgets of NDPDC against sigma, L and I."""
    _make(ndpdc.ID, ndpdc.figure, **options)


@plot.command(synthesis.ID)
@click.option(
    "--records",
    callback=_integers,
    metavar="N,N,...",
    default=_listed(synthesis.RECORDS),
    show_default=True,
    help="n of the paper, a curve each; as many are put out.",
)
@click.option(
    "--dimension", type=int, default=synthesis.DIMENSION, show_default=True, help="d of the paper."
)
@click.option(
    "--min-eigenvalue",
    type=float,
    default=synthesis.MIN_EIGENVALUE,
    show_default=True,
    help="sigma of the paper.",
)
@click.option(
    "--orders",
    type=float,
    nargs=2,
    metavar="LOW HIGH",
    default=synthesis.ORDERS,
    show_default=True,
    help="The ends of the axis of orders.",
)
@click.option(
    "--points", type=int, default=synthesis.POINTS, show_default=True, help="On each curve."
)
@_output_options
@one_line_errors
def _synthesis(**options: Any) -> None:
    """Synthesis from mean and covariance, Figure 3: divergence against the order."""
    _make(synthesis.ID, synthesis.figure, **options)


def _make(
    name: str,
    compute: Callable[..., Figure],
    *,
    output: Path | None,
    data: Path | None,
    output_format: str,
    **parameters: Any,
) -> None:
    """Compute a figure and put it where it is asked for; what cannot be written is said first."""
    if output is None and output_format == "text":
        output = Path(f"{name}.svg")
    if output is not None:
        _check_target("--output", output, drawing.FORMATS)
        drawing.check_available()
    if data is not None:
        _check_target("--data", data, ("csv",))
    figure = compute(**parameters, track=_with_progress(name))
    if data is not None:
        write_whole(data, figure.as_csv().encode())
    if output is not None:
        write_whole(output, drawing.draw(figure, _suffix(output)))
    if output_format == "json":
        click.echo(as_json(figure.as_dict()))
        return
    click.echo(f"{figure.title} ({figure.source})")
    for line in figure.caption():
        click.echo(f"  {line}")
    for panel, curve, point in figure.refuted():
        assert point.published is not None
        assert point.lower is not None
        where = panel.title if len(panel.curves) == 1 else f"{panel.title}, {curve.label}"
        click.echo(
            f"  refuted: {where}, x = {point.x:g}: published "
            f"{rounded_up(point.published)}, lower {rounded_down(point.lower)}"
        )
    for path in (data, output):
        if path is not None:
            click.echo(f"wrote {printable(str(path))}")


def _suffix(path: Path) -> str:
    return path.suffix.lower().removeprefix(".")


def _check_target(option: str, path: Path, suffixes: Sequence[str]) -> None:
    if _suffix(path) not in suffixes:
        accepted = " or ".join(f".{suffix}" for suffix in suffixes)
        raise ValueError(f"Expected {option} to end in {accepted}, got {str(path)!r}.")
    if path.is_dir() or not path.parent.is_dir():
        raise ValueError(f"Expected {option} to be a file in a directory, got {str(path)!r}.")


def _with_progress(name: str) -> Callable[[Sequence[Task]], Iterator[Task]]:
    """A progress bar on a terminal, and nothing in a pipe."""

    def track(tasks: Sequence[Task]) -> Iterator[Task]:
        with Progress(
            TextColumn(name),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        ) as progress:
            yield from progress.track(tasks)

    return track
