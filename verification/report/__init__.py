"""The report: one page of HTML about the findings of an audit, which needs no network."""

from verification.report.curves import Curves, Series, curves
from verification.report.page import Provenance, SourceFile, page

__all__ = ["Curves", "Provenance", "Series", "SourceFile", "curves", "page"]
