"""How many threads torch trains with."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from rdpkit import _validate

VARIABLE = "RDPKIT_TORCH_THREADS"
"""The environment variable that says how many threads training uses on the processor."""


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Let torch have so many threads inside of the block, and as many as before behind it."""
    import torch  # noqa: PLC0415 - whoever trains has loaded it

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def training_threads() -> Iterator[None]:
    """Run training on one thread, or on as many as ``RDPKIT_TORCH_THREADS`` says.

    Steps on small networks take less than a millisecond, and threads that wait for each other cost
    more than they save, above all beside other work.
    """
    given = os.environ.get(VARIABLE, "").strip() or "1"
    if not given.isdecimal():
        raise _validate.fail(VARIABLE, "to be a whole number of threads, at least 1", given)
    with torch_threads(int(_validate.integer(VARIABLE, int(given)))):
        yield
