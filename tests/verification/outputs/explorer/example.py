"""An explorer of a few claims, one of which means harm."""

from rdpkit.verification.auditing.driver import audit
from rdpkit.verification.auditing.versions import versions
from rdpkit.verification.claims.reading import loads
from rdpkit.verification.outputs.explorer import (
    Audit,
    Explorer,
    works_of,
)
from rdpkit.verification.outputs.html import AuditedFile
from tests.verification.outputs.test_html import CLAIMS


def explorer_of(text):
    """The explorer of the claims of one file."""
    findings = list(audit(loads(text, origin="claims.toml")))
    return Explorer(
        title="Claims",
        works=works_of(
            findings,
            [
                AuditedFile(
                    path="claims.toml",
                    name="claims.toml",
                    digest="0" * 64,
                    audit="rdpkit audit claims.toml",
                )
            ],
        ),
        audit=Audit(version="1.2", date="2026-11-22"),
        versions=versions(),
    )


__all__ = ["CLAIMS", "explorer_of"]
