"""Arguments and options that ``rdpkit evaluate`` and ``rdpkit synthesize`` share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rdpkit.cli.completion import names_of
from rdpkit.cli.output import format_option, one_line_errors
from rdpkit.cli.progress import threads_option, work_shown
from rdpkit.formats.text import as_json
from rdpkit.mechanisms.cli.given_options import with_options
from rdpkit.mechanisms.experiments import experiment

if TYPE_CHECKING:
    from rdpkit.mechanisms.experiments.experiment import Experiment
    from rdpkit.mechanisms.experiments.runner import Runner

experiment_options = with_options(
    click.argument(
        "experiment",
        required=False,
        shell_complete=names_of(lambda _: experiment.shipped_names(), files=".toml"),
    ),
    click.option("--list", "list_them", is_flag=True, help="List the experiments of the package."),
    click.option(
        "--data-dir",
        type=click.Path(path_type=Path, file_okay=False),
        help="The data directory.  [default: RDPKIT_DATA_DIR]",
    ),
    click.option("--device", help="cpu or cuda.  [default: cuda where there is one]"),
    threads_option,
    format_option,
    one_line_errors,
)
"""A decorator for EXPERIMENT and the shared options; it must be the last one."""


def file_option(*names: str, metavar: str, text: str) -> Callable[..., Any]:
    """An option that takes the path of a file; the last name is that of the variable."""
    kind = click.Path(path_type=Path)
    return click.option(*names, type=kind, metavar=metavar, help=text)


def chosen_experiment(
    given: str | None, *, list_them: bool, output_format: str
) -> Experiment | None:
    """The experiment that the user names, or None if ``--list`` was given, which is printed."""
    if list_them:
        names = experiment.shipped_names()
        click.echo(as_json(names) if output_format == "json" else "\n".join(names))
        return None
    if given is None:
        raise ValueError(
            "Expected EXPERIMENT: a TOML file, or a name that --list shows; or a table or images, "
            "with the options that --help names."
        )
    return experiment.find_experiment(given)


@contextmanager
def running(data_dir: Path | None, device: str | None) -> Iterator[Runner]:
    """A runner that shows its progress on a terminal."""
    from rdpkit.mechanisms.evaluation.training import best_device  # noqa: PLC0415
    from rdpkit.mechanisms.experiments.runner import Runner  # noqa: PLC0415  (it imports torch)

    with work_shown() as work:
        yield Runner(directory=data_dir, device=device or best_device(), report=work.show)
