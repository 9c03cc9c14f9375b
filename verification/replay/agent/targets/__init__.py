"""Targets: one call of a public mechanism each, with the claim that its documentation makes."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Sequence

CLAIMED = 1.0
"""The epsilon that targets are given, unless they say otherwise."""
REMOVE = "add_or_remove_one"
REPLACE = "replace_one"
NUMBERS: Dict[str, Any] = {"x": [0.0, 1.0], "y": [0.0, 1.0]}
CLASSES: Dict[str, Any] = {**NUMBERS, "label": [0, 1, 2]}


def target(
    adjacency: str,
    columns: Optional[Dict[str, Any]] = None,
    *,
    epsilon: float = CLAIMED,
    delta: float = 0.0,
    because: str = "",
    reported: Sequence[str] = (),
    any_values: bool = False,
    user: str = "",
    records: int = 0,
    summary: Optional[Callable[[Any], Any]] = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Say what a target claims, under which relation, and on which data.

    Parameters
    ----------
    adjacency : str
        The relation for which the library sets its noise.
    columns : dict, optional
        The ranges and categories of its data; two numbers in [0, 1] by default.
    epsilon, delta : float
        The claim.
    because : str
        Why a difference may be all that a replay can say.
    reported : sequence of str
        Where a difference of this target was reported in public.
    any_values : bool
        Whether the library takes any value, so that those beyond the ranges count fully.
    user : str
        The column that says whose a record is.
    records : int
        How many records the larger data set usually has.
    summary : callable, optional
        The part of what the target returns that is released.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        stated = {
            "adjacency": adjacency,
            "columns": columns or NUMBERS,
            "epsilon": epsilon,
            "delta": delta,
            "because": because,
        }
        stated.update({"reported": list(reported)} if reported else {})
        given = {"any_values": any_values, "user": user, "records": records, "summary": summary}
        stated.update((key, value) for key, value in given.items() if value)
        for key, value in stated.items():
            setattr(function, key, value)
        return function

    return decorate


def counted(frame: Any) -> Dict[str, Any]:
    """How often every category is in a sampled table, and the ends of every column of numbers."""
    found: Dict[str, Any] = {}
    for name in frame.columns:
        values = frame[name].tolist()
        if all(isinstance(one, float) for one in values):
            found[str(name)] = [min(values), max(values)]
        else:
            words = list(map(str, values))
            found[str(name)] = {one: words.count(one) for one in sorted(set(words))}
    return found
