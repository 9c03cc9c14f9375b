"""What ``rdpkit verify`` writes for other programs: JUnit XML, SARIF and Markdown.

They are made of the same parts as those of ``rdpkit audit``. Text that code may hold is shown as
text: nothing of it is markup, a link or a script.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rdpkit.formats.text import escaped_markdown
from rdpkit.verification.blackbox.detection_rates import DetectionRate
from rdpkit.verification.blackbox.zoo import FIXED
from rdpkit.verification.evidence.accumulation import TargetOutcome
from rdpkit.verification.outputs.ci_formats import (
    JUnitCase,
    SarifResult,
    SarifRule,
    junit_document,
    sarif_log,
)
from rdpkit.verification.outputs.words import how_many_fail
from rdpkit.verification.replay.findings import ReplayResult, ReplayVerdict
from rdpkit.verification.training.results import TrainingVerification

REJECTED = "code-rejected"
ERROR = "code-error"
DOUBTFUL = "code-doubtful"
UNACCOUNTED = "code-unaccounted"
MISSED = "zoo-missed"
ACCUSED = "zoo-accused"
# Verdicts that are no failure by themselves, and no pass.
_OPEN = (ReplayVerdict.UNACCOUNTED.value, ReplayVerdict.INCONCLUSIVE.value)
_MEANT = {
    REJECTED: "The outputs of the code could hardly come from a mechanism that keeps its claim.",
    ERROR: "The code could not be tested: it raised an error, or its outputs are no numbers.",
    DOUBTFUL: "The claim was not rejected, and the test would hardly have noticed a violation.",
    UNACCOUNTED: "With the same noise, one record changes more than the values that noise hides.",
    MISSED: "A broken mechanism of the zoo was not caught often enough.",
    ACCUSED: "A correct mechanism of the zoo was accused more often than the stated rate.",
}
_PAGES = dict.fromkeys((MISSED, ACCUSED), "docs/reference/zoo.md")
_PAGES[UNACCOUNTED] = "docs/how-to/replay.md"
_RULES = [
    SarifRule(
        id=rule,
        meaning=meaning,
        level="warning" if rule in (DOUBTFUL, UNACCOUNTED) else "error",
        page=_PAGES.get(rule, "docs/how-to/verify.md, What comes out"),
    )
    for rule, meaning in _MEANT.items()
]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CodeView:
    """A test of code in words."""

    name: str  # What was tested
    verdict: str  # What came out, in a few words
    rule: str  # The rule that is broken; empty if the check passes
    headline: str  # What is wrong, or what was found, in a sentence
    data: dict[str, Any]  # Plain values for programs
    details: tuple[str, ...] = ()  # More of it, line by line
    place: tuple[str, int] | None = None  # The file and the line of the code
    seconds: float | None = None  # How long it took
    skipped: str = ""  # Why it was not tested now; empty if it was, or if that is no reason to pass

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> CodeView:
        """The view whose fields were written as JSON."""
        place = table["place"]
        return cls(
            **{
                **table,
                "details": tuple(table["details"]),
                "place": None if place is None else tuple(place),
            }
        )


def view_of_outcome(outcome: TargetOutcome, *, strict: bool = False) -> CodeView:
    """A test of one target in words; with ``strict``, doubts about the test are a broken rule."""
    result, name = outcome.result, outcome.target
    position = outcome.position
    # All the evidence on record may reject the claim, or this test alone.
    rejected = (position is not None and position.rejected) or (
        result is not None and result.failed
    )
    rule, verdict, seconds = REJECTED if rejected else "", "rejected", None
    details = () if position is None else (f"on record {position.describe()}",)
    if outcome.skipped:
        verdict = verdict if rejected else "not rejected"
        headline = f"{name} is {verdict}: {outcome.skipped}"
    elif result is None:
        rule, verdict, details = ERROR, "error", ()
        headline = f"{name} could not be tested: {outcome.error}"
    else:
        test, seconds = result.outcome, result.seconds
        if not rejected:
            rule, verdict = DOUBTFUL if outcome.failed(strict=strict) else "", result.verdict
        rate = f"at the false-alarm rate {test.false_alarm_rate:g}"
        headline = f"{name} is {verdict}: {test.claim} {rate}"
        rows = (f"{heading} {text}".strip() for heading, text in result.rows())
        details = (*rows, f"to repeat it: {outcome.replay}", *details)
    return CodeView(
        name=name,
        verdict=verdict,
        rule=rule,
        headline=headline,
        details=details,
        place=outcome.place,
        seconds=seconds,
        data=outcome.as_dict(),
        skipped="" if rejected else outcome.skipped,
    )


def view_of_replay(result: ReplayResult, *, strict: bool = False) -> CodeView:
    """A replay in words; with ``strict``, what is unaccounted or not examined breaks a rule."""
    rule, shown = "", result.shown
    if result.verdict is ReplayVerdict.REFUTED:
        rule = REJECTED
    elif result.verdict is ReplayVerdict.NOT_EXAMINED:
        rule = ERROR
    elif strict and result.verdict is not ReplayVerdict.NOTHING_FOUND:
        rule = UNACCOUNTED if result.verdict is ReplayVerdict.UNACCOUNTED else DOUBTFUL
    place = None
    for one in () if shown is None else shown.differences or shown.possible:
        file, _, line = one.place.rpartition(":")
        if file and (Path.cwd() / file).is_file():
            place = (file, int(line))
            break
    return CodeView(
        name=result.target,
        verdict=result.verdict.value,
        rule=rule,
        headline=f"{result.target} is {result.verdict.value}: {result.claim} at the false-alarm "
        f"rate {result.false_alarm_rate:g}",
        details=tuple(f"{heading} {text}".strip() for heading, text in result.rows()),
        place=place,
        seconds=result.seconds,
        data=result.as_dict(),
    )


def view_of_rate(rate: DetectionRate) -> CodeView:
    """Many tests of a mechanism of the zoo in words."""
    broken = not rate.name.endswith(FIXED)
    verdict = f"{rate.caught} of {rate.repeats}"
    wrong = MISSED if broken else ACCUSED
    return CodeView(
        name=rate.name,
        verdict=verdict,
        rule="" if rate.as_it_should_be else wrong,
        headline=f"{rate.name} was {'caught' if broken else 'accused'} in {verdict} tests",
        details=(
            f"rejected {rate.rejected} of {rate.repeats}",
            f"probability {rate.interval.lower:.3f} to {rate.interval.upper:.3f}, confidence 0.95",
            f"median runs {rate.median_runs}",
        ),
        data=rate.as_dict(),
    )


def junit_of_tests(views: Sequence[CodeView]) -> str:
    """Tests of code as one suite of JUnit XML, a case each."""
    cases = [
        JUnitCase(
            suite="rdpkit verify",
            name=view.name,
            place=view.place,
            rule=view.rule,
            message=view.headline,
            story=said,
            is_error=view.rule == ERROR,
            output=said,
            seconds=view.seconds,
            skipped=view.skipped,
        )
        for view in views
        for said in ["\n".join([view.headline, *view.details])]
    ]
    return junit_document("tests of code", cases)


def sarif_of_tests(views: Sequence[CodeView]) -> str:
    """What is wrong with code as a SARIF log, at the line at which the code begins.

    Rule ids are ``code-rejected``, ``code-error``, ``code-doubtful``, ``zoo-missed`` and
    ``zoo-accused``; they do not change. Fingerprints are made of the rule and of the target's name.
    """
    levels = {rule.id: rule.level for rule in _RULES}
    results = [
        SarifResult(
            rule=view.rule,
            level=levels[view.rule],
            message=" ".join(f"{text}." for text in (view.headline, *view.details)),
            name=view.name,
            kind="function",
            place=view.place,
            properties=view.data,
        )
        for view in views
        if view.rule
    ]
    return sarif_log("verify", "code", _RULES, results)


def summary_of_tests(views: Sequence[CodeView]) -> str:
    """Tests of code as a page of Markdown: a table, then what is wrong."""
    failing = [view for view in views if view.rule]
    lines = ["## Tests of code", ""]
    passed = "All pass." if all(view.verdict not in _OPEN for view in views) else "None fails."
    lines += [f"**{how_many_fail(len(failing), len(views))}**" if failing else passed, ""]
    lines += ["| | target | verdict |", "| --- | --- | --- |"]
    rest = [view for view in views if not view.rule]
    for view in (*failing, *rest):
        mark = ":x:" if view.rule else ":white_check_mark:"
        if view.verdict in _OPEN and not view.rule:
            mark = ":warning:"
        lines.append(
            f"| {mark} | {escaped_markdown(view.name)} | {escaped_markdown(view.verdict)} |"
        )
    for view in failing:
        lines += ["", f"### {escaped_markdown(view.name)}", ""]
        if view.place is not None:
            lines += [f"{escaped_markdown(view.place[0])}, line {view.place[1]}", ""]
        lines += [f"- {escaped_markdown(text)}" for text in (view.headline, *view.details)]
    return "\n".join(lines) + "\n"


def counted_verdicts(views: Iterable[CodeView]) -> str:
    """How many tests of code have each verdict, in words."""
    found = Counter(view.verdict for view in views)
    return ", ".join(f"{count} {verdict}" for verdict, count in found.items())


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
        data={"training": name, "error": error},
    )
