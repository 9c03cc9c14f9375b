"""Formulas as MathML, which browsers typeset themselves: no script, and a font of the site's own.

A formula that the converter does not understand is a warning, and the site is built with ``-W``.
"""

from __future__ import annotations

import html
import re
from typing import Any

import latex2mathml.converter
from docutils import nodes
from sphinx.util import logging

_LOGGER = logging.getLogger(__name__)

_NAMES = "log|ln|exp|min|max|sup|inf|sin|sinh|tanh|erf|erfc"
_CLOSES = "[)\\]|}!]|&#x000(?:29|5D|7C|7D|21);"

# What the converter leaves to the browser, and a browser cannot know.
_SPACES = [
    # The number of an equation stands apart.
    (re.compile(r"(<mtext>\(\d+\)</mtext>)"), r'<mspace width="2em"/>\1'),
    # Chromium aligns the columns of a table by its own values of a style alone.
    (
        re.compile(r'columnalign="right"'),
        'columnalign="right" style="text-align:right;text-align:-webkit-right;padding-right:0"',
    ),
    (
        re.compile(r'columnalign="left"'),
        'columnalign="left" style="text-align:left;text-align:-webkit-left"',
    ),
    # Braces of a given size.
    (re.compile(r">\\([{}])</mo>"), r">\1</mo>"),
    # A minus behind a sign or a bracket that opens is that of a number.
    (
        re.compile(
            rf"(<mo[^>]*>(?!(?:{_CLOSES})</mo>)[^<]*</mo>|<mspace [^>]*>)<mo>&#x02212;</mo>"
        ),
        r'\1<mo form="prefix">&#x02212;</mo>',
    ),
    # No space about a slash and a stroke.
    (
        re.compile(r"<mo( [^>]*)?>(&#x0002F;|&#x0007C;)</mo>"),
        r'<mo\1 lspace="0" rspace="0">\2</mo>',
    ),
    # A thin space between the name of a function and its neighbours, unless these are brackets.
    (
        re.compile(rf"(</m(?:i|n|sup|sub|frac|sqrt|row)>)(<m(?:i|o)>(?:{_NAMES})</m)"),
        r'\1<mspace width="0.17em"/>\2',
    ),
    (
        re.compile(rf"(<mi>(?:{_NAMES})</mi>)(<m(?!o|space|row/))"),
        r'\1<mspace width="0.17em"/>\2',
    ),
]


def mathml(tex: str, *, block: bool) -> str:
    """TeX as MathML, which is text for everybody who does not see it.

    Parameters
    ----------
    tex : str
        The formula, without dollar signs.
    block : bool
        Whether it stands by itself.

    Raises
    ------
    ValueError
        If a command of it is not known.
    """
    bare = tex.replace(r"\{", "").replace(r"\}", "")
    if bare.count("{") != bare.count("}"):
        raise ValueError(f"Expected braces that close, got {tex!r}.")
    if block and ("\\\\" in tex or "&" in tex) and "\\begin" not in tex:
        tex = rf"\begin{{aligned}}{tex}\end{{aligned}}"
    tex = tex.replace("{aligned}", "{split}")  # which is what the converter knows
    found = latex2mathml.converter.convert(tex, display="block" if block else "inline")
    for pattern, put in _SPACES:
        found = pattern.sub(put, found)
    if block:
        found = _limits_below(found)
    # A command that is not known is shown as it is written.
    if "\\" in found or "&#x0005C;" in found or "<mi>&</mi>" in found:
        raise ValueError(f"Expected TeX that can be typeset, got {tex!r}.")
    return found


def _limits_below(text: str) -> str:
    """Where a formula stands by itself, what a maximum is over stands below it."""
    parts = re.split(r"(</?msub>)", text)
    opened: list[bool] = []
    for i, part in enumerate(parts):
        if part == "<msub>":
            opened.append(bool(re.match(r"<m[io]>(?:max|min|sup|inf)<", parts[i + 1])))
            parts[i] = "<munder>" if opened[-1] else part
        elif part == "</msub>" and opened.pop():
            parts[i] = "</munder>"
    return "".join(parts)


def _visit(translator: Any, node: nodes.Element, *, block: bool) -> None:
    tex = node.astext()
    try:
        made = mathml(tex, block=block)
    except Exception as error:  # The converter raises errors of many kinds.
        _LOGGER.warning("formula: %s: %s", tex, error, location=node)
        made = html.escape(tex)
    if block:
        made = f'<div class="formula" tabindex="0">{made}</div>'
    translator.body.append(made)
    raise nodes.SkipNode


def _inline(translator: Any, node: nodes.math) -> None:
    _visit(translator, node, block=False)


def _block(translator: Any, node: nodes.math_block) -> None:
    _visit(translator, node, block=True)


def setup(app: Any) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
