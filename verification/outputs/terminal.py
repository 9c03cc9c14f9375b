"""What people read on a terminal: the news, claims drawn in letters, and the chain of one."""

from __future__ import annotations

import math
import re
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from rdpkit.formats.numbers import as_given
from rdpkit.formats.text import how_many, printable
from rdpkit.verification.auditing.findings import (
    ClaimVerdict,
    Finding,
    Reproduction,
    Soundness,
    number_of,
    refuted_by_bound,
)
from rdpkit.verification.auditing.remedies import remedies
from rdpkit.verification.outputs.news import (
    VerdictCounts,
    by_source,
    sentences,
    source_of,
    worst_first,
)
from rdpkit.verification.outputs.words import (
    NUMBER_MEANINGS,
    NUMBER_NAMES,
    claimed,
    counted,
    in_short,
    named_sides,
    number,
    parameters,
    reason,
    region_words,
    relation_in_words,
    sides,
    slack_words,
    statement,
    what_to_change,
    word,
)

# Lines of text are as long as this where nothing says how wide the output is.
_WIDTH = 80
# A drawing in a wider window is no easier to read.
_WIDEST = 100
_NARROWEST = 50
# Up to this many claims need no summary: the table is shown with the news.
_FEW = 20
# Claims that are drawn, and sources that are counted, before the rest is summed up.
_DRAWN = 3
_SOURCES = 12

_STYLE: dict[str, str] = {
    Reproduction.EXACT: "green",
    Reproduction.DIFFERS: "red",
    Reproduction.UNDERSPECIFIED: "yellow",
    Reproduction.UNNAMED: "",
    **dict.fromkeys(ClaimVerdict, "yellow"),
    ClaimVerdict.TRUE: "green",
    ClaimVerdict.FALSE: "bold red",
}


def print_news(
    findings: Sequence[Finding],  # What the audit found
    *,
    every: bool,  # Whether to show the table of all claims however many there are
    notes: bool | None,  # Whether to print the notes; None for where there are few claims
    command: str,  # The command line of this audit, to which a reader may add options
) -> None:
    """Print what matters, worst first: sentences, drawings, counts, and one line of summary."""
    width = max(_columns(), _NARROWEST)
    console = _console()
    for sentence in textwrap.wrap(" ".join(sentences(findings)), width):
        console.print(Text(sentence, style="bold"))
    if not findings:
        return
    worst = worst_first(findings)
    for finding in worst[:_DRAWN]:
        console.print()
        _print_block(console, finding, width, command)
    if len(worst) > _DRAWN:
        console.print()
        _print_others(console, worst[_DRAWN:], width)
    if every or len(findings) <= _FEW:
        console.print()
        print_table(findings)
    elif len(by_source(findings)) > 1:
        console.print()
        _print_sources(console, findings, width)
    if notes if notes is not None else len(findings) <= _FEW:
        _print_notes(console, findings)
    console.print()
    for line in _summary(findings, worst, every=every, command=command):
        for part in textwrap.wrap(line, width, subsequent_indent="  "):
            console.print(Text(part))


def print_table(findings: Sequence[Finding]) -> None:
    """Print a row for each finding.

    On a terminal columns are aligned. Where delta and the neighbours do not fit beside the longest
    id, ids have lines of their own, and what does not fit then is left out. Elsewhere columns are
    separated by tabs, with every digit, one row a line.
    """
    if not sys.stdout.isatty():
        print("\t".join(_COLUMNS))
        for finding in findings:
            print("\t".join(_cells(finding, digits=6)))
        return
    # add-remove is short for add-or-remove-one wherever a relation is asked for.
    cells = (_cells(finding, digits=4) for finding in findings)
    rows = [(*row[:-1], _SHORT.sub("", row[-1])) for row in cells]
    widths = [max(map(len, column)) for column in zip(_COLUMNS, *rows, strict=True)]
    # A longer id runs into the columns beside it, and moves those of its own row only.
    widths[0] = min(widths[0], _LONGEST_ID)
    shown = _fitting(widths, _columns())
    console = _console()
    apart = _COLUMNS.index("claim") not in shown
    above = "claim\n" if apart else ""
    console.print(Text(above + _aligned(_COLUMNS, widths, shown), style="bold"))
    for finding, row in zip(findings, rows, strict=True):
        line = Text((f"{row[0]}\n" if apart else "") + _aligned(row, widths, shown))
        for verdict in (finding.verdict, finding.reproduction):
            line.highlight_words([verdict.value], _STYLE[verdict])
        console.print(line)


