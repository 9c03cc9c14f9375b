"""The keys of a claims file, each with what it may hold and what it means.

Reading checks files against these descriptions, and the JSON Schema that editors use is made of
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from rdpkit import Adjacency
from rdpkit.adjacency import SPELLINGS, advice
from rdpkit.events import MECHANISMS
from rdpkit.formats import records
from rdpkit.formats.records import Key, ValueKind
from rdpkit.verification.blackbox.options import NEIGHBOURS, OPTIONS, Option
from rdpkit.verification.claims.unknown import UNKNOWN_KEYS
from rdpkit.verification.training import options as training_options

FORMAT = 1
"""The version of the format. A file may say ``format = 1``; other versions are refused."""

UNMODELLED = "unmodelled"
"""The mechanism of a claim about something that the library has no event for."""

CONVERSIONS = ("mironov2017", "balle2020", "optimal")

KINDS = (
    *("training", "library", "model", "synthesis", "central-limit", "shuffled"),
    *("deployment", "local", "theorem"),
)
"""What a claim may be about: the training of a paper, a library's tutorial, a published model,
synthetic data, a central limit, batches that are shuffled, a release in use, local privacy, a
theorem at settings that were chosen to test it."""

# A larger decimal exponent is not that of a privacy budget, and makes computations slow.
_LARGEST = 300


def _budget(name: str, value: Any) -> Decimal:
    """The claimed number with its printed digits."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise records.refused(name, "to be a number >= 0", value)
    number = Decimal(value)
    if number.is_nan() or number.is_signed():
        raise records.refused(name, "to be a number >= 0", value)
    exponent = number.as_tuple().exponent
    if number.is_finite() and (number.adjusted() > _LARGEST or int(exponent) < -_LARGEST):
        raise records.refused(name, f"between 1e-{_LARGEST} and 1e{_LARGEST}", value)
    return number


def _adjacency(name: str, value: Any) -> Adjacency:
    """A neighbouring relation, in any of its spellings."""
    if not isinstance(value, str) or value not in SPELLINGS:
        accepted = ", ".join(repr(member.value) for member in Adjacency)
        error = records.refused(name, f"to be one of {accepted}", value)
        raise records.Refused(f"{error}{advice(value)}", name)
    return SPELLINGS[value]


def _callable(name: str, value: Any) -> str:
    """``module:callable``, both with dots if need be; nothing is imported."""
    text = records.text().read(name, value)
    module, _, path = text.partition(":")
    if not all(part.isidentifier() for part in [*module.split("."), *path.split(".")]):
        raise records.refused(name, "to be module:callable", value)
    return str(text)


