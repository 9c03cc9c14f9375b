"""Tables of a TOML file, taken apart with errors that name the file, the key and the value."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rdpkit import _validate


class TomlTable:
    """A table whose keys are taken one by one; a key that nobody took is an error.

    Parameters
    ----------
    values : mapping
        The table.
    where : str
        The file and the table's place in it, for errors.
    """

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self.values = dict(values)
        self.where = where
        self._taken: set[str] = set()

    @classmethod
    def of_file(cls, path: Path) -> TomlTable:
        """The top of a file.

        Raises
        ------
        ValueError
            If the file is not TOML.
        OSError
            If it cannot be read.
        """
        try:
            return cls(tomllib.loads(path.read_bytes().decode()), str(path))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{path}: not a TOML file: {error}.") from None

    def fail(self, key: str, condition: str, value: Any) -> ValueError:
        """An error about one key."""
        return ValueError(f"{self.where}: {_validate.fail(key, condition, value)}")

    def take(self, key: str, kind: type | tuple[type, ...], default: Any = ...) -> Any:
        """The value of a key, of one of some types; an integer may stand for a number.

        Raises
        ------
        ValueError
            If it has another type, or is missing and has no default.
        """
        self._taken.add(key)
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if key not in self.values:
            if default is ...:
                raise ValueError(f"{self.where}: Expected the key {key}, which is missing.")
            return default
        value = self.values[key]
        if isinstance(value, int) and not isinstance(value, bool) and float in kinds:
            return value if int in kinds else float(value)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            names = " or ".join(_TYPES.get(k, k.__name__) for k in kinds)
            raise self.fail(key, f"to be {names}", value)
        return value

    def table(self, key: str, *, required: bool = False) -> TomlTable:
        """The table under a key, or an empty one."""
        values = self.take(key, dict, ... if required else {})
        return TomlTable(values, f"{self.where}: [{key}]")

    def rest(self) -> dict[str, Any]:
        """All keys that nobody took yet, taken now."""
        rest = {key: value for key, value in self.values.items() if key not in self._taken}
        self._taken |= rest.keys()
        return rest

    def finish(self, accepted: Iterable[str] = ()) -> None:
        """Raise about the first key that nobody took.

        Raises
        ------
        ValueError
            If there is one.
        """
        for key in self.values:
            if key not in self._taken:
                known = ", ".join(sorted({*accepted, *self._taken}))
                raise ValueError(f"{self.where}: unknown key {key!r}; accepted: {known}.")


_TYPES = {
    dict: "a table",
    list: "a list",
    str: "a string",
    int: "an integer",
    float: "a number",
    bool: "true or false",
}