def _aligned(row: Sequence[str], widths: Sequence[int], shown: Sequence[int]) -> str:
    """One line of the table: texts begin where their column does, and numbers end there."""
    cells = [
        row[c].rjust(widths[c]) if _COLUMNS[c] in _NUMERIC else row[c].ljust(widths[c])
        for c in shown
    ]
    return "  ".join(cells).rstrip()


_COLUMNS = (
    "claim",
    "claimed",
    "published",
    "lower",
    "upper",
    "slack",
    "verdict",
    "reproduction",
    "delta",
    "neighbours",
)
_NUMERIC = ("claimed", "published", "lower", "upper", "slack")
_LONGEST_ID = 44
_SHORT = re.compile("-or|-one")
# Columns that a narrow window does without, in this order.
_DISPENSABLE = (
    *("reproduction", "published", "slack", "claim"),
    *("lower", "neighbours", "delta", "claimed", "upper"),
)


def _cells(finding: Finding, *, digits: int) -> tuple[str, ...]:
    """A finding as a row of texts, in which there is no tab."""
    numbers = {
        kind: number(kind, side.epsilon, digits=digits) for kind, side in named_sides(finding)
    }
    return (
        printable(finding.claim.id),
        claimed(finding.claim),
        *(numbers.get(kind, "") for kind in ("published", "lower", "upper")),
        slack_words(finding),
        finding.verdict.value,
        finding.reproduction.value,
        "" if finding.claim.delta is None else as_given(finding.claim.delta),
        finding.claim.adjacency.dashed,
    )


def _fitting(widths: Sequence[int], room: int) -> list[int]:
    """The columns that fit into a window."""
    shown = list(range(len(_COLUMNS)))
    for name in _DISPENSABLE:
        if sum(widths[c] for c in shown) + 2 * (len(shown) - 1) <= room:
            break
        shown.remove(_COLUMNS.index(name))
    return shown


def _columns() -> int:
    """The width of the window, or what the environment says; 80 where nobody says."""
    return shutil.get_terminal_size((_WIDTH, 24)).columns


def _console() -> Console:
    # Lines are broken here, and not by the console, which would show nothing in a width of 0.
    return Console(width=_WIDTH, highlight=False, soft_wrap=True)


def _glyphs() -> Glyphs:
    """Letters that the output can show; plain ones in a pipe, where some programs count bytes."""
    if not sys.stdout.isatty():
        return ASCII
    try:
        "".join(UNICODE).encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE


def _print_block(console: Console, finding: Finding, width: int, command: str) -> None:
    """One claim that needs attention: what it says, a drawing, what is true, where to read on."""
    claim = finding.claim
    differs = finding.soundness is Soundness.SOUND and finding.verdict is ClaimVerdict.TRUE
    shown = finding.reproduction if differs else finding.verdict
    name = printable(claim.id)
    said = statement(claim, relation=relation_in_words(claim))
    number, _, relation = said.partition(", for ")
    about = [f"for {relation}; {printable(claim.source)}"]
    heading = f" {name}: {number}"
    if len(shown) + len(heading) > width:
        heading, about = f" {name}", [number, *about]
    console.print(Text.assemble((shown.upper(), _STYLE[shown]), heading))
    found = [_shortened(line, width - 2) for line in about]
    above = [] if claim.unread is None else [f"not read here: {printable(claim.unread)}"]
    if claim.reading or claim.approximation:
        above.append(f"{word(finding)}: {reason(finding)}")
    for text in above:
        found += textwrap.wrap(text, width - 2)
    drawn = drawing(finding, width=min(width, _WIDEST) - 2, glyphs=_glyphs())
    below = []
    if finding.soundness is Soundness.REFUTED and not refuted_by_bound(finding):
        below += [printable(line) for line in finding.refutation]
    below.append(f"true instead: {', '.join(what_to_change(finding))}")
    found += [line.rstrip() for line in drawn]
    for text in below:
        found += textwrap.wrap(text, width - 2, subsequent_indent="  ")
    for line in [*found, f"why: {command} --explain {name}"]:
        console.print(Text(f"  {line}".rstrip()))


_OTHERS = {
    ClaimVerdict.FALSE: "Also refuted",
    ClaimVerdict.DEPENDS: "Hold in another reading",
    ClaimVerdict.OPEN: "Also unproven",
    ClaimVerdict.APPROXIMATE: "Approximations below the truth",
    ClaimVerdict.ROUNDED: "False by the last digit alone",
    ClaimVerdict.TRUE: "Also differs",
}


