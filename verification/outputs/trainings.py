"""A checked training in words, for the terminal and for the files that other programs read."""

from __future__ import annotations

from collections.abc import Iterator

from rdpkit.verification.outputs.tests_of_code import ERROR, REJECTED, CodeView
from rdpkit.verification.training.results import CheckResult, TrainingVerification

_ABOUT = {
    "step": "the step clips each record's gradient and adds the noise",
    "sampler": "batches are drawn as the accountant was told",
    "accountant": "the accountant was told what the training does",
    "run": "a run shows no more of its canaries than the claim allows",
}
_WIDTH = 20


def lines_of_training(result: TrainingVerification) -> list[str]:
    """The whole result, for people: the verdict, then the checks, each with what it measured."""
    rate = f"a correct training is rejected at most once in {1.0 / result.false_alarm_rate:,.0f}"
    found = [_row("training", result.name), _row("told", result.event), _row("claim", result.claim)]
    if result.rejected:
        count = len(result.mistakes)
        what = "a mistake was found" if count == 1 else f"{count} mistakes were found"
        found.append(_row("verdict", f"rejected: {what} ({rate})"))
    else:
        found.append(_row("verdict", f"not rejected ({rate}); that is no proof"))
    for check in result.checks:
        found += ["", *_lines_of_check(check)]
    found += [_row("note", note) for note in result.notes]
    return [*found, "", _row("seed", f"{result.seed}; {result.seconds:.1f} s")]


def _lines_of_check(check: CheckResult) -> Iterator[str]:
    mark = {"rejected": "FAILED", "not rejected": "passed"}.get(check.verdict, check.verdict)
    yield f"{mark}  {check.name}: {_ABOUT.get(check.name, '')}"
    if check.verdict == "inconclusive":
        yield _row("  why", check.inconclusive)
    if check.skipped:
        yield _row("  not made", check.skipped)
    for mistake in check.mistakes:
        yield _row("  mistake", mistake.kind.value)
        yield _row("", mistake.message)
        yield _row("  what to do", mistake.advice)
    for heading, value in check.measured:
        yield _row(f"  {heading}", value)
    for bound in check.bounds:
        yield _row("  lower bound", bound.describe())
    for note in check.notes:
        yield _row("  note", note)
    if not check.skipped:
        yield _row("  false alarms", f"at most {check.false_alarm_rate:g}; {check.seconds:.1f} s")


def _row(heading: str, value: str) -> str:
    # A heading that fills its column is still apart from what it says.
    return f"{heading:{_WIDTH - 2}}  {value}"


def view_of_training(
    result: TrainingVerification, *, place: tuple[str, int] | None, replay: str
) -> CodeView:
    """A checked training as a test of code, for JUnit, SARIF and Markdown."""
    details = [mistake.describe() for mistake in result.mistakes]
    details += [
        f"{check.name}: {bound.describe()}" for check in result.checks for bound in check.bounds
    ]
    return CodeView(
        name=result.name,
        verdict=result.verdict,
        rule=REJECTED if result.rejected else "",
        headline=f"{result.name}: the training is {result.verdict}, told {result.event}",
        details=(*details, f"replay {replay}"),
        place=place,
        seconds=result.seconds,
        data=result.as_dict(),
    )


def view_of_failure(name: str, error: str) -> CodeView:
    """A training that could not be checked."""
    return CodeView(
        name=name,
        verdict="error",
        rule=ERROR,
        headline=f"{name}: {error}",
        details=(),
        place=None,
        seconds=None,
        data={"training": name, "error": error},
    )
