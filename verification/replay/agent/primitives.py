"""A decorator for primitives of one's own: what they hide, and what they declare."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Optional, Tuple

from .tape import taped


def primitive(
    *,
    value: str = "",
    sensitivity: str = "",
    epsilon: str = "",
    delta: str = "",
    leave_out: Tuple[str, ...] = (),
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Say of a function that it is private as a whole, and what its arguments are.

    In a replay a call answers what it answered in the first run. Its arguments, but for the value
    and those that are left out, may not follow from one record; the value may move by the
    sensitivity; and what the calls declare to spend is added up and held against the claim. Nothing
    is replayed, and nothing is slower, outside of a replay.

    Assumes
    -------
    The function keeps what it declares. That is not tested by a replay, but can be by runs.

    Parameters
    ----------
    value : str
        The parameter that noise hides.
    sensitivity : str
        The parameter that says by how much one record may move the value, in every norm.
    epsilon, delta : str
        The parameters that say what a call spends.
    leave_out : tuple of str
        Parameters that may follow from private records: the records themselves, say.

    Returns
    -------
    callable
        A decorator of functions.

    Raises
    ------
    ValueError
        If the function has no such parameter.

    Examples
    --------
    >>> @primitive(value="total", sensitivity="bound", epsilon="epsilon")
    ... def noisy(total, bound, epsilon, rng):
    ...     return total + rng.laplace(scale=bound / epsilon)
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(function)
        for name in filter(None, (value, sensitivity, epsilon, delta, *leave_out)):
            if name not in signature.parameters:
                known = ", ".join(signature.parameters)
                raise ValueError(
                    "Expected primitive(...) to name parameters of %s (%s), got %r."
                    % (function.__name__, known, name)
                )

        def answer(tape: Any, function: Callable[..., Any], *args: Any, **given: Any) -> Any:
            bound = signature.bind(*args, **given)
            bound.apply_defaults()
            stated = dict(bound.arguments)
            generators = [key for key, one in stated.items() if hasattr(one, "bit_generator")]
            spent: Optional[Tuple[float, float]] = None
            if epsilon:
                spent = float(stated[epsilon]), float(stated[delta]) if delta else 0.0
            hidden = {value, *leave_out, *generators}
            return tape.call(
                function.__name__,
                lambda: function(*args, **given),
                parameters={key: one for key, one in stated.items() if key not in hidden},
                value=stated[value] if value else None,
                sensitivity=float(stated[sensitivity]) if sensitivity else None,
                declared=spent,
            )

        return taped(function, answer)

    return decorate
