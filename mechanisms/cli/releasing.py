"""What ends the release of images or of an experiment: the ledger, the files, and what is said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rdpkit.cli.output import OUT_OF_REACH, CommandError
from rdpkit.formats.text import as_json, guarantee_lines, how_many, printable

if TYPE_CHECKING:
    from rdpkit import Adjacency
    from rdpkit.mechanisms.releases.release import Release


@contextmanager
def refusals_of_ledgers() -> Iterator[None]:
    """What a ledger refuses ends the command with status 1, and bad input with 2."""
    from rdpkit import BudgetExceededError  # noqa: PLC0415
    from rdpkit.mechanisms.releases.accounts import LedgerRefusalError  # noqa: PLC0415

    try:
        yield
    except (BudgetExceededError, LedgerRefusalError) as error:
        raise CommandError(str(error), status=OUT_OF_REACH) from None


def warn_of_earlier(output: Path) -> None:
    """Say, before the work, that a release is replaced, and that what it cost stays spent."""
    manifest = output.with_suffix(".json")
    if manifest.exists():
        lost = f"{printable(str(manifest))} is of an earlier release, which this one replaces"
        click.echo(f"Warning: {lost}. What that has cost stays spent.", err=True)


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


def print_release(made: Release, output: Path, output_format: str) -> None:
    """What was released, its guarantee and its verdict."""
    from rdpkit.mechanisms.experiments.runner import guarantee_of  # noqa: PLC0415 (it imports torch)
    from rdpkit.mechanisms.releases.verdict import verdict_lines  # noqa: PLC0415

    if output_format == "json":
        click.echo(as_json({"file": str(output), **guarantee_of(made)}))
        return
    lines = [f"{how_many(len(made.features), 'record')} in {output}"]
    lines += guarantee_lines(made.guarantee) if made.guarantee is not None else ["no guarantee"]
    lines += verdict_lines(made.manifest.private, made.manifest.checks)
    lines += [f"note       {note}" for note in made.manifest.notes]
    click.echo("\n".join(printable(line) for line in lines))
