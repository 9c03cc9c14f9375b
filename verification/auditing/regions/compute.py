"""The region of a claim, from the table ``[claim.unknown]`` of its file."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

from rdpkit.verification.auditing.regions.along_formula import Formula, bands_along
from rdpkit.verification.auditing.regions.boundary import (
    RegionQuestion,
    bands,
    of_delta,
    of_epsilon,
    within,
)
from rdpkit.verification.auditing.regions.monotone import FORMULAS, variable_of
from rdpkit.verification.auditing.regions.region import Band, Region, RegionRow
from rdpkit.verification.auditing.regions.sentences import row_sentence
from rdpkit.verification.claims.claim import Claim
from rdpkit.verification.claims.unknown import DELTA, EPSILON, Case, Unknown

_OF_NUMBERS = {
    EPSILON: "whoever keeps a smaller epsilon keeps a larger one",
    DELTA: "whoever keeps a smaller delta keeps a larger one",
}


def region_of(
    claim: Claim,  # Any claim
) -> Region | None:  # None for a claim that says nothing of what is missing
    """For which values of what its source leaves out a claim is true, refuted, or open.

    Raises ValueError if what is to be searched is no parameter of the event in which it is proven
    to be monotone, or the range is empty. Raises ArithmeticError if a number cannot be computed.

    Guarantee
    ---------
    At every value of a band that is called true, the event satisfies the claim: a certified upper
    bound at the band's end is at most the claim, and the event is proven to be no less private
    inside. At every value of a band that is called refuted, two neighbouring data sets exceed the
    claim. Nothing is said of open bands, nor of values that were not looked at.

    Assumes
    -------
    That what was released is the event of the claim's ``unknown``, and what the notes of each row
    say.

    Source
    ------
    rdpkit, theory page "Regions".
    """
    if claim.unknown is None:
        return None
    return region_with(claim, _bands_of_rows(claim))


def region_with(
    claim: Claim,  # A claim that says what is missing
    bands_of_rows: Sequence[tuple[Band, ...]],  # One for each case of its ``unknown``
) -> Region:
    """The region of a claim from the bands of its rows, which were computed before."""
    unknown = claim.unknown
    assert unknown is not None
    if not unknown.search:
        return Region(
            mechanism=claim.mechanism, search=(), whole=False, rows=(), because=unknown.because
        )
    monotone, whole = _about(unknown)
    rows = tuple(
        RegionRow(values=case.values, bands=found, notes=case.event.assumptions())
        for case, found in zip(unknown.cases, bands_of_rows, strict=True)
    )
    found = Region(
        mechanism=unknown.cases[0].event.mechanism,
        search=unknown.search,
        whole=whole,
        rows=rows,
        because=unknown.because,
        monotone=monotone,
        meets=unknown.meets,
        calibrated=unknown.calibrated,
        limits=(unknown.low, unknown.high),
    )
    sentences = tuple(row_sentence(found, row) for row in rows)
    return dataclasses.replace(found, sentences=sentences)


@functools.lru_cache(maxsize=1024)
def _bands_of_rows(claim: Claim) -> tuple[tuple[Band, ...], ...]:
    unknown = claim.unknown
    assert unknown is not None
    if unknown.search:
        _about(unknown)  # what cannot be searched is an error before anything is computed
    return tuple(_bands(claim, unknown, case) for case in unknown.cases)


def _about(unknown: Unknown) -> tuple[str, bool]:
    """Why the event is monotone, and whether what is searched is a whole number."""
    name = unknown.search[0]
    if name in _OF_NUMBERS:
        return _OF_NUMBERS[name], False
    variable, reason = variable_of(unknown.cases[0].event, unknown.search)
    if unknown.meets is not None:
        if unknown.meets not in FORMULAS:
            accepted = ", ".join(map(repr, FORMULAS))
            raise ValueError(f"Expected meets to be one of {accepted}, got {unknown.meets!r}.")
        noise, of_noise = variable_of(unknown.cases[0].event, unknown.calibrated)
        if noise.private != 1 or variable.private != -1:
            raise ValueError(
                "Expected search to be a number of releases and calibrated to be noises beside "
                f"meets, got {variable.names} and {noise.names}."
            )
        reason = f"{reason}; {of_noise}; of the formula, {FORMULAS[unknown.meets]}"
    return reason, variable.whole


def _bands(claim: Claim, unknown: Unknown, case: Case) -> tuple[Band, ...]:
    if unknown.search == (EPSILON,):
        return of_epsilon(case.event, _delta(case), claim.adjacency)
    assert claim.epsilon is not None
    claimed = float(claim.epsilon)
    if unknown.search == (DELTA,):
        return of_delta(case.event, claimed, claim.adjacency)
    variable = within(variable_of(case.event, unknown.search)[0], unknown.low, unknown.high)
    question = RegionQuestion(claimed=claimed, delta=_delta(case), adjacency=claim.adjacency)
    if unknown.meets is not None:
        return bands_along(
            question, variable, Formula(bound=unknown.meets, calibrated=unknown.calibrated)
        )
    return bands(question, variable)


def _delta(case: Case) -> float:
    if case.delta is None:
        raise ValueError("Expected delta in the claim or in unknown.values, or to be searched.")
    return case.delta
