"""The claims explorer: a folder of static pages, one a work, which need no network."""

from rdpkit.verification.outputs.explorer.citation import Audit
from rdpkit.verification.outputs.explorer.folder import check_folder, write_folder
from rdpkit.verification.outputs.explorer.grid import (
    GridCache,
    SliderGrid,
    SliderQuestion,
    grids_about,
    question_about,
)
from rdpkit.verification.outputs.explorer.pages import Explorer, pages
from rdpkit.verification.outputs.explorer.works import AuditedFile, WorkFindings, works_of

__all__ = [
    "Audit",
    "AuditedFile",
    "Explorer",
    "GridCache",
    "SliderGrid",
    "SliderQuestion",
    "WorkFindings",
    "check_folder",
    "grids_about",
    "pages",
    "question_about",
    "works_of",
    "write_folder",
]
