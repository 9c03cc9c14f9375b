"""The claims explorer: a folder of static pages, one a work, which need no network."""

from rdpkit.verification.outputs.explorer.pages import Explorer, check_folder, pages, write_folder
from rdpkit.verification.outputs.explorer.works import Audit, WorkFindings, works_of

__all__ = ["Audit", "Explorer", "WorkFindings", "check_folder", "pages", "works_of", "write_folder"]
