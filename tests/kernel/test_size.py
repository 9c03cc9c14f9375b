"""The checker is small, and needs nothing but Python's standard library."""

import ast
import re
import sys
import tokenize
from pathlib import Path

KERNEL = Path(__file__).parents[2] / "rdpkit" / "kernel"
SOURCES = sorted(KERNEL.glob("*.py"))
MOST_LINES = 500
IN_BROWSERS = (
    Path(__file__).parents[2] / "verification" / "outputs" / "html" / "static" / "kernel.js"
)
# Python needs no lines that only close a block, of which JavaScript has about a hundred.
MOST_LINES_IN_BROWSERS, MOST_WITHOUT_BRACKETS = 653, 558


def lines_of_code(path: Path) -> set[int]:
    """The lines that hold code, without comments and blank lines."""
    no_code = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
    with open(path, encoding="utf-8") as file:
        tokens = tokenize.generate_tokens(file.readline)
        spans = [range(t.start[0], t.end[0] + 1) for t in tokens if t.type not in no_code]
    return {line for span in spans for line in span}


def lines_without_docstrings(path: Path) -> set[int]:
    # Python 3.9 is the oldest that has to run it.
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))
    lines = lines_of_code(path)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(
            node
        ):
            lines -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return lines


def test_it_is_small():
    assert len(SOURCES) <= 6
    assert sum(len(lines_without_docstrings(path)) for path in SOURCES) <= MOST_LINES


def test_the_one_for_browsers_is_small_and_its_lines_are_short():
    text = IN_BROWSERS.read_text(encoding="utf-8")
    code = re.sub(r"/\*.*?\*/|^ *//.*?$", "", text, flags=re.DOTALL | re.MULTILINE)
    lines = [line for line in code.splitlines() if line.strip()]
    assert len(lines) <= MOST_LINES_IN_BROWSERS
    assert sum(bool(re.search(r"[^\s()\[\]{},;]", line)) for line in lines) <= MOST_WITHOUT_BRACKETS
    assert all(len(line) <= 100 for line in text.splitlines())


def test_it_imports_the_standard_library_alone():
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert {name.name for name in node.names} <= sys.stdlib_module_names
            elif isinstance(node, ast.ImportFrom):
                known = (node.module or "").partition(".")[0] in sys.stdlib_module_names
                assert known or node.level == 1


def test_no_float_is_used():
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            assert not (isinstance(node, ast.Constant) and isinstance(node.value, float)), path
            assert not (isinstance(node, ast.Name) and node.id == "float"), path
