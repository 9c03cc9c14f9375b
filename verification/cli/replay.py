"""``rdpkit verify --replay`` and ``--library``: record and replay, on the command line."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from rdpkit.cli.output import asked_format, print_answer
from rdpkit.cli.progress import work_shown
from rdpkit.formats.text import as_json, how_many, printable

if TYPE_CHECKING:
    from rdpkit.verification.blackbox.options import VerificationOptions
    from rdpkit.verification.evidence.requests import VerificationRequest
    from rdpkit.verification.outputs.tests_of_code import CodeView
    from rdpkit.verification.replay.findings import ReplayResult
    from rdpkit.verification.replay.libraries import Library

# The seed of a library's replays, unless one is given: an interrupted run can go on.
_SEED, _JOURNAL = 1, "replays.journal"


def replayed_targets(
    requests: Callable[[], Sequence[VerificationRequest]],
    first: str,  # The first target, which is begun before all that a replay needs is imported
    *,
    strict: bool,
) -> list[CodeView]:
    """Replay every target, print what comes out, and return it in words for files."""
    from rdpkit.verification.replay.agents import agents_of  # noqa: PLC0415 - help stays quick

    results = []
    with contextlib.ExitStack() as stack:
        begun = [stack.enter_context(one) for one in agents_of(first)]
        from rdpkit.verification.evidence.replays import replay_of  # noqa: PLC0415 - as above

        work = stack.enter_context(work_shown())
        for request in requests():

            def show(place: int, of: int, note: str, target: str = request.target) -> None:
                work.show(target, place, of, note)

            results.append(replay_of(request, agents=begun, progress=show))
            begun = []
    return _printed(results, strict=strict)


def replayed_library(
    library: str,
    names: tuple[str, ...],
    options: VerificationOptions,
    *,
    jobs: int,
    strict: bool,
) -> list[CodeView]:
    """Replay the mechanisms of a library, print what comes out, and return it in words."""
    from rdpkit.verification.replay import libraries  # noqa: PLC0415 - as above

    if library == "list":
        _list(libraries.LIBRARIES)
        return []
    found = libraries.library_of(library)
    chosen = found.chosen(names)
    options = options if options.seed is not None else dataclasses.replace(options, seed=_SEED)
    views: dict[str, CodeView] = {}
    with contextlib.ExitStack() as stack:
        work = stack.enter_context(work_shown())
        work.show(library, 0, len(chosen), "looking for an environment, or making one")
        python = libraries.environment(found)
        begun = libraries.agents_of(found, chosen[0], python)
        for agent in begun:
            stack.enter_context(agent)
        from rdpkit.formats.journal import Journal  # noqa: PLC0415 - after the target has begun
        from rdpkit.verification.outputs.tests_of_code import (  # noqa: PLC0415 - as above
            CodeView,
            view_of_replay,
        )
        from rdpkit.verification.replay.library_replays import (  # noqa: PLC0415 - as above
            replay_library,
        )

        journal = Journal(python.parents[1] / _JOURNAL, mark="rdpkit-replays-1", kind="replay")
        state = libraries.state_of(found, python, options)
        for name in chosen:
            if f"{state} {name}" in journal:
                views[name] = CodeView.from_dict(journal.get(f"{state} {name}"))

        def keep(name: str, result: ReplayResult) -> None:
            views[name] = view_of_replay(result, strict=strict)
            journal.add(f"{state} {name}", dataclasses.asdict(views[name]), name=name)

        replay_library(
            found,
            names=names,
            finished=tuple(views),
            options=options,
            jobs=jobs,
            python=python,
            begun={chosen[0]: begun},
            progress=lambda place, of, note: work.show(library, place, of, note),
            keep=keep,
        )
    # What was interrupted goes on from there; what is finished is made anew the next time.
    journal.remove()
    ordered = [views[name] for name in chosen]
    if asked_format() == "json":
        click.echo(as_json({"targets": [one.data for one in ordered]}))
        return ordered
    for one in ordered:
        click.echo(printable(f"{one.verdict:14}{one.name}: {one.data['summary']}"))
    _total(ordered, options.false_alarm_rate)
    return ordered


def _list(known: Mapping[str, Library]) -> None:
    from rdpkit.verification.replay.register import (  # noqa: PLC0415 - as above
        on_record,
        read_register,
    )

    entries, lines = read_register(), []
    for one in known.values():
        lines += [f"{one.requirement:26}{one.what}"]
        lines += [f"{'':26}{on_record(entries, one.name) or 'not on record'}"]
    print_answer({"libraries": list(map(dataclasses.asdict, known.values()))}, lines)


def _printed(results: Sequence[ReplayResult], *, strict: bool) -> list[CodeView]:
    from rdpkit.verification.outputs.tests_of_code import (  # noqa: PLC0415 - as above
        view_of_replay,
    )

    views = [view_of_replay(result, strict=strict) for result in results]
    if asked_format() == "json":
        entries = [result.as_dict() for result in results]
        click.echo(as_json({"targets": entries} if len(entries) != 1 else entries[0]))
        return views
    for result in results:
        click.echo("\n".join(printable(f"{a:12}{b}") for a, b in result.rows()))
        if len(results) > 1:
            click.echo()
    if len(results) > 1:
        _total(views, sum(result.false_alarm_rate for result in results))
    return views


def _total(views: Sequence[CodeView], rate: float) -> None:
    from rdpkit.verification.outputs.tests_of_code import (  # noqa: PLC0415 - as above
        counted_verdicts,
    )

    click.echo(
        f"{how_many(len(views), 'target')}: {counted_verdicts(views)} "
        f"(false-alarm rate {rate:.3g} for all together)"
    )
