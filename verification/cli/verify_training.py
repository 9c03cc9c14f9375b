"""``rdpkit verify-training``: does a training do what its accountant was told?"""

from __future__ import annotations

import dataclasses
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rdpkit.cli.completion import names_of
from rdpkit.cli.option_types import INTEGER, NUMBER, NameType
from rdpkit.cli.output import format_option, one_line_errors, to_file_option
from rdpkit.cli.progress import work_shown
from rdpkit.formats.files import write_whole
from rdpkit.formats.text import as_json, printable
from rdpkit.verification.outputs import CODE_OUTPUTS
from rdpkit.verification.training.options import CHECKS, TrainingOptions

if TYPE_CHECKING:
    from rdpkit.verification.training.results import TrainingVerification

_FLAGS = {
    "checks": "--check",
    "false_alarm_rate": "--alpha",
    "confidence": "--confidence",
    "canaries": "--canaries",
    "steps": "--steps",
    "seconds": "--seconds",
    "seed": "--seed",
}
_DEFAULTS = TrainingOptions()


def _trainings(ctx: click.Context) -> list[str]:
    """The trainings of the zoo."""
    from rdpkit.verification.training.zoo import names  # noqa: PLC0415 - only for shells

    return list(names())


def _file_options(function: Any) -> Any:
    for output in reversed(CODE_OUTPUTS):
        function = click.option(
            f"--{output.name}",
            output.name,
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help=output.help,
        )(function)
    return function


@click.command("verify-training")
@click.argument("target", metavar="[TARGET]", required=False, shell_complete=names_of(_trainings))
@click.option("--list", "list_them", is_flag=True, help="List the trainings of the zoo.")
@click.option(
    "--check",
    "checks",
    type=NameType.of("check", CHECKS),
    multiple=True,
    help="Which checks to make; may be repeated.  [default: all]",
)
@click.option(
    "--alpha",
    "false_alarm_rate",
    type=NUMBER,
    help="How often a correct training may be rejected, by all checks together.  "
    f"[default: {_DEFAULTS.false_alarm_rate:g}]",
)
@click.option(
    "--confidence",
    type=NUMBER,
    help=f"Of each lower bound on epsilon.  [default: {_DEFAULTS.confidence:g}]",
)
@click.option(
    "--canaries",
    type=INTEGER,
    help=f"How many canaries the run has.  [default: {_DEFAULTS.canaries}]",
)
@click.option(
    "--steps",
    type=INTEGER,
    help="How many steps the run makes.  [default: all, or what the time allows]",
)
@click.option(
    "--seconds",
    type=NUMBER,
    help=f"About how long all checks may take.  [default: {_DEFAULTS.seconds:g}]",
)
@click.option("--seed", type=INTEGER, help="Repeats the same choices.  [default: a random one]")
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with status 1 also if a check is inconclusive: not even a large mistake would have "
    "been noticed.",
)
@_file_options
@format_option
@to_file_option
@one_line_errors
def verify_training(
    *,
    target: str | None,
    list_them: bool,
    strict: bool,
    output_format: str,
    junit: Path | None,
    sarif: Path | None,
    summary: Path | None,
    **given: Any,
) -> None:
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
        _list(output_format)
        return
    assert target is not None
    paths = {"junit": junit, "sarif": sarif, "summary": summary}
    _check_folders(paths)
    given["checks"] = given["checks"] or None
    options = dataclasses.replace(
        _DEFAULTS, **{name: value for name, value in given.items() if value is not None}
    ).seeded()
    result = _checked(target, options, paths, output_format)
    doubtful = any(check.verdict == "inconclusive" for check in result.checks)
    if result.rejected or (strict and doubtful):
        sys.exit(1)


def _checked(
    target: str, options: TrainingOptions, paths: dict[str, Path | None], output_format: str
) -> TrainingVerification:
    """Check, print and write."""
    # Imported where it is needed, so that help is printed at once.
    from rdpkit.verification.evidence.outcomes import place_of  # noqa: PLC0415
    from rdpkit.verification.outputs.trainings import (  # noqa: PLC0415
        lines_of_training,
        view_of_failure,
        view_of_training,
    )
    from rdpkit.verification.training.targets import training_maker  # noqa: PLC0415
    from rdpkit.verification.training.verify_training import (  # noqa: PLC0415
        verify_training as verified,
    )

    try:
        with work_shown() as work, work.timed(f"{target}, in seconds", options.seconds) as show:
            result = verified(target, options=options, progress=show, said=_say)
    except (ValueError, ArithmeticError) as error:
        _write(paths, view_of_failure(target, str(error)))
        raise
    replay = replay_of(target, options)
    place = place_of(training_maker(target).make)
    _write(paths, view_of_training(result, place=place, replay=replay))
    if output_format == "json":
        click.echo(as_json({**result.as_dict(), "replay": replay}))
    else:
        lines = [*lines_of_training(result), f"{'replay':20}{replay}"]
        click.echo("\n".join(map(printable, lines)))
    return result


def _say(text: str) -> None:
    """Something that a reader should know before the checks have ended."""
    click.echo(printable(f"Note: {text}."), err=True)


def replay_of(target: str, options: TrainingOptions) -> str:
    """The command line that makes the same checks with the same choices."""
    words = ["rdpkit", "verify-training", target]
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        if value != getattr(_DEFAULTS, field.name):
            values = value if isinstance(value, tuple) else (value,)
            words += [word for one in values for word in (_FLAGS[field.name], str(one))]
    return shlex.join(words)


def _check_folders(paths: dict[str, Path | None]) -> None:
    """A folder that does not exist is noticed before the checks, and not after them."""
    for name, path in paths.items():
        if path is not None and not path.absolute().parent.is_dir():
            raise ValueError(f"Expected --{name} to be in a folder, got {str(path)!r}.")


def _write(paths: dict[str, Path | None], view: Any) -> None:
    for output in CODE_OUTPUTS:
        path = paths[output.name]
        if path is not None:
            write_whole(path, output.load()([view]))


def _list(output_format: str) -> None:
    from rdpkit.verification.training.zoo import ENTRIES  # noqa: PLC0415 - as above

    if output_format == "json":
        found = [
            {
                "name": entry.name,
                "mistake": entry.mistake,
                "correction": entry.correction,
                "seen_in": entry.seen_in,
                "check": entry.check,
                "kinds": [kind.value for kind in entry.kinds],
                "style": entry.style,
            }
            for entry in ENTRIES.values()
        ]
        click.echo(as_json({"zoo": found}))
        return
    width = max(map(len, ENTRIES)) + 2
    for entry in ENTRIES.values():
        click.echo(f"{entry.name:{width}}{entry.mistake}")
