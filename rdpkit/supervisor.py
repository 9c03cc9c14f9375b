"""Long work: shared between processes, stopped cleanly, within a number of threads.

Every command that works for long goes through this module, so that all of them behave alike:

* results come one by one, as each is finished, so that a kill loses at most the items in work;
* an interrupt or a SIGTERM ends the command with exit status 130 or 143, after temporary files are
  removed and worker processes are stopped;
* a worker whose parent is gone ends itself.
"""

from __future__ import annotations

import functools
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")

# Windows knows no stronger one.
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
# How often a worker looks whether its parent is still there.
_SECONDS_BETWEEN_LOOKS = 0.5
# What limits the threads of libraries and of processes that come later.
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


class Interrupted(BaseException):
    """A signal asked the program to end.

    It is no :class:`Exception`, so code that handles errors does not catch it, and temporary files
    are removed on its way out.

    Parameters
    ----------
    number : int
        Of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.status = 128 + number
        """The exit status that shells expect after this signal: 130 for SIGINT, 143 for SIGTERM."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Turn SIGINT and SIGTERM into :class:`Interrupted` inside the block, and stop workers then.

    In a thread that is not the main one nothing changes, because only the main thread of a program
    may handle signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, _: FrameType | None) -> None:
        raise Interrupted(number)

    handled = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, interrupt) for number in handled}
    try:
        yield
    except Interrupted:
        # A second signal must not interrupt the cleaning up.
        for number in handled:
            signal.signal(number, signal.SIG_IGN)
        stop_workers()
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def stop_workers() -> None:
    """Kill every process that this one has started; what they were working on is lost."""
    if "multiprocessing" not in sys.modules:
        return
    from multiprocessing import active_children  # noqa: PLC0415 - most commands start no process

    for child in active_children():
        # Not every kind of process has a method for it.
        if child.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(child.pid, _KILL)


def as_finished(
    function: Callable[[T], R], items: Sequence[T], *, jobs: int | None, backend: str | None = None
) -> Iterator[tuple[int, R]]:
    """The results of a function of many items, each as soon as it is finished.

    Parameters
    ----------
    function : callable
        Of one item; it, the items and the results travel between processes.
    items : sequence
        What it is called with.
    jobs : int or None
        Processes, as in joblib: -1 for all cores, 1 for this one alone. None: what joblib's
        context says (``joblib.parallel_config``), and without one this process.
    backend : str, optional
        A joblib backend: "loky", "threading", or one that is registered, like "dask".

    Yields
    ------
    (int, result)
        The place of an item in ``items``, and its result, in the order in which they finish.

    Raises
    ------
    Exception
        What the function raises, as soon as it does; the other items are given up.
    """
    if backend is None and (len(items) <= 1 or processes(jobs) == 1):
        yield from enumerate(map(function, items))
        return
    from joblib import Parallel, delayed, parallel_config  # noqa: PLC0415 - only if it is needed
    from joblib.parallel import get_active_backend  # noqa: PLC0415

    # Backends like "dask" are only known to joblib's context, which is left before anything is
    # yielded: the caller has a context of its own.
    with nullcontext() if backend is None else parallel_config(backend=backend):
        # A worker that is only starting when its parent is killed must notice that, too. Only
        # joblib's own processes are children of this one: workers of a cluster, or threads, would
        # take themselves for orphans.
        own = type(get_active_backend()[0]).__name__ == "LokyBackend"
        started = {"initializer": _begin_worker, "initargs": (os.getpid(),)} if own else {}
        run = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1, **started)
    task = delayed(functools.partial(_finished, function, os.getpid()))
    with _interrupts_held() if own else nullcontext():
        results = run(task(place, item) for place, item in enumerate(items))
    yield from results


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """An interrupt waits until the block is left, and processes that it starts see none at all.

    A terminal sends it to every process, and one that is just starting would print a traceback.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # The first use of these starts processes of their own, and lets interrupts through again.
    from multiprocessing import resource_tracker  # noqa: PLC0415

    from joblib.externals.loky.backend import resource_tracker as of_loky  # noqa: PLC0415

    resource_tracker.ensure_running()
    of_loky.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def in_order(
    function: Callable[[T], R], items: Sequence[T], *, jobs: int | None, backend: str | None = None
) -> Iterator[R]:
    """The results of a function of many items, in the order of the items.

    Parameters and errors are those of :func:`as_finished`. A result is given out once all results
    before it are there.
    """
    return ordered(as_finished(function, items, jobs=jobs, backend=backend))


def ordered(
    # Every number from 0 once, as :func:`as_finished` yields them.
    finished: Iterator[tuple[int, R]],
) -> Iterator[R]:
    """Numbered results in the order of their numbers, from results in any order."""
    waiting: dict[int, R] = {}
    following = 0
    for place, result in finished:
        waiting[place] = result
        while following in waiting:
            yield waiting.pop(following)
            following += 1


def processes(jobs: int | None) -> int:
    """How many processes ``jobs`` stands for; see :func:`as_finished`."""
    # Nobody has set up a context of joblib's before joblib is loaded.
    if jobs == 1 or (jobs is None and "joblib" not in sys.modules):
        return 1
    from joblib import effective_n_jobs  # noqa: PLC0415 - only if it is needed

    return int(effective_n_jobs(jobs))


def _begin_worker(supervisor: int) -> None:
    """End this process if its supervisor was killed before it began, else when that ends."""
    if os.getppid() != supervisor:
        os._exit(1)
    _watch(supervisor)


def _finished(function: Callable[[T], R], supervisor: int, place: int, item: T) -> tuple[int, R]:
    # A worker on a cluster has another parent, which looks after it.
    if os.getppid() == supervisor:
        _watch(supervisor)
    return place, function(item)


@functools.cache
def _watch(supervisor: int) -> None:
    """Make this process end when its parent does; once for every worker process."""
    if threading.current_thread() is threading.main_thread():
        # An interrupt from a terminal reaches every process; the supervisor stops the workers.
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == supervisor:
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        os._exit(1)

    threading.Thread(target=watch, name="parent watch", daemon=True).start()


def limit_threads(threads: int | None) -> None:
    """Limit the threads that numerical libraries use, here and in processes that are started later.

    Threads that wait for work sleep from now on. By default they spin, and on a machine that does
    something else as well they keep each other from working: training a small generator took six
    times as long on two busy cores.

    Parameters
    ----------
    threads : int or None
        At least 1; None leaves the number as it is.

    Raises
    ------
    ValueError
        If it is not a whole number of at least 1.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    if threads is None:
        return
    from rdpkit import _validate  # noqa: PLC0415 - it loads numpy, which not every command needs

    count = _validate.integer("threads", threads, minimum=1)
    for variable in _THREAD_VARIABLES:
        os.environ[variable] = str(count)
    # Libraries that are loaded already no longer look at these variables.
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(count)
    if "numpy" in sys.modules:
        try:
            from threadpoolctl import threadpool_limits  # noqa: PLC0415 - an optional library
        except ImportError:
            return
        threadpool_limits(count)
