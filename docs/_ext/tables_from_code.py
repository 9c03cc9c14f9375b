"""Tables that are made from the code, so that they cannot fall behind it.

``named-bounds`` lists every registered theorem, ``mechanisms`` every kind of event with its
parameters, ``layers`` the modules of the accounting layer from the top down, and
``implementations`` what came of replaying libraries.
"""

from __future__ import annotations

import importlib
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from rdpkit import BOUNDS
from rdpkit.events import MECHANISMS, parameters_of
from rdpkit.verification.replay.library_replays import read_register


def _cell(text: str, *, literal: bool) -> nodes.entry:
    paragraph = nodes.paragraph()
    paragraph += nodes.literal(text, text) if literal else nodes.Text(text)
    return nodes.entry("", paragraph)


def _row(texts: Sequence[str], literal: Sequence[bool]) -> nodes.row:
    return nodes.row("", *(_cell(t, literal=c) for t, c in zip(texts, literal, strict=True)))


def _table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], literal: Sequence[bool]
) -> nodes.table:
    group = nodes.tgroup("", cols=len(headings))
    for _ in headings:
        group += nodes.colspec(colwidth=1)
    group += nodes.thead("", _row(headings, [False] * len(headings)))
    group += nodes.tbody("", *(_row(row, literal) for row in rows))
    return nodes.table("", group, classes=["colwidths-auto"])


class NamedBounds(SphinxDirective):
    """Every theorem that the library knows."""

    has_content: ClassVar[bool] = False

    def run(self) -> list[nodes.Node]:
        """Build the table."""
        rows = [
            (
                bound.id,
                bound.kind.value,
                bound.event_type.__name__,
                ", ".join(adjacency.value for adjacency in bound.adjacencies),
                bound.source,
            )
            for bound in BOUNDS
        ]
        headings = ("id", "kind", "event", "adjacency", "source")
        return [_table(headings, rows, (True, False, True, True, False))]


class Mechanisms(SphinxDirective):
    """Every kind of event with its parameters; optional ones in brackets."""

    has_content: ClassVar[bool] = False

    def run(self) -> list[nodes.Node]:
        """Build the table."""
        rows = []
        for name, event_type in MECHANISMS.items():
            parameters = ", ".join(
                p.name if p.required else f"[{p.name}]" for p in parameters_of(event_type)
            )
            rows.append((name, event_type.__name__, parameters))
        return [_table(("mechanism", "event", "parameters"), rows, (True, True, False))]


class Layers(SphinxDirective):
    """The contract that ``lint-imports`` checks, with the first line of each module."""

    has_content: ClassVar[bool] = False

    def run(self) -> list[nodes.Node]:
        """Build the table."""
        project = Path(self.env.srcdir).parent / "pyproject.toml"
        contracts = tomllib.loads(project.read_text())["tool"]["importlinter"]["contracts"]
        (layers,) = (
            contract["layers"]
            for contract in contracts
            if contract["type"] == "layers" and "rdpkit.cli" in contract["layers"]
        )
        rows = []
        for number, layer in enumerate(layers, start=1):
            for name in layer.split(" : "):
                summary = (importlib.import_module(name).__doc__ or "").strip().splitlines()[0]
                rows.append((str(number), name, summary))
        return [_table(("layer", "module", "what it holds"), rows, (False, True, False))]


class Implementations(SphinxDirective):
    """The register of implementations, a row for each mechanism of a library."""

    has_content: ClassVar[bool] = False

    def run(self) -> list[nodes.Node]:
        """Build the table, with links to public reports."""
        rows = [
            (
                f"{one.library} {one.version}",
                one.target,
                one.claim,
                one.verdict,
                " ".join(filter(None, (one.finding, one.because, *one.reported))) or "-",
                f"{one.pairs} pairs, {one.seconds:g} s, {one.examined}",
            )
            for one in read_register()
        ]
        headings = (
            "library",
            "mechanism",
            "claim",
            "verdict",
            "what was found, and where it is reported",
            "tried",
        )
        return [_table(headings, rows, (False, True, False, False, False, False))]


def setup(app: Any) -> dict[str, Any]:
    """Register the directives."""
    app.add_directive("named-bounds", NamedBounds)
    app.add_directive("mechanisms", Mechanisms)
    app.add_directive("layers", Layers)
    app.add_directive("implementations", Implementations)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
