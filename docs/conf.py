"""Settings of the documentation. The site builds without a network.

Formulas are TeX between dollar signs, and become MathML when the site is built: browsers typeset
that themselves, with the font in _static/fonts, so that nothing is loaded from elsewhere. In
docstrings formulas are plain text, because a terminal shows them too.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path
from typing import Any

from sphinx.pycode import ModuleAnalyzer

from rdpkit import __version__

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "rdpkit"
author = "The rdpkit authors"
copyright = "The rdpkit authors"
version = release = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "mathml",
    "refuted_claim",
    "tables_from_code",
]
# What notebooks leave lies beside the folder that is built, which may be docs/_build itself.
exclude_patterns = ["_build", "_ext", "jupyter_execute", ".jupyter_cache"]
smartquotes = False  # p' is p prime
source_suffix = {".md": "myst-nb"}

# Pages with a kernel in their first lines are notebooks. They are run when the site is built, each
# in a folder of its own, and again only if they have changed; a cell that fails is an error.
nb_execution_mode = "cache"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True
# Notebooks with real data take what is beside the checkout, where the tests look for it, too.
_data = Path(__file__).parents[2] / "shared" / "data"
if _data.is_dir():
    os.environ.setdefault("RDPKIT_DATA_DIR", str(_data))

html_math_renderer = "mathml"
# The site has the claims explorer if scripts/site-explorer has written it; that takes minutes.
_extra = Path(__file__).parent / "_extra"
html_extra_path = ["_extra"] if _extra.is_dir() else []
if (_extra / "explorer").is_dir():
    tags.add("explorer")  # noqa: F821 - Sphinx gives it to this file

html_theme = "furo"
html_title = "rdpkit"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_show_sourcelink = False
html_copy_source = False

myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]

napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = ["Guarantee", "Assumes", "Source"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings give types, shapes and units


def _formulas_as_literals(*event: Any) -> None:
    """Show the indented formulas of docstrings as they are written.

    A docstring sets a formula apart by a blank line and an indent. reStructuredText would read that
    as a quotation, and signs such as ``|S|`` as its own.
    """
    lines: list[str] = event[-1]
    found: list[str] = []
    last = ""
    literal = False
    for line in lines:
        indented = line.startswith("    ")
        starts = indented and found and not found[-1].strip() and bool(last)
        if starts and not last.startswith(" ") and not last.endswith("::"):
            found += ["::", ""]
            literal = True
        elif literal and line.strip() and not indented:
            literal = False
        found.append(line)
        if line.strip():
            last = line
    lines[:] = found


def _fields_as_parameters(*event: Any) -> None:
    """Show what a record says of its fields, each where it is declared, as its parameters."""
    kind, lines = event[3], event[-1]
    if not (isinstance(kind, type) and dataclasses.is_dataclass(kind)) or "Parameters" in lines:
        return
    said = ModuleAnalyzer.for_module(kind.__module__).find_attr_docs()
    fields = [field for field in dataclasses.fields(kind) if field.init]
    if not any((kind.__qualname__, field.name) in said for field in fields):
        return
    lines += ["", "Parameters", "----------"]
    for field in fields:
        lines.append(f"{field.name} : {field.type}")
        lines += [f"    {line}" for line in said.get((kind.__qualname__, field.name), [])]


_ACCESSIBLE = {
    # What is wider than the page can be scrolled with the keyboard.
    '<div class="highlight"><pre>': '<div class="highlight"><pre tabindex="0">',
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
    'role="heading"': 'role="heading" aria-level="2"',
}


def _accessible(*event: Any) -> None:
    """What the theme leaves out for those who use a keyboard or hear the page."""
    context: dict[str, Any] = event[3]
    for name in ("body", "furo_navigation_tree"):
        for old, new in _ACCESSIBLE.items():
            if name in context:
                context[name] = context[name].replace(old, new)


def setup(app: Any) -> None:
    """Register the hooks; those for docstrings are ahead of the one for numpydoc sections (500)."""
    app.connect("html-page-context", _accessible, priority=900)
    app.connect("autodoc-process-docstring", _fields_as_parameters, priority=300)
    app.connect("autodoc-process-docstring", _formulas_as_literals, priority=400)
