"""The claims explorer: a folder of static pages, one a work, which need no network."""

from rdpkit.verification.outputs.explorer.citation import Audit
from rdpkit.verification.outputs.explorer.folder import check_folder, write_folder
from rdpkit.verification.outputs.explorer.pages import Explorer, pages
from rdpkit.verification.outputs.explorer.works import WorkFindings, works_of

__all__ = [
    "Audit",
    "Explorer",
    "WorkFindings",
    "check_folder",
    "pages",
    "works_of",
    "write_folder",
]
