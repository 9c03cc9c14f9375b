"""When two data sets count as neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from rdpkit.formats.records import did_you_mean


class Adjacency(StrEnum):
    """The neighbouring relation that a guarantee is for. No function has a default for it.

    ``ADD_OR_REMOVE_ONE`` ("unbounded"): one data set has one record more than the other.
    ``REPLACE_ONE`` ("bounded"): equal sizes, and one record (features and label) differs.
    ``ZERO_OUT``: equal sizes, and one record is replaced by a special one that contributes nothing:
    its vector is zero, and it is in no class.
    """

    ADD_OR_REMOVE_ONE = "add_or_remove_one"
    REPLACE_ONE = "replace_one"
    ZERO_OUT = "zero_out"

    @property
    def dashed(self) -> str:
        """As texts for people spell it, and the command line."""
        return self.value.replace("_", "-")

    @classmethod
    def _missing_(cls, value: object) -> Adjacency:
        """The member for another spelling of its name."""
        return cls.parse(value)

    @classmethod
    def parse(cls, value: Any, *, name: str = "adjacency") -> Adjacency:
        """Return the member for ``value``: a member, its string, or one of :data:`SPELLINGS`.

        Raises
        ------
        ValueError
            If ``value`` is none of these; the message says what is accepted.
        """
        if isinstance(value, cls):
            return value
        if isinstance(value, str) and value in SPELLINGS:
            return SPELLINGS[value]
        raise _unknown(value, name)


# Other names of the same relations. Each may be written with dashes or underscores.
_ALSO_CALLED: Mapping[Adjacency, tuple[str, ...]] = {
    Adjacency.ADD_OR_REMOVE_ONE: ("add_or_remove", "add_remove", "add_remove_one"),
    Adjacency.REPLACE_ONE: ("replace", "substitute_one", "substitute"),
    Adjacency.ZERO_OUT: ("replace_special",),
}

MEANINGS: Mapping[Adjacency, str] = MappingProxyType(
    {
        Adjacency.ADD_OR_REMOVE_ONE: "one data set has one record more",
        Adjacency.REPLACE_ONE: "one record differs",
        Adjacency.ZERO_OUT: "one record becomes a special one that contributes nothing",
    }
)
"""Each relation in a few words, for errors and help."""

SPELLINGS: Mapping[str, Adjacency] = MappingProxyType(
    {
        spelling: member
        for member in Adjacency
        for name in (member.value, *_ALSO_CALLED.get(member, ()))
        for spelling in (name, name.replace("_", "-"))
    }
    | {member.name: member for member in Adjacency}
)
"""Every spelling that is accepted, in Python, in claims files and on the command line."""

NO_DEFAULT = "there is no default, because one noise protects differently under each"
"""Why an adjacency has to be named."""


def choices() -> str:
    """The relations and what they mean, in words, for errors."""
    words = [f'"{member.value}" ({MEANINGS[member]})' for member in Adjacency]
    return ", ".join(words[:-1]) + " or " + words[-1]


def needed() -> str:
    """What to say where no adjacency is given."""
    return f"adjacency is {choices()}; {NO_DEFAULT}"


def advice(value: object) -> str:
    """What to say behind an error about a relation that is not known."""
    if isinstance(value, str) and value.strip().lower() in ("bounded", "unbounded"):
        # Neither word says what a neighbour is, and the number for the wrong one may be too small.
        return (
            " Papers mean by unbounded that one record is added or removed, and by bounded that "
            "one is replaced: please name the relation itself."
        )
    return did_you_mean(value, SPELLINGS)


def _unknown(value: object, name: str) -> ValueError:
    # Imported here because it loads numpy, which help texts can do without.
    from rdpkit import _validate  # noqa: PLC0415

    accepted = ", ".join(repr(member.value) for member in Adjacency)
    return ValueError(f"{_validate.fail(name, f'to be one of {accepted}', value)}{advice(value)}")


ORDINARY = (Adjacency.ADD_OR_REMOVE_ONE, Adjacency.REPLACE_ONE)
"""The relations between data sets of ordinary records, in which no record is special."""


def ordinary(adjacency: Adjacency, *, because: str) -> Adjacency:
    """The relation, if it is one of :data:`ORDINARY`."""
    if adjacency in ORDINARY:
        return adjacency
    names = " or ".join(repr(member.value) for member in ORDINARY)
    raise ValueError(f"Expected adjacency to be {names}, got {adjacency.value!r}: {because}.")
