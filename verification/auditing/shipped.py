"""Findings about the claims that are shipped, so that looking them up takes no proof.

They are kept in a file beside this module, under the content of the claims alone. A slow test
proves every one again. After a change of a number, a claim or a wording it is written anew:

    python -m rdpkit.verification.auditing.shipped
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from rdpkit.verification.auditing.audit import audit
from rdpkit.verification.auditing.cache import AuditCache
from rdpkit.verification.auditing.findings import Bounds, Finding
from rdpkit.verification.auditing.regions.region import Region
from rdpkit.verification.auditing.remedies import needs_noise, searched
from rdpkit.verification.claims.claim import Claim
from rdpkit.verification.claims.reading import load_files, register_files, shipped_files

FILE = Path(__file__).with_name("shipped.jsonl")


class ShippedFindings(AuditCache):
    """The findings that were proven when they were shipped. Nothing is added to them."""

    def __init__(self) -> None:
        super().__init__(FILE, of_this_code=False)

    def put(self, finding: Finding, *, bounds: str) -> None:
        """Keep nothing."""

    def put_region(self, claim: Claim, region: Region) -> None:
        """Keep nothing."""

    def sync(self) -> None:
        """There is nothing to wait for."""


def with_remedies(finding: Finding) -> Finding:
    """The finding with the remedies that take a search."""
    return dataclasses.replace(finding, searched=searched(finding) if needs_noise(finding) else ())


def main() -> None:
    """Prove all findings, and write the file."""
    claims = load_files([*shipped_files(), *register_files()])
    made = FILE.with_suffix(".new")
    made.unlink(missing_ok=True)
    kept = AuditCache(made, of_this_code=False)
    for finding in audit(claims, workers=-1):
        kept.put(with_remedies(finding), bounds=Bounds.ALL)
        print(finding.claim.id, flush=True)
    kept.sync()
    os.replace(made, FILE)


if __name__ == "__main__":
    main()
