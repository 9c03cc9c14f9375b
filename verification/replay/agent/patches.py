"""Functions are replaced for a while by others, whose calls go to the tape that is current."""

from __future__ import annotations

import functools
from contextlib import ExitStack
from typing import Any, Callable

from .tape import Tape, current


def replaced(stack: ExitStack, owner: Any, name: str, value: Any) -> None:
    """Replace an attribute until the stack is closed."""
    own = name in vars(owner)
    before = getattr(owner, name)
    setattr(owner, name, value)
    if own:
        stack.callback(setattr, owner, name, before)
    else:
        stack.callback(delattr, owner, name)


def taped(
    draw: Callable[..., Any], answer: Callable[..., Any], *, inside: bool = False
) -> Callable[..., Any]:
    """A function whose calls are answered by ``answer(tape, draw, ...)``, where there is a tape.

    Within another primitive it is as it was, unless ``inside`` says otherwise.
    """

    @functools.wraps(draw)
    def call(*args: Any, **given: Any) -> Any:
        tape = current()
        if tape is None or (tape.is_quiet and not inside):
            return draw(*args, **given)
        return answer(tape, draw, *args, **given)

    return call


def tap_method(
    stack: ExitStack, owner: Any, name: str, answer: Callable[..., Any], *, inside: bool = False
) -> None:
    """Replace a function of a class or a module, if it has one itself, by one that is taped."""
    if name in vars(owner):
        replaced(stack, owner, name, taped(getattr(owner, name), answer, inside=inside))


def seeding(seed: Callable[..., Any]) -> Callable[..., Any]:
    """A function that sets a seed, which is remembered."""

    def answer(tape: Tape, seed: Callable[..., Any], *args: Any, **given: Any) -> Any:
        for one in (*args, *given.values()):
            tape.seeds(one)
        return seed(*args, **given)

    return taped(seed, answer, inside=True)
