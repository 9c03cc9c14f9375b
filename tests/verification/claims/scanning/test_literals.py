"""What names stand for: literals and defaults, and nothing that the code does not say."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdpkit.verification.claims.scanning.literals import Values

CODE = """
import argparse
from absl import flags
SIGMA = 1.3
N, B = 60_000, 256
TWICE = 1
TWICE = 2
GROWS = 1
GROWS += 1
CONFIG = {"EPSILON": 3.0, "OTHER": f()}
p = argparse.ArgumentParser()
p.add_argument("-s", "--noise-scale", type=float, default=0.8)
p.add_argument("--no-default")
flags.DEFINE_float("noise_multiplier", 1.1, "noise")
CIRCLE = CIRCLE_TOO
CIRCLE_TOO = CIRCLE
def train(epochs=3, *, lr=0.1, other):
    pass
"""


@pytest.mark.parametrize(
    ("expression", "value", "origin"),
    [
        ("1.5", 1.5, ""),
        ("-1e-5", -1e-5, ""),
        ("SIGMA", 1.3, "SIGMA"),
        ("N", 60000, "N"),
        ("B / N", 256 / 60000, "B and N"),
        ("3 * (N // B)", 702, "N and B"),
        ("int(60 * 60000 / 256)", 14062, ""),
        ("CONFIG['EPSILON']", 3.0, "CONFIG['EPSILON']"),
        ("args.noise_scale", 0.8, "the default of --noise-scale"),
        ("FLAGS.noise_multiplier", 1.1, "the default of --noise_multiplier"),
        ("epochs", 3, "the default of the parameter epochs"),
        ("10 ** 6", 10**6, ""),
    ],
)
def test_what_the_code_says_is_read(expression, value, origin):
    found = Values(ast.parse(CODE)).of(ast.parse(expression, mode="eval").body)
    assert (found.value, found.origin) == (value, origin)


@pytest.mark.parametrize(
    "expression",
    [
        *("TWICE", "GROWS", "UNKNOWN", "CONFIG['OTHER']", "CONFIG['NONE']", "args.no_default"),
        *("CIRCLE", "len(data)", "1 / 0", "10 ** 10 ** 10", "9 ** 9 ** 9", "1 + 'a'", "[1]", "1j"),
        *("True + 1", "other", "x.shape[0]", "int('5')", "1 << 80", "10 ** 64 * 10 ** 64"),
    ],
)
def test_what_the_code_does_not_say_is_not_guessed(expression):
    assert Values(ast.parse(CODE)).of(ast.parse(expression, mode="eval").body) is None


@given(st.recursive(st.integers(0, 99).map(str), lambda s: st.builds("({} {} {})".format, s,
       st.sampled_from(["+", "-", "*", "/", "//", "**"]), s), max_leaves=12))  # fmt: skip
def test_arithmetic_is_pythons_or_nothing(expression):
    found = Values(ast.parse("")).of(ast.parse(expression, mode="eval").body)
    if found is not None:
        # Only small powers are computed at all, so that this takes no time.
        assert found.value == eval(expression)
