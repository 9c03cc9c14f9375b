"""What the help takes from docstrings, whatever is missing in them."""

import pytest

from rdpkit.cli.event_commands import described, example_values, with_help
from rdpkit.events import MECHANISMS

TEXT = """The sum is released. Noise is added.

With sigma: ``z = sigma / s``, see :class:`~rdpkit.Gaussian`.

Parameters
----------
one : float
    In the units
    of the sum.
two, three : int
    Both at least 1.

Raises
------
ValueError
    Always.

Examples
--------
>>> event = rdpkit.Documented(one=1.5, two=[1, 2],
...                           three=True)
>>> event.one
1.5
"""


def documented(text):
    return type("X", (), {"__doc__": text or None})


def test_sections():
    paragraphs, examples = described(documented(TEXT))
    assert paragraphs[0] == "The sum is released. Noise is added."
    assert paragraphs[1:] == ["With sigma: z = sigma / s, see rdpkit.Gaussian."]
    assert example_values(examples, "Documented") == {"one": 1.5, "two": [1, 2], "three": True}
    assert example_values(examples, "Other") is None


@pytest.mark.parametrize(
    "text",
    ["", "Only a summary", "A.\n\nExamples\n--------\n>>> (", "A.\n\nExamples\n--------\n>>> X(1)"],
)
def test_what_is_missing_is_empty(text):
    _, examples = described(documented(text))
    assert examples in text
    assert example_values(examples, "X") is None


def test_arguments_that_are_computed_make_no_example():
    text = "A.\n\nExamples\n--------\n>>> X(a=[1] * 3)"
    assert example_values(described(documented(text))[1], "X") is None


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_parameter_of_every_event_is_described(name):
    assert described(MECHANISMS[name])[0][0].endswith(".")
    texts = dict(with_help(MECHANISMS[name]))
    assert all(" " in text and text.endswith(".") for text in texts.values())
    assert all(parameter.text for parameter in texts)
