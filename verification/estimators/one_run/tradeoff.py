r"""Lower bounds from one run by a whole trade-off curve.

Each of m canaries is in or out by a fair coin. An auditor guesses r of them and is right T times.
Let no attack on the mechanism have a false positive rate below F(x) at a true positive rate of x,
in both orders of two neighbours. Write

    a_i = sum over j >= i of (j / m) P(T = j),    b_i = sum over j >= i of ((r - j) / m) P(T = j).

For a canary chosen at random, a_i is the probability that it is guessed rightly and T >= i, and
b_(i-1) that it is guessed wrongly and T >= i - 1. The same outputs, with this canary's coin turned
over, take the one to the other, so that b_(i-1) >= F(a_i). If P(T >= v) were t or more, these would
give a_0 + b_0 of at least what :func:`implied_share` computes, but a_0 + b_0 = r / m. The page
"Estimators" has the proof.

Source
------
Mahloujifar, Melis and Chaudhuri, "Auditing f-differential privacy in one run" (arXiv 2410.22235v1),
Theorem 9 and Algorithm 3. Guesses of both kinds, and several numbers of guesses, are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rdpkit import _validate
from rdpkit.numerics.right_guesses import largest_rejected
from rdpkit.verification.estimators.one_run.families import GAUSSIAN, LeakFamily
from rdpkit.verification.estimators.one_run.guesses import (
    Guesses,
    ascending,
    checked_canaries,
    guessed,
)

# Parts of the canaries that are guessed "in" and "out". Many guesses tell most where the leak is
# small, few where it is large; the last two are for scores that show only who is in.
SHARES = ((0.22, 0.22), (0.08, 0.08), (0.02, 0.02), (0.045, 0.0), (0.012, 0.0))
# The recursion adds up to r terms with relative errors of about 1e-15 each.
_ROUNDING = 1e-9


def implied_share(
    found: Guesses,  # m, r and v
    *,
    family: LeakFamily,  # Trade-off curves
    leak: float,  # Which of them holds
    probability: float,  # t: how likely v or more right guesses are
) -> float:
    """The least share of canaries that are guessed, if so many are right with this probability."""
    m, r, v = found.canaries, found.guesses, found.correct
    right, wrong = probability * v / m, probability * (r - v) / m
    for i in range(v - 1, -1, -1):
        least = float(family.rates(leak, np.array([min(1.0, right)]))[0])
        if least <= wrong:
            break
        right = min(1.0, right + i / (r - i) * (least - wrong))
        wrong = least
    return right + wrong


def one_run_leak(found: Guesses, *, family: LeakFamily, failure: float) -> float:
    """A lower bound on the leak, from an auditor's guesses.

    Guarantee
    ---------
    If the mechanism has a leak of L in this family, or less, the returned number exceeds L with
    probability at most ``failure``. Scores may depend on each other in any way.

    Assumes
    -------
    Canaries are in or out by independent fair coins. Guesses depend on the mechanism's output only,
    and their number was fixed beforehand.

    Parameters
    ----------
    found : Guesses
        The counts.
    family : LeakFamily
        Trade-off curves, for both orders of two neighbours.
    failure : float
        In (0, 1).
    """
    _validate.open_probability("failure", failure)
    if found.correct == 0:
        return 0.0
    share = found.guesses / found.canaries

    def is_rejected(leak: float) -> bool:
        implied = implied_share(found, family=family, leak=leak, probability=failure)
        return implied > share * (1.0 + _ROUNDING)

    return largest_rejected(is_rejected, most=float(family.cells()[-1]))


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakLowerBound:
    """A lower bound on the leak of a family of trade-off curves, and on epsilon."""

    leak: float  #: The lower bound
    leak_name: str  #: What it is
    epsilon: float
    """The epsilon of the family's member with this leak at ``delta``: a lower bound if the
    mechanism leaks like a member of the family, more or less.
    """
    delta: float  #: In (0, 1)
    confidence: float  #: In (0, 1)
    found: Guesses  #: The guesses that told most


def one_run_tradeoff_audit(
    scores: ArrayLike,
    included: ArrayLike,
    *,
    delta: float,
    confidence: float,
    family: LeakFamily = GAUSSIAN,
    guesses: Sequence[tuple[int, int]] | None = None,
) -> LeakLowerBound:
    """A lower bound on the leak from scores of canaries after one run.

    For each pair (k, l) of ``guesses`` the k canaries with the largest scores are guessed to be in
    and the l with the smallest to be out. The error is shared equally, so that the best of the
    bounds is valid. Ties are broken by a permutation that no coin affects.

    Guarantee
    ---------
    That of :func:`one_run_leak`, with ``failure`` = 1 - ``confidence``.

    Parameters
    ----------
    scores : array_like, shape (m,)
        One for each canary, from the mechanism's output; larger if the canary seems to be in.
    included : array_like of bool, shape (m,)
        Whether each canary was in.
    delta : float
        For the lower bound on epsilon; in (0, 1).
    confidence : float
        In (0, 1).
    family : LeakFamily
        By default Gaussian differential privacy.
    guesses : sequence of (int, int), optional
        Fixed before the scores were seen. By default five numbers of guesses, up to 44 percent of
        the canaries.

    Raises
    ------
    ArithmeticError
        If a score is NaN.
    ValueError
        If shapes do not match, or ``included`` is not boolean.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> included = rng.random(1000) < 0.5
    >>> scores = rng.normal(size=1000) + 2.0 * included
    >>> found = one_run_tradeoff_audit(scores, included, delta=1e-5, confidence=0.95)
    >>> 0.8 < found.leak < 2.0
    True
    """
    s, coins = checked_canaries(scores, included)
    _validate.open_probability("delta", delta)
    failure = 1.0 - _validate.open_probability("confidence", confidence)
    chosen = list(guesses) if guesses is not None else usual_guesses(s.size)
    if not chosen:
        raise _validate.fail("guesses", "to be at least one pair of numbers", guesses)
    ordered = coins[ascending(s)]
    best, best_found = -1.0, None
    for ins, outs in chosen:
        _validate.integer("guesses", ins, minimum=0, maximum=s.size)
        _validate.integer("guesses", outs, minimum=0, maximum=s.size - ins)
        found = guessed(ordered, ins, outs)
        leak = one_run_leak(found, family=family, failure=failure / len(chosen))
        if leak > best:
            best, best_found = leak, found
    assert best_found is not None
    return LeakLowerBound(
        leak=best,
        leak_name=family.name,
        epsilon=family.epsilon(best, delta),
        delta=float(delta),
        confidence=float(confidence),
        found=best_found,
    )


def usual_guesses(canaries: int) -> list[tuple[int, int]]:
    """The numbers of guesses that are tried unless others are given."""
    found = {(max(1, round(ins * canaries)), round(outs * canaries)) for ins, outs in SHARES}
    return sorted(pair for pair in found if sum(pair) <= canaries)
