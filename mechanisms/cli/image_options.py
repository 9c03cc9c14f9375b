"""``rdpkit synthesize IMAGES --mechanism``: its options, and the release of images."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rdpkit.formats.text import as_json, guarantee_lines, how_many, printable
from rdpkit.mechanisms.cli.table_options import person_of, refusals_of_ledgers

if TYPE_CHECKING:
    from rdpkit.mechanisms.releases.release import Release

_OPTIONS = (
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
_NEEDED = ("mechanism", "epsilon", "delta", "adjacency")
_FOR_TABLES = (
    "schema",
    "rows",
    "columns",
    "drop",
    "accept_drafted_schema",
)
_FOR_IMAGES = {
    "classes": "--classes",
    "image_size": "--image-size",
    "channels": "--channels",
    "mechanism_options": "--option",
}
_ABSENT = (None, (), False)
# No number of records has so many digits.
_DIGITS = 19


def image_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator for the options of the release of images."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def is_images(name: str | None, given: dict[str, Any]) -> bool:
    """Whether the argument of ``rdpkit synthesize`` is images: a folder, a .npz, or a .parquet.

    A .parquet file is a table unless a mechanism other than that for tables is asked for.
    """
    if name is None or given["schema"] is not None:
        return False
    path = Path(name)
    other = given["mechanism"] not in (None, "marginals")
    return path.is_dir() or path.suffix == ".npz" or (path.suffix == ".parquet" and other)


def refuse_image_options(given: dict[str, Any]) -> None:
    """Say that an option is for images."""
    for name, option in _FOR_IMAGES.items():
        if given[name] not in _ABSENT:
            raise ValueError(f"Expected images (a folder, .npz or .parquet) for {option}.")


def release_images(
    source: str,
    given: dict[str, Any],
    *,
    counts: str | None,
    output: Path | None,
    output_format: str,
    device: str | None,
) -> None:
    """Release images, and print the guarantee."""
    missing = [name for name in _NEEDED if given[name] is None]
    if missing:
        raise ValueError(f"Expected --{', --'.join(missing)} for images.")
    for name in _FOR_TABLES:
        if given[name] not in _ABSENT:
            raise ValueError(f"Expected a table for --{name.replace('_', '-')}, got images.")
    if given["ledger"] is not None and given["dataset"] is None:
        raise ValueError("Expected --dataset with --ledger: the name that the ledger has.")
    if output is None:
        raise ValueError("Expected --output: a release that is not kept is of no use.")
    from rdpkit.cli.progress import work_shown  # noqa: PLC0415
    from rdpkit.mechanisms.experiments.own_images import synthesize_images  # noqa: PLC0415
    from rdpkit.mechanisms.experiments.runner import guarantee_of  # noqa: PLC0415
    from rdpkit.mechanisms.releases.computation import Computation  # noqa: PLC0415
    from rdpkit.mechanisms.releases.release import check_path  # noqa: PLC0415
    from rdpkit.mechanisms.releases.verdict import verdict_lines  # noqa: PLC0415

    check_path(output)
    if output.absolute() == Path(source).absolute():
        raise ValueError(f"Expected --output to be another file than what is read, got {output}.")
    with work_shown() as work:
        made = synthesize_images(
            source,
            **{name: given[name] for name in (*_NEEDED, "dataset")},
            counts=_counts(counts),
            options=_options(given["mechanism_options"]),
            computation=Computation(
                device=device, progress=lambda done, total: work.show("synthesis", done, total)
            ),
            reading={
                "classes": _classes(given["classes"]),
                "image_size": _size(given["image_size"]),
                "channels": given["channels"],
                "person": person_of(given),
            },
        )
    _save(made, output, given)
    if output_format == "json":
        click.echo(as_json({"file": str(output), **guarantee_of(made)}))
        return
    lines = [f"{how_many(len(made.features), 'record')} in {output}"]
    lines += guarantee_lines(made.guarantee) if made.guarantee is not None else ["no guarantee"]
    lines += verdict_lines(made.manifest.private, made.manifest.checks)
    lines += [f"note       {note}" for note in made.manifest.notes]
    click.echo("\n".join(printable(line) for line in lines))


def _save(made: Release, output: Path, given: dict[str, Any]) -> None:
    """Write the release; a ledger is charged before anything of it is on the disk."""
    if given["ledger"] is None:
        made.save(output)
        return
    from rdpkit.mechanisms.releases.ledger import Ledger  # noqa: PLC0415

    ledger = Ledger(given["ledger"])
    with refusals_of_ledgers():
        charge = ledger.charge_unsaved(made.manifest, dataset=given["dataset"], path=output)
    made.save(output)
    ledger.complete(charge, output.with_suffix(".json"))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < _DIGITS


def _counts(given: str | None) -> Any:
    if given in (None, "noisy", "public"):
        return given or "noisy"
    parts = [part.strip() for part in given.split(",")]
    if not all(_is_number(part) for part in parts):
        raise ValueError(f"Expected --counts to be noisy, public or whole numbers, got {given!r}.")
    return [int(part) for part in parts]


def _classes(given: str | None) -> Any:
    if given is None:
        return None
    return int(given) if _is_number(given) else [name.strip() for name in given.split(",")]


def _size(given: str | None) -> Any:
    if given is None:
        return None
    parts = given.lower().split("x")
    if len(parts) > 2 or not all(_is_number(part) for part in parts):
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
