"""Options of a mechanism as a manifest states them."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any


def as_parameters(options: Any) -> dict[str, Any]:
    """Options as one flat mapping, of which a specification makes the same options again.

    Manifests state them in this form. Each number has the type that its field declares: where a
    user wrote 1 for a float, the mapping has 1.0.
    """
    found: dict[str, Any] = {}
    for one in fields(options):
        value = getattr(options, one.name)
        if is_dataclass(value):
            found |= as_parameters(value)
        else:
            kind = {"float": float, "int": int}.get(str(one.type))
            found[one.name] = value if kind is None else kind(value)
    return found
