"""``rdpkit verify``: test a privacy claim against the code that makes the releases.

With ``--replay`` and ``--library`` it is examined by record and replay.
"""

from __future__ import annotations

import contextlib
import dataclasses
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import click

from rdpkit.adjacency import Adjacency
from rdpkit.cli.option_types import ADJACENCY, INTEGER, NUMBER, NameType, names_of
from rdpkit.cli.output import (
    answer_options,
    asked_format,
    print_answer,
)
from rdpkit.cli.progress import jobs_option, threads_option, work_shown
from rdpkit.formats.records import plain_of
from rdpkit.formats.text import as_json, how_many, printable
from rdpkit.verification.blackbox.options import (
    OPTIONS,
    VIEWS,
    VerificationOptions,
    read_options,
    words_of,
)
from rdpkit.verification.cli.code_options import (
    evidence_options,
    file_options,
    files_to_write,
    read_evidence_options,
    record_options,
    write_files,
)
from rdpkit.verification.outputs import CODE_OUTPUTS

if TYPE_CHECKING:
    from rdpkit.verification.blackbox.betting.search import VerificationStep
    from rdpkit.verification.blackbox.detection_rates import DetectionRate
    from rdpkit.verification.blackbox.options import VerificationOptions
    from rdpkit.verification.evidence.accumulation import EvidenceOptions, TargetOutcome
    from rdpkit.verification.evidence.requests import VerificationRequest
    from rdpkit.verification.outputs.tests_of_code import CodeView
    from rdpkit.verification.replay.findings import ReplayResult
    from rdpkit.verification.replay.libraries import Library

# Options about one claim, which --zoo refuses because its mechanisms have claims of their own.
_CLAIM_OPTIONS = ("event", "count", "epsilon", "delta", "adjacency", "view")
_FOR_THE_ZOO = ("false_alarm_rate", "samples", "training", "seed")


def _targets(ctx: click.Context) -> list[str]:
    """The mechanisms of the library and of the zoo."""
    from rdpkit.mechanisms.algorithms import mechanism_names  # noqa: PLC0415 - only for shells
    from rdpkit.verification.blackbox.zoo import NAMES  # noqa: PLC0415

    return [*mechanism_names(), *NAMES]


