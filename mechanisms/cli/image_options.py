"""``rdpkit synthesize IMAGES --mechanism``: its options, and the release of images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rdpkit.mechanisms.cli.given_options import counts_of, is_number, refuse, with_options
from rdpkit.mechanisms.cli.releasing import (
    check_ledger,
    print_release,
    save_charged,
    warn_of_earlier,
)
from rdpkit.mechanisms.cli.table_options import person_of

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


def refuse_image_options(given: dict[str, Any]) -> None:
    """Say that an option is for images, if one was given."""
    options = {name: given[name] for name in _FOR_IMAGES}
    refuse(options, expected="images (a folder, .npz or .parquet)")


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
    refuse({name: given[name] for name in _FOR_TABLES}, expected="a table", got="images")
    check_ledger(given)
    if output is None:
        raise ValueError("Expected --output: a release that is not kept is of no use.")
    from rdpkit.cli.progress import work_shown  # noqa: PLC0415
    from rdpkit.mechanisms.experiments.own_images import synthesize_images  # noqa: PLC0415
    from rdpkit.mechanisms.releases.computation import Computation  # noqa: PLC0415
    from rdpkit.mechanisms.releases.release import check_path  # noqa: PLC0415

    check_path(output)
    if output.absolute() == Path(source).absolute():
        raise ValueError(f"Expected --output to be another file than what is read, got {output}.")
    warn_of_earlier(output)
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
    save_charged(made, output, ledger=given["ledger"], dataset=given["dataset"])
    print_release(made, output, output_format)


def _counts(given: str | None) -> Any:
    found = counts_of(given or "noisy")
    if isinstance(found, str) and found not in ("noisy", "public"):
        raise ValueError(f"Expected --counts to be noisy, public or whole numbers, got {given!r}.")
    return found


def _classes(given: str | None) -> Any:
    if given is None:
        return None
    return int(given) if is_number(given) else [name.strip() for name in given.split(",")]


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
