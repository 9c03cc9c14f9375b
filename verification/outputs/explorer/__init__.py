"""The claims explorer: a folder of static pages, one a work, which need no network."""

from rdpkit.verification.outputs.explorer.pages import (
    Audit,
    Explorer,
    WorkFindings,
    check_folder,
    pages,
    works_of,
    write_folder,
)

__all__ = ["Audit", "Explorer", "WorkFindings", "check_folder", "pages", "works_of", "write_folder"]