@click.command()
@click.argument("targets", metavar="[TARGET]...", nargs=-1, shell_complete=names_of(_targets))
@click.option("--zoo", is_flag=True, help="Verify all mechanisms of the zoo, and print the power.")
@click.option("--list", "list_them", is_flag=True, help="List the mechanisms of the zoo.")
@click.option(
    "--library",
    metavar="NAME[==VERSION]",
    help="Replay all mechanisms of a library, in an environment that is made for it; --library "
    "list names the libraries. TARGETs choose some of its mechanisms.",
)
@click.option(
    "--event",
    metavar="FILE.toml|JSON",
    help="The claim: what is released, as for rdpkit epsilon, in a file or as a JSON object. With "
    "--delta or --epsilon, the guarantee that the event implies there is tested; with neither, its "
    "privacy profile.",
)
@click.option(
    "--count",
    type=INTEGER,
    help="How many times TARGET releases the event on the same data, with --event.  [default: 1]",
)
@click.option("--epsilon", type=NUMBER, help="The claim, or a part of it; at least 0.")
@click.option("--delta", type=NUMBER, help="The claim, or a part of it; in [0, 1).")
@click.option(
    "--adjacency",
    type=ADJACENCY,
    help="The neighbouring relation of the claim; there is no default.",
)
@click.option(
    "--view",
    type=NameType.of("view", VIEWS),
    help="What of an event to test: its privacy profile, which says more, or its RDP curve.  "
    "[default: profile]",
)
@record_options(OPTIONS)
@jobs_option("the runs between; the result does not depend on it")
@click.option(
    "--backend",
    help="A joblib backend to run in: loky, threading, or one that is registered, like dask.",
)
@threads_option
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="How often to verify each mechanism, for --zoo.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with status 1 also if diagnostics doubt that the test could notice a violation, or "
    "if a replay finds something unaccounted.",
)
@file_options(CODE_OUTPUTS)
@evidence_options
@answer_options("text", "json")
def verify(
    *,
    targets: tuple[str, ...],
    zoo: bool,
    list_them: bool,
    library: str | None,
    strict: bool,
    repeats: int,
    jobs: int,
    backend: str | None,
    **given: Any,
) -> None:
    """Test a privacy claim against the code that makes the releases.

    TARGET is a mechanism of the zoo (--list), a mechanism of this library by its name, or
    module:callable, called as callable(dataset, rng) with dataset.features, dataset.labels and a
    numpy Generator. The module is looked for in the current directory first. This command imports
    and runs its code.

    A mechanism of the zoo has its own claim and data sets, and so has any callable with
    attributes event and adjacency: it needs no other option.

    Several targets are tested one after the other, each at an equal part of the false-alarm rate,
    so that the rate holds for all of them together. With --evidence the rate (--alpha) is that of
    the file.

    Exit status: 0 not rejected, 1 rejected or a mistake was named, 2 bad usage or bad input, which
    includes a mechanism that raises in every run. With --replay or --library: 1 where a claim is
    refuted or a target raises on every pair, 0 for all other verdicts; with --strict 1 also for
    what is unaccounted or inconclusive.
    """
    if [bool(targets) or library is not None, zoo, list_them].count(True) != 1:
        raise ValueError("Expected exactly one of TARGET, --library, --zoo and --list.")
    twice = [name for place, name in enumerate(targets) if name in targets[:place]]
    if twice:
        raise ValueError(f"Expected every TARGET once, got {twice[0]!r} twice.")
    to_write = files_to_write(given, CODE_OUTPUTS)
    if list_them:
        _list_zoo()
        return
    evidence = read_evidence_options(given, given["false_alarm_rate"])
    if evidence is not None and zoo:
        raise ValueError("Expected no --evidence with --zoo: it measures how often claims fall.")
    if evidence is not None and (given["replay"] or library):
        raise ValueError("Expected no --evidence with a replay: its tests are of one pair each.")
    replays = given["replay"] or library is not None
    options = read_options({**given, "replay": replays}, by_flag=True)
    with _in_backend(backend):
        if library is not None:
            views = _replay_library(library, targets, options, jobs=jobs, strict=strict)
        elif options.replay:
            views = _replay_targets(
                lambda: _requests(targets, given, options),
                targets[0],
                strict=strict,
            )
        elif zoo:
            views = _verify_zoo(given, options.seeded(), repeats, jobs)
        else:
            views = _verify_targets(
                _requests(targets, given, options),
                evidence,
                jobs=jobs,
                strict=strict,
                ends=len(targets) == 1 and not to_write,
            )
    write_files(to_write, views)
    errors = [view for view in views if view.verdict == "error"]
    for view in errors:
        click.echo(printable(f"Error: {view.headline}"), err=True)
    if errors:
        sys.exit(2)
    if any(view.rule for view in views):
        sys.exit(1)


def _verify_targets(
    requests: list[VerificationRequest],
    evidence: EvidenceOptions | None,
    *,
    jobs: int,
    strict: bool,
    ends: bool,  # Whether a test that cannot be made ends the command
) -> list[CodeView]:
    """Test every target, print what comes out, and return it in words for files."""
    # Imported where it is needed, so that help is printed at once.
    from rdpkit.verification.outputs.tests_of_code import view_of_outcome  # noqa: PLC0415

    several = len(requests) > 1
    outcomes = []
    for request in requests:
        outcome = _outcome(request, evidence, jobs=jobs, ends=ends)
        outcomes.append(outcome)
        if asked_format() != "json" and not outcome.error:
            lines = [*_lines_of(outcome), *([""] if several else [])]
            click.echo("\n".join(map(printable, lines)))
    views = [view_of_outcome(outcome, strict=strict) for outcome in outcomes]
    rate = sum(request.options.false_alarm_rate for request in requests)
    said = "" if evidence is not None else f"{rate:g}"
    _print_together([outcome.as_dict() for outcome in outcomes], views, said, several=several)
    return views


def _print_together(
    entries: Sequence[object],  # Plain values of all targets, for JSON
    views: Sequence[CodeView],
    rate: str,  # The false-alarm rate of all targets together; empty if nothing is said of it
    *,
    several: bool,
) -> None:
    """Print all targets as JSON, or what comes after several of them that were printed."""
    from rdpkit.verification.outputs.tests_of_code import counted_verdicts  # noqa: PLC0415 - as above

    if asked_format() == "json":
        click.echo(as_json({"targets": entries} if several else entries[0]))
    elif several:
        of_all = f" (false-alarm rate {rate} for all together)" if rate else ""
        click.echo(f"{how_many(len(views), 'target')}: {counted_verdicts(views)}{of_all}")


