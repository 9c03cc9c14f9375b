"""``python -m benchmarks.verdicts correct|broken``: what ``rdpkit verify`` says of them."""

from __future__ import annotations

import json
import sys

import click

from benchmarks.verdicts.measure import KINDS, Row, collection, measure, table


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("kind", type=click.Choice(KINDS))
@click.option("--only", multiple=True, metavar="NAME", help="This mechanism only; repeatable.")
@click.option("--list", "list_them", is_flag=True, help="Name the mechanisms and stop.")
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Runs of the command for each mechanism, with seeds 1, 2, ...",
)
@click.option(
    "--first-seed", type=click.IntRange(min=0), default=1, show_default=True, help="The first seed."
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    help="Commands to run at the same time.",
)
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    help="Pass --samples on; by default the command is left to its own defaults.",
)
@click.option("--time-budget", type=float, metavar="SECONDS", help="Pass --time-budget on.")
@click.option("--alpha", type=float, help="Pass --alpha on, the false-alarm rate.")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="What is printed.",
)
def main(
    *,
    kind: str,
    only: tuple[str, ...],
    list_them: bool,
    repeats: int,
    first_seed: int,
    jobs: int,
    samples: int | None,
    time_budget: float | None,
    alpha: float | None,
    output_format: str,
) -> None:
    """Run rdpkit verify on mechanisms whose claims are true, or on those whose claims are false."""
    cases = collection(kind)
    unknown = sorted(set(only) - set(cases.names))
    if unknown:
        raise click.UsageError(f"Expected --only to be one of --list, got {unknown[0]!r}.")
    if list_them:
        for case in cases:
            said = " ".join((case.mechanism.__doc__ or "").split())
            click.echo(f"{case.name}: {case.claim}\n  {said}")
        return
    given = {"--samples": samples, "--time-budget": time_budget, "--alpha": alpha}
    options = tuple(
        word for flag, value in given.items() if value is not None for word in (flag, repr(value))
    )

    def done(row: Row) -> None:
        click.echo(f"{row.name}: refuted {row.refuted} of {len(row.outcomes)}", err=True)
        sys.stderr.flush()

    rows = measure(
        kind,
        only or cases.names,
        repeats=repeats,
        first_seed=first_seed,
        jobs=jobs,
        options=options,
        done=done,
    )
    if output_format == "json":
        click.echo(json.dumps([row.as_dict() for row in rows], indent=1))
        return
    click.echo(table(rows))
    wanted = 0 if kind == "correct" else None
    wrong = sum(
        (row.refuted > 0) if wanted == 0 else (2 * row.refuted < len(row.outcomes)) for row in rows
    )
    words = "refuted at least once" if kind == "correct" else "refuted in less than half of runs"
    click.echo(f"\n{wrong} of {len(rows)} mechanisms {words}.")


if __name__ == "__main__":
    main()