def _print_others(console: Console, findings: Sequence[Finding], width: int) -> None:
    """The ids of claims that need attention and are not drawn."""
    for verdict, heading in _OTHERS.items():
        claims = {one.claim.id: one.claim for one in findings if one.verdict is verdict}
        # One whose source nobody opened here is marked.
        names = [
            printable(claim.id) + ("" if claim.unread is None else " (not read here)")
            for claim in claims.values()
            if claim.reads not in claims
        ]
        if names:
            text = f"{heading}: {', '.join(names)}"
            lines = textwrap.wrap(
                text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
            )
            for line in lines:
                console.print(Text(line))


def _print_sources(console: Console, findings: Sequence[Finding], width: int) -> None:
    """How many claims of each source have each verdict."""
    counted_sources = by_source(findings)
    shown, rest = counted_sources[:_SOURCES], counted_sources[_SOURCES:]
    rows = [(printable(name), counts) for name, counts in shown]
    if rest:
        names = {name for name, _ in rest}
        others = [one for one in findings if source_of(one.claim) in names]
        rows.append((f"{len(rest)} more", VerdictCounts.of(others)))
    headings = ("claims", "refuted", "open", "proven", "halved")
    room = width - sum(len(heading) + 2 for heading in headings)
    beside = "".join(f"  {heading}" for heading in headings)
    console.print(Text(f"{'source':{room}}{beside}", style="bold"))
    for name, counts in rows:
        numbers = (
            counts.claims,
            counts.refuted,
            counts.open + counts.missing,
            counts.sound,
            counts.halved,
        )
        cells = (
            f"  {number or '':>{len(heading)}}"
            for heading, number in zip(headings, numbers, strict=True)
        )
        console.print(Text(f"{_shortened(name, room):{room}}{''.join(cells)}".rstrip()))


def _summary(
    findings: Sequence[Finding], worst: Sequence[Finding], *, every: bool, command: str
) -> list[str]:
    """One line of counts, what the words mean, and how to see more."""
    lines = []
    if worst:
        lines += [f"{name}: {meaning}." for name, meaning in NUMBER_MEANINGS.items()]
    if not every and len(findings) > _FEW:
        lines.append(f"Every claim: {command} --all; one of them: {command} --explain ID.")
    verdicts = counted(findings, "verdict")
    reproductions = counted(findings, "reproduction")
    numbers = len({number_of(one.claim) for one in findings})
    about = how_many(len(findings), "claim")
    if numbers < len(findings):
        about = f"{how_many(len(findings), 'reading')} of {how_many(numbers, 'number')}"
    if Reproduction.UNNAMED.value in reproductions:
        lines.append(
            "unnamed: no formula is named that gave the number; it is judged all the same."
        )
    lines.append(f"{about}: {verdicts} ({reproductions}).")
    return lines


