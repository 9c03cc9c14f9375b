"""How long work shows on a terminal, and the options that long commands share."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from rdpkit import supervisor
from rdpkit.formats.text import printable

if TYPE_CHECKING:
    from rich.progress import Progress

# Work that takes longer than this is announced, once its pace has been seen for a while.
_LONG = 60.0
_SEEN_FOR = 5.0
_SEEN, _SEEN_LONG = 5, 30.0
# Work whose length is known is announced before it begins, if it takes longer than this.
_WAIT = 5.0
# How often work in a pipe says how far it is, in seconds.
_LINE = 30.0
# How often a bar that follows the clock moves, in seconds.
_TICK = 0.5


threads_option = click.option(
    "--threads",
    type=click.IntRange(min=1),
    callback=lambda ctx, option, value: supervisor.limit_threads(value),
    is_eager=True,
    expose_value=False,
    help="The largest number of threads that numerical libraries may use.  [default: their own "
    "choice, mostly one for each core]",
)


def jobs_option(what: str) -> Callable[..., Any]:
    """The option ``--jobs``; ``what`` completes the sentence."""
    return click.option(
        "--jobs",
        type=click.IntRange(min=1),
        default=lambda: os.cpu_count() or 1,
        show_default="all cores",
        help=f"Processes to share {what}.",
    )


class ShownWork:
    """What is being done, as it is shown: a bar on a terminal, a line now and then in a pipe.

    Work that will take over a minute is announced in one line on standard error, also in a pipe;
    so is, before it begins, work that is known to take over five seconds.
    """

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._bars: dict[str, Any] = {}
        self._began: dict[str, tuple[float, float]] = {}
        self._announced = False
        self._said = time.monotonic()

    def show(
        self,
        what: str,  # The work; each name has a bar of its own
        # How much is finished, and how much there is; None if nobody knows.
        done: float = 0,
        total: float | None = None,
        note: str = "",  # Anything else that is worth seeing, at the end of the line
        *,
        # The most seconds that are left, of work that may end at any time.
        at_most: float | None = None,
    ) -> None:
        """Show how much of some work is done."""
        self._announce(what, done, total, at_most)
        if self._progress is None:
            self._say(what, done, total)
            return
        if what not in self._bars:
            self._bars[what] = self._progress.add_task(printable(what), total=total, note="")
        self._progress.update(self._bars[what], completed=done, total=total, note=printable(note))

    def _say(self, what: str, done: float, total: float | None) -> None:
        """How far work is, where no bar can show it."""
        now = time.monotonic()
        if now - self._said >= _LINE:
            self._said = now
            of = "" if total is None else f" of {total:g}"
            click.echo(printable(f"{what}: {done:g}{of} are done."), err=True)

    @contextmanager
    def timed(self, what: str, seconds: float) -> Iterator[Callable[[str], None]]:
        """Show work that takes a given time: the bar follows the clock while the block runs.

        It is called with the part of the work that begins, which is shown at the end of the line.
        """
        began, over, part = time.monotonic(), threading.Event(), [""]

        def follow() -> None:
            while self._progress is not None and not over.wait(_TICK):
                done = min(round(time.monotonic() - began), seconds)
                self.show(what, done, seconds, part[0])

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield lambda name: part.__setitem__(0, name)
        finally:
            over.set()
            thread.join()

    def expect(
        self,
        what: str,  # The work, in the words that follow its number: "points of dpcda-figure3"
        total: int,  # How much there is of it
        seconds: float,  # How long all of it takes, about, with one core to itself
    ) -> None:
        """Say how long work takes before it begins."""
        if seconds > _WAIT:
            line = f"{total} {what}: about {duration(seconds)}, longer where other work runs."
            click.echo(printable(line), err=True)

    def _announce(self, what: str, done: float, total: float | None, at_most: float | None) -> None:
        now = time.monotonic()
        since, before = self._began.setdefault(what, (now, done))
        spent, finished = now - since, done - before
        if self._announced or total is None or spent < _SEEN_FOR or finished <= 0:
            return
        # Processes start before the first items, which may be the longest.
        if at_most is None and finished < _SEEN and spent < _SEEN_LONG:
            return
        left = (total - done) * spent / finished if at_most is None else at_most
        if left > _LONG:
            self._announced, self._said = True, now
            about = f"{'' if at_most is None else 'at most '}about {duration(left)} left"
            line = f"{what}: {done:g} of {total:g} are done, {about}."
            click.echo(printable(line), err=True)


def duration(seconds: float) -> str:
    """About how long that is, in words: "10 seconds", "3 minutes", "1.5 hours"."""
    if seconds < 3:
        return "a second"
    if seconds < 50:
        return f"{10 * max(1, round(seconds / 10))} seconds"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} {'minute' if minutes == 1 else 'minutes'}"
    return f"{seconds / 3600:.1f} hours"


@contextmanager
def work_shown() -> Iterator[ShownWork]:
    """Bars on standard error with an estimate of the time left; none where it is no terminal."""
    if not sys.stderr.isatty():
        yield ShownWork(None)
        return
    from rich.console import Console  # noqa: PLC0415 - only on a terminal
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
        console=Console(stderr=True),
        transient=True,
    ) as progress:
        yield ShownWork(progress)
