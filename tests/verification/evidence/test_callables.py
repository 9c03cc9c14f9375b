"""What a callable that was handed in is made of: other values are other code."""

from __future__ import annotations

import dataclasses
import functools
import subprocess
import sys
import threading
from enum import Enum
from pathlib import Path

import numpy as np
import pytest

from rdpkit.verification.evidence.callables import contents_of

HERE = __name__


class Colour(Enum):
    RED = 1
    BLUE = 2


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    std: object

    def __call__(self, dataset, rng):
        return self.std


class Plain:
    def __init__(self, std):
        self.std = std

    def release(self, dataset, rng):
        return self.std


def holding(value):
    return lambda dataset, rng: value


def defaulting(value):
    def release(dataset, rng, std=value):
        return std

    return release


WAYS = {
    "closure": holding,
    "default": defaulting,
    "partial": lambda value: functools.partial(holding(None), value),
    "keyword": lambda value: functools.partial(holding(None), std=value),
    "slots": Slotted,
    "method": lambda value: Plain(value).release,
    "nested": lambda value: holding({"a": [holding((value,))]}),
}
PAIRS = [
    (1.0, 2.0),
    (1, 1.0),
    (True, 1),
    ("a", "b"),
    ("1", 1),
    (None, 0),
    (b"a", "a"),
    ((1, 2), [1, 2]),
    ((1, 2), (2, 1)),
    ({"a": 1}, {"a": 2}),
    ({1, 2}, {1, 3}),
    (Colour.RED, Colour.BLUE),
    (np.arange(3), np.arange(4)),
    (np.zeros(3), np.zeros(3, dtype=np.float32)),
    (np.zeros((2, 3)), np.zeros((3, 2))),
    (np.random.default_rng(1), np.random.default_rng(2)),
    (Slotted(1), Slotted(2)),
    (Slotted, Plain),
    (np.sin, np.cos),
    (len, print),
    (Path("a"), Path("b")),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_another_value_is_other_code(way, one, other):
    make = WAYS[way]
    first, again, second = contents_of(make(one)), contents_of(make(one)), contents_of(make(other))
    assert first == again
    assert first.digest != second.digest


def test_the_modules_of_functions_and_classes_count():
    found = contents_of(functools.partial(holding(Slotted(dataclasses.replace)), 1))
    assert {HERE, "dataclasses"} <= found.modules


def test_values_may_refer_to_each_other_and_to_themselves():
    one, other = Plain(1), Plain(2)
    one.friend, other.friend = other, one
    values = [one]
    values.append(values)
    digest = contents_of(holding(values)).digest
    assert digest == contents_of(holding(values)).digest
    other.std = 3
    assert digest != contents_of(holding(values)).digest


def test_it_is_the_same_in_another_process():
    code = (
        "from rdpkit.verification.evidence.callables import contents_of\n"
        "import sys, functools, numpy as np\n"
        "f = functools.partial(sorted, {'b', 'a', 'c'}, key=np.zeros(3), x={'k': (1, None)})\n"
        "print(contents_of(f).digest)\n"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


def test_what_cannot_be_recognised_is_an_error_that_says_where_it_is():
    with pytest.raises(ValueError, match=r"'value', which holding.*lock.*cannot be pickled"):
        contents_of(holding(threading.Lock()))


def test_values_that_are_nested_without_end_are_an_error():
    value = ()
    for _ in range(100_000):
        value = (value,)
    with pytest.raises(ValueError, match="nested too deeply"):
        contents_of(holding(value))
