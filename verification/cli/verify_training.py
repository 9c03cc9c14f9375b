"""``rdpkit verify-training``: does a training do what its accountant was told?"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from rdpkit.cli.option_types import names_of
from rdpkit.cli.output import answer_options, print_answer
from rdpkit.cli.progress import work_shown
from rdpkit.formats.records import plain_of
from rdpkit.formats.text import in_columns, printable
from rdpkit.verification.cli.code_options import (
    ToWrite,
    file_options,
    files_to_write,
    record_options,
    write_files,
)
from rdpkit.verification.outputs import CODE_OUTPUTS
from rdpkit.verification.training.options import OPTIONS, TrainingOptions, replay_of

if TYPE_CHECKING:
    from rdpkit.verification.training.results import TrainingVerification


def _trainings(ctx: click.Context) -> list[str]:
    """The trainings of the zoo."""
    from rdpkit.verification.training.zoo import names  # noqa: PLC0415 - only for shells

    return list(names())


@click.command("verify-training")
@click.argument("target", metavar="[TARGET]", required=False, shell_complete=names_of(_trainings))
@click.option("--list", "list_them", is_flag=True, help="List the trainings of the zoo.")
@record_options(OPTIONS)
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with status 1 also if a check is inconclusive: not even a large mistake would have "
    "been noticed.",
)
@file_options(CODE_OUTPUTS)
@answer_options("text", "json")
def verify_training(*, target: str | None, list_them: bool, strict: bool, **given: Any) -> None:
    """Check whether a training does what its accountant was told.

    TARGET is module:make_trainer, a function without arguments that returns a training
    (rdpkit.verification.training), or a training of the zoo (--list). The module is looked for in
    the current directory first. This command imports and runs its code.

    Four checks are made: of one step (clipping and noise), of the sampler, of what the accountant
    was told, and of a run with canaries.

    Exit status: 0 not rejected, 1 rejected (or inconclusive, with --strict), 2 bad usage or bad
    input, which includes a training that raises.
    """
    if (target is None) is not list_them:
        raise ValueError("Expected exactly one of TARGET and --list.")
    if list_them:
        _list()
        return
    assert target is not None
    to_write = files_to_write(given, CODE_OUTPUTS)
    stated = {name: value for name, value in given.items() if value not in (None, ())}
    result = _checked(target, TrainingOptions(**stated).seeded(), to_write)
    doubtful = any(check.verdict == "inconclusive" for check in result.checks)
    if result.rejected or (strict and doubtful):
        sys.exit(1)


def _checked(target: str, options: TrainingOptions, to_write: ToWrite) -> TrainingVerification:
    """Check, print and write."""
    # Imported where it is needed, so that help is printed at once.
    from rdpkit.verification.evidence.accumulation import place_of  # noqa: PLC0415
    from rdpkit.verification.outputs.tests_of_code import (  # noqa: PLC0415
        view_of_failure,
        view_of_training,
    )
    from rdpkit.verification.training.verify_training import training_maker  # noqa: PLC0415
    from rdpkit.verification.training.verify_training import (  # noqa: PLC0415
        verify_training as verified,
    )

    # What a reader should know before the checks have ended.
    said = lambda text: click.echo(printable(f"Note: {text}."), err=True)  # noqa: E731
    try:
        with work_shown() as work, work.timed(f"{target}, in seconds", options.seconds) as show:
            result = verified(target, options=options, progress=show, said=said)
    except (ValueError, ArithmeticError) as error:
        write_files(to_write, [view_of_failure(target, str(error))])
        raise
    replay = replay_of(target, options)
    place = place_of(training_maker(target).make)
    write_files(to_write, [view_of_training(result, place=place, replay=replay)])
    lines = [*result.lines(), f"{'replay':20}{replay}"]
    print_answer({**result.as_dict(), "replay": replay}, lines)
    return result


def _list() -> None:
    from rdpkit.verification.training.zoo import ENTRIES  # noqa: PLC0415 - as above

    names = ["name", "mistake", "correction", "seen_in", "check", "kinds", "style"]
    found = [plain_of(entry, names) for entry in ENTRIES.values()]
    rows = ((entry.name, entry.mistake) for entry in ENTRIES.values())
    print_answer({"zoo": found}, in_columns(rows, max(map(len, ENTRIES)) + 1))
