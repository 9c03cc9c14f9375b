"""Help texts from the docstrings of events, which are written in the form of numpydoc."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import dataclass

_HEADING = re.compile(r"^(\S[^\n]*)\n-{3,}[ ]*$", re.MULTILINE)
_ROLE = re.compile(r":[\w:]+:`~?([^`]*)`")


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What a docstring says."""

    paragraphs: tuple[str, ...]
    """The text before the first section; the first paragraph is the summary."""
    examples: str  # The section of that name, as it stands

    @property
    def summary(self) -> str:
        """The first sentence."""
        return first_sentence(self.paragraphs[0]) if self.paragraphs else ""


def described(documented: object) -> Description:
    """What the docstring of a class or a function says; sections that are missing are empty."""
    text = inspect.getdoc(documented) or ""
    pieces = _HEADING.split(text)
    sections = dict(zip(pieces[1::2], pieces[2::2], strict=True))
    return Description(
        paragraphs=tuple(map(plain, filter(None, re.split(r"\n\s*\n", pieces[0].strip())))),
        examples=sections.get("Examples", "").strip(),
    )


def plain(text: str) -> str:
    """Text of a docstring without its markup, in one line."""
    return " ".join(_ROLE.sub(r"\1", text).replace("``", "").split())


def first_sentence(text: str) -> str:
    """The text up to the first full stop that ends a sentence."""
    return re.split(r"(?<=\.)\s+(?=[A-Z])", text.strip(), maxsplit=1)[0]


def example_values(
    description: Description,  # Of the class
    # The name of the class. Its arguments are used if all are named and written as literals.
    constructor: str,
) -> dict[str, object] | None:
    """The arguments of the first call of a constructor in the examples; None if there is none."""
    lines = (line[4:] for line in description.examples.splitlines() if line[:4] in (">>> ", "... "))
    try:
        tree = ast.parse("\n".join(lines))
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or node.args or not node.keywords:
            continue
        if ast.unparse(node.func).rpartition(".")[2] != constructor:
            continue
        try:
            return {str(word.arg): ast.literal_eval(word.value) for word in node.keywords}
        except ValueError:
            continue
    return None
