"""The libraries: what they are called, how to import them, and their quirks."""

# ruff: noqa: PLC0415  (libraries are imported when they are used, so that one may be missing)

from __future__ import annotations

import dataclasses
import functools
import gc
import importlib
import importlib.metadata
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


def version_of(distribution: str) -> str:
    """The installed version; empty if there is none."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """A library as users install and import it."""

    name: str
    module: str

    @property
    def version(self) -> str:
        """The installed version; empty if it is not installed."""
        if self.name == "rdpkit":
            from rdpkit import __version__

            return __version__
        return version_of(self.name)

    def load(self, submodule: str = "") -> Any:
        """The library's module, or one inside of it."""
        name = f"{self.module}.{submodule}" if submodule else self.module
        if self.module == "opake.accounting":
            with _weak_references_in_slots():
                return importlib.import_module(name)
        return importlib.import_module(name)


LIBRARIES = {
    library.name: library
    for library in (
        Library(name="rdpkit", module="rdpkit"),
        Library(name="dp-accounting", module="dp_accounting"),
        Library(name="opacus", module="opacus.accountants"),
        Library(name="autodp", module="autodp"),
        Library(name="prv-accountant", module="prv_accountant"),
        Library(name="opake-accounting", module="opake.accounting"),
        Library(name="dp-accelerator", module="dp_accelerator"),
    )
}


@contextmanager
def _weak_references_in_slots() -> Iterator[None]:
    """Let opake-accounting 0.16.1 import on early releases of Python 3.11.

    Its slotted dataclasses ask for a ``__weakref__`` slot that their base class has already. Later
    releases of ``dataclasses`` leave the second one out; here the earlier ones do so too.
    """
    original = getattr(dataclasses, "_get_slots", None)
    if original is None:  # not the dataclasses we know: import without help
        yield
        return

    def slots(cls: type) -> Iterator[str]:
        yield from original(cls)
        if "__slots__" not in cls.__dict__ and getattr(cls, "__weakrefoffset__", None):
            yield "__weakref__"

    setattr(dataclasses, "_get_slots", slots)  # noqa: B010  (not in the module's stubs)
    try:
        yield
    finally:
        setattr(dataclasses, "_get_slots", original)  # noqa: B010


@contextmanager
def quiet() -> Iterator[None]:
    """No warnings and no logging, which would be timed and would hide the table."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def cached_functions(library: Library) -> list[Any]:
    """The functions of a library whose results ``functools`` keeps."""
    top = library.module.partition(".")[0]
    return [
        found
        for found in gc.get_objects()
        if type(found) is functools._lru_cache_wrapper  # isinstance would wake lazy objects
        and (getattr(found, "__module__", None) or "").partition(".")[0] == top
    ]
