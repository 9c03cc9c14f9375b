"""The witness that speaks most clearly against a claim, on training samples."""

from __future__ import annotations

from rdpkit.verification.estimators.base import Array, PrivacyClaim
from rdpkit.verification.estimators.claimed_rdp import RdpClaim
from rdpkit.verification.estimators.event_search import best_events
from rdpkit.verification.estimators.renyi_witness import best_renyi_witness
from rdpkit.verification.estimators.witness import Witness, event_witness


def best_witness(
    claim: PrivacyClaim, p_scores: Array, q_scores: Array, *, ratio: float
) -> tuple[Witness, float]:
    """An event, or for an RDP curve whatever is clearer: an event or a divergence.

    Returns
    -------
    (Witness, float)
        The witness, and how clearly the training samples speak through it: its excess over the
        standard deviation of one test sample from P. Not above 0 if nothing was found.
    """
    event = best_events(claim, p_scores, q_scores, ratio=ratio)[0]
    found = event_witness(event.event, epsilon=event.epsilon, delta=event.delta), event.clarity
    if isinstance(claim, RdpClaim):
        other = best_renyi_witness(claim, p_scores, q_scores, ratio=ratio)
        if other is not None and other[1] > event.clarity:
            return other
    return found


__all__ = ["best_witness"]