def _shortened(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."


def _print_notes(console: Console, findings: Sequence[Finding]) -> None:
    """Each note once, with the claims that it is about."""
    grouped: dict[str, list[str]] = {}
    for finding in findings:
        for note in finding.notes:
            grouped.setdefault(note, []).append(finding.claim.id)
    if grouped:
        console.print()
    for note, identifiers in grouped.items():
        names = ", ".join(identifiers[:3])
        more = f" and {len(identifiers) - 3} more" if len(identifiers) > 3 else ""
        console.print(Text(printable(f"{names}{more}: {note}")))


_TITLES = {"published": "published", "upper": "upper bound", "lower": "lower bound"}


def explanation(finding: Finding) -> list[str]:
    """The whole chain behind one verdict, line by line."""
    claim = finding.claim
    lines = [
        *textwrap.wrap(" ".join(in_short(finding)), _WIDTH),
        "",
        *(f"  {line}".rstrip() for line in drawing(finding, width=_WIDTH - 2, glyphs=_glyphs())),
        "",
        f"claim         {claim.id}",
        f"source        {claim.source}",
        f"claimed       {claim.quantity} {claimed(claim)}"
        + ("" if claim.delta is None else f", delta {as_given(claim.delta)}")
        + ("" if claim.order is None else f", order {claim.order:g}")
        + ("" if claim.fpr is None else f", fpr {claim.fpr:g}"),
        f"adjacency     {claim.adjacency.dashed}",
        f"mechanism     {claim.mechanism}",
        *(f"  {name} = {value}" for name, value in parameters(claim)),
    ]
    for side in sides(finding):
        lines.append(f"{_TITLES[side.kind]:13} {side}")
        lines += [f"  {text}" for text in (side.enclosure, *side.theorems) if text]
        lines += [f"  assumes {text}" for text in side.assumptions]
    if finding.training is not None:
        # Imported here because most claims are about no training.
        from rdpkit.verification.outputs.training_drawing import training_lines  # noqa: PLC0415

        lines += [f"training      {text}" for text in training_lines(finding)]
    if not finding.refutation:
        lines += [f"pair          {text}" for text in finding.pair]
    lines += [f"refuted by    {text}" for text in finding.refutation]
    lines += [
        f"scenario      {text}: {number('published', side.epsilon)}"
        for text, side in finding.scenarios
    ]
    lines += [f"would need    {text}" for text in region_words(finding)]
    lines.append(f"reproduction  {finding.reproduction.value}")
    slack = "" if finding.slack is None else f", slack {finding.slack:.4g}"
    lines.append(f"verdict       {finding.verdict.value}{slack}")
    lines += [f"note          {text}" for text in finding.notes]
    if remedies(finding) or finding.soundness is not Soundness.SOUND:
        lines += [f"change        {text}" for text in what_to_change(finding)]
    return lines


# The numbers of a drawing that stand above the axis, and those below it.
_ABOVE = ("claimed", "lower")
_BELOW = ("published", "upper")


class Glyphs(NamedTuple):
    """The characters of a drawing."""

    line: str
    claimed: str
    published: str
    truth: str  # Between what is attained and what is proven
    start: str
    end: str


UNICODE = Glyphs("─", "┃", "┆", "█", "├", "┤")
ASCII = Glyphs("-", "|", ":", "#", "|", "|")


def drawing(
    finding: Finding,  # What the audit found
    *,
    width: int,  # The longest line, at least 40
    glyphs: Glyphs = UNICODE,  # The characters to draw with
) -> list[str]:
    """Claimed, published, attained and proven on one axis that begins at 0.

    Labels, the axis, and more labels; empty if no number is known. An infinite number
    stands at the right end.
    """
    claim, values, texts = finding.claim, {}, {}
    if claim.epsilon is not None:
        values["claimed"], texts["claimed"] = float(claim.epsilon), claimed(claim)
    for kind, side in named_sides(finding):
        values[kind], texts[kind] = side.epsilon, number(kind, side.epsilon, digits=4)
    if not values:
        return []
    finite = [value for value in values.values() if math.isfinite(value)]
    # The largest number does not stand at the end, where infinity does.
    longest = 1.08 * max(finite, default=0.0) or 1.0
    last = width - 2

    def place(value: float) -> int:
        return last if math.isinf(value) else round(value / longest * (last - 1))

    places = {kind: place(value) for kind, value in values.items()}
    axis = [glyphs.line] * (last + 1)
    axis[0], axis[last] = glyphs.start, glyphs.end
    if "upper" in places:
        for column in range(places.get("lower", places["upper"]), places["upper"] + 1):
            axis[column] = glyphs.truth
    elif "lower" in places:
        axis[places["lower"]] = glyphs.truth
    for kind, mark in (("published", glyphs.published), ("claimed", glyphs.claimed)):
        if kind in places:
            axis[places[kind]] = mark
    labels = {kind: f"{NUMBER_NAMES[kind]} {text}" for kind, text in texts.items()}
    above, below = (_labels(kinds, places, labels, width) for kinds in (_ABOVE, _BELOW))
    return [line for line in (above, "".join(axis), below) if line]


def _labels(
    kinds: tuple[str, ...], places: dict[str, int], labels: dict[str, str], width: int
) -> str:
    """The labels of one side of the axis, each as near to its place as there is room."""
    known = sorted((kind for kind in kinds if kind in places), key=lambda kind: places[kind])
    starts = [
        min(max(places[kind] - len(labels[kind]) // 2, 0), width - len(labels[kind]))
        for kind in known
    ]
    # There are two at most: the first gives way to the second, which stands where it can.
    for i in range(len(known) - 1, 0, -1):
        room = starts[i] - 2 - len(labels[known[i - 1]])
        if starts[i - 1] > room:
            starts[i - 1] = max(room, 0)
            starts[i] = max(starts[i], starts[i - 1] + len(labels[known[i - 1]]) + 2)
    line = ""
    for kind, start in zip(known, starts, strict=True):
        line = line.ljust(start) + labels[kind]
    return line
