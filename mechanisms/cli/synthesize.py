"""``rdpkit synthesize``: make the release that an experiment describes, and save it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rdpkit.cli.option_types import NameType
from rdpkit.formats.text import as_json, guarantee_lines, how_many, printable
from rdpkit.mechanisms.cli.experiment_options import (
    chosen_experiment,
    experiment_options,
    file_option,
    running,
)
from rdpkit.mechanisms.cli.image_options import (
    image_options,
    is_images,
    refuse_image_options,
    release_images,
)
from rdpkit.mechanisms.cli.table_options import (
    is_table,
    refusals_of_ledgers,
    refuse_for_experiments,
    refuse_for_tables,
    release_table,
    table_options,
)

if TYPE_CHECKING:
    from rdpkit.mechanisms.experiments.experiment import Cell, Experiment
    from rdpkit.mechanisms.experiments.runner import Runner
    from rdpkit.mechanisms.releases.release import Release

# No number of records has so many digits.
_DIGITS = 19


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
    and ranges are written, and the manifest beside them.

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
    from rdpkit.mechanisms.experiments.runner import guarantee_of  # noqa: PLC0415  (it imports torch)
    from rdpkit.mechanisms.releases.release import check_path  # noqa: PLC0415
    from rdpkit.mechanisms.releases.verdict import verdict_lines  # noqa: PLC0415

    check_path(output)
    chosen = found.seeds[0] if seed is None else seed
    with running(data_dir, device) as runner:
        cell = _changed(_one_of(found, setting), noise=noise, counts=counts)
        charged = None if ledger is None else (ledger, dataset)
        made = _saved(runner, cell, chosen, output=output, charged=charged)
    described: dict[str, Any] = {"file": str(output), **guarantee_of(made)}
    if output_format == "json":
        click.echo(as_json(described))
        return
    lines = [f"{how_many(len(made.features), 'record')} in {output}"]
    lines += guarantee_lines(made.guarantee) if made.guarantee is not None else ["no guarantee"]
    lines += verdict_lines(made.manifest.private, made.manifest.checks)
    lines += [f"note       {note}" for note in made.manifest.notes]
    click.echo("\n".join(printable(line) for line in lines))


def _saved(
    runner: Runner, cell: Cell, seed: int, *, output: Path, charged: tuple[Path, str] | None
) -> Release:
    """Make a release and save it; a ledger is charged before anything of it is on the disk."""
    if charged is None:
        from rdpkit.mechanisms.releases.checkpoint import Checkpoint  # noqa: PLC0415

        checkpoint = Checkpoint(output.with_suffix(".unfinished.npz"), run=cell.release_key(seed))
        made = runner.synthesize(cell, seed, checkpoint=checkpoint)
        made.save(output)
        checkpoint.clear()
        return made
    from rdpkit.mechanisms.releases.ledger import Ledger  # noqa: PLC0415

    path, dataset = charged
    ledger = Ledger(path)
    with refusals_of_ledgers():
        ledger.expect(dataset, cell.privacy.adjacency)
    # A checkpoint would hold noisy answers that nobody has paid for.
    made = runner.synthesize(cell, seed, checkpoint=None)
    with refusals_of_ledgers():
        charge = ledger.charge_unsaved(made.manifest, dataset=dataset, path=output)
    made.save(output)
    ledger.complete(charge, output.with_suffix(".json"))
    return made


def _of_own_records(
    source: str, given: dict[str, Any], own: dict[str, Any], *, device: Any, shown: dict[str, Any]
) -> bool:
    """Release a table or images, if the argument is such; whether it was."""
    if is_images(source, given):
        refuse_for_tables({**own, "counts": None}, kind="images")
        release_images(source, given, counts=own["counts"], device=device, **shown)
        return True
    refuse_image_options(given)
    if not is_table(source, given):
        return False
    refuse_for_tables(own)
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
        numbers = [part.strip() for part in counts.split(",")]
        value: Any = counts
        if all(part.isascii() and part.isdigit() and len(part) < _DIGITS for part in numbers):
            value = [int(part) for part in numbers]
        changes["counts"] = read_counts("--counts", value)
    return replace(cell, privacy=replace(cell.privacy, **changes))
