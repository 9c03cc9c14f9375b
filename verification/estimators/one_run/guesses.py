r"""A lower bound on epsilon from one run of a mechanism with many canaries.

Each of m canaries is put into the data set with probability 1/2, independently. After one run, an
auditor guesses for r of them whether they are in, and is right W times. If the mechanism is
(epsilon, delta)-DP for adding or removing one record, the number of correct guesses is hardly
larger than under randomised response: with X ~ Bin(r, e^epsilon / (1 + e^epsilon)),

    P(W >= v) <= P(X >= v) + 2 m delta max_{1 <= i <= v} P(v - i <= X < v) / i.

Source
------
Steinke, Nasr and Jagielski, "Privacy auditing with one (1) training run", NeurIPS 2023 (arXiv
2305.08846v1), Corollary 5.4 and Appendix D.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rdpkit import _validate
from rdpkit.formats.numbers import how_many
from rdpkit.numerics.right_guesses import (
    LARGEST_EPSILON,
    largest_rejected,
    right_guesses_tail,
)
from rdpkit.verification.estimators.base import (
    Array,
    Diagnostic,
    DiagnosticKind,
    EpsilonLowerBound,
    check_scores,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guesses:
    """How many guesses of an auditor were right."""

    canaries: int
    """m >= 1: how many canaries there are; a fair coin decides for each whether it is put in."""
    guesses: int  # r in [0, m]: the number of canaries for which the auditor said "in" or "out"
    correct: int  # v in [0, r]: how many guesses were right

    def __post_init__(self) -> None:
        m = _validate.integer("canaries", self.canaries)
        r = _validate.integer("guesses", self.guesses, minimum=0, maximum=m)
        _validate.integer("correct", self.correct, minimum=0, maximum=r)


def one_run_p_value(
    found: Guesses,  # The counts
    *,
    epsilon: float,  # In nats, in [0, 700]
    delta: float,  # In [0, 1]
) -> float:
    """The p-value of (epsilon, delta)-DP under add/remove, given an auditor's guesses.

    Guarantee
    ---------
    If the mechanism is (epsilon, delta)-DP for adding or removing one record, the p-value is at
    most u with probability at most u, over the coins and the mechanism, up to the rounding of
    floating-point arithmetic.

    Assumes
    -------
    Canaries are in or out by independent fair coins. Guesses depend on the mechanism's output only.
    Their number r was fixed beforehand. The guarantee is void if r depends on which guesses were
    right, or if several r are tried and the best is kept.

    Examples
    --------
    >>> found = Guesses(canaries=10, guesses=10, correct=10)
    >>> one_run_p_value(found, epsilon=0.0, delta=0.0) == 0.5**10
    True
    """
    e = _validate.non_negative("epsilon", epsilon)
    if e > LARGEST_EPSILON:
        raise _validate.fail("epsilon", f"in [0, {LARGEST_EPSILON:g}]", epsilon)
    d = _validate.probability("delta", delta)
    return right_guesses_tail(
        bits=found.canaries, guesses=found.guesses, right=found.correct, epsilon=e, delta=d
    )


def one_run_epsilon(
    found: Guesses,  # The counts
    *,
    delta: float,  # In [0, 1)
    confidence: float,  # In (0, 1)
) -> float:
    """A lower bound on epsilon from an auditor's guesses.

    In nats: the largest epsilon such that it and all smaller ones are rejected, rounded
    down to 1e-9; 0 if none is rejected.

    Guarantee
    ---------
    If the mechanism is (epsilon, delta)-DP for adding or removing one record, the returned number
    exceeds that epsilon with probability at most 1 - ``confidence``. The assumptions are those of
    :func:`one_run_p_value`.

    Examples
    --------
    >>> found = Guesses(canaries=1000, guesses=100, correct=75)
    >>> round(one_run_epsilon(found, delta=1e-4, confidence=0.95), 3)
    0.673
    """
    if _validate.probability("delta", delta) >= 1.0:
        raise _validate.fail("delta", "in [0, 1)", delta)
    failure = 1.0 - _validate.open_probability("confidence", confidence)

    def is_rejected(epsilon: float) -> bool:
        return one_run_p_value(found, epsilon=epsilon, delta=delta) <= failure

    return largest_rejected(is_rejected, most=LARGEST_EPSILON)


def one_run_audit(
    scores: ArrayLike,
    included: ArrayLike,
    *,
    guess_in: int,
    guess_out: int,
    delta: float,
    confidence: float,
) -> EpsilonLowerBound:
    """A lower bound on epsilon from scores of canaries after one run.

    The canaries with the ``guess_in`` largest scores are guessed to be in, those with the
    ``guess_out`` smallest to be out. Ties are broken by a permutation that no coin affects.

    Guarantee
    ---------
    That of :func:`one_run_epsilon`.

    Assumes
    -------
    The assumptions of :func:`one_run_p_value`. ``guess_in`` and ``guess_out`` were fixed
    beforehand, or chosen on another run.

    Parameters
    ----------
    scores : array_like, shape (m,)
        One for each canary, from the mechanism's output; larger if the canary seems to be in.
    included : array_like of bool, shape (m,)
        Whether each canary was in.
    guess_in, guess_out : int
        >= 0, at most m together.
    delta : float
        In [0, 1).
    confidence : float
        In (0, 1).

    Raises
    ------
    ArithmeticError
        If a score is NaN.
    ValueError
        If shapes do not match, or ``included`` is not boolean.
    """
    s, coins = checked_canaries(scores, included)
    ins = _validate.integer("guess_in", guess_in, minimum=0, maximum=s.size)
    outs = _validate.integer("guess_out", guess_out, minimum=0, maximum=s.size - ins)
    found = guessed(coins[ascending(s)], ins, outs)
    epsilon = one_run_epsilon(found, delta=delta, confidence=confidence)
    diagnostics: tuple[Diagnostic, ...] = ()
    best = replace(found, correct=found.guesses)
    if one_run_p_value(best, epsilon=0.0, delta=delta) > 1.0 - confidence:
        diagnostics = (
            Diagnostic(
                kind=DiagnosticKind.TOO_FEW_SAMPLES,
                message=f"With {how_many(ins + outs, 'guess', 'guesses')} about "
                f"{how_many(s.size, 'canary', 'canaries')} no epsilon above 0 "
                f"can be shown at delta {delta:g}, even if all guesses are right.",
                advice="Use more canaries, guess more of them, or take a smaller delta.",
            ),
        )
    elif epsilon == 0.0:
        diagnostics = (
            Diagnostic(
                kind=DiagnosticKind.NO_SEPARATION,
                message=f"{found.correct} of {ins + outs} guesses were right, hardly more than "
                "half.",
                advice="Check that canaries that are in tend to have larger scores.",
            ),
        )
    inside = int(np.count_nonzero(coins))
    return EpsilonLowerBound(
        epsilon=epsilon,
        delta=float(delta),
        confidence=float(confidence),
        samples=(inside, s.size - inside),
        diagnostics=diagnostics,
    )


def checked_canaries(scores: ArrayLike, included: ArrayLike) -> tuple[Array, NDArray[np.bool_]]:
    """Scores of canaries, and which of them were in.

    Raises ArithmeticError if a score is NaN. Raises ValueError if shapes do not match, or
    ``included`` is not boolean.
    """
    s, coins = check_scores("scores", scores), np.asarray(included)
    if coins.dtype.kind != "b" or coins.shape != s.shape:
        raise _validate.fail("included", f"to be booleans of shape ({s.size},)", included)
    return s, coins


def guessed(ordered: NDArray[np.bool_], ins: int, outs: int) -> Guesses:
    """How many guesses are right: the last ones are guessed to be in, and the first to be out."""
    right = np.count_nonzero(ordered[ordered.size - ins :]) + np.count_nonzero(~ordered[:outs])
    return Guesses(canaries=ordered.size, guesses=ins + outs, correct=int(right))


def ascending(scores: Array) -> NDArray[np.intp]:
    """The order of scores from the smallest on, where equal ones are in an order of their own.

    The order of equal scores is a permutation that is always the same. Their positions would not
    do: whoever lists the canaries that are in behind the others has written the coins into them.
    """
    mixed = np.random.default_rng(0).permutation(scores.size)
    return np.asarray(mixed[np.argsort(scores[mixed], kind="stable")])
