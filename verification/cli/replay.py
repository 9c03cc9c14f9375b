"""``rdpkit verify --replay`` and ``--library``: record and replay, on the command line."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from rdpkit.cli.progress import work_shown
from rdpkit.formats.text import as_json, how_many, printable

if TYPE_CHECKING:
    from rdpkit.verification.blackbox.options import VerificationOptions
    from rdpkit.verification.evidence.requests import VerificationRequest
    from rdpkit.verification.outputs.tests_of_code import CodeView
    from rdpkit.verification.replay.findings import ReplayResult
    from rdpkit.verification.replay.libraries import Library


def replayed_targets(
    requests: Sequence[VerificationRequest], *, strict: bool, output_format: str
) -> list[CodeView]:
    """Replay every target, print what comes out, and return it in words for files."""
    from rdpkit.verification.evidence.replays import replay_of  # noqa: PLC0415 - help stays quick

    results = []
    with work_shown() as work:
        for request in requests:

            def show(place: int, of: int, note: str, target: str = request.target) -> None:
                work.show(target, place, of, note)

            results.append(replay_of(request, progress=show))
    return _printed(results, strict=strict, output_format=output_format)


def replayed_library(
    library: str,
    names: tuple[str, ...],
    options: VerificationOptions,
    *,
    jobs: int,
    strict: bool,
    output_format: str,
) -> list[CodeView]:
    """Replay the mechanisms of a library, print what comes out, and return it in words."""
    from rdpkit.verification.replay import libraries  # noqa: PLC0415 - as above

    if library == "list":
        _list(libraries.LIBRARIES, output_format)
        return []
    with work_shown() as work:
        results = libraries.replay_library(
            libraries.library_of(library),
            names=names,
            options=options.seeded(),
            jobs=jobs,
            progress=lambda place, of, note: work.show(library, place, of, note),
        )
    return _printed(results, strict=strict, output_format=output_format, brief=True)


def _list(known: Mapping[str, Library], output_format: str) -> None:
    from rdpkit.verification.replay.register import (  # noqa: PLC0415 - as above
        on_record,
        read_register,
    )

    if output_format == "json":
        found = [dataclasses.asdict(one) for one in known.values()]
        click.echo(as_json({"libraries": found}))
        return
    entries = read_register()
    for one in known.values():
        click.echo(f"{one.requirement:26}{one.what}")
        recorded = on_record(entries, one.name)
        click.echo(f"{'':26}{recorded or 'not on record'}")


def _printed(
    results: Sequence[ReplayResult], *, strict: bool, output_format: str, brief: bool = False
) -> list[CodeView]:
    from rdpkit.verification.outputs.tests_of_code import (  # noqa: PLC0415 - as above
        counted_verdicts,
        view_of_replay,
    )

    views = [view_of_replay(result, strict=strict) for result in results]
    if output_format == "json":
        entries = [result.as_dict() for result in results]
        click.echo(as_json({"targets": entries} if len(entries) != 1 else entries[0]))
        return views
    for result in results:
        lines = [_in_a_line(result)] if brief else [f"{a:12}{b}" for a, b in result.rows()]
        click.echo("\n".join(map(printable, lines)))
        if not brief and len(results) > 1:
            click.echo()
    if len(results) > 1:
        rate = sum(result.false_alarm_rate for result in results)
        click.echo(
            f"{how_many(len(results), 'target')}: {counted_verdicts(views)} "
            f"(false-alarm rate {rate:.3g} for all together)"
        )
    return views


def _in_a_line(result: ReplayResult) -> str:
    return f"{result.verdict.value:14}{result.target}: {result.summary}"
