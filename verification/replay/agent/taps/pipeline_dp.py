"""Taps of PipelineDP: users' records are sampled user by user, and noise is drawn by partitions.

Its noise is PyDP's. Which partition it is for is looked up here, because partitions come in the
order in which records name them.
"""

from __future__ import annotations

import functools
import sys
from contextlib import ExitStack, contextmanager
from typing import Any, Callable, Iterator, List, Tuple

from ..generators import replaced
from ..tape import Place, current, places_here

_PACKAGE, _MOST_FRAMES = "pipeline_dp", 12


@contextmanager
def tapped() -> Iterator[None]:
    """The sampling that bounds contributions is described as a whole."""
    import pipeline_dp.sampling_utils  # noqa: PLC0415 - only where it is installed

    backend = sys.modules["pipeline_dp.pipeline_backend"].LocalBackend
    utils = sys.modules["pipeline_dp.sampling_utils"]
    with ExitStack() as stack:
        whole = backend.sample_fixed_per_key
        replaced(stack, backend, "sample_fixed_per_key", _by_users(whole))
        name = "choose_from_list_without_replacement"
        replaced(stack, utils, name, _of_a_user(getattr(utils, name)))
        yield


def partition() -> str:
    """For which partition noise is drawn, in words; empty if that is not known."""
    if _PACKAGE not in sys.modules:
        return ""
    found = _in_frames("k", "row")
    return "" if found is None else " of partition %r" % (found,)


def _in_frames(key: str, row: str = "") -> Any:
    """What a function of the package, of those that lead here, calls by a name."""
    frame: Any = sys._getframe(2)
    for _ in range(_MOST_FRAMES):
        if frame is None:
            break
        known = frame.f_locals
        if frame.f_globals.get("__name__", "").startswith(_PACKAGE):
            if key in known:
                return known[key]
            if row in known:
                return known[row][0]
        frame = frame.f_back
    return None


def _by_users(sample: Callable[..., Any]) -> Callable[..., Any]:
    """A sample of the records of each user.

    Which are drawn depends on that user's records alone. So it changes nothing but that user's part
    whether they are drawn, and the same are drawn again in a replay.
    """

    @functools.wraps(sample)
    def call(self: Any, col: Any, n: int, stage_name: Any = None) -> Any:
        if current() is None:
            return sample(self, col, n, stage_name)
        found = _each(self, col, lambda one: sample(self, one, n, stage_name), places_here())
        return sys.modules["pipeline_dp.pipeline_backend"].ReiterableLazyIterable(found)

    return call


def _each(
    backend: Any, col: Any, sample: Callable[[Any], Any], asked: Tuple[Place, ...]
) -> Iterator[Any]:
    def of(pairs: Any) -> Any:
        return next(iter(sample(pairs)))[1]

    for key, values in backend.group_by_key(col):
        draw = functools.partial(of, [(key, one) for one in values])
        yield key, _sampled("sample of %r" % (key,), values, draw, asked)


def _of_a_user(choose: Callable[..., Any]) -> Callable[..., Any]:
    """A sample of the partitions of a user, to which the same applies."""

    @functools.wraps(choose)
    def call(a: Any, size: int) -> Any:
        if current() is None:
            return choose(a, size)
        return _sampled("sample of %r" % (_in_frames("k"),), a, lambda: choose(a, size))

    return call


def _sampled(
    name: str, values: List[Any], draw: Callable[[], Any], asked: Tuple[Place, ...] = ()
) -> Any:
    tape = current()
    assert tape is not None
    among = set(map(repr, values))
    return tape.call(
        name,
        draw,
        fits=lambda answer: len(answer) <= len(values) and among.issuperset(map(repr, answer)),
        alone=True,
        # The sample is drawn later than it is asked for.
        built=asked,
    )
