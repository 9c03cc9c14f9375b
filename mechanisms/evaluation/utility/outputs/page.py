"""The report as a page with its drawings, everything inline, and as Markdown."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence

import rdpkit
from rdpkit.mechanisms.evaluation.utility.columns import Histogram, MarginalError
from rdpkit.mechanisms.evaluation.utility.outputs.view import Section, Table, view
from rdpkit.mechanisms.evaluation.utility.report import UtilityReport, png

_WIDTH, _HEIGHT = 320, 110
_CELL = 24  # Side of a square of the map
MOST_NUMBERED = 24
_DARKEST = 0.5  # The error of a full square


def escaped(text: str) -> str:
    """A text for a page or for an attribute in quotes, with nothing that cannot be printed."""
    return html.escape("".join(c if c.isprintable() else " " for c in text), quote=True)


def histogram(shown: Histogram) -> str:
    """Bars of the release and of the real records, in pairs, one pair a cell."""
    top = max((*shown.synthetic, *shown.real), default=0.0) or 1.0
    room = _WIDTH / max(1, len(shown.labels))
    bar = 0.42 * room
    shapes = []
    for i, (ours, theirs) in enumerate(zip(shown.synthetic, shown.real, strict=True)):
        for share, left, kind in ((ours, 0.06, "made"), (theirs, 0.52, "real")):
            height = _HEIGHT * share / top
            shapes.append(
                f'<rect class="{kind}" x="{room * (i + left):.1f}" y="{_HEIGHT - height:.1f}" '
                f'width="{bar:.1f}" height="{height:.1f}"><title>{escaped(shown.labels[i])}: '
                f"{100 * share:.1f} %</title></rect>"
            )
    line = f'<line class="axis" x1="0" y1="{_HEIGHT}" x2="{_WIDTH}" y2="{_HEIGHT}"/>'
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT + 1}" role="img" preserveAspectRatio="none" '
        f'aria-label="{escaped(_words(shown))}">{"".join(shapes)}{line}</svg>'
    )


def _words(shown: Histogram) -> str:
    gaps = [abs(a - b) for a, b in zip(shown.synthetic, shown.real, strict=True)]
    if not gaps:
        return f"Histogram of {shown.name}: no values"
    worst = gaps.index(max(gaps))
    return (
        f"Histogram of {shown.name}: {len(gaps)} cells, largest difference at "
        f"{shown.labels[worst]}: {100 * shown.synthetic[worst]:.1f} % in the release, "
        f"{100 * shown.real[worst]:.1f} % in the real records"
    )


def heat_map(names: Sequence[str], pairs: Sequence[MarginalError]) -> str:
    """A square for each pair of columns, the fuller the larger its error; columns are numbered."""
    place = {name: i for i, name in enumerate(names)}
    numbered = len(names) <= MOST_NUMBERED
    start = _CELL if numbered else 0
    side = start + _CELL * len(names)
    shapes = [f'<rect class="ground" width="{side}" height="{side}"/>']
    for one in pairs:
        i, j = sorted(place[name] for name in one.columns)
        strength = min(1.0, one.error / _DARKEST)
        label = f"{one.columns[0]} and {one.columns[1]}: {100 * one.error:.1f} %"
        for row, column in ((i, j), (j, i)):
            shapes.append(
                f'<rect class="heat" x="{start + _CELL * column + 1}" '
                f'y="{start + _CELL * row + 1}" '
                f'width="{_CELL - 2}" height="{_CELL - 2}" fill-opacity="{strength:.3f}">'
                f"<title>{escaped(label)}</title></rect>"
            )
    if numbered:
        for i in range(len(names)):
            at = start + _CELL * (i + 0.5)
            shapes.append(_numeral(at, _CELL * 0.65, i + 1))
            shapes.append(_numeral(_CELL * 0.5, at + 4, i + 1))
    worst = max(pairs, key=lambda one: one.error)
    words = (
        f"Errors of {len(pairs)} pairs of {len(names)} columns; the largest is that of "
        f"{' and '.join(worst.columns)}: {100 * worst.error:.1f} %"
    )
    return (
        f'<svg viewBox="0 0 {side} {side}" style="max-width:{max(side, 200)}px" role="img" '
        f'aria-label="{escaped(words)}">{"".join(shapes)}</svg>'
    )


def _numeral(x: float, y: float, number: int) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" font-size="11">{number}</text>'


_STYLE = """
:root { color-scheme: light dark; --page: #fff; --text: #1b1f24; --soft: #57606a; --line: #d0d7de;
  --box: #f2f5f8; --made: #0b63c4; --real: #b35900; --alarm: #a40e26; --alarm-box: #ffebe9;
  --good-box: #e6f4ea; }
@media (prefers-color-scheme: dark) { :root { --page: #14181d; --text: #e6e9ed; --soft: #a5b0bb;
  --line: #3a434d; --box: #1f252c; --made: #6cb0ff; --real: #f0a04b; --alarm: #ff9a94;
  --alarm-box: #43161a; --good-box: #15321f; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text);
  font: 16px/1.5 system-ui, sans-serif; }
main, header, footer { max-width: 62rem; margin: 0 auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; line-height: 1.25; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.2rem 0 .4rem; overflow-wrap: anywhere; }
p { max-width: 46rem; overflow-wrap: anywhere; }
.box { background: var(--box); border-left: .3rem solid var(--real); padding: .6rem 1rem; }
.box.public, .box.accounted { background: var(--good-box); border-color: var(--made); }
.box.alarm { background: var(--alarm-box); border-color: var(--alarm); font-weight: 700; }
.wide { overflow-x: auto; }
.wide:focus-visible { outline: 3px solid var(--made); outline-offset: 2px; }
table { border-collapse: collapse; margin: .6rem 0; }
caption { text-align: left; color: var(--soft); padding-bottom: .2rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .8rem .25rem 0;
  border-bottom: 1px solid var(--line); overflow-wrap: break-word; max-width: 24rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 16rem), 1fr));
  gap: 1rem; }
