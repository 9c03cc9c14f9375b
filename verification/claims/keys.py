"""The keys of a claims file, each with its kind and what it means.

Reading refuses every other key, and the JSON Schema that editors use is made of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

FORMAT = 1
"""The version of the format. A file may say ``format = 1``; other versions are refused."""

UNMODELLED = "unmodelled"
"""Mechanism of a claim about something that the library has no event for."""

CONVERSIONS = ("mironov2017", "balle2020", "optimal")
NEIGHBOURS = ("worst", "random", "own")

Kind = Literal[
    "text",
    "texts",
    "mechanism",
    "adjacency",
    "budget",
    "open probability",
    "order",
    "conversion",
    "neighbours",
    "positive",
    "seconds",
    "count",
    "samples",
    "seed",
    "callable",
    "parameters",
    "scenarios",
    "code",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key.

    Parameters
    ----------
    kind : str
        What its values are.
    meaning : str
        For the reader, in an editor.
    needed : bool
        Whether every table of its kind has it.
    """

    kind: Kind
    meaning: str
    needed: bool = False


CLAIM_KEYS: Mapping[str, Key] = MappingProxyType(
    {
        "id": Key(kind="text", meaning="A name, unique over all files of a run.", needed=True),
        "source": Key(kind="text", meaning="Where the number is printed.", needed=True),
        "mechanism": Key(kind="mechanism", meaning="What was released."),
        "adjacency": Key(
            kind="adjacency", meaning="The neighbouring relation; no default.", needed=True
        ),
        "epsilon": Key(
            kind="budget",
            meaning="The number exactly as printed: 1.10 and 1.1 differ in precision. With order "
            "and no delta it is a Renyi divergence.",
        ),
        "delta": Key(kind="open probability", meaning="In (0, 1)."),
        "order": Key(kind="order", meaning="A Renyi order > 1, for claims about one order."),
        "bound": Key(kind="text", meaning="Id of the formula that the number comes from."),
        "conversion": Key(
            kind="conversion", meaning="The conversion used, where it is not the formula's own."
        ),
        "parameters": Key(kind="parameters", meaning="The mechanism's own parameters."),
        "missing": Key(kind="texts", meaning="What the source does not give."),
        "scenario": Key(kind="scenarios", meaning="Ways to complete what is missing."),
        "notes": Key(kind="texts", meaning="Remarks, printed with the result."),
        "release": Key(
            kind="text",
            meaning="The manifest (JSON) of a release, relative to this file: instead of mechanism "
            "and parameters.",
        ),
        "code": Key(
            kind="code",
            meaning="The code that the claim is about. It runs only if the user allows it.",
        ),
    }
)
"""Of a ``[[claim]]``."""

SCENARIO_KEYS: Mapping[str, Key] = MappingProxyType(
    {
        "description": Key(kind="text", meaning="The completion in words.", needed=True),
        "parameters": Key(kind="parameters", meaning="Laid over the claim's own."),
        "delta": Key(kind="open probability", meaning="In (0, 1); by default the claim's."),
    }
)
"""Of a ``[[claim.scenario]]``."""

CODE_KEYS: Mapping[str, Key] = MappingProxyType(
    {
        "callable": Key(
            kind="callable",
            meaning="module:callable, called as callable(dataset, rng).",
            needed=True,
        ),
        "dimension": Key(
            kind="count", meaning="Features of a record; not where neighbours are own."
        ),
        "time_budget": Key(kind="seconds", meaning="Seconds to test for; by default 60."),
        "false_alarm_rate": Key(
            kind="open probability",
            meaning="How often a true claim may be rejected; by default 0.001.",
        ),
        "neighbours": Key(
            kind="neighbours",
            meaning="The data sets: the worst-case pair of the mechanism, random ones, or the "
            "code's own.",
        ),
        "records": Key(kind="count", meaning="Records of the larger data set."),
        "record_norm": Key(
            kind="positive", meaning="Largest L2 norm of a record, for random neighbours."
        ),
        "samples": Key(kind="samples", meaning="The most runs of the code."),
        "seed": Key(kind="seed", meaning="By default from the operating system."),
    }
)
"""Of a ``[claim.code]``."""

__all__ = [
    "CLAIM_KEYS",
    "CODE_KEYS",
    "CONVERSIONS",
    "FORMAT",
    "NEIGHBOURS",
    "SCENARIO_KEYS",
    "UNMODELLED",
    "Key",
]
