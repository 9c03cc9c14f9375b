"""``rdpkit verify``: test a privacy claim against the code that makes the releases."""

from __future__ import annotations

import contextlib
import dataclasses
import shlex
import sys
from collections.abc import Iterator
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
from rdpkit.verification.cli.replay import replayed_library, replayed_targets
from rdpkit.verification.outputs import CODE_OUTPUTS

if TYPE_CHECKING:
    from rdpkit.verification.blackbox.betting.search import VerificationStep
    from rdpkit.verification.blackbox.detection_rates import DetectionRate
    from rdpkit.verification.evidence.accumulation import EvidenceOptions, TargetOutcome
    from rdpkit.verification.evidence.requests import VerificationRequest
    from rdpkit.verification.outputs.tests_of_code import CodeView

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
        _list()
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
            views = replayed_library(library, targets, options, jobs=jobs, strict=strict)
        elif options.replay:
            views = replayed_targets(
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
    from rdpkit.verification.outputs.tests_of_code import (  # noqa: PLC0415
        counted_verdicts,
        view_of_outcome,
    )

    several = len(requests) > 1
    outcomes = []
    for request in requests:
        outcome = _outcome(request, evidence, jobs=jobs, ends=ends)
        outcomes.append(outcome)
        if asked_format() != "json" and not outcome.error:
            lines = [*_lines_of(outcome), *([""] if several else [])]
            click.echo("\n".join(map(printable, lines)))
    views = [view_of_outcome(outcome, strict=strict) for outcome in outcomes]
    if asked_format() == "json":
        entries = [outcome.as_dict() for outcome in outcomes]
        click.echo(as_json({"targets": entries} if several else entries[0]))
    elif several:
        rate = sum(request.options.false_alarm_rate for request in requests)
        of_all = f" (false-alarm rate {rate:g} for all together)"
        counts = f"{how_many(len(requests), 'target')}: {counted_verdicts(views)}"
        click.echo(counts + (of_all if evidence is None else ""))
    return views


def _outcome(
    request: VerificationRequest, evidence: EvidenceOptions | None, *, jobs: int, ends: bool
) -> TargetOutcome:
    """Test one target; among several, one that cannot be tested does not end the others."""
    from rdpkit.verification.blackbox.targets import target  # noqa: PLC0415 - as above
    from rdpkit.verification.evidence.accumulation import (  # noqa: PLC0415
        TargetOutcome,
        accumulated_test,
        place_of,
    )

    with work_shown() as work:

        def show(step: VerificationStep) -> None:
            so_far = f"evidence {step.log_e_value:+.2f} of {step.needed:.2f}"
            note, most = f"{step.stage}, {so_far}", step.seconds_left
            work.show(request.target, step.runs, step.of, note, at_most=most)

        try:
            found = accumulated_test(request, evidence, jobs=jobs, progress=show)
        except (ValueError, ArithmeticError, OSError) as error:
            if ends:
                raise
            return TargetOutcome(target=request.target, error=str(error))
    return dataclasses.replace(found, place=place_of(target(request.target).mechanism()))


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


@contextlib.contextmanager
def _in_backend(name: str | None) -> Iterator[None]:
    if name is None:
        yield
        return
    from joblib import parallel_config  # noqa: PLC0415 - only where it is needed

    try:
        context = parallel_config(backend=name)
    except (ValueError, ImportError) as error:
        raise ValueError(f"--backend {name}: {error}") from None
    with context:
        yield


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


def _list() -> None:
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
