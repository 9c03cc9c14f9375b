"""A function of many things, in as many processes as there are, with the results in their order."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from importlib.util import find_spec
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

# Things that a process takes at a time, and up to how many starting others does not pay.
_AT_ONCE = 12


def in_processes(
    function: Callable[[T], R],
    items: Sequence[T],
    workers: int | None,
    backend: str | None = None,
) -> Iterator[R]:
    """The results of ``function``, in the order of ``items``, as they come.

    Parameters
    ----------
    function : callable
        Of one item; it and the items travel to other processes.
    items : sequence
        Neighbours are given to the same process, which may keep what they have in common.
    workers : int or None
        Processes, as in joblib: -1 for all cores, 1 for this one alone. None: what joblib's
        context says (``joblib.parallel_config``), and without one this process.
    backend : str, optional
        A joblib backend, for any number of items.

    Raises
    ------
    Exception
        What the function raises, when its result's turn has come.
    """
    alone = workers == 1 or (workers is not None and len(items) <= _AT_ONCE)
    if backend is None and (alone or find_spec("joblib") is None):
        yield from map(function, items)
        return
    from joblib import (  # noqa: PLC0415 - only if it is needed
        Parallel,
        delayed,
        effective_n_jobs,
        parallel_config,
    )

    if backend is None and effective_n_jobs(workers) == 1:
        yield from map(function, items)
        return
    parts = [items[k : k + _AT_ONCE] for k in range(0, len(items), _AT_ONCE)]
    # Backends like "dask" are only known to joblib's context, which is left before anything is
    # yielded: whoever takes the results has a context of his own.
    with nullcontext() if backend is None else parallel_config(backend=backend):
        run = Parallel(n_jobs=workers, return_as="generator", batch_size=1)
    task = delayed(functools.partial(_each, function))
    for results in run(task(part) for part in parts):
        yield from results


def _each(function: Callable[[T], R], items: Sequence[T]) -> list[R]:
    return [function(item) for item in items]
