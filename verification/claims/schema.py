"""The formats of claims and of certificates as JSON Schemas, with which editors complete keys.

That of claims is made from the descriptions that files are checked against when they are read.
Whatever :func:`rdpkit.verification.claims.reading.loads` accepts follows the schema. The reverse
does not hold: a schema cannot say, for example, that one parameter must be smaller than another.

The kinds of releases in certificates and their fields are those of the checker, so that the two
cannot differ. It reads no schema, and refuses more: a schema cannot say that a claim is true, that
its hash is right, or that numbers fit together.
"""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

from rdpkit.adjacency import SPELLINGS, Adjacency
from rdpkit.events import MECHANISMS, Parameter, parameters_of
from rdpkit.formats.records import table_schema
from rdpkit.verification.claims.format import (
    CLAIM_KEYS,
    CODE_KEYS,
    FORMAT,
    QUANTITIES,
    SCENARIO_KEYS,
    TRAINING_KEYS,
    WORK_KEYS,
)
from rdpkit.verification.claims.unknown import UNKNOWN_KEYS

DIALECT = "http://json-schema.org/draft-07/schema#"
"""The dialect that editors of TOML understand."""

_Table = dict[str, Any]
# Keys of a test of code that say which data sets it is made on.
_OF_PAIRS = ("dimension", "records", "record_norm")


def claims_schema() -> _Table:  # ``$id`` names the version of the format
    """The schema, as plain values."""
    return {
        "$schema": DIALECT,
        "$id": f"urn:rdpkit:claims:{FORMAT}",
        "title": f"rdpkit claims, format {FORMAT}",
        "description": "Privacy claims: printed budgets with their parameters.",
        "type": "object",
        "required": ["claim"],
        "additionalProperties": False,
        "properties": {
            "format": {"const": FORMAT, "description": "The version of the format."},
            "work": {
                **table_schema(WORK_KEYS),
                "description": "What all claims of the file were printed in.",
            },
            "claim": {
                "type": "array",
                "minItems": 1,
                "items": {"$ref": "#/definitions/claim"},
            },
        },
        "definitions": {
            "claim": _claim(),
            "scenario": table_schema(SCENARIO_KEYS),
            "unknown": {
                **table_schema(UNKNOWN_KEYS),
                "oneOf": [{"required": ["none"], "maxProperties": 1}, {"required": ["search"]}],
                "dependencies": {"meets": ["calibrated"], "calibrated": ["meets"]},
            },
            "code": {
                **table_schema(CODE_KEYS),
                "if": _is("neighbours", "own"),
                "then": {"not": {"anyOf": [{"required": [key]} for key in _OF_PAIRS]}},
            },
            "training": table_schema(TRAINING_KEYS),
            "event": {
                "type": "object",
                "required": ["mechanism"],
                "properties": {"mechanism": {"enum": sorted(MECHANISMS)}},
                "allOf": [
                    {
                        "if": {"properties": {"mechanism": {"const": name}}},
                        "then": _parameters(name, {"mechanism": {"const": name}}, complete=True),
                    }
                    for name in MECHANISMS
                ],
            },
        },
    }


