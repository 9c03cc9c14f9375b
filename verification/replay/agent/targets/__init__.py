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
    adjacency: str,  # The relation for which the library sets its noise
    columns: Optional[Dict[str, Any]] = None,  # Ranges and categories; two numbers in [0, 1]
    *,
    epsilon: float = CLAIMED,
    delta: float = 0.0,
    because: str = "",  # Why a difference may be all that a replay can say
    reported: Sequence[str] = (),  # Where a difference was reported in public
    any_values: bool = False,  # Whether any value may come, so that those beyond count fully
    user: str = "",  # The column that says whose a record is
    records: int = 0,  # How many records the larger data set usually has
    # The part of what the target returns that is released
    summary: Optional[Callable[[Any], Any]] = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Say of functions what they claim, under which relation, and on which data."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        given = {"reported": list(reported), "any_values": any_values, "user": user,
                 "records": records, "summary": summary}  # fmt: skip
        always = {"adjacency": adjacency, "columns": columns or NUMBERS, "epsilon": epsilon,
                  "delta": delta, "because": because}  # fmt: skip
        stated = {**always, **{key: value for key, value in given.items() if value}}
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


ITERATIONS = 5
"""So many of a fit to noisy marginals, which is post-processing."""


def few_iterations(estimate: Callable[..., Any]) -> Callable[..., Any]:
    """Such a fit with few iterations."""

    def estimated(self: Any, *args: Any, **given: Any) -> Any:
        self.iters = ITERATIONS
        return estimate(self, *args, **given)

    return estimated
