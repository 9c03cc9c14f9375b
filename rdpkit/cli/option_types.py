"""Types of options that commands share: names, numbers, lists, adjacency; what shells complete."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from rdpkit.adjacency import MEANINGS, NO_DEFAULT, SPELLINGS, Adjacency, advice
from rdpkit.formats.records import did_you_mean

# Only recent versions of click know that this class is generic.
if TYPE_CHECKING:
    _Type = click.ParamType[Any]
else:
    _Type = click.ParamType

_LONGEST, _LARGEST_EXPONENT = 100, 330
# So many names fit into the line of an error.
_LISTED = 12
# Integers up to this many digits may be written like 1e6.
_MOST_DIGITS = 18


# What commands ask about; a parameter of an event with such a name needs another option.
_QUESTIONS = ("epsilon", "delta")


def option_name(parameter: str) -> str:
    """What an option, or a column of a sweep, is called that gives a parameter of an event."""
    return f"event_{parameter}" if parameter in _QUESTIONS else parameter


def parameter_name(option: str) -> str:
    """The parameter that an option of that name gives."""
    name = option.removeprefix("event_")
    return name if name in _QUESTIONS else option


def dashed(name: str) -> str:
    """A name as the command line spells it; underscores are accepted as well."""
    return name.replace("_", "-")


def completions(names: Iterable[str], begun: str) -> list[CompletionItem]:
    """The names that a shell offers for a word that has begun."""
    return [CompletionItem(name) for name in names if name.startswith(begun)]


class UnknownName(click.BadParameter):
    """A name that is none of many: help for it lists all of them on lines of their own."""

    def __init__(
        self,
        message: str,
        names: Iterable[str],
        ctx: click.Context | None,
        param: click.Parameter | None = None,
    ) -> None:
        super().__init__(message, ctx, param)
        self.names = names

    def format_message(self) -> str:
        """As in click; what is no option has a whole sentence already."""
        return self.message if self.param is None else super().format_message()


class NameType(_Type):
    """One of a few names, with dashes or underscores."""

    def __init__(
        self,
        kind: str,  # What is named, for the help
        known: dict[str, str],  # The library's spelling of each name that is accepted
        shown: int | None = None,  # How many of the names the help shows; by default all
    ) -> None:
        self.name = kind
        self._known = {dashed(name): value for name, value in known.items()}
        self._shown = list(self._known)[:shown]

    @classmethod
    def of(cls, kind: str, names: Iterable[str]) -> NameType:
        """One of these names, as they stand."""
        return cls(kind, {name: name for name in names})

    @property
    def names(self) -> list[str]:
        """All names, with dashes."""
        return list(self._known)

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """The names."""
        return "[" + "|".join(self._shown) + "]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name as the library spells it."""
        text = dashed(str(value).strip())
        if text not in self._known:
            hint = did_you_mean(text, self._known)
            if len(self._known) > _LISTED:
                words = f"{value!r} is not a {self.name}.{hint}"
                raise UnknownName(words, self._known, ctx, param)
            self.fail(f"{value!r} is not one of {', '.join(self._known)}.{hint}", param, ctx)
        return self._known[text]

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The names that begin so."""
        return completions(self._shown, dashed(incomplete))


class AdjacencyType(NameType):
    """A neighbouring relation, in any of the spellings that the library accepts."""

    def __init__(self) -> None:
        super().__init__("adjacency", {member.value: member.value for member in Adjacency})

    def get_missing_message(
        self, param: click.Parameter, ctx: click.Context | None = None
    ) -> str | None:
        """What there is to choose from."""
        words = [f"{dashed(member.value)} ({MEANINGS[member]})" for member in Adjacency]
        return f"Choose {', '.join(words[:-1])} or {words[-1]}; {NO_DEFAULT}."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The relation as the library spells it."""
        text = str(value).strip()
        found = SPELLINGS.get(text) or SPELLINGS.get(text.lower())
        if found is None:
            known = ", ".join(self.names)
            self.fail(f"{value!r} is not one of {known}.{dashed(advice(text))}", param, ctx)
        return found.value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The relations that begin so, each with its meaning."""
        found = super().shell_complete(ctx, param, incomplete)
        return [CompletionItem(x.value, help=MEANINGS[Adjacency.parse(x.value)]) for x in found]


class ReadType(_Type):
    """What a function reads from a word; it raises ValueError if it cannot."""

    def __init__(
        self,
        name: str,  # What the help shows
        read: Callable[[Any], Any],
        what: str,  # What is expected, for errors
    ) -> None:
        self.name = name
        self._read = read
        self._what = what

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """What the function reads."""
        try:
            return self._read(value)
        except ValueError:
            self.fail(f"{value!r} is not {self._what}", param, ctx)


def number(value: Any) -> float:
    """The number that a word stands for: a decimal, or a fraction of two of them."""
    if not isinstance(value, str) or "/" not in value:
        return float(value)
    parts = [part.strip() for part in value.partition("/")[::2]]
    # Powers of ten that no float holds would take long to write out.
    for part in parts:
        if not math.isfinite(float(part)) or len(part) > _LONGEST:
            raise ValueError(value)
        if abs(Decimal(part).adjusted()) > _LARGEST_EXPONENT:
            raise ValueError(value)
    try:
        return float(Fraction(parts[0]) / Fraction(parts[1]))
    except (ZeroDivisionError, OverflowError):
        raise ValueError(value) from None


def integer(value: Any) -> int:
    """The integer that a word stands for; one with an exponent has to be whole."""
    if not isinstance(value, str):
        return int(value)
    try:
        return int(value)
    except ValueError:
        exact = Decimal("NaN")
        with suppress(ArithmeticError):
            exact = Decimal(value)
        if not exact.is_finite() or exact.adjusted() > _MOST_DIGITS or exact != exact // 1:
            raise
        return int(exact)


def list_of(
    kind: type[int] | type[float],
    *,
    one_for_all: bool = False,  # Whether a single number may stand for a list of equal ones
) -> ReadType:
    """The type of numbers with commas between them."""
    one: Callable[[str], float] = integer if kind is int else number

    def read(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        found = [one(item) for item in value.split(",")]
        return found[0] if one_for_all and len(found) == 1 else found

    if kind is int:
        return ReadType("N,N,...", read, "a list of integers like 10,20,30")
    return ReadType("X,X,...", read, "a list of numbers like 1.5,2,4")


ADJACENCY = AdjacencyType()
"""A neighbouring relation: add-or-remove-one or replace-one, or in short add-remove or replace."""

NUMBER = ReadType("float", number, "a valid float, like 0.01, 1e-5 or 256/60000")
"""A number; a fraction like 256/60000 is one as well."""

INTEGER = ReadType("integer", integer, "a valid integer, like 10000 or 1e4")
"""An integer; 10_000 and 1e4 are integers as well."""

FILE = click.Path(path_type=Path, dir_okay=False)
"""The path of a file."""

FOLDER = click.Path(path_type=Path, file_okay=False)
"""The path of a folder."""


Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def names_of(
    # The names. What it raises is no concern of somebody who is still typing.
    known: Callable[[click.Context], Iterable[str]],
    *,
    files: str = "",  # The ending of files that are accepted as well, like ".toml"
) -> Completer:
    """A completer for an option or an argument that takes one of some names."""

    def complete(
        ctx: click.Context, parameter: click.Parameter, begun: str
    ) -> list[CompletionItem]:
        try:
            found = completions(known(ctx), begun)
        except Exception:
            found = []
        return [*found, *(_files(begun, files) if files else [])]

    return complete


def _files(begun: str, ending: str) -> list[CompletionItem]:
    """Files with an ending, and folders, whose paths begin so."""
    folder = Path(begun).parent if begun and not begun.endswith("/") else Path(begun or ".")
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return []
    shown = [f"{one}/" if one.is_dir() else str(one) for one in entries]
    return completions((one for one in shown if one.endswith(("/", ending))), begun)


def bounds_of_event(ctx: click.Context) -> list[str]:
    """The ids that ``--bound`` takes for the event of a command."""
    # Imported here because a command that only prints its help needs no theorem.
    from rdpkit import analysis  # noqa: PLC0415
    from rdpkit.accountants.loss_distributions import LOWER_ID, UPPER_ID  # noqa: PLC0415
    from rdpkit.bounds import BOUNDS  # noqa: PLC0415
    from rdpkit.events import MECHANISMS, Event  # noqa: PLC0415
    from rdpkit.formats.tables import mechanism_name  # noqa: PLC0415

    kind = MECHANISMS.get(mechanism_name(ctx.info_name or ""))
    # What an event is made of is known only when its parameters are, so that all bounds may apply.
    primitive = kind is not None and kind.expand is Event.expand
    ids = [bound.id for bound in BOUNDS if not primitive or bound.event_type is kind]
    everywhere = (analysis.BEST, analysis.BEST_RDP, UPPER_ID, LOWER_ID)
    return list(dict.fromkeys([*everywhere, *ids]))


def parameters_of_event(ctx: click.Context) -> list[str]:
    """The parameters of the event of a command that calibration may choose."""
    from rdpkit.events import MECHANISMS, parameters_of  # noqa: PLC0415 - as above
    from rdpkit.formats.tables import mechanism_name  # noqa: PLC0415

    kind = MECHANISMS.get(mechanism_name(ctx.info_name or ""))
    if kind is None:
        return []
    numbers = ("number", "integer", "integers")
    return [*(one.name for one in parameters_of(kind) if one.kind in numbers), "count"]