figure { margin: 0; }
figcaption { overflow-wrap: anywhere; }
.ends { display: flex; justify-content: space-between; gap: 1rem; color: var(--soft);
  font-size: .85rem; overflow-wrap: anywhere; }
.cards svg { width: 100%; height: 7rem; display: block; }
.map svg { width: 100%; height: auto; display: block; }
.made { fill: var(--made); } .real { fill: var(--real); }
.heat { fill: var(--alarm); stroke: var(--line); } .ground { fill: var(--page); }
.axis { stroke: var(--soft); } svg text { fill: var(--text); }
.key { display: inline-block; width: .9em; height: .9em; vertical-align: -.1em; }
.key.made { background: var(--made); } .key.real { background: var(--real); }
.pixels { width: min(100%, 34rem); image-rendering: pixelated; display: block; }
ol.columns { columns: 12rem; padding-left: 2rem; overflow-wrap: anywhere; }
footer { color: var(--soft); padding-bottom: 2rem; }
@media (max-width: 40rem) {
  table, caption, tbody, tr, th, td { display: block; }
  thead { display: none; }
  tr { border-bottom: 1px solid var(--line); padding: .4rem 0; }
  th, td { border: none; padding: 0; max-width: none; overflow-wrap: anywhere; }
  td::before { content: attr(data-label) ": "; color: var(--soft); }
  td:empty { display: none; }
}
"""


def utility_page(report: UtilityReport) -> str:
    """A page of HTML that needs no network, in which names of columns and files are text."""
    shown = view(report)
    short, full = shown.cost
    boxes = [
        f'<div class="box {report.cost.kind}"><p><strong>{escaped(short)}</strong></p>'
        f"<p>{escaped(full)}</p></div>"
    ]
    if shown.alarm:
        boxes.insert(0, f'<div class="box alarm" role="alert"><p>{escaped(shown.alarm)}</p></div>')
    body = "\n".join("\n".join(_section(section, report)) for section in shown.sections)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(shown.title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<header><h1>{escaped(shown.title)}</h1>\n{''.join(boxes)}</header>\n<main>\n{body}\n</main>\n"
        f"<footer><p>Made by rdpkit {escaped(rdpkit.__version__)}.</p></footer>\n</body>\n</html>\n"
    )


def _section(section: Section, report: UtilityReport) -> Iterator[str]:
    yield f"<section><h2>{escaped(section.title)}</h2>"
    yield from (f"<p>{escaped(paragraph)}</p>" for paragraph in section.text if paragraph)
    if section.name == "pictures":
        yield from _pictures(report)
    if section.name == "single":
        yield from _histograms(report)
    if section.name == "pairs":
        yield from _map(report)
    yield from (_html_table(table) for table in section.tables)
    yield "</section>"


def _html_table(table: Table) -> str:
    # The roles hold where a narrow window shows each row as a block of its own.
    head = "".join(
        f'<th scope="col" role="columnheader">{escaped(cell)}</th>' for cell in table.headings
    )
    rows = "".join(
        '<tr role="row">'
        + f'<th scope="row" role="rowheader">{escaped(row[0])}</th>'
        + "".join(
            f'<td role="cell" data-label="{escaped(name)}">{escaped(cell)}</td>'
            for name, cell in zip(table.headings[1:], row[1:], strict=True)
        )
        + "</tr>"
        for row in table.rows
    )
    caption = escaped(table.caption)
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{caption}"><table role="table">'
        f'<caption>{caption}</caption><thead role="rowgroup"><tr role="row">{head}</tr></thead>'
        f'<tbody role="rowgroup">{rows}</tbody></table></div>'
    )


def _histograms(report: UtilityReport) -> Iterator[str]:
    if not report.histograms:
        return
    yield (
        '<p><span class="key made"></span> release <span class="key real"></span> real records</p>'
    )
    yield '<div class="cards">'
    for one in report.histograms:
        ends = [one.labels[0], one.labels[-1]] if one.labels else []
        yield f"<figure><figcaption>{escaped(one.name)}</figcaption>{histogram(one)}"
        yield '<div class="ends">' + "".join(f"<span>{escaped(e)}</span>" for e in ends) + "</div>"
        yield "</figure>"
    yield "</div>"


def _map(report: UtilityReport) -> Iterator[str]:
    names = [one.columns[0] for one in report.marginals.single]
    yield "<p>The fuller a square, the larger the pair's error: empty is 0 %, full is 50 %.</p>"
    yield f'<div class="map">{heat_map(names, report.marginals.pairs)}</div>'
    if len(names) <= MOST_NUMBERED:
        yield '<ol class="columns">' + "".join(f"<li>{escaped(n)}</li>" for n in names) + "</ol>"


def _pictures(report: UtilityReport) -> Iterator[str]:
    shown = report.pictures
    if shown is None:
        return
    classes = ", ".join(shown.classes)
    for images, words in ((shown.synthetic, "Images of the release"), (shown.real, "Real images")):
        yield (
            f"<figure><figcaption>{words}</figcaption>"
            f'<img class="pixels" alt="{words}, one column a class: {escaped(classes)}" '
            f'src="{png(images)}"></figure>'
        )


def utility_markdown(report: UtilityReport) -> str:
    """A page of Markdown in which names of columns and files are text."""
    shown = view(report)
    short, full = shown.cost
    parts = [f"# {_text(shown.title)}", f"> **{_text(short)}** {_text(full)}"]
    if shown.alarm:
        parts.insert(1, f"> **{_text(shown.alarm)}**")
    for section in shown.sections:
        parts.append(f"## {_text(section.title)}")
        parts += [_text(paragraph) for paragraph in section.text if paragraph]
        for table in section.tables:
            head, *rows = (list(map(_text, row)) for row in (table.headings, *table.rows))
            lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
            parts.append(f"{_text(table.caption)}:\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _text(words: str) -> str:
    """A text on one line in which nothing is markup, and that people can read as it stands."""
    line = " ".join("".join(c if c.isprintable() else " " for c in words).split())
    plain = re.sub(r"([\\\\`*_{}\[\]#|~$!])", r"\\\1", html.escape(line, quote=False))
    # A bare address would become a link.
    address = r"(?i)(https?|ftp|mailto|xmpp):|www\.|@"
    return re.sub(address, lambda found: f"{found[0][:-1]}&#{ord(found[0][-1])};", plain)
