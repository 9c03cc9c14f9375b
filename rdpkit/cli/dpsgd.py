"""``rdpkit dpsgd``: what a DP-SGD run is worth, or which setting a target allows."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rdpkit.accountants.loss_distributions import remembered
from rdpkit.adjacency import Adjacency
from rdpkit.calibration import UnreachableTargetError, calibrate
from rdpkit.cli.event_commands import EventCommand, claimed_epsilon_option, with_help
from rdpkit.cli.option_types import ADJACENCY, FILE, INTEGER, NUMBER, NameType, dashed
from rdpkit.cli.output import OUT_OF_REACH, CommandError, answer_options, print_answer
from rdpkit.events import DPSGD
from rdpkit.events.training.dpsgd import SAMPLINGS
from rdpkit.formats.files import write_whole
from rdpkit.formats.html import grid, page
from rdpkit.formats.numbers import as_given, beside
from rdpkit.formats.screen import entry
from rdpkit.formats.text import how_many, printable, rounded_down, rounded_up
from rdpkit.guarantee import Guarantee
from rdpkit.pairs.claim_check import about_last_digit, claimed_number, soundness_of
from rdpkit.planning import (
    SamplingBounds,
    TrainingReport,
    compare_sampling,
    training_report,
    usual_delta,
)

if TYPE_CHECKING:
    from rdpkit.interop.other_accountants import OtherEpsilon

_WIDTH = 15
_HELP = {parameter.name: text for parameter, text in with_help(DPSGD)}
_WANTED = ("noise_multiplier", "epochs", "batch_size")


@click.command(cls=EventCommand)
@click.option("--dataset-size", type=INTEGER, required=True, help=_HELP["dataset_size"])
@click.option("--batch-size", type=INTEGER, help=_HELP["batch_size"])
@click.option("--epochs", type=NUMBER, help=_HELP["epochs"])
@click.option("--steps", type=INTEGER, help=_HELP["steps"])
@click.option("--noise-multiplier", type=NUMBER, help=_HELP["noise_multiplier"])
@click.option(
    "--target-epsilon",
    type=NUMBER,
    help="The largest epsilon that is wanted. Leave out what is to be found: the noise multiplier, "
    "epochs and steps, or the batch size.",
)
@click.option(
    "--sampling",
    type=NameType.of("sampling", SAMPLINGS),
    help=f"{_HELP['sampling']}  [default: poisson]",
)
@click.option("--max-batch-size", type=INTEGER, help=_HELP["max_batch_size"])
@click.option("--microbatch-size", type=INTEGER, default=1, help=_HELP["microbatch_size"])
@click.option("--examples-per-user", type=INTEGER, default=1, help=_HELP["examples_per_user"])
@click.option("--accumulation-steps", type=INTEGER, default=1, help=_HELP["accumulation_steps"])
@click.option(
    "--delta",
    type=NUMBER,
    help="In (0, 1).  [default: the largest power of ten below one over the data set size, and at "
    "most 1e-5]",
)
@click.option(
    "--adjacency",
    type=ADJACENCY,
    help="When two data sets are neighbours.  [default: add-or-remove-one, which papers on DP-SGD "
    "mean]",
)
@claimed_epsilon_option
@click.option(
    "--compare-sampling",
    "comparing",
    is_flag=True,
    help="Show what the same settings are worth with batches made in every way, and what "
    "--claimed-epsilon, or the epsilon of Poisson samples, is worth then; by default under "
    "zero-out.",
)
@click.option(
    "--compare-accountants",
    "others",
    is_flag=True,
    help="Show what Opacus, dp-accounting and TensorFlow Privacy's statement print for this run, "
    "as far as they are installed.",
)
@click.option(
    "--report",
    "html",
    type=FILE,
    help="Write one page of HTML to this file, for people who do not compute; so does -o with a "
    "name that ends in .html.",
)
@answer_options("text", "json", others={".html": "html"})
@remembered()
def dpsgd(
    *,
    html: Path | None,
    comparing: bool,
    others: bool,
    delta: float | None,
    adjacency: str | None,
    claimed_epsilon: str | None,
    **given: Any,
) -> None:
    """What a DP-SGD run is worth: a certified epsilon, and everything else on one screen.

    Whatever is assumed is printed. With --target-epsilon, a setting that is left out is found.

    \b
    rdpkit dpsgd --noise-multiplier 1.1 --batch-size 256 --dataset-size 60000 --epochs 60
    rdpkit dpsgd --target-epsilon 3 --batch-size 256 --dataset-size 60000 --epochs 60
    """  # noqa: D301 - the escape tells click to keep the lines
    target = given.pop("target_epsilon")
    assumed = _assumed(delta, adjacency, given)
    delta = usual_delta(given["dataset_size"]) if delta is None else delta
    relation = Adjacency(adjacency or Adjacency.ADD_OR_REMOVE_ONE)
    claim = None
    if claimed_epsilon is not None:
        claim = claimed_number("--claimed-epsilon", claimed_epsilon)
    settings = {name: value for name, value in given.items() if value is not None}
    if target is None:
        _check_given(settings)
        event, found = DPSGD(**settings), ""
    else:
        event, found = _search(settings, target, delta, relation)
    report = training_report(event, delta=delta, adjacency=relation)
    verdict, judged, said = None, "", None
    if claim is not None:
        said = float(claim)
        verdict = soundness_of(said, upper=report.upper, lower=report.lower).value
        judged = _judged(report, verdict, claim)
    table = {**report.as_dict(), "assumed": assumed, "found": found or None, "verdict": verdict}
    table["warnings"] = _warnings(event, delta)
    beside_it = math.nan if said is None else said
    if verdict == "sound":
        beside_it = max(beside_it, report.upper.epsilon)  # Proven to within a rounding, maybe.
    lines = _text(report, found, assumed, judged, beside_it)
    if comparing:
        # Under zero-out nothing but one gradient changes, so that all ways can be compared.
        relation = Adjacency(adjacency or Adjacency.ZERO_OUT)
        rows = compare_sampling(event, delta=delta, adjacency=relation, claimed=said)
        table["samplings"] = [row.as_dict() for row in rows]
        lines += _comparison(rows, claim)
    if others:
        # Imported here because few ask for other libraries.
        from rdpkit.interop.other_accountants import other_accountants  # noqa: PLC0415

        printed = other_accountants(event, delta=delta)
        table["other_accountants"] = [one.as_dict() for one in printed]
        lines += _other_accountants(printed, delta)
    if html is not None:
        write_whole(html, _page(report, assumed, judged))
        click.echo(f"wrote {printable(str(html))}", err=True)
    print_answer(table, lines)
    if verdict == "refuted":
        click.get_current_context().exit(OUT_OF_REACH)


def _assumed(delta: float | None, adjacency: str | None, given: dict[str, Any]) -> list[str]:
    """What was not given, and is assumed."""
    found = []
    if delta is None:
        size = given["dataset_size"]
        found.append(
            f"delta = {usual_delta(size):g}: the largest power of ten below 1/{size} and at most "
            "1e-05 (--delta)"
        )
    if adjacency is None:
        found.append(
            "adjacency add-or-remove-one: one data set has one example more than the other, which "
            "papers on DP-SGD mean (--adjacency)"
        )
    if given["sampling"] is None:
        found.append("Poisson sampling, which most claims mean (--sampling)")
    return found


def _warnings(event: DPSGD, delta: float) -> list[str]:
    """What makes the numbers mean less than they seem to."""
    size, own = event.dataset_size, event.examples_per_user
    if delta * size < own:
        return []
    return [
        f"delta = {delta:g} is not below {own}/{size}: a program that publishes one example at "
        "random, whole, keeps such a promise, too"
    ]


def _check_given(settings: dict[str, Any]) -> None:
    needed = {
        ("noise_multiplier",): "'--noise-multiplier'. To find it",
        ("batch_size",): "'--batch-size'. To find it",
        ("epochs", "steps"): "'--epochs' or '--steps'. To find the steps",
    }
    for names, words in needed.items():
        if not any(name in settings for name in names):
            raise click.UsageError(f"Missing option {words}, give '--target-epsilon'.")


def _search(
    settings: dict[str, Any], target: float, delta: float, adjacency: Adjacency
) -> tuple[DPSGD, str]:
    """The event whose missing setting meets the target, and the name of that setting."""
    present = {"epochs" if name == "steps" else name for name in settings}
    missing = [name for name in _WANTED if name not in present]
    if len(missing) != 1:
        raise click.UsageError(
            "With --target-epsilon, leave out exactly one of --noise-multiplier, --epochs (or "
            f"--steps) and --batch-size; you left out {', '.join(map(dashed, missing)) or 'none'}."
        )
    wanted = {"epochs": "steps"}.get(missing[0], missing[0])
    if wanted == "batch_size" and "epochs" in settings:
        return _largest_batch(settings, target, delta, adjacency), wanted
    question: dict[str, Any] = {"delta": delta, "adjacency": adjacency}
    try:
        event = DPSGD(**{**settings, wanted: 1})
        found = calibrate(event, parameter=wanted, target_epsilon=target, **question)
    except UnreachableTargetError as error:
        raise CommandError(str(error), status=OUT_OF_REACH) from None
    assert isinstance(found.event, DPSGD)
    return found.event, wanted


def _largest_batch(
    settings: dict[str, Any], target: float, delta: float, adjacency: Adjacency
) -> DPSGD:
    """The largest batch that bisection finds; whatever it returns meets the target."""
    from rdpkit.analysis import epsilon  # noqa: PLC0415 - only for this search

    def meets(size: int) -> bool:
        event = DPSGD(**settings, batch_size=size)
        return epsilon(event, delta=delta, adjacency=adjacency).epsilon <= target

    low, high = 1, settings["dataset_size"] // settings["accumulation_steps"]
    if not meets(low):
        raise CommandError(
            f"Even batches of 1 exceed epsilon {target!r} with these epochs and this noise.",
            status=OUT_OF_REACH,
        )
    while high - low > 1:
        middle = int((low * high) ** 0.5)
        middle = min(max(middle, low + 1), high - 1)
        low, high = (middle, high) if meets(middle) else (low, middle)
    return DPSGD(**settings, batch_size=high if meets(high) else low)


_VERDICTS = {
    "sound": "sound: the claim is proven",
    "refuted": "refuted: two neighbouring data sets leak more than the claim",
    "unproven": "unproven: neither proven nor refuted",
}


def _text(
    report: TrainingReport, found: str, assumed: list[str], judged: str, said: float
) -> list[str]:
    event, upper = report.event, report.upper
    attained = "no lower bound is known"
    if report.lower is not None:
        attained = f">= {_shown(report.lower, said)} by two neighbouring data sets (lower bound)"
    mu, regret = rounded_up(report.gdp.mu), rounded_up(report.gdp.regret.upper)
    rows = [
        *_settings(event, found),
        ("", ""),
        *([("claim", judged)] if judged else []),
        (
            "epsilon",
            f"<= {_shown(upper, said)} at delta = {as_given(upper.delta)} (certified upper "
            f"bound, {upper.adjacency.dashed})",
        ),
        ("attained", attained),
        ("Gaussian DP", "no mu is proven" if mu == "inf" else f"mu <= {mu}, with regret {regret}"),
        (
            "attacks",
            f"advantage <= {rounded_up(report.advantage.upper)}; true positive rate <= "
            f"{rounded_up(report.tpr.upper)} at a false positive rate of 0.01",
        ),
        ("in words", _in_words(report)),
        ("", ""),
        *(("warning", text) for text in _warnings(event, upper.delta)),
        *(("assumed", text) for text in assumed),
        *(("assumes", text) for text in upper.assumptions),
    ]
    lines = [line for row in rows for line in entry(*row, _WIDTH) or [""]]
    for name, text in report.lines.items():
        lines += ["", f"{name}:", *(f"    {line}" for line in text.splitlines())]
    return lines


def _judged(report: TrainingReport, verdict: str, claim: Decimal) -> str:
    last = "" if verdict == "sound" else "".join(about_last_digit(report.upper.epsilon, claim))
    words = _VERDICTS[verdict] + (last and f"; {last}")
    return f"epsilon {claim} at delta = {as_given(report.upper.delta)} is {words}"


def _in_words(report: TrainingReport) -> str:
    """What an epsilon means, for somebody who never heard of it."""
    percent = rounded_up(100.0 * report.tpr.upper, digits=3)
    unit = "users" if report.event.examples_per_user > 1 else "examples"
    return (
        f"who accuses 1 in 100 of the {unit} that are not in the data finds at most {percent} in "
        "100 of those that are"
    )


def _page(report: TrainingReport, assumed: list[str], judged: str) -> str:
    """One page of HTML, in the words of the screen."""
    upper = report.upper
    answer = [
        *([f"Claim: {judged}."] if judged else []),
        f"Proven: {_in_words(report)}.",
        f"That is epsilon <= {_shown(upper)} at delta = {as_given(upper.delta)}, "
        f"{upper.adjacency.dashed}.",
    ]
    attained = "No lower bound is known."
    if report.lower is not None:
        attained = (
            f"No smaller epsilon than {_shown(report.lower)} can be claimed: two neighbouring data "
            "sets leak as much."
        )
    rows = [(dashed(name), str(value)) for name, value in report.as_dict()["settings"].items()]
    if upper.profile is not None:
        # A file has the whole drawing, however busy the machine is.
        upper = replace(upper, profile=partial(upper.profile, seconds=math.inf))
    sections: dict[str, list[str] | str] = {
        "Warnings": _warnings(report.event, upper.delta),
        "Is the number as small as it can be?": [attained],
        "What it rests on": [*upper.assumptions, *assumed],
        "Settings": grid(("setting", "value"), rows),
        "The guarantee": upper._repr_html_(),
    }
    return page("What a training protects", answer, sections)


def _comparison(rows: tuple[SamplingBounds, ...], claim: Decimal | None) -> list[str]:
    """A table of every way of making batches."""
    relation = rows[0].upper.adjacency.dashed
    said = rounded_up(rows[0].upper.epsilon) if claim is None else claim
    lines = ["", f"How batches are made, {relation}, delta = {as_given(rows[0].upper.delta)}:"]
    lines.append(f"    {'sampling':18} {'attained':>10} {'certified':>10}  a claim of {said}")
    for row in rows:
        low = "-" if row.lower is None else _shown(row.lower)
        lines.append(
            f"    {row.event.sampling:18} {low:>10} {_shown(row.upper):>10}  {row.poisson}"
        )
    cut = next((row.event.max_batch_size for row in rows if row.event.max_batch_size), None)
    if cut is not None:
        lines.append(f"    Truncated batches hold {cut} examples at most.")
    return lines


def _other_accountants(printed: list[OtherEpsilon], delta: float) -> list[str]:
    """What other libraries print, rounded as people print it: to the nearest."""
    if not printed:
        return ["", "No other accountant that is installed can be told this run."]
    lines = [
        "",
        f"Other accountants, add-or-remove-one, delta = {as_given(delta)}, for Poisson samples "
        "unless they say otherwise:",
    ]
    for one in printed:
        digits = ".3f" if one.epsilon is not None and one.epsilon >= 1.0 else ".4g"
        number = "no number" if one.epsilon is None else format(one.epsilon, digits)
        note = f" ({one.note})" if one.note else ""
        lines.append(f"    {number:>9}  {one.library}, {one.accountant}{note}")
    return lines


def _settings(event: DPSGD, found: str) -> list[tuple[str, str]]:
    batch = f"batches of {event.logical_batch}"
    if event.accumulation_steps > 1:
        batch += f" ({event.accumulation_steps} times {event.batch_size})"
    length = "" if event.steps is None else how_many(event.steps, "step")
    if event.epochs is not None:
        length = _epochs(event.epochs)
    noise = f"noise multiplier {event.noise_multiplier!r}"
    about = f"{how_many(event.dataset_size, 'example')}, {batch}, {length}, {noise}"
    updates = (
        f"{how_many(event.updates, 'noisy update')}; an example is in one with probability "
        f"{event.sampling_probability:.4g}; {_epochs(event.updates * event.sampling_probability)}"
    )
    rows = [("DP-SGD", f"{about}, sampling {event.sampling}"), ("", updates)]
    if not found:
        return rows
    value = f"{dashed(found)} = {getattr(event, found)!r}"
    return [*rows, ("found", f"{value}, the end of what meets the target")]


def _epochs(number: float) -> str:
    return f"{number:.4g} {'epoch' if f'{number:.4g}' == '1' else 'epochs'}"


def _shown(guarantee: Guarantee, said: float = math.nan) -> str:
    """The epsilon, with as many digits as show on which side of a claim it is."""
    how = rounded_down if guarantee.kind.value == "lower" else rounded_up
    return beside(said, guarantee.epsilon, lambda digits: how(guarantee.epsilon, digits), 4)
