"""``rdpkit verify``: test a privacy claim against the code that makes the releases."""

from __future__ import annotations

import contextlib
import math
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from rdpkit.adjacency import Adjacency
from rdpkit.cli.option_types import ADJACENCY
from rdpkit.cli.output import format_option, one_line_errors
from rdpkit.cli.progress import threads_option, work_shown
from rdpkit.formats.text import as_json, printable
from rdpkit.verification.blackbox.options import (
    MODELS,
    OPTIONS,
    VIEWS,
    Option,
    VerificationOptions,
    read_options,
)

if TYPE_CHECKING:
    from rdpkit.verification.blackbox.betting.steps import VerificationStep
    from rdpkit.verification.blackbox.detection_rates import DetectionRate
    from rdpkit.verification.blackbox.verification_result import VerificationResult
    from rdpkit.verification.evidence.requests import VerificationRequest

# Options about one claim, which --zoo refuses because its mechanisms have claims of their own.
_CLAIM_OPTIONS = {
    "event": "--event",
    "epsilon": "--epsilon",
    "delta": "--delta",
    "adjacency": "--adjacency",
    "view": "--view",
}
_FOR_THE_ZOO = ("false_alarm_rate", "samples", "training", "seed")


def _verification_options(function: Callable[..., None]) -> Callable[..., None]:
    """Command-line options made from the records of all black-box options."""
    types = {"integer": int, "number": float, "array": click.Choice(["linear", *MODELS])}
    for option in reversed(OPTIONS):
        kind = option.kind.schema.get("type", "string")
        function = click.option(
            option.flag,
            option.name,
            type=types.get(kind, str),
            multiple=kind == "array",
            metavar=option.metavar or None,
            help=" ".join(filter(None, [option.meaning, option.command_line, _default_of(option)])),
        )(function)
    return function


def _default_of(option: Option) -> str:
    default = option.usual or ("" if option.default is None else f"{option.default}")
    return f" [default: {default}]" if default else ""


@click.command()
@click.argument("target", required=False)
@click.option("--zoo", is_flag=True, help="Verify all mechanisms of the zoo, and print the power.")
@click.option("--list", "list_them", is_flag=True, help="List the mechanisms of the zoo.")
@click.option(
    "--event",
    metavar="FILE.toml|JSON",
    help="The claim: what is released, as for rdpkit epsilon, in a file or as a JSON object. With "
    "--delta or --epsilon, the guarantee that the event implies there is tested; with neither, its "
    "privacy profile.",
)
@click.option("--epsilon", type=float, help="The claim, or a part of it; at least 0.")
@click.option("--delta", type=float, help="The claim, or a part of it; in [0, 1).")
@click.option(
    "--adjacency",
    type=ADJACENCY,
    help="The neighbouring relation of the claim; there is no default.",
)
@click.option(
    "--view",
    type=click.Choice(VIEWS),
    help="What of an event to test: its privacy profile, which says more, or its RDP curve.  "
    "[default: profile]",
)
@_verification_options
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=lambda: os.cpu_count() or 1,
    show_default="all cores",
    help="Processes to share the runs between; the result does not depend on it.",
)
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
    help="Exit with status 1 also if diagnostics doubt that the test could notice a violation.",
)
@format_option
@one_line_errors
def verify(
    *,
    target: str | None,
    zoo: bool,
    list_them: bool,
    strict: bool,
    repeats: int,
    jobs: int,
    backend: str | None,
    output_format: str,
    **given: Any,
) -> None:
    """Test a privacy claim against the code that makes the releases.

    TARGET is a mechanism of the zoo (--list), a mechanism of this library by its name, or
    module:callable, called as callable(dataset, rng) with dataset.features, dataset.labels and a
    numpy Generator. The module is looked for in the current directory first. This command imports
    and runs its code.

    A mechanism of the zoo has its own claim and data sets, and so has any callable with
    attributes event and adjacency: it needs no other option.

    Exit status: 0 not rejected, 1 rejected or a mistake was named, 2 bad usage or bad input, which
    includes a mechanism that raises or returns NaN.
    """
    if [target is not None, zoo, list_them].count(True) != 1:
        raise ValueError("Expected exactly one of TARGET, --zoo and --list.")
    if list_them:
        _list(output_format)
        return
    options = read_options(given, by_flag=True)
    with _in_backend(backend):
        if target is None:
            failed = _verify_zoo(given, options.seeded(), repeats, jobs, output_format)
        else:
            request = _request(target, given, options)
            result = _verify_one(request, jobs)
            failed = result.failed or (strict and bool(result.outcome.diagnostics))
            replay = request.replay(result)
            if output_format == "json":
                click.echo(as_json({**result.as_dict(), "replay": replay}))
            else:
                click.echo("\n".join(printable(line) for line in _lines(result, replay)))
    if failed:
        sys.exit(1)


