"""``rdpkit ledger``: what releases cost together, and what is left of a budget."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rdpkit.cli import CommandsByName
from rdpkit.cli.event_commands import (
    COUNT,
    about_one_event,
    adjacency_option,
    delta_option,
    event_of,
)
from rdpkit.cli.option_types import FILE, NUMBER, NameType, list_of
from rdpkit.cli.output import (
    OUT_OF_REACH,
    CommandError,
    answer_options,
    asked_format,
    format_option,
    print_answer,
)
from rdpkit.events import EpsilonDelta
from rdpkit.formats.records import as_plain, plain_of
from rdpkit.formats.tables import event_to_table, read_event
from rdpkit.formats.text import as_json, how_many, printable, rounded_down, rounded_up
from rdpkit.planning.budgets import BudgetExceededError, PrivacyFilter
from rdpkit.planning.budgets.ledger import LedgerFile
from rdpkit.planning.budgets.rules import COMPOSITIONS

if TYPE_CHECKING:
    from rdpkit.mechanisms.releases.accounts import LedgerAccount, LedgerRelease
    from rdpkit.mechanisms.releases.ledger import Ledger
    from rdpkit.planning.budgets.filter import BudgetLeft


# An event that has a delta needs one that covers it.
@about_one_event(
    example=lambda event_type: [
        *(["--own-delta 1e-7"] if event_type is EpsilonDelta else []),
        "--budget budget.jsonl",
    ]
)
@click.option(
    "--budget",
    "path",
    type=FILE,
    required=True,
    metavar="PATH",
    help="The file of the budget.",
)
@click.option(
    "--own-delta",
    type=NUMBER,
    default=0.0,
    help="Charge each release as (epsilon, this delta)-DP, for events without finite Renyi "
    "divergences.  [default: 0]",
)
@click.option("--label", default="", help="What to call the release in the file.")
@answer_options("text", "json")
def spend(
    source: str,
    given: dict[str, Any],
    *,
    path: Path,
    own_delta: float,
    label: str,
) -> None:
    """Charge a release before it is made; exit status 1 if it exceeds the budget.

    Nothing is spent then. EVENT is a mechanism, or a TOML file that describes one.
    """
    found = PrivacyFilter.load(path)
    times = given.pop(COUNT, None)
    event = event_of(source, given, found.adjacency.value)
    try:
        found.spend(event, count=1 if times is None else times, delta=own_delta, label=label)
    except BudgetExceededError as error:
        raise CommandError(str(error), status=OUT_OF_REACH) from None
    show_budget(found)


def is_budget(path: Path) -> bool:
    """Whether a file holds one budget, and not the releases from data sets."""
    if not path.exists():
        return False
    file = LedgerFile(path)
    with file.locked():
        first = file.new_entries()[:1]
    return bool(first) and "composition" in first[0]


def _left_table(left: BudgetLeft) -> dict[str, Any]:
    noise = as_plain(left.noise_multiplier)
    return {"epsilon": left.epsilon, "noise_multiplier": noise, "delta": left.delta}


def _fits(noise: float) -> str:
    """The noise with which one more release fits; empty if none does."""
    return (
        f"with noise of {rounded_up(noise)} sensitivities or more" if math.isfinite(noise) else ""
    )


def show_budget(found: PrivacyFilter) -> None:
    """Say what was spent of a budget, and what is left."""
    left, used = found.remaining, found.used
    table = {
        **plain_of(found, ("epsilon", "delta", "adjacency", "composition")),
        "used": used,
        "remaining": _left_table(left),
        "charges": [
            {"event": event_to_table(one.event), **plain_of(one, ("count", "delta", "label"))}
            for one in found.spendings
        ],
    }
    lines = [
        f"budget: epsilon {found.epsilon:g} at delta {found.delta:g}, {found.adjacency.dashed}, "
        f"composed by {found.composition}",
        f"charges: {len(found.spendings)}",
        f"used: {rounded_up(used)} of epsilon; left: {rounded_down(left.epsilon)}",
    ]
    if left.noise_multiplier is not None:
        lines.append(f"one more Gaussian release: {_fits(left.noise_multiplier) or 'none'}")
    for one in found.spendings[-10:]:
        name = f" ({one.label})" if one.label else ""
        lines.append(f"  {one.event.mechanism} x {one.count}{name}")
    print_answer(table, lines)


_SHOWN = 20

file_argument = click.argument("path", metavar="LEDGER", type=click.Path(path_type=Path))


@click.group(cls=CommandsByName)
def ledger() -> None:
    """Keep together what releases cost; what exceeds a budget is refused.

    The ledger is a file of a team or a project. It holds manifests by data set, or one budget from
    which events are spent, and says what they cost together. Every charge is on the disk before
    the command ends: charge first, and release only if the exit status is 0.
    """


@ledger.command()
@file_argument
@click.option(
    "--dataset",
    metavar="NAME",
    help="What you call the data set. Without it the file is one budget, for `spend`.",
)
@click.option(
    "--epsilon",
    type=NUMBER,
    help="The budget's epsilon, in nats, above 0. Without it releases are recorded, and none is "
    "refused for what it costs.",
)
@delta_option(pure=False)
@adjacency_option
@click.option(
    "--composition",
    type=NameType.of("composition", COMPOSITIONS),
    default=COMPOSITIONS[0],
    show_default=True,
    help="What adds up. renyi: Renyi divergences at orders that are fixed now. zcdp: rho. "
    "gaussian: 1 / noise multiplier^2, for Gaussian events alone. basic: epsilons. fixed-schedule: "
    "ordinary composition, which holds only if no event and not their number depends on an output.",
)
@click.option(
    "--orders",
    type=list_of(float),
    help="For renyi, of one budget: the orders, with equal weights, like 8,16.",
)
@click.option(
    "--planned",
    metavar="EVENT.toml",
    type=FILE,
    help="For renyi: use the one order that is best for this event, which is what is intended.",
)
@click.option(
    "--delta-for-events",
    type=NUMBER,
    default=0.0,
    help="The part of delta for releases that are charged with a delta of their own, like those "
    "with noisy counts.  [default: 0]",
)
@click.option(
    "--of-persons",
    is_flag=True,
    help="Neighbours differ in all records of one person; releases about single records are "
    "refused.",
)
@answer_options("text", "json")
def new(path: Path, planned: Path | None, **values: Any) -> None:
    """Open a data set in the file LEDGER, which is made if it is not there; or make one budget."""
    from rdpkit.mechanisms.releases.ledger import Ledger  # noqa: PLC0415 - as all commands here

    name = values.pop("dataset")
    if planned is not None:
        values["planned"] = read_event(planned)
    if name is None:
        if values.pop("of_persons"):
            raise ValueError("Expected --dataset with --of-persons.")
        if values["epsilon"] is None:
            raise ValueError("Expected --epsilon for one budget, or --dataset.")
        show_budget(PrivacyFilter(**values).save(path))
        return
    if values.pop("orders") is not None:
        raise ValueError("Expected no --orders with --dataset.")
    try:
        found = Ledger.create(path)
    except FileExistsError:
        found = Ledger(path)
    found.open(name, **values)
    _show(found, (name,))


ledger.add_command(spend)


@ledger.command()
@file_argument
@click.argument(
    "manifests", nargs=-1, required=True, metavar="MANIFEST...", type=click.Path(path_type=Path)
)
@click.option(
    "--dataset", metavar="NAME", help="The data set; by default the one that the manifest names."
)
@click.option(
    "--record-anyway",
    is_flag=True,
    help="Record also what cannot be charged (the data set is not private any more from then on), "
    "and charge again what is recorded already.",
)
@format_option
def add(
    path: Path,
    manifests: tuple[Path, ...],
    dataset: str | None,
    record_anyway: bool,
) -> None:
    """Charge releases that were made, each by the event in its MANIFEST.

    Exit status 1 if one of them is refused; the others are charged.
    """
    from rdpkit.mechanisms.releases.accounts import LedgerRefusalError  # noqa: PLC0415
    from rdpkit.mechanisms.releases.ledger import Ledger  # noqa: PLC0415

    found = Ledger(path)
    told: list[dict[str, Any]] = []
    try:
        for manifest in manifests:
            try:
                one = found.add(manifest, dataset=dataset, record_anyway=record_anyway)
            except (LedgerRefusalError, BudgetExceededError) as error:
                told.append({"manifest": str(manifest), "refused": str(error)})
                continue
            told.append({"manifest": str(manifest), "refused": None, **_release_table(one)})
    finally:
        # What was charged is said also where a later file cannot be read.
        if told and asked_format() == "json":
            click.echo(as_json({"releases": told}))
        elif asked_format() == "text":
            for entry in told:
                click.echo(printable(_added(entry)), err=entry["refused"] is not None)
    if any(entry["refused"] is not None for entry in told):
        sys.exit(OUT_OF_REACH)


@ledger.command()
@file_argument
@click.option("--dataset", metavar="NAME", help="Only this data set.")
@answer_options("text", "json")
def show(path: Path, dataset: str | None) -> None:
    """Say for each data set what was released, what it cost together, and what is left."""
    from rdpkit.mechanisms.releases.ledger import Ledger  # noqa: PLC0415

    if dataset is None and is_budget(path):
        show_budget(PrivacyFilter.load(path))
        return
    found = Ledger(path)
    _show(found, found.datasets if dataset is None else (dataset,))


@ledger.command()
@file_argument
@click.option("--dataset", metavar="NAME", help="Only this data set.")
@answer_options("text", "json")
def check(path: Path, dataset: str | None) -> None:
    """Check that every release is there and unchanged, and audit what it claims.

    Exit status 1 if a manifest or its data are missing or have changed, a claim is refuted, or a
    release is covered by no account.
    """
    from rdpkit.mechanisms.releases.ledger import Ledger  # noqa: PLC0415
    from rdpkit.verification.auditing.audit import ledger_problems  # noqa: PLC0415

    found = Ledger(path)
    names = found.datasets if dataset is None else (dataset,)
    checked = {
        name: (len(found.account(name).releases), ledger_problems(found, name)) for name in names
    }
    tables, lines = [], []
    for name, (number, problems) in checked.items():
        tables.append({"dataset": name, "releases": number, "problems": problems})
        verdict = how_many(len(problems), "problem") if problems else "no problem"
        lines.append(f"{name}: {how_many(number, 'release')}, {verdict}")
        lines += [f"  {problem}" for problem in problems]
    print_answer({"ledger": str(path), "datasets": tables}, lines)
    if any(problems for _, problems in checked.values()):
        sys.exit(OUT_OF_REACH)


def _added(entry: dict[str, Any]) -> str:
    if entry["refused"] is not None:
        return f"refused: {entry['refused']}"
    if entry["reason"] is not None:
        return f"NOT PRIVATE: recorded without an account: {entry['reason']}"
    return f"charged: {entry['manifest']}, a release of {entry['mechanism']}"


def _show(found: Ledger, names: tuple[str, ...]) -> None:
    accounts = [found.account(name) for name in names]
    lines = [line for one in accounts for line in ("", *_lines(one))][1:] or ["no data sets"]
    print_answer({"datasets": list(map(_account_table, accounts))}, lines)


def _lines(account: LedgerAccount) -> list[str]:
    """What people read about one data set."""
    at = f"at delta {account.delta:g}, {account.adjacency.dashed}"
    at += ", persons with all their records" if account.of_persons else ""
    lines = [f"{account.dataset}: {how_many(len(account.releases), 'release')}"]
    if not account.private:
        lines.append(
            f"  NOT PRIVATE: {how_many(len(account.unaccounted), 'release')} of these "
            f"{'is' if len(account.unaccounted) == 1 else 'are'} covered by no account, so that "
            "nothing below holds for the whole"
        )
    budget = "none, releases are only recorded" if account.budget is None else account.budget
    lines.append(f"  budget      {'' if account.budget is None else 'epsilon '}{budget} {at}")
    if account.fixed is not None:
        spent = rounded_up(account.fixed.epsilon)
        lines.append(
            f"  spent       epsilon {spent}, an upper bound if all releases were fixed in advance"
        )
    if account.adaptive is not None and account.releases:
        spent = rounded_up(account.adaptive)
        lines.append(
            f"              epsilon {spent}, an upper bound however later ones were chosen"
        )
    left = account.left
    if left is not None:
        lines.append(f"  left        {rounded_down(left.epsilon)} of the budget's epsilon")
        if left.noise_multiplier is not None:
            fits = _fits(left.noise_multiplier) or "does not fit"
            lines.append(f"              one more Gaussian release {fits}")
    if len(account.releases) > _SHOWN:
        lines.append(f"  the last {_SHOWN} of {len(account.releases)}:")
    return [*lines, *map(_release_line, account.releases[-_SHOWN:])]


def _release_line(one: LedgerRelease) -> str:
    words = f"  {one.number:>4}  {one.path} ({one.mechanism})"
    if one.epsilon is not None:
        words += f": epsilon {rounded_up(one.epsilon)} alone"
    if one.sha256 is None:
        words += ": charged, and the release was not seen"
    return words if one.reason is None else f"{words}: NOT PRIVATE: {one.reason}"


def _account_table(account: LedgerAccount) -> dict[str, Any]:
    left = account.left
    return {
        **plain_of(account, ("dataset", "adjacency", "delta", "budget", "of_persons", "private")),
        "epsilon_if_fixed_in_advance": (
            None if account.fixed is None else as_plain(account.fixed.epsilon)
        ),
        "epsilon_however_chosen": (
            None if account.adaptive is None else as_plain(account.adaptive)
        ),
        "left": None if left is None else _left_table(left),
        "releases": [_release_table(one) for one in account.releases],
    }


def _release_table(one: LedgerRelease) -> dict[str, Any]:
    return {
        **plain_of(one, ("number", "path", "mechanism", "epsilon")),
        "delta_of_its_own": one.delta,
        "event": None if one.event is None else event_to_table(one.event),
        "sha256": one.sha256,
        "reason": one.reason,
    }
