"""The drawing of a checked training: its numbers on one axis, and the scores of its canaries."""

from __future__ import annotations

import math

from markupsafe import Markup

from rdpkit.formats.text import printable
from rdpkit.verification.auditing.findings import Finding
from rdpkit.verification.outputs.html.drawing import FigureScale, per_cent
from rdpkit.verification.outputs.training_drawing import (
    SandwichLine,
    ScoreHistogram,
    sandwich_lines,
    score_histograms,
)

_ROW, _MIDDLE = 24, 12
_HEIGHT = 48


def training_view(finding: Finding) -> Markup | None:
    """The sandwich of a claim whose training was checked, and its canaries' scores.

    HTML in which nothing of a claims file or of code is markup; None if no training was
    checked. Its classes have their styles in ``static/trainings.css``.
    """
    if finding.training is None:
        return None
    lines = sandwich_lines(finding)
    pictures = Markup().join(_scores(name, one) for name, one in score_histograms(finding.training))
    checks = Markup().join(
        Markup("<li>{}</li>").format(printable(_sentence(check.name, check.verdict, detail)))
        for check in finding.training.checks
        for detail in ([mistake.describe() for mistake in check.mistakes] or [check.skipped or ""])
    )
    return Markup(
        '<figure class="training"><figcaption>The training {name}: {verdict}</figcaption>'
        "{sandwich}{pictures}<ul>{checks}</ul></figure>"
    ).format(
        name=printable(finding.training.name),
        verdict=finding.training.verdict,
        sandwich=_sandwich(lines),
        pictures=pictures,
        checks=checks,
    )


def _sentence(name: str, verdict: str, detail: str) -> str:
    return f"{name}: {verdict}: {detail}" if detail else f"{name}: {verdict}"


def _sandwich(lines: list[SandwichLine]) -> Markup:
    """One bar for each number, on one axis, with its words above."""
    scale = FigureScale.around([line.value for line in lines], logarithmic=False)
    rows = Markup().join(
        Markup(
            '<li><p>{digits} {words}</p><svg role="img" aria-label="{digits} {words}" '
            'width="100%" height="{height}"><line class="axis" x1="0" x2="100%" y1="{y}" y2="{y}"/>'
            '<line class="bar-{kind}" x1="{start}" x2="{end}" y1="{y}" y2="{y}"/></svg></li>'
        ).format(
            digits=line.digits,
            words=line.words,
            height=_ROW,
            y=_MIDDLE,
            kind=line.kind,
            # Up to an upper bound all is allowed; from a lower bound on something was seen.
            start="0",
            end=per_cent(1.0 if math.isinf(line.value) else scale.share(line.value)),
        )
        for line in lines
    )
    ticks = Markup().join(
        Markup('<text x="{}" y="12" text-anchor="{}">{}</text>').format(
            tick.place, "start" if tick.text == "0" else "middle", tick.text
        )
        for tick in scale.ticks(0.15)
    )
    return Markup(
        '<ul>{}</ul><svg class="training-scale" aria-hidden="true" width="100%" height="16">{}'
        "</svg>"
    ).format(rows, ticks)


def _scores(name: str, one: ScoreHistogram) -> Markup:
    """Two histograms below each other, with one scale for both."""
    highest = max(*one.inside, *one.outside)
    drawn = Markup().join(
        Markup(
            '<p>{what}</p><svg class="scores" role="img" aria-label="{what}: {words}" '
            'viewBox="0 0 {width} {height}" preserveAspectRatio="none" width="100%" '
            'height="{height}">{bars}</svg>'
        ).format(
            what=what,
            words=one.words,
            width=len(counts) * 10,
            height=_HEIGHT,
            bars=_bars(kind, counts, highest),
        )
        for kind, what, counts in (
            ("in", "Scores of canaries in the training", one.inside),
            ("out", "Scores of canaries outside the training", one.outside),
        )
    )
    return Markup("{}<p>The {}. {}</p>").format(drawn, f"check of the {name}", one.words)


def _bars(kind: str, counts: tuple[int, ...], highest: int) -> Markup:
    return Markup().join(
        Markup('<rect class="score-{}" x="{}" y="{:.2f}" width="9" height="{:.2f}"/>').format(
            kind, 10 * place, _HEIGHT * (1.0 - count / highest), _HEIGHT * count / highest
        )
        for place, count in enumerate(counts)
        if count
    )
