"""The picture of a refuted claim: what was claimed, and what is true, on one axis.

The directive ``refuted-claim`` audits the claim that it names and draws what was found. The same
picture is a file for the README; ``python docs/_ext/refuted_claim.py`` draws that one again.
"""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from rdpkit.formats.text import rounded_down, rounded_up
from rdpkit.verification.auditing.findings import Finding, Soundness
from rdpkit.verification.auditing.verdict import audit_one
from rdpkit.verification.claims.reading import load_files, shipped_files

CLAIM = "dpcda-theorem1-l128-t10000"
FILE = Path(__file__).parents[1] / "figures" / "refuted-claim.svg"

WIDTH, HEIGHT = 480, 236
_LEFT, _RIGHT = 20, 460
_TOP, _BOTTOM = 92, 160
_STEPS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)

# The colours of a picture that stands alone; on a page of the site docs/_static/site.css has them.
_ALONE = """
svg { --ink: #1a1a1a; --paper: #ffffff; --line: #767676; --false: #f7d4cf; --true: #cdebd5;
  --claim: #a3201a; --truth: #14532d; }
@media (prefers-color-scheme: dark) {
  svg { --ink: #f0f0f0; --paper: #16181d; --line: #8f8f8f; --false: #5f2620; --true: #1d4a2d;
    --claim: #ff9f94; --truth: #86dca4; }
}
"""
_STYLE = """
.refuted-claim text { font: 16px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
  fill: var(--ink); }
.refuted-claim .strong { font-weight: 700; }
.refuted-claim .claim { fill: var(--claim); stroke: var(--claim); }
.refuted-claim .truth { fill: var(--truth); stroke: var(--truth); }
.refuted-claim text.claim, .refuted-claim text.truth { stroke: none; }
.refuted-claim .axis { stroke: var(--line); }
.refuted-claim .paper { fill: var(--paper); stroke: var(--line); }
.refuted-claim .false { fill: var(--false); }
.refuted-claim .true { fill: var(--true); }
"""


def finding_of(claim_id: str) -> Finding:
    """What the audit finds about one of the claims that are shipped."""
    (claim,) = (one for one in load_files(shipped_files()) if one.id == claim_id)
    return audit_one(claim)


def numbers(finding: Finding) -> tuple[str, str, str]:
    """Claimed, attained and proven, rounded so that they stay true."""
    if finding.soundness is not Soundness.REFUTED or not (finding.lower and finding.upper):
        raise ValueError(f"Expected a claim that theorems refute, got {finding}.")
    attained = rounded_down(finding.lower.epsilon, digits=4)
    return str(finding.claim.epsilon), attained, rounded_up(finding.upper.epsilon, digits=4)


def caption(finding: Finding) -> str:
    """The picture in words."""
    claimed, attained, proven = numbers(finding)
    return (
        f"An axis of epsilon. The claim, {claimed}, stands in the part below {attained}, which is "
        f"too small: two data sets that differ in one record leak at least {attained}. The part "
        f"above {proven} is proven: no such data sets leak more."
    )


def drawing(finding: Finding, *, alone: bool) -> str:
    """The picture as SVG.

    Parameters
    ----------
    finding : Finding
        What the audit found about a claim that is refuted.
    alone : bool
        Whether it is a file, which has its own colours and paper, or a part of a page.
    """
    claimed, attained, proven = numbers(finding)
    end = 1.26 * float(proven)

    def at(value: float) -> float:
        return round(_LEFT + (_RIGHT - _LEFT) * value / end, 1)

    claim, low, high = at(float(claimed)), at(float(attained)), at(float(proven))
    middle = (_TOP + _BOTTOM) / 2 + 6
    title = f"Claimed: epsilon {claimed}. True: between {attained} and {proven}."
    parts = [
        f'<title id="refuted-claim-title">{html.escape(title)}</title>',
        f'<desc id="refuted-claim-words">{html.escape(caption(finding))}</desc>',
        f"<style>{_ALONE + _STYLE if alone else _STYLE}</style>",
    ]
    if alone:
        parts.append(
            f'<rect class="paper" x="0.5" y="0.5" rx="8" width="{WIDTH - 1}" '
            f'height="{HEIGHT - 1}"/>'
        )
    parts += [
        _band("false", _LEFT, low),
        _band("true", high, _RIGHT),
        _text((_LEFT + claim) / 2, middle, "too small: refuted"),
        _text((high + _RIGHT) / 2, middle, "proven"),
        _line("claim", claim, 62),
        _text(claim, 54, f"claimed: {claimed}", "claim strong"),
        # What is attained and what is proven are seldom a line's width apart.
        f'<rect class="truth" x="{low}" y="34" width="{max(round(high - low, 1), 3)}" '
        f'height="{_BOTTOM - 34}"/>',
        _text(_RIGHT, 26, f"true: between {attained} and {proven}", "truth strong", anchor="end"),
        f'<line class="axis" x1="{_LEFT}" y1="{_BOTTOM}" x2="{_RIGHT}" y2="{_BOTTOM}"/>',
    ]
    step = next(step for step in _STEPS if end / step < 6)
    for k in range(int(end / step) + 1):
        x = at(k * step)
        parts.append(f'<line class="axis" x1="{x}" y1="{_BOTTOM}" x2="{x}" y2="{_BOTTOM + 6}"/>')
        parts.append(_text(x, _BOTTOM + 23, f"{k * step:g}"))
    parts.append(_text(WIDTH / 2, _BOTTOM + 54, "epsilon: how much can leak about one record"))
    inside = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="refuted-claim" role="img" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'aria-labelledby="refuted-claim-title refuted-claim-words">\n{inside}\n</svg>\n'
    )


def _text(x: float, y: float, words: str, names: str = "", *, anchor: str = "middle") -> str:
    name = f' class="{names}"' if names else ""
    return f'<text{name} x="{x:.6g}" y="{y:.6g}" text-anchor="{anchor}">{html.escape(words)}</text>'


def _band(name: str, start: float, end: float) -> str:
    return (
        f'<rect class="{name}" x="{start}" y="{_TOP}" width="{end - start:.6g}" '
        f'height="{_BOTTOM - _TOP}"/>'
    )


def _line(name: str, x: float, top: float) -> str:
    return f'<line class="{name}" x1="{x}" y1="{top}" x2="{x}" y2="{_BOTTOM}" stroke-width="3"/>'


class RefutedClaim(SphinxDirective):
    """The picture of a claim, drawn from an audit of it."""

    required_arguments: ClassVar[int] = 1
    has_content: ClassVar[bool] = False

    def run(self) -> list[nodes.Node]:
        """Audit and draw."""
        finding = finding_of(self.arguments[0])
        return [nodes.raw("", drawing(finding, alone=False), format="html")]


def setup(app: Any) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("refuted-claim", RefutedClaim)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    FILE.write_text(drawing(finding_of(CLAIM), alone=True), encoding="utf-8")
