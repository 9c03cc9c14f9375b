"""Certificates for what an audit finds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

from rdpkit.formats.files import write_whole
from rdpkit.interop.certificates import NoCertificateError, certificate, released, shortest
from rdpkit.pairs.claim_check import Soundness
from rdpkit.verification.auditing.findings import Finding
from rdpkit.verification.claims.claim import Claim


def certify(
    findings: Iterable[Finding],  # What an audit found
    folder: Path,  # Where a file is written for each claim, named after its id
) -> Iterator[tuple[Finding, str]]:
    """Write a certificate for each claim that is sound or refuted.

    Yields each finding, and why there is no certificate; "" if there is one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for finding in findings:
        try:
            text = certificate_of(finding)
        except NoCertificateError as error:
            yield finding, str(error)
            continue
        write_whole(folder / file_name(finding.claim.id), text)
        yield finding, ""


def certificate_of(finding: Finding) -> str:
    """The certificate of the verdict on one claim, which the checker accepted.

    Raises NoCertificateError if there is none, with the reason.
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


def kept_certificates(findings: Iterable[Finding], folder: Path | None) -> dict[str, str]:
    """The certificates that claims carry, or that a folder has, by the ids of claims."""
    found = {}
    for claim in (one.claim for one in findings):
        path = None if folder is None else folder / file_name(claim.id)
        if path is not None and path.is_file():
            found[claim.id] = path.read_text("utf-8")
        elif claim.certificate is not None:
            found[claim.id] = claim.certificate
    return found


def with_certificate(finding: Finding) -> Finding:
    """The finding about a claim that carries a certificate, with a note that it was accepted."""
    claim = finding.claim
    assert claim.certificate is not None
    kernel = import_module("rdpkit.kernel")
    try:
        stated, hints = kernel.read(claim.certificate.encode())
        kernel.statement(stated)
    except kernel.REFUSED as error:
        raise ValueError(f"its certificate is not understood: {error}.") from None
    _check_about(stated, claim)
    try:
        kernel.check(stated, hints)
    except kernel.REFUSED as error:
        raise ValueError(f"its certificate is not accepted: {error}.") from None
    other = Soundness.SOUND if stated["says"] == "exceeded" else Soundness.REFUTED
    if finding.soundness is other:
        raise ValueError("its certificate says the opposite of the audit: one of the two is wrong.")
    found = f"{stated['says']} {stated['epsilon']}"
    note = f"the claim carries a certificate that the small checker accepts: {found}"
    return replace(finding, notes=(*finding.notes, note))


def _check_about(stated: Mapping[str, Any], claim: Claim) -> None:
    """Whether a certificate states what a claim says, or more."""
    below = stated["says"] == "exceeded"
    if claim.event is None or claim.epsilon is None:
        raise ValueError("its certificate is about a number that the claim does not have.")
    about = "epsilon" if {"delta", "order"} & set(stated) else "rho"
    if claim.quantity != about:
        raise ValueError(f"its certificate is about another number: {about}.")
    for name, value in released(claim.event, claim.adjacency, below=below).items():
        if stated[name] != value:
            raise ValueError(f"its certificate is about another {name}: {stated[name]!r:.200}.")
    number = Fraction(stated["epsilon"])
    if number < Fraction(claim.epsilon) if below else number > Fraction(claim.epsilon):
        raise ValueError(f"its certificate is about {stated['epsilon']}, and not {claim.epsilon}.")
    of_epsilon = claim.quantity == "epsilon"
    given = {"delta": claim.delta, "order": claim.order if claim.delta is None else None}
    for name, ours in given.items():
        theirs = stated.get(name)
        wanted = None if ours is None or not of_epsilon else Fraction(shortest(ours))
        if (None if theirs is None else Fraction(theirs)) != wanted:
            raise ValueError(f"its certificate is about {name} {theirs}, and not {ours}.")


# File systems take 255 bytes, and some that encrypt names 143, with what follows here.
_LONGEST = 100


def file_name(identifier: str) -> str:
    """The file of a certificate: an id with nothing in it that a file system gives a meaning to.

    What is left of an id could be that of another one, so that some digits of its hash follow.
    """
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", identifier)[:_LONGEST].strip(".-")
    if plain != identifier:
        plain = f"{plain or 'claim'}-{sha256(identifier.encode()).hexdigest()[:8]}"
    return f"{plain}.certificate.json"
