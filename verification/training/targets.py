"""Which training is meant: by the name of code, by that of the zoo, or as an object."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from rdpkit import _validate
from rdpkit.formats.records import did_you_mean
from rdpkit.verification.training.trainer import PrivateTraining, TrainingMaker, as_training


def training_maker(
    # ``module:callable``, which is imported from the current directory or from wherever Python
    # finds it, because the user named it; a training of the zoo; a callable; or one training.
    what: str | Callable[[], Any] | PrivateTraining,
) -> TrainingMaker:
    """A maker of trainings from its name, a callable, or a training that was made already."""
    if isinstance(what, str):
        if ":" in what:
            return TrainingMaker(make=_imported(what), name=what, anew=lambda: _again(what))
        # The zoo needs torch.
        from rdpkit.verification.training.zoo import maker, names  # noqa: PLC0415

        if what not in names():
            raise ValueError(
                "Expected target to be module:callable or a training of the zoo, got "
                f"{what!r}.{did_you_mean(what, list(names()))}"
            )
        return maker(what)
    if isinstance(what, PrivateTraining | dict) or not callable(what):
        found = as_training(what)
        return TrainingMaker(make=lambda: found, name=found.name, repeats=False)
    return TrainingMaker(make=what, name=getattr(what, "__name__", type(what).__name__))


def _again(name: str) -> Callable[[], Any]:
    """The callable after its module, and what it imports of the user's own code, ran once more.

    A module that the target imports may seed generators as well as the target itself.
    """
    before = _own_modules()
    for one in before:
        del sys.modules[one]
    try:
        return _imported(name)
    finally:
        for one in _own_modules():
            del sys.modules[one]
        sys.modules.update(before)


def _own_modules() -> dict[str, ModuleType]:
    """The modules in the current directory, but for installed ones, this package and the script."""
    here = Path.cwd()
    kept = {"__main__", __name__.partition(".")[0]}
    found = {}
    for name, module in list(sys.modules.items()):
        file = Path(getattr(module, "__file__", None) or os.devnull)
        own = file.is_relative_to(here) and "site-packages" not in file.parts
        if own and name.partition(".")[0] not in kept:
            found[name] = module
    return found


def _imported(name: str) -> Callable[[], Any]:
    module_name, _, path = name.partition(":")
    if not module_name or not path:
        raise _validate.fail("target", "of the form module:callable", name)
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as error:
        raise ValueError(
            f"{name}: importing {module_name} raised {type(error).__name__}: {error}"
        ) from error
    for part in path.split("."):
        if not hasattr(found, part):
            raise ValueError(f"{name}: {module_name} has no {path}.")
        found = getattr(found, part)
    if not callable(found):
        raise _validate.fail("target", "to be callable", name)
    return found  # type: ignore[no-any-return]
