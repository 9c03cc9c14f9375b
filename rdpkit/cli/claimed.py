"""What commands share that are given a claim: its verdict in words, and the exit status.

A command takes :func:`rdpkit.cli.event_options.claimed_epsilon_option`, prints
:func:`claim_lines` below its answer, and ends with :func:`exit_if_refuted`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rdpkit.cli.output import OUT_OF_REACH
from rdpkit.formats.text import printable

if TYPE_CHECKING:
    from rdpkit.events import Event
    from rdpkit.pairs.claim_check import ClaimCheck


def checked_claim(event: Event, claimed: str, *, delta: float, adjacency: str) -> ClaimCheck:
    """The verdict on the number of ``--claimed-epsilon``."""
    # Imported here because most questions are about no claim.
    from rdpkit.pairs.claim_check import check, claimed_number  # noqa: PLC0415

    number = claimed_number("--claimed-epsilon", claimed)
    return check(event, epsilon=number, delta=delta, adjacency=adjacency)


def claim_lines(claim: ClaimCheck, width: int = 10) -> list[str]:
    """The verdict in one line, and the reasons below it."""
    reasons = [f"{'because':{width}} {text}" for text in claim.refutation]
    notes = [f"{'note':{width}} {text}" for text in claim.notes]
    return [printable(line) for line in (f"{'claim':{width}} {claim}", *reasons, *notes)]


def exit_if_refuted(claim: ClaimCheck | None) -> None:
    """End the command with status 1 if the claim is refuted."""
    if claim is not None and claim.soundness == "refuted":
        click.get_current_context().exit(OUT_OF_REACH)
