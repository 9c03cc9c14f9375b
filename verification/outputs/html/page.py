"""The page itself: one file of HTML that holds its styles, its scripts and all that they show.

A claims file may be hostile. Three things keep its content from running: the template escapes every
text, data for scripts is JSON in which no tag can end, and the page's content security policy runs
only the scripts whose hashes it lists and loads nothing from anywhere.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from rdpkit.formats.text import printable
from rdpkit.verification.auditing.findings import Finding, Reproduction, Soundness
from rdpkit.verification.outputs.html.axis import Axis
from rdpkit.verification.outputs.html.claim_view import claim_view, numbers_of, theorems
from rdpkit.verification.outputs.html.curves import Curves

_SCRIPTS = ("vendor/uPlot-1.6.32.iife.min.js", "report.js")
_STYLES = ("vendor/uPlot-1.6.32.min.css", "tokens.css", "report.css")
# The verdicts that need attention come first.
_SOUNDNESS = (Soundness.REFUTED, Soundness.UNPROVEN, Soundness.SOUND)
_REPRODUCTION = (
    Reproduction.DIFFERS,
    Reproduction.UNDERSPECIFIED,
    Reproduction.UNNAMED,
    Reproduction.EXACT,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file that claims were read from.

    Parameters
    ----------
    name : str
        The name that the user gave.
    digest : str
        The SHA-256 of its content, in hexadecimal digits.
    """

    name: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where the page's numbers come from.

    Parameters
    ----------
    title : str
        What the page is about.
    made : str
        The time, in words.
    files : sequence of SourceFile
        The files of claims.
    versions : dict
        Versions of the software, by name.
    settings : dict
        What the audit was asked for, by name.
    """

    title: str
    made: str
    files: Sequence[SourceFile]
    versions: dict[str, str]
    settings: dict[str, str]


def page(
    findings: Sequence[Finding], curves: Sequence[Curves | None], provenance: Provenance
) -> str:
    """The report as HTML.

    Parameters
    ----------
    findings : sequence of Finding
        What an audit found, in the order in which it is shown.
    curves : sequence of Curves or None
        The drawings behind each of them.
    provenance : Provenance
        What the page says of itself.

    Raises
    ------
    ValueError
        If there are not as many curves as findings.
    """
    axis = Axis.around(number for finding in findings for number in numbers_of(finding))
    views = [
        claim_view(finding, number, axis, drawn)
        for number, (finding, drawn) in enumerate(zip(findings, curves, strict=True), start=1)
    ]
    soundness = Counter(view.soundness for view in views)
    reproduction = Counter(view.reproduction for view in views)
    scripts = [_static(name) for name in _SCRIPTS]
    own = f":root {{ --decade: {axis.decade}; }}\n"
    styles = [*(_static(name) for name in _STYLES), own]
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
        f"script-src {_hashes(scripts)}; style-src {_hashes(styles)}"
    )
    environment = Environment(
        loader=PackageLoader("rdpkit.verification.outputs.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2").render(
        title=printable(provenance.title),
        made=provenance.made,
        files=[(printable(file.name), file.digest) for file in provenance.files],
        versions=provenance.versions,
        settings=provenance.settings,
        policy=policy,
        # These texts are the project's own files, in which no tag ends.
        styles=[Markup(text) for text in styles],  # noqa: S704
        scripts=[Markup(text) for text in scripts],  # noqa: S704
        axis=axis,
        claims=views,
        soundness=[(name.value, soundness[name.value]) for name in _SOUNDNESS],
        reproduction=[(name.value, reproduction[name.value]) for name in _REPRODUCTION],
        mechanisms=sorted({view.mechanism for view in views}),
        theorems=theorems(list(findings)),
    )


def _static(name: str) -> str:
    text = (resources.files("rdpkit.verification.outputs.html") / "static" / name).read_text(
        encoding="utf-8"
    )
    # Browsers hash the text after parsing it, so it must have neither an end tag nor line ends that
    # parsing changes.
    if "</s" in text.lower() or "\r" in text:
        raise ValueError(
            f"{name} cannot be embedded in a page: it has an end tag or a carriage return."
        )
    return text


def _hashes(texts: Sequence[str]) -> str:
    digests = (hashlib.sha256(text.encode()).digest() for text in texts)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
