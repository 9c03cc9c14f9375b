"""The report as a page: everything inline, no network, no script, light and dark."""

from __future__ import annotations

from collections.abc import Iterator

import rdpkit
from rdpkit.mechanisms.evaluation.utility.outputs.drawing import (
    MOST_NUMBERED,
    escaped,
    heat_map,
    histogram,
)
from rdpkit.mechanisms.evaluation.utility.outputs.view import Section, Table, view
from rdpkit.mechanisms.evaluation.utility.report import UtilityReport, png

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
    yield from (_table(table) for table in section.tables)
    yield "</section>"


def _table(table: Table) -> str:
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
