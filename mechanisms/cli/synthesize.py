"""``rdpkit synthesize``: make the release that an experiment describes, and save it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rdpkit.cli.option_types import NameType
from rdpkit.mechanisms.cli.experiment_options import (
    chosen_experiment,
    experiment_options,
    file_option,
    running,
)
from rdpkit.mechanisms.cli.given_options import counts_of, refuse
from rdpkit.mechanisms.cli.image_options import (
    image_options,
    is_images,
    refuse_image_options,
    release_images,
)
from rdpkit.mechanisms.cli.releasing import expect, print_release, save_charged, warn_of_earlier
from rdpkit.mechanisms.cli.table_options import (
    is_table,
    refuse_for_experiments,
    release_table,
    table_options,
)

if TYPE_CHECKING:
    from rdpkit.mechanisms.experiments.experiment import Cell, Experiment
    from rdpkit.mechanisms.experiments.runner import Runner
    from rdpkit.mechanisms.releases.release import Release


@click.command()
@file_option(
    "-o",
    "--output",
    "output",
    metavar="FILE",
    text="Where to save the release: .npz or .safetensors, or of a table .csv, .parquet or .arrow; "
    "its manifest goes beside it as .json.",
)
@click.option(
    "--setting",
    type=click.IntRange(min=1),
    help="Which of the experiment's settings to release, counted from 1, where it varies keys.",
)
@click.option(
    "--noise",
    type=NameType.of("noise", ["system", "seeded"]),
    help="Noise from system entropy or from a seed (not private), instead of what the file says.",
)
@click.option(
    "--counts",
    metavar="noisy|public|N,N,...",
    help="Numbers of records estimated with noise, as they are in the data (not private), or these "
    "public numbers, one for each class or one for all, instead of what the file says.",
)
@click.option("--seed", type=click.IntRange(min=0), help="[default: the experiment's first]")
@table_options
@image_options
@experiment_options
def synthesize(
    *,
    experiment: str | None,
    list_them: bool,
    output: Path | None,
    setting: int | None,
    noise: str | None,
    counts: str | None,
    seed: int | None,
    data_dir: Path | None,
    device: str | None,
    output_format: str,
    **of_table: Any,
) -> None:
    """Make a release of a table, or the one that EXPERIMENT describes, with its guarantee.

    \b
    rdpkit synthesize data.parquet --schema schema.toml --epsilon 1 --delta 1e-6
        --adjacency replace_one -o synth.csv

    The argument is a table (.csv, .parquet, .arrow): synthetic records with the same columns, types
    and ranges are written, and the manifest beside them. With --draft-schema a schema is drafted
    instead: what everybody may know of the table, its columns and the values that they can have. A
    draft reads these from the private records, and marks each column with public = false: replace
    what it found by what is publicly known, then confirm each column with a reason. Columns that
    may name people, and free text, are left out.

    Or images (a folder with one folder for each class, a .npz, a .parquet of images) with
    --mechanism, --epsilon, --delta and --adjacency.

    Or it is an experiment: a TOML file, or the name of one of the package (--list). Work that takes
    hours is saved in FILE.unfinished.npz, and the same command continues it.
    """  # noqa: D301 - click reads the mark of a block that is not wrapped
    own = {"setting": setting, "noise": noise, "counts": counts, "seed": seed}
    if experiment is not None and not list_them:
        shown = {"output": output, "output_format": output_format}
        if _of_own_records(experiment, of_table, own, device=device, shown=shown):
            return
    ledger, dataset = of_table.pop("ledger"), of_table.pop("dataset")
    refuse_for_experiments(of_table)
    if (ledger is None) != (dataset is None):
        raise ValueError("Expected --ledger and --dataset together, for an experiment.")
    found = chosen_experiment(experiment, list_them=list_them, output_format=output_format)
    if found is None:
        return
    if output is None:
        raise ValueError("Expected --output: a release that is not kept is of no use.")
    from rdpkit.mechanisms.releases.release import check_path  # noqa: PLC0415

    check_path(output)
    warn_of_earlier(output)
    chosen = found.seeds[0] if seed is None else seed
    with running(data_dir, device) as runner:
        cell = _changed(_one_of(found, setting), noise=noise, counts=counts)
        charged = None if ledger is None else (ledger, dataset)
        made = _saved(runner, cell, chosen, output=output, charged=charged)
    print_release(made, output, output_format)


def _saved(
    runner: Runner, cell: Cell, seed: int, *, output: Path, charged: tuple[Path, str] | None
) -> Release:
    """Make a release and save it; a ledger is charged before anything of it is on the disk."""
    if charged is None:
        from rdpkit.mechanisms.releases.computation import Checkpoint  # noqa: PLC0415

        checkpoint = Checkpoint(output.with_suffix(".unfinished.npz"), run=cell.release_key(seed))
        made = runner.synthesize(cell, seed, checkpoint=checkpoint)
        made.save(output)
        checkpoint.clear()
        return made
    ledger, dataset = charged
    expect(ledger, dataset, cell.privacy.adjacency)
    # A checkpoint would hold noisy answers that nobody has paid for.
    made = runner.synthesize(cell, seed, checkpoint=None)
    save_charged(made, output, ledger=ledger, dataset=dataset)
    return made


def _of_own_records(
    source: str, given: dict[str, Any], own: dict[str, Any], *, device: Any, shown: dict[str, Any]
) -> bool:
    """Release a table or images, if the argument is such; whether it was."""
    if is_images(source, given):
        refuse({**own, "counts": None}, expected="an experiment", got="images")
        release_images(source, given, counts=own["counts"], device=device, **shown)
        return True
    refuse_image_options(given)
    if not is_table(source, given):
        return False
    refuse(own, expected="an experiment", got="a table")
    release_table(source, given, **shown)
    return True


def _one_of(experiment: Experiment, setting: int | None) -> Cell:
    count = len(experiment.cells)
    if setting is None and count > 1:
        listed = "; ".join(f"{i}: {dict(c.varied)}" for i, c in enumerate(experiment.cells, 1))
        raise ValueError(f"Expected --setting, one of {listed[:600]}.")
    number = setting or 1
    if number > count:
        raise ValueError(f"Expected --setting to be in [1, {count}], got {number}.")
    return experiment.cells[number - 1]


def _changed(cell: Cell, *, noise: str | None, counts: str | None) -> Cell:
    """The cell with the noise and the counts that the command line asks for."""
    from dataclasses import replace  # noqa: PLC0415

    from rdpkit.mechanisms.experiments.experiment import read_counts  # noqa: PLC0415

    changes: dict[str, Any] = {}
    if noise is not None:
        changes["noise"] = noise
    if counts is not None:
        changes["counts"] = read_counts("--counts", counts_of(counts))
    return replace(cell, privacy=replace(cell.privacy, **changes))
