"""``rdpkit synthesize`` DATA: releases of tables, and drafts of their schemas."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rdpkit.cli.option_types import ADJACENCY, FILE, INTEGER, NUMBER
from rdpkit.cli.output import asked_format, print_answer, with_options
from rdpkit.formats.text import guarantee_rows, how_many, in_columns
from rdpkit.mechanisms.cli.options import check_ledger, checked_output, refusals_of_ledgers, refuse

if TYPE_CHECKING:
    from rdpkit import Event


def write_draft(data: str, given: Mapping[str, Any], *, output: Path | None) -> None:
    """Draft a schema for a table, and print it or what was read for it."""
    from rdpkit.formats.files import write_whole  # noqa: PLC0415
    from rdpkit.mechanisms.data.tables.drafting import draft_schema  # noqa: PLC0415
    from rdpkit.mechanisms.data.tables.files import read  # noqa: PLC0415

    asked = {name: given[name] for name in ("drop", "keep", "paid", "bins")}
    drafted = draft_schema(read(Path(data)), **asked)
    text = drafted.as_toml()
    if output is not None:
        write_whole(output, text)
    if output is None and asked_format() != "json":
        click.echo(text, nl=False)
        return
    table = {
        "file": None if output is None else str(output),
        "schema": drafted.schema.as_table(),
        "read_from_the_records": dict(drafted.read),
        "dropped": list(drafted.dropped),
        "left_out": dict(drafted.proposed),
    }
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
    print_answer(table, lines)


TABLES = (".csv", ".parquet", ".arrow", ".feather")
"""How the names of tables end; everything else is an experiment."""

table_options = with_options(
    click.option(
        "--schema",
        type=FILE,
        metavar="SCHEMA.toml",
        help="Of a table: what is publicly known of its columns. --draft-schema drafts one.",
    ),
    click.option("--epsilon", type=NUMBER, help="Of a table or images: the largest epsilon."),
    click.option(
        "--delta", type=NUMBER, help="Of a table or images: delta, far below 1 / records."
    ),
    click.option("--adjacency", type=ADJACENCY, help="Of a table or images: what neighbours are."),
    click.option(
        "--rows",
        type=INTEGER,
        help="Of a table: how many records to make.  [default: the noisy number of private ones]",
    ),
    click.option(
        "--columns",
        multiple=True,
        metavar="COLUMN",
        help="Of a table: release these columns of the schema alone; may be repeated.",
    ),
    click.option(
        "--drop",
        multiple=True,
        metavar="COLUMN",
        help="Of a table: leave this column out; may be repeated.",
    ),
    click.option(
        "--person",
        metavar="COLUMN|FILE.csv|REGEX",
        help="The column that says whose a record is; of images in a folder, a CSV file with the "
        "columns file and person, or a regular expression with one group, for their paths. Then "
        "neighbours differ in all records of one person; needs --most-per-person.",
    ),
    click.option(
        "--most-per-person",
        type=click.IntRange(min=1),
        metavar="K",
        help="Use K records of each person, chosen at random.",
    ),
    click.option(
        "--mechanism",
        metavar="NAME",
        help="Of a table or images: the mechanism.  [default for tables: marginals, the only one]",
    ),
    click.option(
        "--dataset",
        metavar="NAME",
        help="Your name for the private data, which a ledger knows and the manifest of a table or "
        "of images states.",
    ),
    click.option(
        "--ledger",
        type=FILE,
        metavar="FILE",
        help="Charge this ledger before anything is released; needs --dataset. Of an experiment, "
        "nothing is saved before the release is complete.",
    ),
    click.option(
        "--accept-drafted-schema",
        is_flag=True,
        help="Of a table: take a schema that nobody has confirmed; the release is NOT PRIVATE.",
    ),
    click.option(
        "--draft-schema",
        is_flag=True,
        help="Of a table: draft its schema, to --output or the standard output; nothing is "
        "released.",
    ),
    click.option(
        "--keep",
        multiple=True,
        metavar="COLUMN",
        help="Of a draft: keep this column although it looks like an identifier; may be repeated.",
    ),
    click.option(
        "--paid",
        is_flag=True,
        help="Of a draft: read names and kinds of columns alone; ranges and categories are found "
        "with noise when a release is made, and its guarantee pays for them.",
    ),
    click.option(
        "--bins",
        type=click.IntRange(min=1, max=10_000),
        help="Of a draft: into how many parts each range is cut.  [default: 32]",
    ),
)
"""A decorator for the options of the release of a table."""

_OF_DRAFTS = ("keep", "paid", "bins")
_OF_BOTH = ("draft_schema", "drop")
_NEEDED = ("schema", "epsilon", "delta", "adjacency")
_OF_RELEASES = ("epsilon", "delta", "adjacency", "rows", "accept_drafted_schema")


def is_table(name: str | None, given: dict[str, Any]) -> bool:
    """Whether the argument of ``rdpkit synthesize`` is a table: by its ending, or by --schema."""
    if name is None:
        return False
    described = given["schema"] is not None or given["draft_schema"]
    return described or Path(name).suffix.lower() in TABLES


def refuse_for_experiments(given: dict[str, Any]) -> None:
    """Say that an option is for tables, if one was given."""
    ends = ", ".join(TABLES)
    refuse(given, expected=f"a table (a file that ends in {ends})", got="an experiment")


def release_table(data: str, given: dict[str, Any], *, output: Path | None) -> None:
    """Release a table, and print its guarantee."""
    if given["draft_schema"]:
        released = {k: v for k, v in given.items() if k not in (*_OF_DRAFTS, *_OF_BOTH)}
        refuse(released, expected="a release", got="a draft")
        write_draft(data, given, output=output)
        return
    refuse({name: given[name] for name in _OF_DRAFTS}, expected="--draft-schema")
    missing = [name for name in _NEEDED if given[name] is None]
    if missing:
        draft = f" `rdpkit synthesize {data} --draft-schema -o schema.toml` drafts one."
        hint = draft if "schema" in missing else ""
        raise ValueError(f"Expected --{', --'.join(missing)} for a table.{hint}")
    if given["mechanism"] not in (None, "marginals"):
        raise ValueError(
            f"Expected --mechanism to be marginals for a table, got {given['mechanism']!r}."
        )
    from rdpkit.cli.progress import work_shown  # noqa: PLC0415
    from rdpkit.mechanisms.data.tables.files import format_of  # noqa: PLC0415
    from rdpkit.mechanisms.data.tables.schema import load_schema  # noqa: PLC0415
    from rdpkit.mechanisms.experiments.table_release import synthesize_table  # noqa: PLC0415
    from rdpkit.mechanisms.releases.files import check_file_path  # noqa: PLC0415
    from rdpkit.mechanisms.releases.ledger import Ledger  # noqa: PLC0415
    from rdpkit.mechanisms.releases.verdict import verdict_lines  # noqa: PLC0415

    output = checked_output(
        output, lambda path: format_of(check_file_path(path)), data, given["schema"]
    )
    schema = load_schema(given["schema"])
    schema = schema.select(given["columns"]) if given["columns"] else schema
    schema = schema.drop(given["drop"]) if given["drop"] else schema
    check_ledger(given)
    if given["ledger"] is not None and given["accept_drafted_schema"]:
        raise ValueError(
            "Expected a confirmed schema with --ledger: what is not private is not charged."
        )
    account = None if given["ledger"] is None else Ledger(given["ledger"])
    charges: list[int] = []

    def charge(event: Event) -> None:
        """Charge the release, or refuse it; nothing has been released yet."""
        if account is not None:
            with refusals_of_ledgers():
                number = account.charge(
                    dataset=given["dataset"],
                    event=event,
                    adjacency=given["adjacency"],
                    delta=given["delta"],
                    path=output,
                    of_persons=given["person"] is not None,
                )
            charges.append(number)

    with work_shown() as work:
        made = synthesize_table(
            data,
            schema=schema,
            **{name: given[name] for name in _OF_RELEASES},
            before=charge,
            person=person_of(given),
            progress=lambda done, total: work.show("fitting", done, total),
        )
    saved = made.save(output, dataset=given["dataset"])
    if account is not None:
        account.complete(charges[-1], output.with_suffix(".json"))
    manifest = saved.manifest
    described = {
        "file": str(output),
        "rows": made.table.num_rows,
        "columns": list(schema.names),
        "guarantee": made.guarantee.as_dict(),
        "private": manifest.private,
        "checks": [check.as_dict() for check in manifest.checks],
    }
    columns = how_many(len(schema.names), "column")
    lines = [
        f"{how_many(made.table.num_rows, 'record')} of {columns} in {output}",
        *in_columns(guarantee_rows(made.guarantee)),
        *verdict_lines(manifest.private, manifest.checks),
    ]
    print_answer(described, lines)


def person_of(given: dict[str, Any]) -> tuple[str, int] | None:
    """What says whose a record is, and how many of a person are used; None for single records."""
    if (given["person"] is None) != (given["most_per_person"] is None):
        raise ValueError("Expected --person and --most-per-person together.")
    return None if given["person"] is None else (given["person"], given["most_per_person"])
