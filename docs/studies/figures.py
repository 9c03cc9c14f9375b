"""A figure of a paper, drawn again with what is true beside what was published."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from paper_figures.catalogue import FIGURES, FigureEntry, FigureParameter

from rdpkit.cli.option_types import list_of
from rdpkit.cli.output import CommandError, asked_format, format_option, one_line_errors
from rdpkit.cli.progress import duration, threads_option, work_shown
from rdpkit.formats.files import write_whole
from rdpkit.formats.records import did_you_mean
from rdpkit.formats.text import as_json, printable, rounded_down, rounded_up

if TYPE_CHECKING:
    from paper_figures.model import Figure, Task

_FORMATS = ("svg", "png")


class _Figures(click.Group):
    """The figures as subcommands, and an error that lists them."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As in click, with an error that lists the figures."""
        if args and not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            names = ", ".join(self.list_commands(ctx))
            raise CommandError(
                f"Expected FIGURE to be one of {names}, got {args[0]!r}."
                f"{did_you_mean(args[0], FIGURES)}"
            )
        return super().resolve_command(ctx, args)


@click.group(cls=_Figures, subcommand_metavar="FIGURE [OPTIONS]")
def plot() -> None:
    """Draw a figure of a paper again, with published, upper and lower curves.

    Parameters that a paper leaves open are options with defaults, and are printed with the figure.

    Exit status: 0 fine, 2 bad usage or bad input.
    """


class _RangeEnd(click.types.FloatParamType):
    """A number, also with the comma that people write between two."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """As in click, without the comma."""
        bare: Any = value.removesuffix(",") if isinstance(value, str) else value
        return float(super().convert(bare, param, ctx))


def _option(parameter: FigureParameter) -> Callable[..., Any]:
    types: dict[str, Any] = {
        "integer": {"type": int},
        "number": {"type": float},
        "range": {"type": _RangeEnd(), "nargs": 2, "metavar": "LOW HIGH"},
        "integers": {"type": list_of(int)},
        "numbers": {"type": list_of(float)},
    }
    default = parameter.default
    text = parameter.meaning
    # What the help shows can be typed as it stands.
    if parameter.kind in ("integers", "numbers"):
        default = ",".join(f"{value:.15g}" for value in default)
    elif parameter.kind == "range":
        text += "  [default: {:.15g} {:.15g}]".format(*default)
    return click.option(
        f"--{parameter.name.replace('_', '-')}",
        show_default=default is not None and parameter.kind != "range",
        help=text,
        default=default,
        **types[parameter.kind],
    )


def _duration(entry: FigureEntry) -> str:
    """How long a figure takes with the defaults, in words."""
    seconds = entry.points * entry.seconds
    return (
        f"With the defaults it has {entry.points} points and takes about {duration(seconds)} "
        "on one core."
    )


def _add_command(entry: FigureEntry) -> None:
    @one_line_errors
    def command(**given: Any) -> None:
        _make(entry, **given)

    options = [
        *map(_option, entry.parameters),
        click.option(
            "-o",
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
            help="Write the data to this file: one row for each point.",
        ),
        threads_option,
        format_option,
    ]
    for option in reversed(options):
        command = option(command)
    plot.command(entry.id, help=f"{entry.summary}\n\n{_duration(entry)}")(command)


for _entry in FIGURES.values():
    _add_command(_entry)


def _make(entry: FigureEntry, *, output: Path | None, data: Path | None, **given: Any) -> None:
    """Compute a figure and write it; files that cannot be written are refused before the work."""
    from paper_figures import drawing  # noqa: PLC0415 - only where it is needed

    if output is None and asked_format() == "text":
        output = Path(f"{entry.id}.svg")
    if output is not None:
        _check_target("--output", output, _FORMATS)
        drawing.check_available()
    if data is not None:
        _check_target("--data", data, ("csv",))
    with work_shown() as work:

        def track(tasks: Sequence[Task]) -> Iterator[Task]:
            work.expect(f"points of {entry.id}", len(tasks), entry.seconds * len(tasks))
            for done, task in enumerate(tasks):
                work.show(entry.id, done, len(tasks))
                yield task

        figure = entry.compute(**given, track=track)
    if data is not None:
        write_whole(data, figure.as_csv())
    if output is not None:
        write_whole(output, drawing.draw(figure, _suffix(output)))
    if asked_format() == "json":
        click.echo(as_json(figure.as_dict()))
        return
    click.echo("\n".join(_lines(figure)))
    for path in (data, output):
        if path is not None:
            click.echo(f"wrote {printable(str(path))}")


def _lines(figure: Figure) -> list[str]:
    lines = [f"{figure.title} ({figure.source})", *(f"  {line}" for line in figure.caption())]
    for panel, curve, point in figure.refuted():
        assert point.published is not None
        assert point.lower is not None
        where = panel.title if len(panel.curves) == 1 else f"{panel.title}, {curve.label}"
        lines.append(
            f"  refuted: {where}, x = {point.x:g}: published "
            f"{rounded_up(point.published)}, lower {rounded_down(point.lower)}"
        )
    return lines


def _suffix(path: Path) -> str:
    return path.suffix.lower().removeprefix(".")


def _check_target(option: str, path: Path, suffixes: Sequence[str]) -> None:
    if _suffix(path) not in suffixes:
        accepted = " or ".join(f".{suffix}" for suffix in suffixes)
        raise ValueError(f"Expected {option} to end in {accepted}, got {str(path)!r}.")
    if path.is_dir() or not path.parent.is_dir():
        raise ValueError(f"Expected {option} to be a file in a directory, got {str(path)!r}.")


if __name__ == "__main__":
    plot(prog_name="python docs/studies/figures.py")
