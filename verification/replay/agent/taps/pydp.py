"""Taps of PyDP: its mechanisms and algorithms draw in compiled code, and are taken as wholes."""

from __future__ import annotations

import functools
import inspect
from contextlib import ExitStack, contextmanager
from typing import Any, Callable, Iterator

from ..generators import replaced
from ..tape import current

_METHODS = ("quick_result", "result", "add_noise", "should_keep")
_OF_A_NUMBER = ("add_noise", "should_keep")
_PARAMETERS = ("epsilon", "delta", "l0_sensitivity", "linf_sensitivity", "sensitivity",
               "diversity", "scale")  # fmt: skip


@contextmanager
def tapped() -> Iterator[None]:
    """Calls of its mechanisms and algorithms go to the current tape."""
    import pydp  # noqa: PLC0415 - only where it is installed

    with ExitStack() as stack:
        compiled = pydp._pydp
        for module in (
            compiled._algorithms,
            compiled._mechanisms,
            compiled._partition_selection,
        ):
            for _, kind in inspect.getmembers(module, inspect.isclass):
                for name in _METHODS:
                    if name in vars(kind):
                        replaced(stack, kind, name, _called(name, getattr(kind, name)))
        yield


def _called(name: str, draw: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(draw)
    def call(self: Any, *args: Any, **given: Any) -> Any:
        tape = current()
        if tape is None:
            return draw(self, *args, **given)
        stated = {
            key: one
            for key in _PARAMETERS
            for one in [getattr(self, key, None)]
            if isinstance(one, (int, float))
        }
        return tape.call(
            "%s.%s" % (type(self).__name__, name),
            lambda: draw(self, *args, **given),
            parameters=stated,
            value=args[0] if args and name in _OF_A_NUMBER else None,
            sensitivity=stated.get("sensitivity"),
            declared=(float(stated["epsilon"]), float(stated.get("delta", 0.0)))
            if "epsilon" in stated
            else None,
        )

    return call
