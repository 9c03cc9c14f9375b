"""``rdpkit synthesize``: make a release of a table, of images, or of an experiment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rdpkit.cli.option_types import NameType
from rdpkit.cli.output import with_options
from rdpkit.mechanisms.cli.options import (
    check_ledger,
    checked_output,
    chosen_experiment,
    counts_of,
    expect,
    experiment_options,
    file_option,
    is_number,
    print_release,
    refuse,
    running,
    save_charged,
)
from rdpkit.mechanisms.cli.tables import (
    is_table,
    person_of,
    refuse_for_experiments,
    release_table,
    table_options,
)

if TYPE_CHECKING:
    from rdpkit.mechanisms.experiments.experiment import Cell, Experiment
    from rdpkit.mechanisms.experiments.runner import Runner
    from rdpkit.mechanisms.releases.release import Release


image_options = with_options(
    click.option(
        "--classes",
        metavar="N|NAME,NAME,...",
        help="Of images: how many classes there are, or all their names. Without it, they are read "
        "from the source, and the release is NOT PRIVATE; so for --image-size and --channels.",
    ),
    click.option(
        "--image-size",
        metavar="SIDE|HEIGHTxWIDTH",
        help="Of images: their size; others are resized.  [default: that of the first]",
    ),
    click.option(
        "--channels",
        type=click.IntRange(1, 3),
        help="Of images: 1 for grey, 3 for colour.  [default: as the first]",
    ),
    click.option(
        "--option",
        "mechanism_options",
        multiple=True,
        metavar="NAME=VALUE",
        help="Of images: an option of the mechanism; may be repeated.",
    ),
)
"""A decorator for the options of the release of images."""
_NEEDED = ("mechanism", "epsilon", "delta", "adjacency")
_FOR_TABLES = (
    "schema",
    "rows",
    "columns",
    "drop",
    "accept_drafted_schema",
    "draft_schema",
    "keep",
    "paid",
    "bins",
)
_FOR_IMAGES = ("classes", "image_size", "channels", "mechanism_options")


def is_images(name: str | None, given: dict[str, Any]) -> bool:
    """Whether the argument of ``rdpkit synthesize`` is images: a folder, a .npz, or a .parquet.

    A .parquet file is a table unless a mechanism other than that for tables is asked for.
    """
    if name is None or given["schema"] is not None:
        return False
    path = Path(name)
    other = given["mechanism"] not in (None, "marginals")
    return path.is_dir() or path.suffix == ".npz" or (path.suffix == ".parquet" and other)


def release_images(
    source: str,
    given: dict[str, Any],
    *,
    counts: str | None,
    output: Path | None,
    device: str | None,
) -> None:
    """Release images, and print the guarantee."""
    missing = [name for name in _NEEDED if given[name] is None]
    if missing:
        raise ValueError(f"Expected --{', --'.join(missing)} for images.")
    refuse({name: given[name] for name in _FOR_TABLES}, expected="a table", got="images")
    check_ledger(given)
    from rdpkit.cli.progress import work_shown  # noqa: PLC0415
    from rdpkit.mechanisms.experiments.own_images import synthesize_images  # noqa: PLC0415
    from rdpkit.mechanisms.releases.computation import Computation  # noqa: PLC0415
    from rdpkit.mechanisms.releases.release import check_path  # noqa: PLC0415

    output = checked_output(output, check_path, source)
    classes = given["classes"]
    if classes is not None:
        names = [name.strip() for name in classes.split(",")]
        classes = int(classes) if is_number(classes) else names
    found = counts_of(counts or "noisy")
    if isinstance(found, str) and found not in ("noisy", "public"):
        raise ValueError(f"Expected --counts to be noisy, public or whole numbers, got {counts!r}.")
    with work_shown() as work:
        made = synthesize_images(
            source,
            **{name: given[name] for name in (*_NEEDED, "dataset")},
            counts=found,
            options=_options(given["mechanism_options"]),
            computation=Computation(
                device=device, progress=lambda done, total: work.show("synthesis", done, total)
            ),
            reading={
                "classes": classes,
                "image_size": _size(given["image_size"]),
                "channels": given["channels"],
                "person": person_of(given),
            },
        )
    save_charged(made, output, ledger=given["ledger"], dataset=given["dataset"])
    print_release(made, output)


def _size(given: str | None) -> Any:
    if given is None:
        return None
    parts = given.lower().split("x")
    if len(parts) > 2 or not all(is_number(part) for part in parts):
        raise ValueError(f"Expected --image-size to be SIDE or HEIGHTxWIDTH, got {given!r}.")
    return int(parts[0]) if len(parts) == 1 else tuple(int(part) for part in parts)


def _options(given: tuple[str, ...]) -> dict[str, Any]:
    """Options as TOML writes their values; what is no value of TOML is a word."""
    import tomllib  # noqa: PLC0415

    found: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise ValueError(f"Expected --option to be NAME=VALUE, got {text!r}.")
        try:
            found[name] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            found[name] = value
    return found


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
    records = None if list_them else experiment
    if records is not None and _of_own_records(
        records, of_table, own, device=device, output=output
    ):
        return
    ledger, dataset = of_table.pop("ledger"), of_table.pop("dataset")
    refuse_for_experiments(of_table)
    if (ledger is None) != (dataset is None):
        raise ValueError("Expected --ledger and --dataset together, for an experiment.")
    found = chosen_experiment(experiment, list_them=list_them)
    if found is None:
        return
    from rdpkit.mechanisms.releases.release import check_path  # noqa: PLC0415

    output = checked_output(output, check_path)
    chosen = found.seeds[0] if seed is None else seed
    with running(data_dir, device) as runner:
        cell = _changed(_one_of(found, setting), noise=noise, counts=counts)
        charged = None if ledger is None else (ledger, dataset)
        made = _saved(runner, cell, chosen, output=output, charged=charged)
    print_release(made, output)


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
    source: str, given: dict[str, Any], own: dict[str, Any], *, device: Any, output: Path | None
) -> bool:
    """Release a table or images, if the argument is such; whether it was."""
    if is_images(source, given):
        refuse({**own, "counts": None}, expected="an experiment", got="images")
        release_images(source, given, counts=own["counts"], device=device, output=output)
        return True
    for_images = {name: given[name] for name in _FOR_IMAGES}
    refuse(for_images, expected="images (a folder, .npz or .parquet)")
    if not is_table(source, given):
        return False
    refuse(own, expected="an experiment", got="a table")
    release_table(source, given, output=output)
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
