"""Types of options that commands share: names, lists of numbers, and adjacency.

Nothing heavy is imported here, so that a command can print its help at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from rdpkit.adjacency import Adjacency
from rdpkit.formats.records import did_you_mean

# Only recent versions of click know that this class is generic.
if TYPE_CHECKING:
    _Type = click.ParamType[Any]
else:
    _Type = click.ParamType


def dashed(name: str) -> str:
    """A name as the command line spells it; underscores are accepted as well."""
    return name.replace("_", "-")


class NameType(_Type):
    """One of a few names, with dashes or underscores.

    Parameters
    ----------
    kind : str
        What is named, for the help.
    known : dict of str to str
        The library's spelling of each name that is accepted.
    shown : int, optional
        How many of the names the help shows; by default all.
    """

    def __init__(self, kind: str, known: dict[str, str], shown: int | None = None) -> None:
        self.name = kind
        self._known = {dashed(name): value for name, value in known.items()}
        self._shown = list(self._known)[:shown]

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """The names."""
        return "[" + "|".join(self._shown) + "]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name as the library spells it."""
        text = dashed(str(value).strip())
        if text not in self._known:
            hint = did_you_mean(text, self._known)
            self.fail(f"{value!r} is not one of {', '.join(self._known)}.{hint}", param, ctx)
        return self._known[text]


class ListType(_Type):
    """Numbers with commas between them.

    Parameters
    ----------
    read : callable
        Reads one item: int or float.
    one_for_all : bool
        Whether a single number may stand for a list of equal ones.
    """

    def __init__(self, read: Callable[[str], float], *, one_for_all: bool = False) -> None:
        self._read = read
        self._one_for_all = one_for_all
        self.name = "N,N,..." if read is int else "X,X,..."

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """What a list looks like."""
        return self.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The numbers, or the one number for all."""
        if not isinstance(value, str):
            return value
        try:
            found = [self._read(item) for item in value.split(",")]
        except ValueError:
            like = "integers like 10,20,30" if self._read is int else "numbers like 1.5,2,4"
            self.fail(f"{value!r} is not a list of {like}", param, ctx)
        return found[0] if self._one_for_all and len(found) == 1 else found


ADJACENCY = NameType(
    "adjacency",
    {
        **{member.value: member.value for member in Adjacency},
        "add_remove": Adjacency.ADD_OR_REMOVE_ONE.value,
        "replace": Adjacency.REPLACE_ONE.value,
    },
    shown=len(Adjacency),
)
"""A neighbouring relation: add-or-remove-one or replace-one, or in short add-remove or replace."""

__all__ = ["ADJACENCY", "ListType", "NameType", "dashed"]
