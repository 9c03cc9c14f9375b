"""``rdpkit verify``: test a privacy claim against the code that makes the releases."""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
from rdpkit.verification.blackbox import verify as verifier
from rdpkit.verification.blackbox.neighbours import (
    LEAST_DELTA,
    USUAL_RECORDS,
    Neighbours,
    load,
    random_neighbours,
    worst_neighbours,
)
from rdpkit.verification.blackbox.scores import MODELS
from rdpkit.verification.blackbox.targets import Own
from rdpkit.verification.blackbox.targets import target as find_target
from rdpkit.verification.blackbox.tested_claim import VIEWS, TestedClaim, dp_claim, event_claim
from rdpkit.verification.blackbox.verify import SAMPLES, Step, VerificationResult
from rdpkit.verification.blackbox.zoo import ENTRIES, names
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

import rdpkit
from rdpkit.adjacency import Adjacency
from rdpkit.cli.output import format_option, one_line_errors
from rdpkit.tables import read_event
from rdpkit.text import as_json, printable

_TIME_BUDGET = 60.0
_PAIRS = 24


@click.command()
@click.argument("target", required=False)
@click.option("--zoo", is_flag=True, help="Verify all mechanisms of the zoo, and print the power.")
@click.option("--list", "list_them", is_flag=True, help="List the mechanisms of the zoo.")
@click.option(
    "--event",
    "event_file",
    type=click.Path(path_type=Path),
    metavar="FILE.toml",
    help="The claim: what is released, as for rdpkit epsilon. With --delta or --epsilon what it "
    "implies there; with neither its privacy profile.",
)
@click.option("--epsilon", type=float, help="The claim, or a part of it; at least 0.")
@click.option("--delta", type=float, help="The claim, or a part of it; in [0, 1).")
@click.option(
    "--adjacency",
    type=click.Choice([member.value for member in Adjacency]),
    help="The neighbouring relation of the claim; there is no default.",
)
@click.option(
    "--view",
    type=click.Choice(VIEWS),
    default="profile",
    show_default=True,
    help="What of an event to test: its privacy profile, which says more, or its RDP curve.",
)
@click.option(
    "--neighbours",
    "pair_source",
    metavar="worst|random|FILE.npz",
    help="The data sets: the worst-case pair of the event, the clearest of random ones, or those "
    "in a file with arrays features, labels, features_prime and labels_prime.  [default: the "
    "target's own if it has any, else worst with an event, else random]",
)
@click.option(
    "--dimension", type=click.IntRange(min=1), help="Features of a record, for worst and random."
)
@click.option(
    "--records",
    type=click.IntRange(min=1),
    help=f"Records of the larger data set, for random and for worst-case pairs that leave it open. "
    f" [default: {USUAL_RECORDS}]",
)
@click.option("--record-norm", type=float, help="Largest L2 norm of a record, for random.")
@click.option(
    "--classes", type=click.IntRange(min=1), default=1, show_default=True, help="For random."
)
@click.option(
    "--pairs",
    type=click.IntRange(min=1),
    default=_PAIRS,
    show_default=True,
    help="How many random pairs to choose from.",
)
@click.option(
    "--alpha",
    type=float,
    default=0.05,
    show_default=True,
    help="False-alarm rate: how often a true claim may be rejected.",
)
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    default=SAMPLES,
    show_default=True,
    help="The most runs of the mechanism, on both data sets.",
)
@click.option(
    "--training",
    type=click.IntRange(min=1),
    help="Runs on each data set to learn scores from.  [default: a tenth of all, at most 2000]",
)
@click.option(
    "--time-budget",
    type=float,
    metavar="SECONDS",
    help=f"Make fewer runs if they take longer.  [default: {_TIME_BUDGET:g}, and none if "
    "--samples is given]",
)
@click.option(
    "--score",
    "models",
    multiple=True,
    type=click.Choice(["linear", *MODELS]),
    help="Scores to learn besides the linear one; may be repeated.  [default: all, for outputs of "
    "more than one number]",
)
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
@click.option("--seed", type=click.IntRange(min=0), help="[default: from the operating system]")
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="How often to verify each mechanism, for --zoo.",
)
@click.option(
    "--strict", is_flag=True, help="Exit status 1 also if diagnostics doubt that the test is able."
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
    output_format: str,
    **options: Any,
) -> None:
    """Test a privacy claim against the code that makes the releases.

    TARGET is a mechanism of the zoo (--list), or module:callable, called as
    callable(dataset, rng) with dataset.features, dataset.labels and a numpy Generator. The module
    is looked for in the current directory first. It is code, and naming it here is what runs it.

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
    if zoo:
        _zoo(repeats=repeats, output_format=output_format, **options)
        return
    assert target is not None
    result = _one(target, **options)
    replay = _replay(target, result, options)
    if output_format == "json":
        click.echo(as_json({**result.as_dict(), "replay": replay}))
    else:
        click.echo("\n".join(printable(line) for line in _lines(result, replay)))
    if result.failed or (strict and result.outcome.diagnostics):
        sys.exit(1)


def _one(
    target: str,
    *,
    samples: int,
    training: int | None,
    time_budget: float | None,
    alpha: float,
    models: tuple[str, ...],
    jobs: int,
    backend: str | None,
    seed: int | None,
    **options: Any,
) -> VerificationResult:
    subject = find_target(target)
    entropy = secrets.randbits(48) if seed is None else seed
    own = subject.own
    claim = _claim(own, **options)
    given = click.get_current_context().get_parameter_source("samples")
    if time_budget is None and given is click.core.ParameterSource.DEFAULT:
        time_budget = _TIME_BUDGET
    with _in_backend(backend), _progress(target) as progress:
        return verifier.verify(
            subject,
            claim=claim,
            neighbours=_neighbours(claim, own, entropy, **options),
            false_alarm_rate=alpha,
            samples=samples,
            training=training,
            time_budget=time_budget,
            jobs=jobs,
            seed=entropy,
            models=tuple(model for model in models if model != "linear") if models else None,
            progress=progress,
        )


def _claim(
    own: Own | None,
    *,
    event_file: Path | None,
    epsilon: float | None,
    delta: float | None,
    adjacency: str | None,
    view: str,
    **_: Any,
) -> TestedClaim:
    """The claim of the options, or, where they name none, the target's own event."""
    if event_file is None and own is not None and (epsilon is None or delta is None):
        event: rdpkit.Event | None = own.event
        adjacency = adjacency or own.adjacency.value
    elif event_file is None and epsilon is None and delta is None:
        raise ValueError("Expected a claim: --event FILE.toml, or --epsilon and --delta.")
    else:
        event = None if event_file is None else read_event(event_file)
    if adjacency is None:
        raise ValueError(
            "Expected --adjacency, one of " + ", ".join(member.value for member in Adjacency) + "."
        )
    if event is not None:
        return event_claim(event, adjacency=adjacency, delta=delta, epsilon=epsilon, view=view)
    if epsilon is None or delta is None:
        raise ValueError("Expected both --epsilon and --delta, or --event.")
    return dp_claim(epsilon=epsilon, delta=delta, adjacency=adjacency)


