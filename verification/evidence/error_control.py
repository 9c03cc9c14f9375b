r"""One error rate over all claims, all versions of their code, and all time.

A *hypothesis* is a claim about one version of the code: "these outputs keep this claim". Every test
of it ends with an e-value, the bettor's final capital, whose expectation is at most 1 if the
hypothesis is true, whatever was seen before. So the product over the tests of one hypothesis is a
nonnegative supermartingale that begins at 1, however it is decided whether to test again and for
how long (optional continuation). Changed code is another hypothesis, whose product begins at 1.

The k-th claim that ever appears, and of it the v-th version of the code, has the weight

    w(k, v) = 6 / (pi^2 k^2) * 6 / (pi^2 v^2),

and all weights that there will ever be add up to 1. Weights are fixed when a hypothesis first
appears, before anything of it is tested. The hypothesis is rejected once its product, the capital
within a running test included, reaches 1 / level.

``FAMILY_WISE``: level = alpha w(k, v). By Ville's inequality a true hypothesis is ever rejected
with probability at most alpha w(k, v), so some true hypothesis is ever rejected with probability at
most alpha: of whatever claims, versions and tests, however these depend on each other.

``FALSE_DISCOVERY``: level = alpha w(k, v) (R + 1), where R is how many other hypotheses have been
rejected so far: e-LOND. If hypothesis i is rejected when R_i others were, then there are at least
R_i + 1 rejections ever after, so at any later time the part of false rejections among R rejections
is at most

    sum over true i of 1{i is rejected} / max(R, 1)
        <= sum over true i of alpha w_i (R_i + 1) M_i / (R_i + 1) = alpha * sum w_i M_i,

with M_i the stopped product of hypothesis i, whose expectation is at most 1. So the false discovery
rate is at most alpha at every time, and so is the expectation of its largest value over all time.

Source: Ville (1939) for the inequality; Grunwald, de Heide and Koolen, "Safe testing" (2024), for
optional continuation; Xu and Ramdas, "Online multiple testing with e-values" (2023), for e-LOND.
There every hypothesis is decided once; the proof above allows for deciding again and again.
"""

from __future__ import annotations

import dataclasses
import decimal
import math
from collections.abc import Iterable, Sequence
from enum import StrEnum


class ErrorControl(StrEnum):
    """What the rate of a file of evidence is a rate of."""

    FAMILY_WISE = "fwer"
    """The probability that any true claim is ever rejected."""
    FALSE_DISCOVERY = "fdr"
    """The expected part of true claims among those that are rejected."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The evidence of one test against one hypothesis."""

    hypothesis: int  # The place of the hypothesis in the list of all of them
    log_e_value: float  # The logarithm of the final capital
    highest: float  # The logarithm of the largest capital while the test ran
    rejections: int  # How many other hypotheses were rejected when the test began


@dataclasses.dataclass(slots=True, kw_only=True)
class Standing:
    """How it stands with one hypothesis."""

    log_weight: float  # The logarithm of its weight
    log_product: float = 0.0  # The logarithm of the product of its e-values
    tests: int = 0  # How many tests there were
    rejected: bool = False  # Whether it is rejected, which it stays


def log_weight(claim: int, version: int) -> float:
    """The logarithm of the weight of a version of the code of a claim, both counted from 1."""
    return 2.0 * math.log(6.0 / math.pi**2) - 2.0 * math.log(claim) - 2.0 * math.log(version)


def standings(
    log_weights: Sequence[float],
    evidence: Iterable[Evidence],
    *,
    rate: float,
    control: ErrorControl,
) -> list[Standing]:
    """Judge hypotheses by all the evidence, in the order in which it came.

    Guarantee
    ---------
    As the module says: the rate bounds the probability that any true hypothesis is ever rejected,
    or the false discovery rate.

    Assumes
    -------
    The weights add up to at most 1, and were fixed before the evidence. Given what was seen before,
    the e-value of a test of a true hypothesis has an expectation of at most 1.

    Parameters
    ----------
    log_weights : sequence of float
        Of the hypotheses.
    evidence : iterable of Evidence
        Of all tests.
    rate : float
        In (0, 1).
    control : ErrorControl
        What it is a rate of.
    """
    found = [Standing(log_weight=weight) for weight in log_weights]
    for one in evidence:
        standing = found[one.hypothesis]
        # The product may have been large enough while the test ran. Others that were rejected
        # meanwhile do not count for that.
        highest = standing.log_product + max(one.highest, one.log_e_value)
        then = log_needed(standing, one.rejections, rate=rate, control=control)
        standing.log_product += one.log_e_value
        standing.tests += 1
        standing.rejected = standing.rejected or highest >= then
        # Rejections may raise other levels. A level that rises after a test has ended is compared
        # with the product as it is now, not with the largest value that it had.
        again = True
        while again:
            again = False
            for place, other in enumerate(found):
                beside = rejections_beside(place, found)
                needed = log_needed(other, beside, rate=rate, control=control)
                if not other.rejected and other.tests and other.log_product >= needed:
                    other.rejected = again = True
    return found


def log_needed(
    standing: Standing,
    rejections: int,  # How many other hypotheses are rejected
    *,
    rate: float,
    control: ErrorControl,
) -> float:
    """The logarithm of the product with which a hypothesis is rejected: of 1 / level."""
    helped = rejections if control is ErrorControl.FALSE_DISCOVERY else 0
    return -math.log(rate) - standing.log_weight - math.log(helped + 1)


def rejections_beside(place: int, found: Sequence[Standing]) -> int:
    """How many hypotheses are rejected besides one."""
    return sum(one.rejected for index, one in enumerate(found) if index != place)


def share_of_test(
    rate: float,  # Of the suite, in (0, 1)
    *,
    tests: int,  # How many tests the suite has; the number is known before the first of them begins
    # The how-manieth claim of its test it is, from 1, if nobody knows how many there will be: the
    # k-th gets 1 / (k (k + 1)) of the part of its test. By default it is the only one.
    call: int | None = None,
) -> float:
    """The part of a suite's error rate that one test of a claim may use.

    Guarantee
    ---------
    The parts of all tests, with however many calls in each of them, add up to at most the rate. So
    the probability that any true claim of the suite is rejected is at most the rate.
    """
    part = rate / (max(tests, 1) * (1 if call is None else call * (call + 1)))
    # Rounded down to few digits, so that it can be read and typed.
    return float(decimal.Context(prec=6, rounding=decimal.ROUND_DOWN).create_decimal(repr(part)))
