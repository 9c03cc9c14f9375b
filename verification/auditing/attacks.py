"""The verdict on a claim about attacks, or about one number for all deltas or orders."""

from __future__ import annotations

import math

import rdpkit
from rdpkit.formats.text import rounded_down
from rdpkit.guarantee import Enclosure
from rdpkit.pairs.claim_check import Soundness, about_last_digit, is_proven, is_refuted
from rdpkit.verification.auditing.findings import Finding, Reproduction, Side
from rdpkit.verification.claims.claim import Claim

_UPPER, _LOWER = "tradeoff-upper", "tradeoff-lower"


def about_attacks(
    claim: Claim,  # What to audit; complete
) -> Finding:
    """Audit a claim about mu, the advantage, a true positive rate, or rho."""
    assert claim.event is not None
    assert claim.epsilon is not None
    claimed = float(claim.epsilon)
    found = _enclosed(claim)
    upper = Side(
        bound=_UPPER,
        epsilon=found.upper,
        computed=(found.lower, found.upper) if math.isfinite(found.upper) else None,
        rigorous=math.isfinite(found.upper),
        assumptions=claim.event.assumptions(),
    )
    lower = Side(bound=_LOWER, epsilon=found.lower) if found.lower > 0.0 else None
    notes = list(claim.notes)
    refutation: tuple[str, ...] = ()
    enclosure = upper.computed if upper.rigorous else None
    soundness = Soundness.UNPROVEN
    if is_proven(claimed, found.upper, enclosure=enclosure):
        soundness = Soundness.SOUND
    elif is_refuted(claimed, found.lower):
        soundness = Soundness.REFUTED
        refutation = (_attained(claim, found.lower),)
    elif math.isinf(found.upper):
        notes.append(f"no {claim.quantity} is known to hold")
    else:
        notes += about_last_digit(found.upper, claim.epsilon)
    return Finding(
        claim=claim,
        published=None,
        upper=upper,
        lower=lower,
        reproduction=Reproduction.UNNAMED,
        soundness=soundness,
        slack=claimed / found.upper if 0.0 < found.upper < math.inf else None,
        scenarios=(),
        notes=tuple(notes),
        refutation=refutation,
    )


def _enclosed(claim: Claim) -> Enclosure:
    event, adjacency = claim.event, claim.adjacency
    assert event is not None
    if claim.quantity == "mu":
        mu = rdpkit.gdp(event, adjacency=adjacency, smallest_delta=claim.delta)
        return Enclosure(lower=mu.lower, upper=mu.mu)
    if claim.quantity == "rho":
        rho = rdpkit.zcdp(event, adjacency=adjacency)
        return Enclosure(lower=rho.lower, upper=rho.rho)
    curve = rdpkit.tradeoff(event, adjacency=adjacency)
    if claim.quantity == "advantage":
        return curve.advantage
    assert claim.fpr is not None
    return curve.tpr(claim.fpr)


def _attained(claim: Claim, lower: float) -> str:
    number = rounded_down(lower, digits=6)
    where = {
        "mu": "two neighbouring data sets refute every mu below",
        "rho": "two neighbouring data sets refute every rho below",
        "advantage": "an attack between two neighbouring data sets has an advantage of at least",
        "tpr": "an attack between two neighbouring data sets has a true positive rate of at least",
    }
    at = "" if claim.fpr is None else f" at the false positive rate {claim.fpr:g}"
    return f"{where[claim.quantity]} {number}{at}"
