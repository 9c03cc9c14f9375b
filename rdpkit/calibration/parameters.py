"""Which parameters of an event can be calibrated, by what names, and in which direction.

A parameter is named by its path from the event: ``noise_std``, ``event.noise_std`` inside of a
:class:`rdpkit.Repeated`, ``events[1].event.count`` further down. The end of a path is enough where
only one parameter has it, and ``events[*].noise_std`` names those of all parts.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from rdpkit import _validate
from rdpkit.events import (
    DPCDA,
    LDPDC,
    NDPDC,
    ClassWiseDPMix,
    Composed,
    DPMix,
    Event,
    FixedSizeSampledGaussian,
    Gaussian,
    GaussianSynthesis,
    Parallel,
    PoissonSampledGaussian,
    Repeated,
)

Kind = Literal["number", "integer", "integers"]
Value = float | int | tuple[int, ...]

SMALLEST, LARGEST = 1e-45, 1e45
"""No search goes farther; a noise multiplier made of two such numbers is still in range."""
_STEP = re.compile(r"^([a-z_]+)(?:\[(\d+)\])?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How one parameter of one kind of event bears on privacy.

    Parameters
    ----------
    private : {1, -1, 0}
        1 if larger values are more private, -1 if smaller ones are, 0 if neither always holds.
    kind : {"number", "integer", "integers"}
        What its values are.
    lowest, highest : callable
        The ends of its range, given the event that holds it.
    scaled : tuple of str
        For a parameter of no fixed direction: the noises that, scaled by h/l, make a release at l
        leak no more than one at any value in [l, h].
    """

    private: Literal[1, -1, 0]
    kind: Kind
    lowest: Callable[[Any], float]
    highest: Callable[[Any], float]
    scaled: tuple[str, ...] = ()


def _rule(
    private: Literal[1, -1, 0],
    kind: Kind,
    lowest: float | Callable[[Any], float] | None = None,
    highest: float | Callable[[Any], float] | None = None,
    scaled: tuple[str, ...] = (),
) -> Rule:
    first = (SMALLEST if kind == "number" else 1) if lowest is None else lowest
    last = (
        (LARGEST if kind == "number" else _validate.LARGEST_INTEGER) if highest is None else highest
    )
    return Rule(
        private=private,
        kind=kind,
        lowest=first if callable(first) else lambda event: first,
        highest=last if callable(last) else lambda event: last,
        scaled=scaled,
    )


_NOISE = _rule(1, "number")
_COUNT = _rule(-1, "integer")
_NORM = _rule(-1, "number")
_RECORD_NORM = _rule(-1, "number", lambda e: (e.record_diameter or 0.0) / 2.0 or SMALLEST)
_DIAMETER = _rule(-1, "number", None, lambda e: 2.0 * e.record_norm)
_GROUP = _rule(-1, "number", None, lambda e: min(e.class_sizes))


def _smallest_class(event: Any) -> float:
    return float(min(event.class_sizes))


_RULES: Mapping[type[Event], Mapping[str, Rule]] = MappingProxyType(
    {
        Gaussian: {"noise_std": _NOISE, "record_norm": _RECORD_NORM, "record_diameter": _DIAMETER},
        PoissonSampledGaussian: {
            "noise_std": _NOISE,
            "record_norm": _RECORD_NORM,
            "sampling_probability": _rule(-1, "number", None, 1.0),
            "record_diameter": _DIAMETER,
        },
        FixedSizeSampledGaussian: {
            "noise_std": _NOISE,
            "record_norm": _RECORD_NORM,
            "sample_size": _rule(
                0, "integer", None, lambda e: e.population_size, scaled=("noise_std",)
            ),
            "population_size": _rule(1, "integer", lambda e: e.sample_size),
            "record_diameter": _DIAMETER,
        },
        Repeated: {"count": _COUNT},
        DPMix: {
            "population_size": _rule(1, "integer", lambda e: e.order_of_mixture),
            "releases": _COUNT,
            "order_of_mixture": _rule(
                0,
                "integer",
                None,
                lambda e: e.population_size,
                scaled=("feature_noise", "label_noise"),
            ),
            "feature_dimension": _COUNT,
            "label_dimension": _COUNT,
            "feature_noise": _NOISE,
            "label_noise": _NOISE,
        },
        ClassWiseDPMix: {
            "class_sizes": _rule(1, "integers", lambda e: e.order_of_mixture),
            "samples_per_class": _rule(-1, "integers"),
            "order_of_mixture": _rule(
                0, "integer", None, _smallest_class, scaled=("feature_noise", "label_noise")
            ),
            "feature_dimension": _COUNT,
            "label_dimension": _COUNT,
            "feature_noise": _NOISE,
            "label_noise": _NOISE,
        },
        DPCDA: {
            "class_sizes": _rule(1, "integers", lambda e: e.order_of_mixture),
            "samples_per_class": _rule(-1, "integers"),
            "order_of_mixture": _rule(
                0, "integer", None, _smallest_class, scaled=("feature_noise", "label_noise")
            ),
            "clip_norm": _NORM,
            "feature_noise": _NOISE,
            "label_noise": _NOISE,
        },
        LDPDC: {
            "class_sizes": _rule(1, "integers", lambda e: math.ceil(e.group_size)),
            "group_size": _GROUP,
            "samples_per_class": _COUNT,
            "noise_std": _NOISE,
            "value_bound": _NORM,
            "dimension": _COUNT,
        },
        NDPDC: {
            "class_sizes": _rule(1, "integers", lambda e: math.ceil(e.group_size)),
            "group_size": _GROUP,
            "iterations": _COUNT,
            "noise_std": _NOISE,
            "clip_norm": _NORM,
        },
        GaussianSynthesis: {
            "records": _rule(1, "integer", 2),
            "outputs": _COUNT,
            "dimension": _COUNT,
            "min_eigenvalue": _rule(1, "number", None, 1.0),
        },
    }
)