def _outcome(
    request: VerificationRequest, evidence: EvidenceOptions | None, *, jobs: int, ends: bool
) -> TargetOutcome:
    """Test one target; among several, one that cannot be tested does not end the others."""
    from rdpkit.verification.blackbox.targets import target  # noqa: PLC0415 - as above
    from rdpkit.verification.evidence import accumulation  # noqa: PLC0415

    with work_shown() as work:

        def show(step: VerificationStep) -> None:
            so_far = f"evidence {step.log_e_value:+.2f} of {step.needed:.2f}"
            note, most = f"{step.stage}, {so_far}", step.seconds_left
            work.show(request.target, step.runs, step.of, note, at_most=most)

        try:
            found = accumulation.accumulated_test(request, evidence, jobs=jobs, progress=show)
        except (ValueError, ArithmeticError, OSError) as error:
            if ends:
                raise
            return accumulation.TargetOutcome(target=request.target, error=str(error))
    place = accumulation.place_of(target(request.target).mechanism())
    return dataclasses.replace(found, place=place)


def _requests(
    targets: tuple[str, ...], given: dict[str, Any], options: VerificationOptions
) -> list[VerificationRequest]:
    """The tests that the options ask for; they share the false-alarm rate."""
    # Imported where it is needed, so that help is printed at once.
    from rdpkit import Repeated  # noqa: PLC0415
    from rdpkit.verification.evidence.requests import (  # noqa: PLC0415
        ClaimOptions,
        VerificationRequest,
        event_option,
    )

    word, adjacency = given["event"], given["adjacency"]
    count = given["count"]
    if word is None and count is not None:
        raise ValueError("Expected --event with --count, which says how often it is released.")
    event = None if word is None else event_option(word)
    claim = ClaimOptions(
        event=event if event is None or count is None else Repeated(event=event, count=count),
        # A command that repeats the test writes out what --count made of a file.
        event_word=word if word is not None and count is None else "",
        epsilon=given["epsilon"],
        delta=given["delta"],
        adjacency=None if adjacency is None else Adjacency.parse(adjacency),
        view=given["view"],
    )
    rate = options.false_alarm_rate / len(targets)
    shared = dataclasses.replace(options, false_alarm_rate=rate)
    return [VerificationRequest(target=target, claim=claim, options=shared) for target in targets]


def _in_backend(name: str | None) -> AbstractContextManager[object]:
    if name is None:
        return contextlib.nullcontext()
    from joblib import parallel_config  # noqa: PLC0415 - only where it is needed

    try:
        return parallel_config(backend=name)  # type: ignore[no-any-return]
    except (ValueError, ImportError) as error:
        raise ValueError(f"--backend {name}: {error}") from None


def _lines_of(outcome: TargetOutcome) -> list[str]:
    """What came of one target, for people."""
    result, position = outcome.result, outcome.position
    rows = [("target", outcome.target), ("not tested", outcome.skipped)]
    if result is not None:
        rows = [*result.rows(), ("seed", str(result.seed)), ("replay", outcome.replay)]
    if position is not None:
        verdict = "rejected" if position.rejected else "not rejected"
        if position.on_record:
            rows.append(("note", "this test was on record already, so it adds nothing"))
        rows.append(("on record", position.describe()))
        rows.append(("in all", f"{verdict} ({position.rate} over all claims and time)"))
    return [f"{heading:12}{text}" for heading, text in rows]


def _list_zoo() -> None:
    from rdpkit.verification.blackbox.zoo import ENTRIES  # noqa: PLC0415 - as above

    names = ["name", "mistake", "correction", "seen_in", "event", "adjacency", "statistic"]
    found, lines = [], []
    for entry in ENTRIES.values():
        found.append(plain_of(entry, names) | {"event": entry.event.mechanism})
        lines += [f"{entry.name}, {entry.name}-fixed", f"  {entry.mistake}"]
        lines.append(f"  Seen in {entry.seen_in}.")
    print_answer({"zoo": found}, lines)