def _neighbours(
    claim: TestedClaim,
    own: Own | None,
    seed: int,
    *,
    pair_source: str | None,
    dimension: int | None,
    records: int | None,
    record_norm: float | None,
    classes: int,
    pairs: int,
    delta: float | None,
    **_: Any,
) -> list[Neighbours]:
    """The pairs of the options, or the target's own where these say nothing of data sets."""
    described = any(option is not None for option in (pair_source, dimension, records, record_norm))
    if own is not None and own.adjacency is claim.adjacency and not described:
        return own.neighbours()
    source = pair_source or ("worst" if claim.event is not None else "random")
    if source == "worst":
        if claim.event is None:
            raise ValueError("Expected --event with --neighbours worst: the event's pair is meant.")
        return worst_neighbours(
            claim.event,
            adjacency=claim.adjacency,
            delta=LEAST_DELTA if delta is None else delta,
            dimension=dimension,
            records=records,
        )
    if source == "random":
        if dimension is None or record_norm is None:
            raise ValueError(
                "Expected --dimension and --record-norm with --neighbours random, or --neighbours "
                "FILE.npz."
            )
        return random_neighbours(
            count=pairs,
            records=records or USUAL_RECORDS,
            dimension=dimension,
            record_norm=record_norm,
            classes=classes,
            adjacency=claim.adjacency,
            rng=np.random.default_rng(np.random.SeedSequence(entropy=seed, spawn_key=(2**31,))),
        )
    if not source.endswith(".npz"):
        raise ValueError(
            f"Expected --neighbours to be worst, random or a file FILE.npz, got {source!r}."
        )
    return [load(source, adjacency=claim.adjacency)]


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


@contextlib.contextmanager
def _progress(name: str) -> Iterator[Any]:
    """A progress bar on a terminal, and nothing in a pipe."""
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[evidence]}", markup=False),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    ) as progress:
        task = progress.add_task(printable(name), total=None, evidence="")

        def show(step: Step) -> None:
            progress.update(
                task,
                description=f"{printable(name)}: {step.stage}, {step.runs} runs",
                completed=step.runs,
                total=step.of,
                evidence=f"evidence {step.log_e_value:+.2f} of {step.needed:.2f}",
            )

        yield show


_REPLAYED = (
    ("event_file", "--event"),
    ("epsilon", "--epsilon"),
    ("delta", "--delta"),
    ("adjacency", "--adjacency"),
    ("view", "--view"),
    ("pair_source", "--neighbours"),
    ("dimension", "--dimension"),
    ("records", "--records"),
    ("record_norm", "--record-norm"),
    ("classes", "--classes"),
    ("pairs", "--pairs"),
    ("alpha", "--alpha"),
)