# The noise on a sum does not depend on how many records there are, so more of them leak more.
_SUM_SAMPLE_SIZE = _rule(-1, "integer", None, lambda e: e.population_size)


def rules_of(event: Event) -> Mapping[str, Rule]:
    """The parameters of one event, not of those inside of it, that can be calibrated."""
    rules = _RULES.get(type(event), {})
    if isinstance(event, FixedSizeSampledGaussian) and event.release == "sum":
        return {**rules, "sample_size": _SUM_SAMPLE_SIZE}
    return rules


def paths(event: Event) -> dict[str, tuple[Event, Rule]]:
    """Every path that can be calibrated, with the event that holds the parameter."""
    return dict(_walk(event, ""))


def _walk(event: Event, prefix: str) -> Iterator[tuple[str, tuple[Event, Rule]]]:
    for name, rule in rules_of(event).items():
        yield prefix + name, (event, rule)
    if isinstance(event, Repeated):
        yield from _walk(event.event, f"{prefix}event.")
    if isinstance(event, (Composed, Parallel)):
        for i, part in enumerate(event.events):
            yield from _walk(part, f"{prefix}events[{i}].")


def stands_for(name: str, path: str) -> bool:
    """Whether a name is a path, or its end from a dot on; ``[*]`` is any index."""
    pattern = re.escape(name).replace(re.escape("[*]"), r"\[\d+\]")
    return re.search(rf"(^|\.){pattern}$", path) is not None


def matching(event: Event, name: Any) -> tuple[str, ...]:
    """The paths that a name stands for: one, or several if it has a ``[*]``.

    Raises
    ------
    ValueError
        If it stands for none, or for several without saying so.
    """
    known = paths(event)
    if isinstance(name, str):
        if name in known:
            return (name,)
        found = tuple(path for path in known if stands_for(name, path))
        if len(found) == 1 or (found and "[*]" in name):
            return found
        if found:
            raise ValueError(
                f"Expected parameter to name one parameter, got {name!r}, which may be "
                + _listed(found)
                + "; name one of them, or several in a tuple."
            )
    if not known:
        raise ValueError(
            f"A {event.mechanism} has no parameter that can be calibrated, got parameter={name!r}."
        )
    raise ValueError(f"Expected parameter to be one of {_listed(known)}, got {name!r}.")


def _listed(names: Sequence[str] | Mapping[str, Any]) -> str:
    shown = [repr(name) for name in names]
    if len(shown) > 24:
        shown = [*shown[:24], f"... ({len(names)} in all)"]
    return ", ".join(shown)


def value_at(event: Event, path: str) -> Any:
    """The value of a parameter."""
    current: Any = event
    for name, index in _steps(path):
        current = getattr(current, name)
        current = current if index is None else current[index]
    return current


def with_value(event: Event, path: str, value: Any) -> Event:
    """The event with another value of a parameter.

    Raises
    ------
    ValueError
        If the event does not accept it.
    """
    return _replaced(event, _steps(path), value)


def _steps(path: str) -> list[tuple[str, int | None]]:
    found = []
    for step in path.split("."):
        match = _STEP.match(step)
        assert match is not None
        found.append((match[1], None if match[2] is None else int(match[2])))
    return found


def _replaced(event: Event, steps: list[tuple[str, int | None]], value: Any) -> Event:
    (name, index), rest = steps[0], steps[1:]
    if rest:
        inner = getattr(event, name)
        if index is None:
            value = _replaced(inner, rest, value)
        else:
            changed = _replaced(inner[index], rest, value)
            value = (*inner[:index], changed, *inner[index + 1 :])
    return dataclasses.replace(event, **{name: value})
