"""The sentences with which an audit begins: each is true of exactly what was found."""

from dataclasses import replace
from decimal import Decimal

import pytest

from rdpkit.verification.auditing.findings import (
    ClaimVerdict,
    Reproduction,
    Side,
    Soundness,
    false_by_rounding,
    with_readings,
)
from rdpkit.verification.claims.claim import Work
from rdpkit.verification.outputs.news import (
    VerdictCounts,
    by_source,
    could_be_halved,
    sentences,
    worst_first,
)
from rdpkit.verification.outputs.verdict import reason, sentence
from tests.verification.finding_examples import (
    finding,
    one_of_each,
    refuted,
    underspecified,
    unproven,
)


def theorem(found, *, bound="theorem1"):
    return replace(found, claim=replace(found.claim, kind="theorem", bound=bound))


def of_work(found, title):
    work = Work(title=title, authors="A", year=2020, kind="training", url="u", read="all of it")
    return replace(found, claim=replace(found.claim, work=work))


def test_counts_hold_every_claim_once():
    counts = VerdictCounts.of([*one_of_each(), finding("another", slack=2.0)])
    assert counts == VerdictCounts(
        claims=5,
        refuted=1,
        sound=2,
        depends=0,
        approximate=0,
        missing=1,
        open=1,
        differs=1,
        halved=1,
        rounded=0,
    )


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        ([finding()], "The claim is proven."),
        ([finding(slack=2.5)], "The claim is proven, and could be halved."),
        ([refuted()], "The claim is refuted."),
        ([unproven()], "The claim can be neither proven nor refuted."),
        ([underspecified()], "The claim cannot be recomputed from what is given."),
        ([finding("a"), finding("b")], "Of 2 claims none is refuted, and 2 are proven."),
        (
            one_of_each(),
            "Of 4 claims 1 is refuted, 1 differs from its own formula, 1 can be neither proven "
            "nor refuted, 1 cannot be recomputed from what is given, and 1 is proven.",
        ),
        ([], "There are no such claims."),
    ],
)
def test_sentences_about_claims(findings, expected):
    assert sentences(findings) == [expected]


def test_a_false_theorem_comes_first_with_the_settings_at_which_it_fails():
    found = [theorem(refuted()), theorem(finding()), theorem(finding(), bound="corrected")]
    said = sentences([of_work(one, "one paper") for one in [*found, finding(), finding("b")]])
    assert said[0] == (
        "1 theorem of 1 paper is false as printed: 1 of the 2 settings at which it was tested "
        "leaks more than it says."
    )
    assert said[1] == "Of 2 budgets none is refuted, and 2 are proven."


def test_theorems_that_hold_are_not_said_to_be_false():
    assert sentences([theorem(finding())]) == [
        "1 theorem of 1 paper was tested, and none is refuted."
    ]


def test_only_what_is_proven_could_be_halved():
    assert could_be_halved(finding(slack=2.0))
    assert not could_be_halved(finding(slack=1.99))
    assert not could_be_halved(unproven(slack=2.0))


def test_a_claim_that_is_false_by_its_last_digit_is_said_to_be():
    upper = Side(bound="pld-upper", epsilon=1.093)
    nearly = refuted(upper=upper, lower=Side(bound="pair-lower", epsilon=1.092))
    nearly = replace(nearly, claim=replace(nearly.claim, epsilon=Decimal("1.09")))
    assert false_by_rounding(nearly)
    assert not false_by_rounding(refuted())
    assert sentences([nearly, finding("b")])[0].startswith(
        "Of 2 claims none is refuted, 1 is false by the last digit alone, "
    )


def test_the_worst_come_first_and_claims_that_are_fine_not_at_all():
    differs = finding("d", reproduction=Reproduction.DIFFERS)
    found = worst_first([finding(), differs, unproven(), refuted("far", slack=0.1), refuted()])
    assert [one.claim.id for one in found] == ["far", "r", "u", "d"]


def test_sources_are_works_or_files_and_the_worst_comes_first():
    found = by_source([finding(), of_work(refuted(), "A work")])
    assert [(name, counts.refuted) for name, counts in found] == [
        ("A work", 1),
        ("a b.claims.toml", 0),
    ]


def readings(*soundness, **changes):
    """Findings about one number, each of another reading; the first claim is the number's."""
    made = []
    for place, verdict in enumerate(soundness):
        own = refuted() if verdict is Soundness.REFUTED else finding()
        claim = replace(
            own.claim,
            id=f"r{place}",
            reads="r0" if place else None,
            reading=f"way {place}",
            **changes,
        )
        made.append(replace(own, claim=claim))
    return with_readings(made)


def test_a_number_is_false_only_if_every_reading_is():
    both = readings(Soundness.REFUTED, Soundness.REFUTED)
    assert [one.verdict for one in both] == [ClaimVerdict.FALSE] * 2
    assert VerdictCounts.of(both).refuted == 1
    one = readings(Soundness.SOUND, Soundness.REFUTED)
    assert [each.verdict for each in one] == [ClaimVerdict.DEPENDS] * 2
    counts = VerdictCounts.of([*one, finding("b")])
    assert (counts.claims, counts.refuted, counts.depends, counts.sound) == (2, 0, 1, 1)
    assert "1 holds in one reading and not in another" in sentences([*one, finding("b")])[0]
    assert [each.claim.id for each in worst_first(one)] == ["r1"]
    assert "with way 1, two neighbouring data sets leak at least" in reason(one[1])
    assert "read with way 0" in reason(one[1])
    assert "read with way 1: at least" in reason(one[0])


def test_of_several_false_readings_the_one_that_leaks_least_is_shown():
    low, high = readings(Soundness.REFUTED, Soundness.REFUTED)
    high = replace(high, lower=replace(high.lower, epsilon=high.lower.epsilon * 3))
    shown = worst_first(with_readings([high, low]))
    assert [one.claim.id for one in shown] == [low.claim.id]


def test_an_approximation_is_compared_and_not_accused():
    (one,) = readings(Soundness.REFUTED, approximation="by a limit theorem")
    assert one.verdict is ClaimVerdict.APPROXIMATE
    assert "as an approximation by a limit theorem" in sentence(one)
    assert "1 is an approximation below the truth" in sentences([one, finding("b")])[0]
    # What a release or code refutes is no matter of an approximation.
    assert replace(one, lower=None).verdict is ClaimVerdict.FALSE


def test_what_is_open_in_another_reading_is_neither_false_nor_held_to_hold():
    false, _ = readings(Soundness.REFUTED, Soundness.SOUND)
    found = with_readings([false, replace(unproven(), claim=replace(unproven().claim, reads="r0"))])
    assert found[0].verdict is ClaimVerdict.OPEN
    assert "can be neither proven nor refuted" in sentences(found)[0]


def test_what_could_be_halved_is_proven_in_every_reading():
    found = readings(Soundness.SOUND, Soundness.REFUTED)
    loose = with_readings([replace(found[0], slack=3.0, readings=()), found[1]])
    assert VerdictCounts.of(loose).halved == 0


def test_a_theorem_that_is_false_in_a_reading_is_counted_where_it_is():
    found = [theorem(one) for one in readings(Soundness.SOUND, Soundness.REFUTED)]
    assert "1 of the 2 settings" in sentences(with_readings(found))[0]