def schema_text(schema: _Table) -> str:
    """A schema as the text of a JSON file."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _claim() -> _Table:
    table = table_schema(CLAIM_KEYS)
    complete = {"not": {"required": ["missing"], "properties": {"missing": {"minItems": 1}}}}
    table["allOf"] = [
        # A release brings its mechanism and parameters along.
        {
            "if": {"required": ["release"]},
            "then": {
                "not": {"anyOf": [{"required": [k]} for k in ("parameters", "missing", "scenario")]}
            },
            "else": {"required": ["mechanism"]},
        },
        {"if": complete, "then": {"oneOf": [{"required": [name]} for name in QUANTITIES]}},
        {
            "if": {"allOf": [complete, {"required": ["epsilon"]}]},
            "then": {"anyOf": [{"required": ["delta"]}, {"required": ["order"]}]},
        },
        {"if": {"required": ["tpr"]}, "then": {"required": ["fpr"]}},
        *(
            {
                "if": _is("mechanism", name),
                "then": {"properties": {"parameters": _parameters(name, {}, complete=False)}},
            }
            for name in MECHANISMS
        ),
        *(
            {
                "if": {
                    **_is("mechanism", name),
                    "not": complete["not"],
                    "allOf": [{"not": {"required": ["release"]}}],
                },
                "then": {
                    "properties": {"parameters": {"required": _required(name)}},
                    **({"required": ["parameters"]} if _required(name) else {}),
                },
            }
            for name in MECHANISMS
        ),
    ]
    return table


def _is(key: str, value: str) -> _Table:
    return {"required": [key], "properties": {key: {"const": value}}}


def _required(mechanism: str) -> list[str]:
    return [p.name for p in parameters_of(MECHANISMS[mechanism]) if p.required]


def _parameters(mechanism: str, others: _Table, *, complete: bool) -> _Table:
    found = parameters_of(MECHANISMS[mechanism])
    table: _Table = {
        "additionalProperties": False,
        "properties": {**others, **{p.name: _parameter(p) for p in found}},
    }
    if complete:
        table["required"] = [*others, *_required(mechanism)]
    return table


def _parameter(parameter: Parameter) -> _Table:
    number = {"type": "number"}
    integer = {"type": "integer"}
    match parameter.kind:
        case "integer":
            schema: _Table = integer
        case "number":
            schema = number
        case "integers":
            several = {"type": "array", "minItems": 1, "items": integer}
            schema = {"anyOf": [integer, several]} if parameter.one_for_all else several
        case "numbers":
            schema = {"type": "array", "items": number}
        case "choice":
            # A relation may be spelled in several ways.
            relation = parameter.choices == tuple(Adjacency)
            schema = {"enum": list(SPELLINGS if relation else parameter.choices)}
        case "flag":
            schema = {"type": "boolean"}
        case "event":
            schema = {"allOf": [{"$ref": "#/definitions/event"}]}
        case "events":
            schema = {"type": "array", "items": {"$ref": "#/definitions/event"}}
    return {**schema, "description": parameter.text or parameter.describe()}


_NUMBER = {"$ref": "#/definitions/number"}
_RELEASE = {"$ref": "#/definitions/release"}
_PARTS = {"type": "array", "minItems": 1, "maxItems": 64}
_COUNT = {"type": "integer", "minimum": 1, "maximum": 10**9}
_PAIRS = {
    "type": "array",
    "minItems": 1,
    "maxItems": 50,
    "items": {"type": "array", "minItems": 2, "maxItems": 2, "items": _NUMBER},
}


def certificate_schema() -> _Table:  # ``$id`` names the format of certificates
    """The schema of certificates, as plain values."""
    kernel, releases = import_module("rdpkit.kernel"), import_module("rdpkit.kernel.releases")
    field = {**dict.fromkeys(releases.WHOLE, _COUNT), "parts": _PAIRS}
    return {
        "$schema": DIALECT,
        "$id": f"urn:rdpkit:certificate:{kernel.FORMAT}",
        "title": "A certificate of a privacy claim",
        **_table(
            format={"const": kernel.FORMAT},
            about={"description": "Names for people; nothing is concluded from them."},
            claim={"oneOf": [_claimed(one, releases) for one in (*releases.ABOUT, "")]},
            sha256={"type": "string", "pattern": "^[0-9a-f]{64}$"},
            hints={"type": "object", "description": "How to check it; a wrong one can only fail."},
        ),
        "definitions": {
            "number": {"type": "string", "pattern": f"^{releases.NUMBER.pattern}$"},
            "release": {
                "oneOf": [
                    _table(
                        kind={"const": kind, "description": theorem},
                        **{
                            name: field.get(name, _NUMBER)
                            for name in ("count", "rate", *names.split())
                        },
                    )
                    for kind, (names, theorem, *_) in releases.KINDS.items()
                ]
            },
        },
    }


def _claimed(measure: str, releases: Any) -> _Table:
    return _table(
        says={"enum": list(releases.SAYS)},
        relation={"enum": list(releases.RECORDS)},
        release={**_PARTS, "items": {**_PARTS, "items": _RELEASE}},
        **dict.fromkeys(("epsilon", *measure.split()), _NUMBER),
    )


def _table(**properties: _Table) -> _Table:
    """An object with these fields, all of which are needed, and no others."""
    required = {"type": "object", "additionalProperties": False, "required": list(properties)}
    return {**required, "properties": properties}
