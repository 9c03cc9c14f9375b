"""The report: one page of HTML about the findings of an audit, which needs no network."""

from rdpkit.verification.outputs.html.curves import Curves, Series, curves
from rdpkit.verification.outputs.html.page import Provenance, SourceFile, page

__all__ = ["Curves", "Provenance", "Series", "SourceFile", "curves", "page"]