def _tables(name: str, value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise records.refused(name, "to be a list of tables, [[claim.scenario]]", value)
    return value


def _rate(name: str, value: Any) -> Decimal:
    """A claimed rate with its printed digits."""
    number = _budget(name, value)
    if not number <= 1:
        raise records.refused(name, "in [0, 1]", value)
    return number


QUANTITIES = ("epsilon", "mu", "advantage", "tpr", "rho")
"""What a claim may be about: the keys of which it has one."""

_NUMBER = ValueKind(_budget, {"type": "number", "minimum": 0})
_RATE = ValueKind(_rate, {"type": "number", "minimum": 0, "maximum": 1})
_PROBABILITY = records.number("in [0, 1)", minimum=0.0, below=1.0)


_RATE_OF_ONE_IN_MANY = 0.001
"""An audit makes many tests, and `rdpkit verify` or `rdpkit verify-training` one."""


def _of_option(option: Option) -> Key:
    """The key of a black-box option."""
    default, kind = option.default, option.kind
    if option.name == "false_alarm_rate":
        default = _RATE_OF_ONE_IN_MANY
    if option.name == "neighbours":
        kind = records.choice(NEIGHBOURS)
    usual = "" if option.name == "neighbours" else option.usual or default or ""
    meaning = option.meaning + (f" By default {usual}." if usual else "")
    return Key(kind=kind, meaning=meaning, default=None if default == option.default else default)


CODE_KEYS: Mapping[str, Key] = MappingProxyType(
    {
        "callable": Key(
            kind=ValueKind(_callable, {"type": "string", "pattern": "^[^:\\s]+:[^:\\s]+$"}),
            meaning="module:callable, called as callable(dataset, rng).",
            needed=True,
        ),
        **{option.name: _of_option(option) for option in OPTIONS},
    }
)
"""The keys of a ``[claim.code]``."""

TRAINING_KEYS: Mapping[str, Key] = MappingProxyType(
    {
        "target": Key(
            kind=ValueKind(_callable, {"type": "string", "pattern": "^[^:\\s]+:[^:\\s]+$"}),
            meaning="module:make_trainer, called without arguments; it returns the training.",
            needed=True,
        ),
        **{option.name: _of_option(option) for option in training_options.OPTIONS},
    }
)
"""The keys of a ``[claim.training]``."""

SCENARIO_KEYS: Mapping[str, Key] = MappingProxyType(
    {
        "description": Key(kind=records.text(), meaning="The completion in words.", needed=True),
        "parameters": Key(
            kind=records.table("[claim.scenario.parameters]"),
            meaning="Parameters that complete or replace those of the claim.",
            default=MappingProxyType({}),
        ),
        "delta": Key(kind=_PROBABILITY, meaning="In [0, 1); by default the claim's."),
    }
)
"""The keys of a ``[[claim.scenario]]``."""

WORK_KEYS: Mapping[str, Key] = MappingProxyType(
    {
        "title": Key(kind=records.text(), meaning="The title of the work.", needed=True),
        "authors": Key(kind=records.text(), meaning="Its authors, or the organisation."),
        "year": Key(
            kind=records.integer(1900, 2200), meaning="The year in which it appeared, or was read."
        ),
        "kind": Key(kind=records.choice(KINDS), meaning="What its claims are about."),
        "url": Key(kind=records.text(), meaning="Where it is found."),
        "read": Key(
            kind=records.text(),
            meaning="What of it was read, and where: the whole text, or which part.",
        ),
    }
)
"""The keys of ``[work]``, the work that all claims of a file were printed in."""

CLAIM_KEYS: Mapping[str, Key] = MappingProxyType(
    {
        "id": Key(
            kind=records.text(), meaning="A name, unique over all files of a run.", needed=True
        ),
        "source": Key(kind=records.text(), meaning="Where the number is printed.", needed=True),
        "kind": Key(kind=records.choice(KINDS), meaning="What it is about, where not as its work."),
        "unread": Key(
            kind=records.text(),
            meaning="Why the source could not be read, if it was not; the result is marked.",
        ),
        "reads": Key(
            kind=records.text(),
            meaning="The id of a claim of this file whose number this one reads in another way.",
        ),
        "reading": Key(
            kind=records.text(), meaning="In what way the number is read, where there are several."
        ),
        "approximation": Key(
            kind=records.text(),
            meaning="What the source itself calls the number an approximation by; such a number is "
            "compared, and not called false.",
        ),
        "mechanism": Key(
            kind=ValueKind(records.text().read, {"enum": [*sorted(MECHANISMS), UNMODELLED]}),
            meaning="What was released.",
        ),
        "adjacency": Key(
            kind=ValueKind(_adjacency, {"enum": [*SPELLINGS]}),
            meaning="The neighbouring relation; no default.",
            needed=True,
        ),
        "epsilon": Key(
            kind=_NUMBER,
            meaning="The number exactly as printed: 1.10 and 1.1 differ in precision. With order "
            "and no delta it is a Renyi divergence.",
        ),
        "delta": Key(kind=_PROBABILITY, meaning="In [0, 1); 0 is pure differential privacy."),
        "mu": Key(
            kind=_NUMBER,
            meaning="In place of epsilon: mu of Gaussian differential privacy, for every delta "
            "from the claim's on, 1e-10 if it has none.",
        ),
        "advantage": Key(
            kind=_RATE,
            meaning="In place of epsilon: the largest true minus false positive rate of an attack.",
        ),
        "tpr": Key(
            kind=_RATE,
            meaning="In place of epsilon: the largest true positive rate of an attack at fpr.",
        ),
        "fpr": Key(
            kind=records.number("in [0, 1)", below=1.0), meaning="The false positive rate of tpr."
        ),
        "rho": Key(kind=_NUMBER, meaning="In place of epsilon: rho of zero-concentrated privacy."),
        "order": Key(
            kind=records.number("> 1 and finite", above=1.0),
            meaning="A Renyi order > 1, for claims about one order.",
        ),
        "bound": Key(kind=records.text(), meaning="Id of the formula that the number comes from."),
        "conversion": Key(
            kind=records.choice(CONVERSIONS),
            meaning="The conversion used, where it is not the formula's own.",
        ),
        "parameters": Key(
            kind=records.table("[claim.parameters]"),
            meaning="The mechanism's own parameters.",
            default=MappingProxyType({}),
        ),
        "missing": Key(kind=records.texts(), meaning="What the source does not give.", default=()),
        "scenario": Key(
            kind=ValueKind(_tables, {"type": "array", "items": {"$ref": "#/definitions/scenario"}}),
            meaning="Ways to complete what is missing.",
            default=(),
        ),
        "unknown": Key(
            kind=records.table("[claim.unknown]", {"allOf": [{"$ref": "#/definitions/unknown"}]}),
            meaning="Which values of what is missing are looked at: where the claim would be true.",
        ),
        "notes": Key(kind=records.texts(), meaning="Remarks, printed with the result.", default=()),
        "release": Key(
            kind=records.text(),
            meaning="The manifest (JSON) of a release, relative to this file: instead of mechanism "
            "and parameters.",
        ),
        "certificate": Key(
            kind=records.text(),
            meaning="A certificate of the claim (JSON), relative to this file; an audit checks it.",
        ),
        "code": Key(
            kind=records.table("[claim.code]", {"allOf": [{"$ref": "#/definitions/code"}]}),
            meaning="The code that the claim is about. It runs only if the user allows it.",
        ),
        "training": Key(
            kind=records.table("[claim.training]", {"allOf": [{"$ref": "#/definitions/training"}]}),
            meaning="The training that the claim is about. It runs only if the user allows it.",
        ),
    }
)
"""The keys of a ``[[claim]]``."""

__all__ = [
    "CLAIM_KEYS",
    "CODE_KEYS",
    "CONVERSIONS",
    "FORMAT",
    "KINDS",
    "QUANTITIES",
    "SCENARIO_KEYS",
    "TRAINING_KEYS",
    "UNKNOWN_KEYS",
    "UNMODELLED",
    "WORK_KEYS",
]
