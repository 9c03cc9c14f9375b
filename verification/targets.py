"""What is verified: a mechanism of the zoo by its name, or anybody's ``module:callable``.

A ``module:callable`` is code that the user names, and naming it is what runs it: it is imported
from the current directory or wherever Python finds it, and called. Nothing else is ever imported
or executed; data sets are read without pickle.
"""

from __future__ import annotations

import functools
import importlib
import operator
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rdpkit import _validate
from verification.zoo import ENTRIES, FIXED, Entry, names

Mechanism = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A mechanism that can be found again in another process.

    Parameters
    ----------
    name : str
        As the user gave it; for a callable that was handed in, its own name.
    directory : str or None
        Where modules are looked for first; None: nowhere but on Python's path.
    handed_in : callable or None
        The mechanism itself, where it has no name that could be looked up.
    """

    name: str
    directory: str | None = None
    handed_in: Mechanism | None = None

    @property
    def entry(self) -> Entry | None:
        """The zoo's entry of that name."""
        return ENTRIES.get(self.name.removesuffix(FIXED)) if self.handed_in is None else None

    @property
    def has_name(self) -> bool:
        """Whether another process finds it by its name."""
        return self.handed_in is None

    def mechanism(self) -> Mechanism:
        """The callable.

        Raises
        ------
        ValueError
            If there is none of that name; the message says why.
        """
        if self.handed_in is not None:
            return self.handed_in
        entry = self.entry
        if entry is not None:
            return entry.fixed if self.name.endswith(FIXED) else entry.broken
        return _imported(self.name, self.directory)


def target(what: str | Mechanism | Target) -> Target:
    """What is to be verified.

    Parameters
    ----------
    what : str, callable or Target
        A name of the zoo, ``module:callable``, or the mechanism itself, called as
        ``mechanism(dataset, rng)``.

    Raises
    ------
    ValueError
        If there is no such thing, or it cannot be called.
    """
    if isinstance(what, Target):
        return what
    if isinstance(what, str):
        found = Target(name=what, directory=None if ":" not in what else os.getcwd())
        found.mechanism()
        return found
    if not callable(what):
        raise _validate.fail("target", "to be a name or a callable", what)
    return Target(name=getattr(what, "__qualname__", type(what).__qualname__), handed_in=what)


@functools.lru_cache(maxsize=32)
def _imported(name: str, directory: str | None) -> Mechanism:
    module_name, separator, path = name.partition(":")
    if not separator or not module_name or not path:
        raise _validate.fail(
            "TARGET",
            "to be module:callable, or one of " + ", ".join(names()),
            name,
        )
    if directory is not None and directory not in sys.path:
        sys.path.insert(0, directory)
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise ValueError(
            f"{name}: the module {module_name!r} could not be imported: "
            f"{type(error).__name__}: {error}"
        ) from error
    try:
        found = operator.attrgetter(path)(module)
    except AttributeError:
        raise ValueError(f"{name}: the module {module_name!r} has no {path!r}.") from None
    if not callable(found):
        raise ValueError(f"{name}: expected a callable (dataset, rng), got {found!r:.100}.")
    return found  # type: ignore[no-any-return]


__all__ = ["Mechanism", "Target", "target"]
