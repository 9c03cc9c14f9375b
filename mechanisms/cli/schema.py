"""``rdpkit schema``: draft the public description of a table, which synthesis needs."""

from __future__ import annotations

from pathlib import Path

import click

from rdpkit.cli.output import format_option, one_line_errors
from rdpkit.formats.text import as_json, how_many, printable


@click.command()
@click.argument("data", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="SCHEMA.toml",
    help="Where to write the draft.  [default: standard output]",
)
@click.option(
    "--drop", multiple=True, metavar="COLUMN", help="Leave this column out; may be repeated."
)
@click.option(
    "--keep",
    multiple=True,
    metavar="COLUMN",
    help="Keep this column although it looks like an identifier; may be repeated.",
)
@click.option(
    "--paid",
    is_flag=True,
    help="Read names and kinds of columns alone; ranges and categories are found with noise when a "
    "release is made, and its guarantee pays for them.",
)
@click.option(
    "--bins",
    type=click.IntRange(min=1, max=10_000),
    help="Into how many parts each range is cut.  [default: 32]",
)
@format_option
@one_line_errors
def schema(
    *,
    data: Path,
    output: Path | None,
    drop: tuple[str, ...],
    keep: tuple[str, ...],
    paid: bool,
    bins: int | None,
    output_format: str,
) -> None:
    """Draft a schema for the table DATA (.csv, .parquet, .arrow).

    A schema says what everybody may know of a table: its columns, and the values that they can
    have. A draft reads these from the private records, and marks each column with public = false:
    replace what it found by what is publicly known, then confirm each column with a reason.
    Columns that may name people, and free text, are left out.
    """
    from rdpkit.formats.files import write_whole  # noqa: PLC0415
    from rdpkit.mechanisms.data.tables.drafting import draft_schema  # noqa: PLC0415
    from rdpkit.mechanisms.data.tables.reading import read  # noqa: PLC0415

    drafted = draft_schema(read(data), drop=drop, keep=keep, paid=paid, bins=bins)
    text = drafted.as_toml()
    if output is not None:
        write_whole(output, text)
    if output_format == "json":
        click.echo(
            as_json(
                {
                    "file": None if output is None else str(output),
                    "schema": drafted.schema.as_table(),
                    "read_from_the_records": dict(drafted.read),
                    "dropped": list(drafted.dropped),
                    "left_out": dict(drafted.proposed),
                }
            )
        )
        return
    if output is None:
        click.echo(text, nl=False)
        return
    lines = [f"{how_many(len(drafted.read), 'column')} in {output}"]
    lines += [f"  {name}: {what}" for name, what in drafted.read]
    if drafted.proposed:
        left_out = how_many(len(drafted.proposed), "column")
        lines.append(f"{left_out} left out; --keep COLUMN keeps one")
        lines += [f"  {name}: {why}" for name, why in drafted.proposed]
    lines += [
        "All of this was read from the private records. Replace it by what is publicly known,",
        'and say in each column why everybody knows it (public = "..."); then run:',
        f"  rdpkit synthesize {data} --schema {output} --epsilon 1 --delta 1e-6 "
        "--adjacency replace_one -o synth.csv",
    ]
    click.echo("\n".join(printable(line) for line in lines))