def _request(
    target: str, given: dict[str, Any], options: VerificationOptions
) -> VerificationRequest:
    """The test that the options ask for."""
    # Imported where it is needed, so that help is printed at once.
    from rdpkit.verification.evidence.requests import (  # noqa: PLC0415
        ClaimOptions,
        VerificationRequest,
        event_option,
    )

    word, adjacency = given["event"], given["adjacency"]
    claim = ClaimOptions(
        event=None if word is None else event_option(word),
        event_word=word or "",
        epsilon=given["epsilon"],
        delta=given["delta"],
        adjacency=None if adjacency is None else Adjacency.parse(adjacency),
        view=given["view"],
    )
    return VerificationRequest(target=target, claim=claim, options=options)


def _verify_one(request: VerificationRequest, jobs: int) -> VerificationResult:
    with work_shown() as work:

        def show(step: VerificationStep) -> None:
            evidence = f"evidence {step.log_e_value:+.2f} of {step.needed:.2f}"
            work.show(request.target, step.runs, step.of, f"{step.stage}, {evidence}")

        return request.run(jobs=jobs, progress=show)


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


def _words(given: dict[str, Any], left_out: tuple[str, ...]) -> list[str]:
    """The options that were given, as they are typed."""
    flags = {**_CLAIM_OPTIONS, **{option.name: option.flag for option in OPTIONS}}
    words = []
    for name, flag in flags.items():
        if given[name] is not None and name not in left_out:
            values = given[name] if isinstance(given[name], tuple) else (given[name],)
            words += [word for value in values for word in (flag, str(value))]
    return words


def _lines(result: VerificationResult, replay: str) -> list[str]:
    test = result.outcome
    assert test.log_e_value is not None
    needed = math.log(1.0 / test.false_alarm_rate)
    why = {
        "rejected": "stopped as soon as the answer was clear",
        "cleared": "stopped: no threshold of the scores can show a violation",
        "exhausted": "all runs were made",
    }[test.stop.value]
    rows = [
        ("target", result.target),
        ("claim", test.claim),
        ("verdict", f"{result.verdict} (false-alarm rate {test.false_alarm_rate:g})"),
        *(("mistake", f"{m.kind.value}: {m.message} {m.advice}") for m in result.mistakes),
        ("runs", f"{result.runs} in {result.seconds:.1f} s; {why}"),
        ("score", f"{result.score}, of {len(result.scores)} tested together"),
        *([("witness", test.witness)] if test.witness else []),
        ("evidence", f"{test.log_e_value:.3f} nats; rejecting takes {needed:.3f}"),
        *(("" if index else "pair", line) for index, line in enumerate(result.pair)),
        *(("diagnostic", f"{d.kind.value}: {d.message} {d.advice}") for d in test.diagnostics),
        *(("note", text) for text in result.notes),
        *([] if result.rejected else [("note", "a claim that is not rejected is not proven")]),
        ("seed", str(result.seed)),
        ("replay", replay),
    ]
    return [f"{heading:12}{text}" for heading, text in rows]


def _list(output_format: str) -> None:
    from rdpkit.verification.blackbox.zoo import ENTRIES  # noqa: PLC0415 - as above

    if output_format == "json":
        found = [
            {
                "name": entry.name,
                "mistake": entry.mistake,
                "correction": entry.correction,
                "seen_in": entry.seen_in,
                "event": entry.event.mechanism,
                "adjacency": entry.adjacency.value,
                "statistic": entry.statistic,
            }
            for entry in ENTRIES.values()
        ]
        click.echo(as_json({"zoo": found}))
        return
    for entry in ENTRIES.values():
        click.echo(f"{entry.name}, {entry.name}-fixed")
        click.echo(f"  {entry.mistake}")
        click.echo(f"  Seen in {entry.seen_in}.")


def _verify_zoo(
    given: dict[str, Any],
    options: VerificationOptions,
    repeats: int,
    jobs: int,
    output_format: str,
) -> bool:
    """Verify every mechanism of the zoo many times, and say whether one came out wrong."""
    from rdpkit.verification.blackbox import zoo  # noqa: PLC0415 - as above
    from rdpkit.verification.blackbox.detection_rates import measure  # noqa: PLC0415

    refused = _words(given, _FOR_THE_ZOO)
    if refused:
        raise ValueError(f"Expected no {refused[0]} with --zoo: its mechanisms have their own.")
    names = zoo.names()
    found = []
    with work_shown() as work:
        for place, name in enumerate(names):
            work.show("zoo", place, len(names), name)
            found.append(measure(name, options=options, repeats=repeats, jobs=jobs))
    words = ["rdpkit", "verify", "--zoo", "--repeats", str(repeats), "--seed", str(options.seed)]
    replay = shlex.join([*words, *_words(given, ("seed",))])
    if output_format == "json":
        click.echo(as_json({"zoo": [rate.as_dict() for rate in found], "replay": replay}))
    else:
        _print_rates(found)
        click.echo(f"replay  {replay}")
    return not all(rate.as_it_should_be for rate in found)


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
