"""Certificates as a JSON Schema; the checker itself reads no schema, and refuses more.

The kinds of releases and their fields are those of the checker, so that the two cannot differ. A
schema cannot say that a claim is true, that its hash is right, or that numbers fit together.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_KERNEL = "rdpkit.kernel."
_NUMBER = {"$ref": "#/definitions/number"}
_RELEASE = {"$ref": "#/definitions/release"}
_COUNT = {"type": "integer", "minimum": 1, "maximum": 10**9}
_SPECIAL: dict[str, dict[str, Any]] = {
    "release": _RELEASE,
    "releases": {"type": "array", "minItems": 1, "maxItems": 64, "items": _RELEASE},
    "record-may-move": {"type": "boolean"},
    "positions": {"type": "array", "minItems": 1, "maxItems": 50, "items": _NUMBER},
    "weights": {"type": "array", "minItems": 1, "maxItems": 50, "items": _NUMBER},
    "distance": {"anyOf": [_NUMBER, _COUNT]},
}


def certificate_schema() -> dict[str, Any]:  # ``$id`` names the format of certificates
    """The schema of certificates, as plain values."""
    releases, checking = import_module(_KERNEL + "releases"), import_module(_KERNEL + "checking")
    field = {**dict.fromkeys(releases.WHOLE, _COUNT), **_SPECIAL}
    says = {one: ("order",) if one.startswith("divergence") else () for one in checking.SAYS}
    says |= dict.fromkeys(("at most", "exceeded"), ("delta",))
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": f"urn:rdpkit:certificate:{checking.FORMAT}",
        "title": "A certificate of a privacy claim",
        **_table(
            format={"const": checking.FORMAT},
            about={"description": "Names for people; nothing is concluded from them."},
            claim={"oneOf": [_claim(one, names, releases) for one, names in says.items()]},
            sha256={"type": "string", "pattern": "^[0-9a-f]{64}$"},
            hints={"type": "object", "description": "How to check it; a wrong one can only fail."},
        ),
        "definitions": {
            "number": {"type": "string", "pattern": f"^{releases.NUMBER.pattern}$"},
            "release": {
                "oneOf": [
                    _table(
                        kind={"const": kind, "description": theorem},
                        **{name: field.get(name, _NUMBER) for name in names.split()},
                    )
                    for kind, (names, theorem) in releases.KINDS.items()
                ]
            },
        },
    }


def _claim(says: str, others: tuple[str, ...], releases: Any) -> dict[str, Any]:
    return _table(
        says={"const": says},
        relation={"enum": list(releases.RECORDS)},
        release=_RELEASE,
        **dict.fromkeys(("epsilon", *others), _NUMBER),
    )


def _table(**properties: dict[str, Any]) -> dict[str, Any]:
    """An object with these fields, all of which are needed, and no others."""
    required = {"type": "object", "additionalProperties": False, "required": list(properties)}
    return {**required, "properties": properties}