def _replay(target: str, result: VerificationResult, options: dict[str, Any]) -> str:
    """The command that gives the same result again."""
    context = click.get_current_context()
    words = ["rdpkit", "verify", target]
    for name, option in _REPLAYED:
        given = context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
        if options[name] is not None and given:
            words += [option, str(options[name])]
    for model in options["models"]:
        words += ["--score", model]
    words += ["--samples", str(result.runs), "--training", str(result.training)]
    words += ["--seed", str(result.seed)]
    return shlex.join(words)


def _lines(result: VerificationResult, replay: str) -> list[str]:
    test = result.outcome
    lines = [
        f"target      {result.target}",
        f"claim       {test.claim}",
        f"verdict     {result.verdict} (false-alarm rate {test.false_alarm_rate:g})",
    ]
    lines += [
        f"mistake     {one.kind.value}: {one.message} {one.advice}" for one in result.mistakes
    ]
    why = {
        "rejected": "stopped as soon as the answer was clear",
        "cleared": "stopped: no threshold of the scores can show a violation",
        "exhausted": "runs came to their end",
    }[test.stop.value]
    lines.append(
        f"runs        {result.runs} in {result.seconds:.1f} s, {result.training} on each data set "
        f"to learn from; {why}"
    )
    lines.append(f"score       {result.score}, of {len(result.scores)} tested side by side")
    if test.witness:
        lines.append(f"witness     {test.witness}")
    assert test.log_e_value is not None
    lines.append(
        f"evidence    {test.log_e_value:.3f} nats of {-np.log(test.false_alarm_rate):.3f} that it "
        "takes to reject"
    )
    lines += [f"{'pair' if not i else '':12}{line}" for i, line in enumerate(result.pair)]
    lines += [
        f"diagnostic  {one.kind.value}: {one.message} {one.advice}" for one in test.diagnostics
    ]
    lines += [f"note        {text}" for text in result.notes]
    if not result.rejected:
        lines.append("note        a claim that is not rejected is not proven")
    lines += [f"seed        {result.seed}", f"replay      {replay}"]
    return lines


def _list(output_format: str) -> None:
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


def _zoo(
    *,
    repeats: int,
    output_format: str,
    seed: int | None,
    alpha: float,
    samples: int,
    training: int | None,
    jobs: int,
    backend: str | None,
    **options: Any,
) -> None:
    """Every mechanism of the zoo, ``repeats`` times, each with a seed of its own."""
    from rdpkit.verification.blackbox.zoo.power import Power, measure  # noqa: PLC0415 - only for this

    context = click.get_current_context()
    for name, option in _REPLAYED[:-1]:
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
            raise ValueError(f"Expected no {option} with --zoo: its mechanisms have their own.")
    entropy = secrets.randbits(48) if seed is None else seed
    found: list[Power] = []
    with (
        _in_backend(backend),
        Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        ) as progress,
    ):
        task = progress.add_task("zoo", total=len(names()))
        for name in names():
            progress.update(task, description=name)
            found.append(
                measure(
                    name,
                    repeats=repeats,
                    seed=entropy,
                    false_alarm_rate=alpha,
                    samples=samples,
                    training=training,
                    jobs=jobs,
                )
            )
            progress.advance(task)
    words = ["rdpkit", "verify", "--zoo", "--repeats", str(repeats), "--seed", str(entropy)]
    for name, option in (
        ("alpha", "--alpha"),
        ("samples", "--samples"),
        ("training", "--training"),
    ):
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
            words += [option, str({"alpha": alpha, "samples": samples, "training": training}[name])]
    replay = shlex.join(words)
    if output_format == "json":
        click.echo(as_json({"zoo": [power.as_dict() for power in found], "replay": replay}))
    else:
        _print_power(found)
        click.echo(f"replay  {replay}")
    if not all(power.as_it_should_be for power in found):
        sys.exit(1)


def _print_power(found: list[Any]) -> None:
    console = Console()
    if not console.is_terminal:
        console = Console(width=120)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("mechanism", no_wrap=True)
    for heading in ("rejected", "named", "caught, 95 %", "median runs", "most runs", "seconds"):
        table.add_column(heading, justify="right", no_wrap=True)
    for power in found:
        table.add_row(
            Text(power.name, style="" if power.as_it_should_be else "bold red"),
            f"{power.rejected} of {power.repeats}",
            f"{power.named} of {power.repeats}" if power.nameable else "",
            f"{power.interval.lower:.3f} to {power.interval.upper:.3f}",
            str(power.median_runs),
            str(power.most_runs),
            f"{power.seconds:.2f}",
        )
    console.print(table)
