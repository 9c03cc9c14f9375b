"""The words of a report: what each number is, what it means and what a good value is.

Markdown and HTML differ in their form alone. Texts are plain; whoever writes a format escapes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from rdpkit.formats.numbers import as_given, how_many, rounded_down, rounded_up
from rdpkit.mechanisms.evaluation.utility.columns import ColumnSummary, Correlation, MarginalError
from rdpkit.mechanisms.evaluation.utility.membership import MembershipTest
from rdpkit.mechanisms.evaluation.utility.report import UtilityReport
from rdpkit.mechanisms.evaluation.utility.trained import TargetScores

_WORST = 10  # Rows of tables that show the largest errors
_WithError = TypeVar("_WithError", MarginalError, Correlation)


class Table(NamedTuple):
    """A table of texts."""

    headings: tuple[str, ...]  # One for each column
    rows: tuple[tuple[str, ...], ...]  # Its cells
    caption: str  # What it shows


class Section(NamedTuple):
    """A part of the report."""

    name: str  # For programs; the page puts drawings beside some sections by their name
    title: str  # Its heading
    text: tuple[str, ...] = ()  # Paragraphs
    tables: tuple[Table, ...] = ()  # What is shown below them


class View(NamedTuple):
    """A report in words."""

    title: str  # Of the report
    cost: tuple[str, str]  # What the report costs: in a few words, and in full
    alarm: str  # What must not be overlooked; empty if there is nothing
    sections: tuple[Section, ...]  # In order


def view(report: UtilityReport) -> View:
    """A report in words."""
    headings = ("what", "value", "what it means", "a good value")
    short = Table(headings, tuple(short_rows(report)), "The most important numbers")
    sections = [
        Section("short", "In short", tables=(short,)),
        *(_models(one, report) for one in report.targets),
        _pictures(report),
        _single(report),
        _pairs(report),
        _correlations(report),
        _columns(report),
        _membership(report),
        _how(report),
    ]
    return View(
        title=f"How good is {report.release.name}?",
        cost=cost_words(report),
        alarm=alarm_words(report),
        sections=tuple(one for one in sections if one is not None),
    )


def cost_words(report: UtilityReport) -> tuple[str, str]:
    """What the report costs the people in the data: in a few words, and in full."""
    cost = report.cost
    if cost.kind == "public":
        return (
            "This report costs nothing, if the real records in it are public.",
            "Whoever asked for it said so. If they are not public, the release's guarantee does "
            "not cover this report, and it must not be published.",
        )
    if cost.guarantee is not None:
        spent = cost.guarantee
        return (
            f"This report costs epsilon {rounded_up(spent.epsilon)} at delta "
            f"{rounded_up(spent.delta)} ({spent.adjacency.value}), on top of the release.",
            "Every number in it that depends on real records has noise, of standard deviation "
            f"{rounded_up(cost.noise_std or 0.0)}, and nothing else of the records is in it. The "
            "costs of the release and of each such report add up: whoever publishes both has to "
            "compose them.",
        )
    return (
        "Do not publish this report.",
        "It was made from the real records without any noise, and the release's guarantee does not "
        "cover it: its numbers may tell something of single people. Keep it as well as the records "
        "themselves. Where the real records are public, --public-test says so; with --epsilon and "
        "--delta the report has noise and may be published.",
    )


def alarm_words(report: UtilityReport) -> str:
    """The membership test against the guarantee, if it refutes it."""
    test = report.membership
    if test is None or not test.refuted or test.proven is None:
        return ""
    return (
        f"THE GUARANTEE OF THIS RELEASE IS WRONG, or the records were not held out by chance. An "
        f"attack shows an epsilon of at least {rounded_down(test.lower)} with confidence "
        f"{test.confidence:.0%}, and the manifest says at most {rounded_up(test.proven)} (delta "
        f"{rounded_up(test.delta)}, {test.adjacency}). Do not publish the release before you "
        "know why."
    )


def percent(share: float | None) -> str:
    """A share for people."""
    return "not measured" if share is None else f"{100.0 * share:.1f} %"


def score_text(measure: str, value: float | None) -> str:
    """An accuracy in per cent, or R2 as a number."""
    if value is None:
        return "not measured"
    return percent(value) if measure == "accuracy" else f"{value:.3f}"


def short_rows(report: UtilityReport) -> list[tuple[str, str, str, str]]:
    """The most important numbers: a name, the value, what it means, and what a good value is."""
    rows = []
    for one in report.targets:
        ceiling = "" if one.ceiling is None else score_text(one.measure, one.ceiling)
        good = (
            f"near {ceiling}, which real records give" if ceiling else "near that of real records"
        )
        meaning = (
            f"{'right answers' if one.measure == 'accuracy' else 'R2'} on real records, of the "
            f"best model that saw the release alone ({one.best.title})"
        )
        good += f"; no model at all: {score_text(one.measure, one.floor)}"
        value = score_text(one.measure, one.best.synthetic)
        rows.append((f"prediction of {one.target}", value, meaning, good))
    for name, error, floor, what in (
        ("mean error of columns", report.single_error, report.single_floor, "one column's values"),
        ("mean error of pairs", report.pair_error, report.pair_floor, "two columns' values"),
    ):
        good = "below 5 %; 0 is best"
        if floor is not None:
            good = (
                f"near {percent(floor)}, which is chance: two halves of the real records differ so"
            )
        meaning = f"share of records that would have to be changed to get {what} right"
        rows.append((name, percent(error), meaning, good))
    return [*rows, *_privacy_rows(report)]


def _privacy_rows(report: UtilityReport) -> list[tuple[str, str, str, str]]:
    rows = []
    guarantee, attacked = report.release.guarantee, report.membership
    if guarantee is not None:
        value = (
            f"at most {rounded_up(guarantee.epsilon)} at delta {as_given(guarantee.delta)}, "
            f"{guarantee.adjacency.dashed}"
        )
        meaning = (
            "how much the release can show about one person, whatever anybody does, but for bad "
            "luck of delta"
        )
        good = "below 1 is strong, below 10 reasonable"
        rows.append(("proven epsilon", value, meaning, good))
    if attacked is not None:
        meaning = f"what an attack really showed, with confidence {attacked.confidence:.0%}"
        good = "0; above the proven epsilon something is wrong"
        rows.append(("attacked epsilon", f"at least {rounded_down(attacked.lower)}", meaning, good))
    return rows


def _models(scores: TargetScores, report: UtilityReport) -> Section:
    number = scores.measure != "accuracy"
    real = any(one.real is not None for one in scores.models)

    def row(title: str, *values: float | None) -> tuple[str, ...]:
        return (title, *(score_text(scores.measure, value) for value in values))

    shown = [
        row(one.title, one.synthetic, *(() if one.real is None else (one.real,)))
        for one in scores.models
    ]
    floor = row(f"no model: always the {'mean' if number else 'commonest'}", scores.floor)
    shown.append((*floor, *(("",) if real else ())))
    if scores.private is not None:
        name = "linear model, privately trained on real records"
        shown.append((name, "", score_text(scores.measure, scores.private)))
    text = [
        f"Each model learned to predict {scores.target} from the other columns of the release "
        "alone, and was asked about real records it had never seen. "
        + (
            "R2 is 1 if all answers are right, and 0 if they are no better than always saying "
            "the mean."
            if number
            else "The numbers are shares of right answers."
        )
    ]
    if real:
        text.append(
            "The second number is what the same model reaches when it learns from real records: "
            "the release cannot be expected to do better. Good is a difference of a few per cent."
        )
    if scores.private is not None:
        text.append(
            "The last line is the alternative to a release: one linear model, trained on all real "
            "records with noise at the epsilon of the release. A release that does better than "
            "this "
            "is worth more than the one model, and it can be used for everything else as well."
        )
    headings = ("model", "trained on the release", *(("on real records",) if real else ()))
    tested = how_many(scores.test_records, "real record")
    caption = f"Prediction of {scores.target}, tested on {tested}"
    table = Table(headings, tuple(shown), caption)
    return Section("models", f"Predicting {scores.target}", tuple(text), (table,))


def _pictures(report: UtilityReport) -> Section | None:
    if report.pictures is None:
        return None
    return Section(
        "pictures",
        "Images",
        (
            "Above are images of the release, below real ones; one column is one class: "
            f"{', '.join(report.pictures.classes)}. An image of the release that looks like a real "
            "one is no proof that it is one, and a blurred one may still be good to learn from.",
        ),
    )


def _single(report: UtilityReport) -> Section:
    text = [
        "The error of a column is the share of records that would have to be changed so that its "
        "values are as frequent as in the real records: 0 % is perfect, 100 % is no overlap. "
        "Numbers are compared in some twenty cells."
    ]
    if report.single_floor is not None:
        text.append(
            "Chance is the same error between two random halves of the real records. An error of "
            "that size cannot be told from none."
        )
    if report.marginals.left_out:
        text.append(
            f"There are too many columns to compare all of them: "
            f"{how_many(report.marginals.left_out, 'column')} that vary less were left out."
        )
    worst = _worst(report.marginals.single)
    table = _distances(worst, f"The {how_many(len(worst), 'column')} with the largest errors")
    return Section("single", "Single columns", tuple(text), (table,))


def _pairs(report: UtilityReport) -> Section | None:
    if not report.marginals.pairs:
        return None
    worst = _worst(report.marginals.pairs)
    return Section(
        "pairs",
        "Pairs of columns",
        (
            "The same for two columns at once: it shows whether what belongs together stayed "
            "together. Pairs have many more cells, so that their errors are larger by chance "
            "alone; compare them with that.",
        ),
        (_distances(worst, f"The {how_many(len(worst), 'pair')} with the largest errors"),),
    )


def _worst(found: Sequence[_WithError]) -> list[_WithError]:
    return sorted(found, key=lambda one: -one.error)[:_WORST]


def _distances(distances: list[MarginalError], caption: str) -> Table:
    floors = any(one.floor is not None for one in distances)
    rows = tuple(
        (" and ".join(one.columns), percent(one.error), *((percent(one.floor),) if floors else ()))
        for one in distances
    )
    names = "columns" if distances and len(distances[0].columns) > 1 else "column"
    return Table((names, "error", *(("chance",) if floors else ())), rows, caption)


def _correlations(report: UtilityReport) -> Section | None:
    if not report.correlations:
        return None
    worst = _worst(report.correlations)
    mean = sum(one.error for one in report.correlations) / len(report.correlations)
    rows = tuple(
        (" and ".join(one.columns), f"{one.synthetic:.3f}", f"{one.real:.3f}") for one in worst
    )
    text = (
        "A correlation of 1 means that two numbers rise together, -1 that one falls as the "
        "other rises, 0 that they have nothing to do with each other in this sense. On "
        f"average it is off by {mean:.3f}; below 0.05 is good."
    )
    table = Table(("columns", "release", "real"), rows, "The largest differences")
    return Section("correlations", "Numbers that move together", (text,), (table,))


def _columns(report: UtilityReport) -> Section | None:
    if not report.columns:
        return None
    stated = any(one.broken is not None for one in report.columns)
    rows = tuple(
        (
            one.name,
            *_column_words(one),
            f"{percent(one.missing[0])}; {percent(one.missing[1])}",
            percent(one.outside),
            *((percent(one.broken),) if stated else ()),
        )
        for one in report.columns
    )
    text = (
        "Outside is the share of the release's records with a value beyond all real ones: a "
        "larger or smaller number, or a category that no real record has.",
        "Against the schema is the share with a value that the schema does not allow: 0 % is "
        "right, anything else is a mistake of whatever made the release."
        if stated
        else "",
    )
    headings = ("column", "release", "real", "missing: release; real", "outside")
    caption = "Ranges and means, or categories that are missing on one side"
    table = Table((*headings, *(("against the schema",) if stated else ())), rows, caption)
    return Section("columns", "What each column holds", text, (table,))


def _column_words(one: ColumnSummary) -> tuple[str, str]:
    if one.shown:
        low, high, real_low, real_high, mean, real_mean = one.shown
        return f"{low} to {high}, mean {mean}", f"{real_low} to {real_high}, mean {real_mean}"
    if one.kind == "number":
        return ("no values", "no values")
    return (_list("only here: ", one.invented), _list("only here: ", one.lost))


def _list(words: str, names: tuple[str, ...]) -> str:
    if not names:
        return "nothing that the other lacks"
    shown = ", ".join(names[:5])
    return f"{words}{shown}" + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _membership(report: UtilityReport) -> Section | None:
    test = report.membership
    if test is None:
        if report.cost.kind == "accounted":
            return None
        untested = (
            "Not tested. Keep some records out of the release, chosen by chance, and give them "
            "with --holdout: then an attack tries to tell them from those that were in."
        )
        return Section("membership", _MEMBERSHIP, (untested,))
    rows = tuple(
        (
            one.score,
            f"{one.right} of {one.guesses}",
            percent(one.right / one.guesses),
            rounded_down(one.lower),
        )
        for one in test.attacks
    )
    pairs = f"{how_many(test.pairs, 'pair')} of a record that was in and one that was not"
    headings = ("attack", "right", "share", "proves an epsilon of")
    table = Table(headings, rows, f"Attacks on {pairs}")
    text = (*_membership_words(test), "" if test.refuted else _ASSUMED)
    return Section("membership", _MEMBERSHIP, text, (table,))


_MEMBERSHIP = "Does it tell who was in it?"
_ASSUMED = (
    "An attack that fails proves nothing: another one may succeed. The bound holds if chance "
    "decided which of these records were in the data, for example if they were put aside at "
    "random; if they come from another time or place, the attack may only have told the places "
    "apart."
)


def _membership_words(test: MembershipTest) -> tuple[str, str]:
    first = (
        "An attacker was shown the release and pairs of records, one that was in the data and one "
        "that was not, and guessed which was in because the release has records nearer to it. "
        "Half of the guesses are right by chance."
    )
    proven = (
        "The release has no guarantee to compare this with."
        if test.proven is None
        else f"The release's own guarantee says at most {rounded_up(test.proven)}."
    )
    return first, (
        f"What was guessed right proves that epsilon is at least {rounded_down(test.lower)} (delta "
        f"{rounded_up(test.delta)}, {test.adjacency}), with confidence {test.confidence:.0%}. "
        f"{proven} "
        f"With so many pairs no attack could have proven more than {rounded_down(test.most)}."
    )


def _how(report: UtilityReport) -> Section:
    facts = report.release
    rows = [
        ("release", f"{facts.name}, {how_many(facts.rows, 'record')}"),
        ("mechanism", facts.mechanism or "unknown"),
        ("real records", f"{report.real}, {how_many(report.real_records, 'record')}"),
        ("test records", report.test),
        ("seed", str(report.seed)),
    ]
    for one in report.targets[:1]:
        rows.insert(4, ("training records", f"at most {one.train_records} for each model"))
    table = Table(("what", "value"), tuple(rows), "What was compared")
    return Section("how", "How this was measured", report.notes, (table,))
