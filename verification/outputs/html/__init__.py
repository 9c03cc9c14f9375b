"""The report: one page of HTML about the findings of an audit, which needs no network."""

from rdpkit.verification.outputs.html.curves import (
    Curves,
    PublishedFormula,
    Series,
    answer,
    curves,
    questions,
)
from rdpkit.verification.outputs.html.page import AuditedFile, Provenance, page, worst_first

__all__ = [
    "AuditedFile",
    "Curves",
    "Provenance",
    "PublishedFormula",
    "Series",
    "answer",
    "curves",
    "page",
    "questions",
    "worst_first",
]
