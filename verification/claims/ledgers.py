"""What a ledger claims: one epsilon for all releases from each of its data sets."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from rdpkit.formats.text import rounded_up
from rdpkit.verification.claims.claim import Claim
from rdpkit.verification.claims.format import UNMODELLED

if TYPE_CHECKING:
    from rdpkit.mechanisms.releases.accounts import LedgerAccount

LEDGER = ".jsonl"
"""How the name of a ledger ends."""


def claims_of_ledger(path: Path) -> list[Claim]:
    """What a ledger claims of each data set: its budget, or what its releases cost together."""
    # Imported here because most claims are in no ledger.
    from rdpkit.mechanisms.releases.ledger import Ledger  # noqa: PLC0415

    found = Ledger(path)
    accounts = [found.account(name) for name in found.datasets]
    claims = [_claim(path, one) for one in accounts if one.releases]
    if not claims:
        raise ValueError(f"{path}: nothing was released from any data set of this ledger.")
    return claims


def dataset_of(claim: Claim) -> str:
    """The data set that a claim of a ledger is about."""
    return claim.source


def _claim(path: Path, account: LedgerAccount) -> Claim:
    """The claim of one data set; its releases are checked when it is audited."""
    event, spent = account.event, account.fixed
    epsilon = None if account.budget is None else Decimal(repr(account.budget))
    notes = ["the claim is the budget, which holds however later releases were chosen"]
    if epsilon is None:
        notes = ["the claim holds if all releases were fixed in advance"]
        if spent is not None and math.isfinite(spent.epsilon):
            epsilon = Decimal(rounded_up(spent.epsilon, digits=8))
    adaptive = account.adaptive
    if adaptive is not None and adaptive < (account.budget or math.inf):
        notes.append(f"epsilon so far, however later releases were chosen: {rounded_up(adaptive)}")
    return Claim(
        id=f"{path.stem}/{account.dataset}",
        source=account.dataset,
        mechanism=UNMODELLED if event is None else event.mechanism,
        adjacency=account.adjacency,
        epsilon=epsilon,
        delta=account.delta,
        order=None,
        bound=None,
        conversion=None,
        event=None if epsilon is None else event,
        missing=("an account of its releases",) if event is None or epsilon is None else (),
        notes=tuple(notes),
        origin=str(path),
        release=str(path),
    )
