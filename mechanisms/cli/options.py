"""Options that several kinds of arguments have, and what ends a release."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rdpkit.cli.option_types import FOLDER, names_of
from rdpkit.cli.output import (
    OUT_OF_REACH,
    CommandError,
    format_option,
    print_answer,
    with_options,
)
from rdpkit.cli.progress import threads_option, work_shown
from rdpkit.formats.text import guarantee_rows, how_many, in_columns, printable
from rdpkit.mechanisms.experiments import experiment

if TYPE_CHECKING:
    from rdpkit import Adjacency
    from rdpkit.mechanisms.experiments.experiment import Experiment
    from rdpkit.mechanisms.experiments.runner import Runner
    from rdpkit.mechanisms.releases.release import Release


# Names of options that differ from those of their variables.
_NAMES = {"mechanism_options": "option", "models": "model", "public": "public-test"}
# No number of records has so many digits.
_DIGITS = 19


def refuse(given: Mapping[str, Any], *, expected: str, got: str = "") -> None:
    """Say of the first option that was given what it is for; None, False and () are no values."""
    for name, value in given.items():
        if value is not None and value is not False and value != ():
            option = _NAMES.get(name, name).replace("_", "-")
            message = f"Expected {expected} for --{option}{got and f', got {got}'}."
            secret = " Its noise is never seeded." if name in ("seed", "noise") else ""
            raise ValueError(message + secret)


def is_number(text: str) -> bool:
    """Whether a text is a whole number of a size that numbers of records have."""
    return text.isascii() and text.isdigit() and len(text) < _DIGITS


def counts_of(given: str) -> str | list[int]:
    """What ``--counts`` says: a word, or numbers with commas between them."""
    parts = [part.strip() for part in given.split(",")]
    return [int(part) for part in parts] if all(map(is_number, parts)) else given


experiment_options = with_options(
    click.argument(
        "experiment",
        required=False,
        shell_complete=names_of(lambda _: experiment.shipped_names(), files=".toml"),
    ),
    click.option("--list", "list_them", is_flag=True, help="List the experiments of the package."),
    click.option(
        "--data-dir",
        type=FOLDER,
        help="The data directory.  [default: RDPKIT_DATA_DIR]",
    ),
    click.option("--device", help="cpu or cuda.  [default: cuda where there is one]"),
    threads_option,
    format_option,
)
"""A decorator for EXPERIMENT and the shared options."""


def file_option(*names: str, metavar: str, text: str) -> Callable[..., Any]:
    """An option that takes the path of a file; the last name is that of the variable."""
    kind = click.Path(path_type=Path)
    return click.option(*names, type=kind, metavar=metavar, help=text)


def chosen_experiment(given: str | None, *, list_them: bool) -> Experiment | None:
    """The experiment that the user names, or None if ``--list`` was given, which is printed."""
    if list_them:
        names = experiment.shipped_names()
        print_answer(names, names)
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


@contextmanager
def refusals_of_ledgers() -> Iterator[None]:
    """What a ledger refuses ends the command with status 1, and bad input with 2."""
    from rdpkit import BudgetExceededError  # noqa: PLC0415
    from rdpkit.mechanisms.releases.accounts import LedgerRefusalError  # noqa: PLC0415

    try:
        yield
    except (BudgetExceededError, LedgerRefusalError) as error:
        raise CommandError(str(error), status=OUT_OF_REACH) from None


def checked_output(
    output: Path | None,
    check: Callable[[Path], object],  # Refuses what is no path of such a release
    *read: str | Path,  # Files that the release is made from
) -> Path:
    """Where a release goes; a warning says that what an earlier one there has cost stays spent."""
    if output is None:
        raise ValueError("Expected --output: a release that is not kept is of no use.")
    check(output)
    if output.absolute() in [Path(one).absolute() for one in read]:
        raise ValueError(f"Expected --output to be another file than what is read, got {output}.")
    manifest = output.with_suffix(".json")
    if manifest.exists():
        lost = f"{printable(str(manifest))} is of an earlier release, which this one replaces"
        click.echo(f"Warning: {lost}. What that has cost stays spent.", err=True)
    return output


def check_ledger(given: Mapping[str, Any]) -> None:
    """Refuse a ledger without the name of a data set in it."""
    if given["ledger"] is not None and given["dataset"] is None:
        raise ValueError("Expected --dataset with --ledger: the name that the ledger has.")


def expect(ledger: Path, dataset: str, adjacency: Adjacency) -> None:
    """Refuse before long work what could not be charged to a data set."""
    from rdpkit.mechanisms.releases.ledger import Ledger  # noqa: PLC0415

    with refusals_of_ledgers():
        Ledger(ledger).expect(dataset, adjacency)


def save_charged(made: Release, output: Path, *, ledger: Path | None, dataset: str | None) -> None:
    """Write the release; a ledger is charged before anything of it is on the disk."""
    if ledger is None or dataset is None:
        made.save(output)
        return
    from rdpkit.mechanisms.releases.ledger import Ledger  # noqa: PLC0415

    account = Ledger(ledger)
    with refusals_of_ledgers():
        charge = account.charge_unsaved(made.manifest, dataset=dataset, path=output)
    made.save(output)
    account.complete(charge, output.with_suffix(".json"))


def print_release(made: Release, output: Path) -> None:
    """What was released, its guarantee and its verdict."""
    from rdpkit.mechanisms.releases.verdict import verdict_lines  # noqa: PLC0415

    manifest, stated = made.manifest, made.guarantee
    described = {
        "file": str(output),
        "mechanism": manifest.mechanism,
        "records": len(made.features),
        "private": manifest.private,
        "checks": [check.as_dict() for check in manifest.checks],
        "reproducible_noise": manifest.reproducible_noise,
        "guarantee": None if stated is None else stated.as_dict(),
        "notes": list(manifest.notes),
    }
    lines = [
        f"{how_many(len(made.features), 'record')} in {output}",
        *(["no guarantee"] if stated is None else in_columns(guarantee_rows(stated))),
        *verdict_lines(manifest.private, manifest.checks),
        *in_columns(("note", text) for text in manifest.notes),
    ]
    print_answer(described, lines)