def _verify_zoo(
    given: dict[str, Any], options: VerificationOptions, repeats: int, jobs: int
) -> list[CodeView]:
    """Verify every mechanism of the zoo many times, print the power, and return it in words."""
    from rdpkit.verification.blackbox import zoo  # noqa: PLC0415 - as above
    from rdpkit.verification.blackbox.detection_rates import measure  # noqa: PLC0415
    from rdpkit.verification.outputs.tests_of_code import view_of_rate  # noqa: PLC0415

    flags = {name: f"--{name}" for name in _CLAIM_OPTIONS} | {one.name: one.flag for one in OPTIONS}
    for option, flag in flags.items():
        if given[option] not in (None, False, ()) and option not in _FOR_THE_ZOO:
            raise ValueError(f"Expected no {flag} with --zoo: its mechanisms have their own.")
    found = []
    with work_shown() as work:
        for place, name in enumerate(zoo.NAMES):
            work.show("zoo", place, len(zoo.NAMES), name)
            found.append(measure(name, options=options, repeats=repeats, jobs=jobs))
    words = ["rdpkit", "verify", "--zoo", "--repeats", str(repeats), "--seed", str(options.seed)]
    kept = [one for one in OPTIONS if one.name != "seed" and given[one.name]]
    replay = shlex.join([*words, *words_of(given, tuple(kept))])
    table = {"zoo": [rate.as_dict() for rate in found], "replay": replay}
    if asked_format() != "json":
        _print_rates(found)
    print_answer(table, [f"replay  {replay}"])
    return [view_of_rate(rate) for rate in found]


def _print_rates(found: list[DetectionRate]) -> None:
    from rich.console import Console  # noqa: PLC0415 - as above
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console()
    if not console.is_terminal:
        console = Console(width=120)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("mechanism", no_wrap=True)
    for heading in ("rejected", "named", "caught, 95 %", "median runs", "most runs", "seconds"):
        table.add_column(heading, justify="right", no_wrap=True)
    for rate in found:
        table.add_row(
            Text(rate.name, style="" if rate.as_it_should_be else "bold red"),
            f"{rate.rejected} of {rate.repeats}",
            f"{rate.named} of {rate.repeats}" if rate.nameable else "",
            f"{rate.interval.lower:.3f} to {rate.interval.upper:.3f}",
            str(rate.median_runs),
            str(rate.most_runs),
            f"{rate.seconds:.2f}",
        )
    console.print(table)


# The seed of a library's replays, unless one is given: an interrupted run can go on.
_SEED, _JOURNAL = 1, "replays.journal"


def _replay_targets(
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
    from rdpkit.verification.outputs.tests_of_code import view_of_replay  # noqa: PLC0415 - as above

    several = len(results) > 1
    for result in results if asked_format() != "json" else ():
        click.echo("\n".join(printable(f"{a:12}{b}") for a, b in result.rows()))
        if several:
            click.echo()
    views = [view_of_replay(result, strict=strict) for result in results]
    rate = f"{sum(result.false_alarm_rate for result in results):.3g}"
    _print_together([result.as_dict() for result in results], views, rate, several=several)
    return views


def _replay_library(
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
        _list_libraries(libraries.LIBRARIES)
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
        from rdpkit.verification.outputs import tests_of_code  # noqa: PLC0415 - as above
        from rdpkit.verification.replay import library_replays  # noqa: PLC0415 - as above

        journal = Journal(python.parents[1] / _JOURNAL, mark="rdpkit-replays-1", kind="replay")
        state = libraries.state_of(found, python, options)
        for name in chosen:
            if f"{state} {name}" in journal:
                views[name] = tests_of_code.CodeView.from_dict(journal.get(f"{state} {name}"))

        def keep(name: str, result: ReplayResult) -> None:
            views[name] = tests_of_code.view_of_replay(result, strict=strict)
            journal.add(f"{state} {name}", dataclasses.asdict(views[name]), name=name)

        library_replays.replay_library(
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
    for one in ordered if asked_format() != "json" else ():
        click.echo(printable(f"{one.verdict:14}{one.name}: {one.data['summary']}"))
    rate = f"{options.false_alarm_rate:.3g}"
    _print_together([one.data for one in ordered], ordered, rate, several=True)
    return ordered


def _list_libraries(known: Mapping[str, Library]) -> None:
    from rdpkit.verification.replay import library_replays  # noqa: PLC0415 - as above

    entries, lines = library_replays.read_register(), []
    for one in known.values():
        lines += [f"{one.requirement:26}{one.what}"]
        lines += [f"{'':26}{library_replays.on_record(entries, one.name) or 'not on record'}"]
    print_answer({"libraries": list(map(dataclasses.asdict, known.values()))}, lines)
