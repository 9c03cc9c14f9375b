"""Results as Markdown tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from benchmarks.judge import FAILED, RIGHT, TOO_LARGE, TOO_SMALL, best_right_peer
from benchmarks.model import OURS, Curve, Outcome, Row
from benchmarks.results import Results

BEGIN = "<!-- results: written by python -m benchmarks, not by hand -->"
END = "<!-- end of the results -->"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(cell(text) for text in line) + " |" for line in lines)


def cell(text: str) -> str:
    """Text that ends neither a cell nor a row."""
    return " ".join(text.split()).replace("|", "\\|")


def seconds(value: float | None) -> str:
    """Three digits and a unit."""
    if value is None:
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            return f"{digits(value / size)} {unit}"
    return f"{digits(value / 1e-6)} us"


def digits(value: float) -> str:
    """Three significant digits, without an exponent."""
    if value == 0.0 or not math.isfinite(value):
        return f"{value:g}"
    places = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{places}f}"


def times(row: Row) -> str:
    """A ratio with its quartiles."""
    if row.library == OURS and not row.failure:
        return "1"
    if row.ratio is None or row.ratio_low is None or row.ratio_high is None:
        return "-"
    return f"{digits(row.ratio)} ({digits(row.ratio_low)} to {digits(row.ratio_high)})"


def memory(value: int | None) -> str:
    """In MiB."""
    return "-" if value is None else f"{digits(value / 2**20)} MiB"


def share(value: float) -> str:
    """A relative error: percent where people think in them, else a power of ten."""
    if math.isinf(value):
        return "infinite"
    if value == 0.0:
        return "0"
    if value < 1e-4:
        return f"{value:.0e}"
    return f"{digits(100.0 * value)} %"


def verdict(row: Row) -> str:
    """What is to be said about a row's numbers."""
    if row.failure:
        return f"**fails**: {row.failure}"
    if row.verdict == FAILED:
        return "**not a number**"
    if row.below is None or row.above is None:
        return "-"
    count = f" ({row.off} of {row.checked})" if row.off and (row.checked or 0) > 1 else ""
    if row.verdict == TOO_SMALL:
        return f"**too small** by {share(row.below)}{count}"
    if row.verdict == TOO_LARGE:
        return f"too large by {share(row.above)}{count}"
    off = max(row.below, row.above)
    return f"right, within {share(off)}" if off > 0.0 else "right"


def render(results: Results) -> str:
    """Everything, as Markdown."""
    parts = [_about_machine(results), _goals(results.outcomes)]
    for work in results.works:
        rows = [row for row in results.rows if row.work == work["id"]]
        if rows:
            parts.append(_work(work["title"], work["about"], rows))
    if results.curves:
        parts.append(_scaling(results.curves))
    return "\n\n".join(part for part in parts if part) + "\n"


def _about_machine(results: Results) -> str:
    about = results.machine
    versions = ", ".join(
        f"{name} {version}" for name, version in about["versions"].items() if version
    )
    missing = [name for name, version in about["versions"].items() if not version]
    text = (
        f"`{about['command']}`, {about['date']}: {about['processor']}, {about['cores']} cores, "
        f"{about['memory_gib']} GiB, {about['system']}, Python {about['python']}; load at the "
        f"start {about['load']}. {versions}."
    )
    if missing:
        text += f" Not installed: {', '.join(missing)}."
    return text


def _goals(outcomes: Sequence[Outcome]) -> str:
    said = {True: "yes", False: "**no**", None: "not measured"}
    rows = [
        (
            outcome.work,
            outcome.name,
            outcome.limit,
            "-"
            if outcome.measured is None
            else share(outcome.measured)
            if outcome.limit == "in every case"
            else digits(outcome.measured),
            outcome.case or "-",
            said[outcome.met],
        )
        for outcome in outcomes
    ]
    headings = ("work", "what", "wanted", "worst seen", "where", "met")
    return "### Goals\n\n" + table(headings, rows) if rows else ""


def _work(title: str, about: str, rows: Sequence[Row]) -> str:
    many = len({row.case for row in rows}) > 1
    judged = any(row.checked for row in rows)
    headings = ["case"] if many else []
    headings += ["library", "time", "times rdpkit's", "caches empty", "memory"]
    headings += ["numbers"] if judged else ["what"]
    lines = []
    for row in rows:
        line = [row.case] if many else []
        line += [row.library, seconds(row.seconds), times(row), seconds(row.first)]
        line += [memory(row.peak_bytes)]
        line.append(verdict(row) if judged or row.failure else row.note)
        lines.append(line)
    # A column in which nothing was measured says nothing.
    for name in ("caches empty", "memory"):
        place = headings.index(name)
        if all(line[place] == "-" for line in lines):
            for line in (headings, *lines):
                del line[place]
    parts = [f"### {title}", about, table(headings, lines)]
    if judged:
        parts.append(_best(rows))
        parts.append(_notes(rows))
    return "\n\n".join(part for part in parts if part)


def _best(rows: Sequence[Row]) -> str:
    """The fastest other library that is right, case by case."""
    said = []
    for case in dict.fromkeys(row.case for row in rows):
        best = best_right_peer(rows, rows[0].work, case)
        if best is None or best.ratio is None:
            said.append(f"{case}: none")
        else:
            said.append(f"{case}: {best.library}, {digits(best.ratio)} times rdpkit's time")
    return "Fastest other library whose numbers are right: " + "; ".join(said) + "."


def _notes(rows: Sequence[Row]) -> str:
    notes: dict[str, list[str]] = {}
    for row in rows:
        known = notes.setdefault(row.library, [])
        if row.note and row.note not in known:
            known.append(row.note)
    return "\n".join(
        f"* {library}: {'; '.join(found)}." for library, found in notes.items() if found
    )


def _scaling(curves: Sequence[Curve]) -> str:
    rows = [
        (
            curve.title,
            curve.library,
            f"{curve.sizes[0]} to {curve.sizes[-1]} {curve.size}" if curve.sizes else "-",
            f"{seconds(curve.seconds[0])} to {seconds(curve.seconds[-1])}"
            if curve.seconds
            else "-",
            "-" if curve.slope is None else f"{curve.slope:.2f}",
            f"**fails** {curve.failure}" if curve.failure else "",
        )
        for curve in curves
    ]
    headings = ("cost of", "library", "sizes", "time", "slope", "")
    return (
        "### Scaling\n\nSlope: of the line through the larger half of the sizes, both axes "
        "logarithmic. 1 is linear.\n\n" + table(headings, rows)
    )


def into_page(page: str, text: str) -> str:
    """A page with the part between the two marks replaced."""
    if page.count(BEGIN) != 1 or page.count(END) != 1 or page.index(BEGIN) > page.index(END):
        raise ValueError(f"Expected the page to hold {BEGIN!r} and {END!r}, once each.")
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n\n{text.strip()}\n\n{END}{tail}"


__all__ = ["RIGHT", "into_page", "render", "seconds", "share", "table", "verdict"]
