"""Formulas as MathML: what is not known is an error, and minus signs are those that they are."""

import importlib.util
import sys
from pathlib import Path

import pytest

pytest.importorskip("latex2mathml")
pytest.importorskip("sphinx")


@pytest.fixture(scope="module")
def mathml():
    path = Path(__file__).parents[2] / "docs" / "_ext" / "mathml.py"
    specification = importlib.util.spec_from_file_location("docs_mathml", path)
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module.mathml


def test_a_block_is_displayed(mathml):
    assert 'display="block"' in mathml(r"a \le b", block=True)
    assert 'display="inline"' in mathml(r"a \le b", block=False)


def test_lines_are_aligned(mathml):
    assert mathml(r"a &= b \\ &= c", block=True).count("<mtr>") == 2


@pytest.mark.parametrize("tex", [r"\nosuchcommand x", r"\frac{a", r"\foo{x}"])
def test_what_is_not_known_is_an_error(mathml, tex):
    with pytest.raises(Exception, match=r"Expected TeX|brace|Brace|argument|^$"):
        mathml(tex, block=True)


@pytest.mark.parametrize("tex", ["-x", "(-x)", "a=-x", "[-1,1]", r"a \quad -x"])
def test_the_minus_of_a_number_takes_no_space(mathml, tex):
    found = mathml(tex, block=False)
    first = found.index("<mrow>") + len("<mrow>")
    assert 'form="prefix"' in found or found[first:].startswith("<mo>&#x02212;")


@pytest.mark.parametrize("tex", ["a-x", "(a)-x", "[a]-x", "|a|-x", "k!-1"])
def test_the_minus_of_a_difference_keeps_its_space(mathml, tex):
    assert 'form="prefix"' not in mathml(tex, block=False)


def test_what_a_maximum_is_over_stands_below_it(mathml):
    found = mathml(r"\max_{x_i \in A} y_i", block=True)
    assert found.count("<munder>") == found.count("</munder>") == 1
    assert found.count("<msub>") == found.count("</msub>") == 2
    assert "<munder>" not in mathml(r"\max_{x_i \in A} y_i", block=False)
