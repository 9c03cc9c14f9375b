"""What is collected without the optional libraries, and how many threads a test may use."""

from __future__ import annotations

import gc
import os
import random
import re
import sys
import zlib
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule

# The suite runs in one process per core. Libraries that start a thread per core in each process
# spend most of their time waiting for each other. The processes that tests start inherit this.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
# Nor do they all compile the package anew where bytecode is switched off.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# A command under test is as wide as in any pipe.
os.environ.pop("COLUMNS", None)

# Examples in docstrings run by importing their modules.
collect_ignore = [] if find_spec("opacus") else ["rdpkit/interop/opacus.py"]


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[object], list[object]]:
    """Look for examples where there are some; to look for them imports a module."""
    found = yield
    return [
        one
        for one in found
        if not isinstance(one, DoctestModule) or b">>>" in file_path.read_bytes()
    ]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while thousands of tests are made, and never look at them again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000, 20, 20)  # By itself it looks after every 700th object.
        gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let CI run a part of the tests."""
    parser.addoption(
        "--share", default="1/1", metavar="K/N", help="run the K-th of N shares of the tests"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep one share of the tests; to which one a test belongs follows from its name alone."""
    asked = config.getoption("--share")
    share, shares = map(int, asked.split("/")) if re.fullmatch(r"\d+/\d+", asked) else (0, 0)
    if not 1 <= share <= shares:
        raise pytest.UsageError(f"Expected --share to be K/N with 1 <= K <= N, got {asked!r}")
    other = [one for one in items if zlib.crc32(one.nodeid.encode()) % shares != share - 1]
    config.hook.pytest_deselected(items=other)
    left_out = set(other)
    items[:] = [one for one in items if one not in left_out]


_drawn = random.Random()  # noqa: S311 - for tests, to be drawn again


def pytest_configure() -> None:
    """What tests draw, the operating system's randomness too, follows from their names.

    Noise of a release is secret and cannot be given a seed, and so a test of one would fail by
    chance, now and then. With ``HYPOTHESIS_PROFILE=fresh`` everything is drawn anew.
    """
    if os.environ.get("HYPOTHESIS_PROFILE") != "fresh":
        os.urandom = random._urandom = _drawn.randbytes  # type: ignore[attr-defined]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin where the test's name says, whatever ran before it in this process."""
    _drawn.seed(item.nodeid)
    random.seed(item.nodeid)
    if (numpy := sys.modules.get("numpy")) is not None:
        numpy.random.seed(_drawn.getrandbits(32))
