"""A checked training as a test of code, for the files that other programs read."""

from __future__ import annotations

from rdpkit.verification.outputs.tests_of_code import ERROR, REJECTED, CodeView
from rdpkit.verification.training.results import TrainingVerification


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
