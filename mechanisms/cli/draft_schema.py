"""``rdpkit synthesize DATA --draft-schema``: the public description that synthesis needs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from rdpkit.formats.text import as_json, how_many, printable


def write_draft(
    data: str, given: Mapping[str, Any], *, output: Path | None, output_format: str
) -> None:
    """Draft a schema for a table, and print it or what was read for it."""
    from rdpkit.formats.files import write_whole  # noqa: PLC0415
    from rdpkit.mechanisms.data.tables.drafting import draft_schema  # noqa: PLC0415
    from rdpkit.mechanisms.data.tables.files import read  # noqa: PLC0415

    asked = {name: given[name] for name in ("drop", "keep", "paid", "bins")}
    drafted = draft_schema(read(Path(data)), **asked)
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
