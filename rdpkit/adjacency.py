"""When two data sets count as neighbours."""

from __future__ import annotations

from enum import StrEnum
from typing import Any


class Adjacency(StrEnum):
    """The neighbouring relation that a guarantee is for. No function has a default for it.

    ``ADD_OR_REMOVE_ONE`` ("unbounded"): one data set has one record more than the other.
    ``REPLACE_ONE`` ("bounded"): equal sizes, and one record (features and label) differs.
    """

    ADD_OR_REMOVE_ONE = "add_or_remove_one"
    REPLACE_ONE = "replace_one"

    @classmethod
    def _missing_(cls, value: object) -> Adjacency:
        """Raise an error that says what is accepted."""
        _checked(value, "adjacency")
        raise AssertionError("A member's value was not recognised.")  # pragma: no cover

    @classmethod
    def parse(cls, value: Any, *, name: str = "adjacency") -> Adjacency:
        """Return the member for ``value``: a member, or its string.

        Raises
        ------
        ValueError
            If ``value`` is neither.
        """
        if isinstance(value, cls):
            return value
        return cls(_checked(value, name))


def _checked(value: object, name: str) -> str:
    # Imported here because it loads numpy, which help texts can do without.
    from rdpkit import _validate  # noqa: PLC0415

    return _validate.choice(name, value, [member.value for member in Adjacency])
