"""Certificates as a JSON Schema; the checker itself reads no schema, and refuses more.

The kinds of releases and their fields are those of the checker, so that the two cannot differ. A
schema cannot say that a claim is true, that its hash is right, or that numbers fit together.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

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
