"""Taps of PipelineDP: users' records are sampled user by user, and noise is drawn by partitions.

Its noise is PyDP's. Which partition it is for is looked up here, because partitions come in the
order in which records name them.
"""

from __future__ import annotations

import functools
import sys
from contextlib import ExitStack
from typing import Any, Callable, Iterator, List, Tuple

from ..tape import Place, places_here, tap_method

_PACKAGE, _MOST_FRAMES = "pipeline_dp", 13


def tap(stack: ExitStack) -> None:
    """Tap the sampling that bounds contributions, which is described as a whole."""
    import pipeline_dp.sampling_utils  # noqa: PLC0415 - only where it is installed

    backend = sys.modules["pipeline_dp.pipeline_backend"].LocalBackend
    tap_method(stack, backend, "sample_fixed_per_key", _by_users)
    utils = sys.modules["pipeline_dp.sampling_utils"]
    tap_method(stack, utils, "choose_from_list_without_replacement", _of_a_user)


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


def _by_users(
    tape: Any, sample: Callable[..., Any], self: Any, col: Any, *args: Any, **given: Any
) -> Any:
    """A sample of the records of each user.

    Which are drawn depends on that user's records alone. So it changes nothing but that user's part
    whether they are drawn, and the same are drawn again in a replay.
    """
    # The sample is drawn later than it is asked for.
    asked = places_here()

    def sampled() -> Iterator[Any]:
        for key, values in self.group_by_key(col):
            draw = functools.partial(of, [(key, one) for one in values])
            yield key, _sampled(tape, key, values, draw, asked)

    def of(pairs: Any) -> Any:
        return next(iter(sample(self, pairs, *args, **given)))[1]

    return sys.modules["pipeline_dp.pipeline_backend"].ReiterableLazyIterable(sampled())


def _of_a_user(tape: Any, choose: Callable[..., Any], a: Any, size: int) -> Any:
    """A sample of the partitions of a user, to which the same applies."""
    return _sampled(tape, _in_frames("k"), a, lambda: choose(a, size))


def _sampled(
    tape: Any,
    key: Any,
    values: List[Any],
    draw: Callable[[], Any],
    asked: Tuple[Place, ...] = (),
) -> Any:
    among = set(map(repr, values))
    return tape.call(
        "sample of %r" % (key,),
        draw,
        fits=lambda answer: len(answer) <= len(values) and among.issuperset(map(repr, answer)),
        alone=True,
        built=asked,
    )
