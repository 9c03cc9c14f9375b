"""Certificates for what an audit finds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from rdpkit.formats.files import write_whole
from rdpkit.interop.certificates import NoCertificateError, certificate
from rdpkit.pairs.claim_check import Soundness
from rdpkit.verification.auditing.findings import Finding


def certify(findings: Iterable[Finding], folder: Path) -> Iterator[tuple[Finding, str]]:
    """Write a certificate for each claim that is sound or refuted.

    Parameters
    ----------
    findings : iterable of Finding
        What an audit found.
    folder : Path
        Where a file is written for each claim, named after its id.

    Yields
    ------
    tuple of Finding and str
        Each finding, and why there is no certificate; "" if there is one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for finding in findings:
        try:
            text = certificate_of(finding)
        except NoCertificateError as error:
            yield finding, str(error)
            continue
        write_whole(folder / f"{file_name(finding.claim.id)}.json", text)
        yield finding, ""


def certificate_of(finding: Finding) -> str:
    """The certificate of the verdict on one claim, which the checker accepted.

    Raises
    ------
    NoCertificateError
        If there is none, with the reason.
    """
    claim = finding.claim
    if finding.soundness is Soundness.UNPROVEN or claim.event is None or claim.epsilon is None:
        raise NoCertificateError("the audit has no verdict")
    if claim.quantity not in ("epsilon", "rho") or not claim.epsilon.is_finite():
        raise NoCertificateError("certificates are about a finite epsilon or rho")
    return certificate(
        claim.event,
        claimed=f"{claim.epsilon:f}",
        adjacency=claim.adjacency,
        delta=claim.delta if claim.quantity == "epsilon" else None,
        order=claim.order if claim.delta is None and claim.quantity == "epsilon" else None,
        refuted=finding.soundness is Soundness.REFUTED,
        about={"id": claim.id, "source": claim.source},
    )


def kept_certificates(findings: Iterable[Finding], folder: Path) -> dict[str, str]:
    """The certificates that a folder has, by the ids of claims."""
    paths = {one.claim.id: folder / f"{file_name(one.claim.id)}.json" for one in findings}
    return {name: path.read_text("utf-8") for name, path in paths.items() if path.is_file()}


def file_name(identifier: str) -> str:
    """An id with nothing in it that a file system gives a meaning to."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", identifier).strip(".-") or "claim"
