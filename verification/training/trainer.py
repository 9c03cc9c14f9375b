"""What is verified: one training, as its code makes it.

A training is described by a small record: a function that makes one noisy update, the loader that
batches come from, and what the accountant was told. Any object with these attributes will do
(:func:`as_training`), so that a class that trains can be verified as it is.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from rdpkit import Event, _validate
from rdpkit.adjacency import Adjacency
from rdpkit.formats.records import did_you_mean

Batch = Any
"""A batch as the loader yields it: arrays, tensors, or tuples, lists and dictionaries of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateTraining:
    """One training: how it makes an update, where batches come from, what was accounted for.

    Parameters
    ----------
    step : callable
        ``step(batch)`` makes one noisy update from one batch: clipping, noise and optimiser, as
        the training does it. What it returns is ignored.
    loader : iterable
        Yields the batches of one epoch, anew each time that it is iterated.
    event : Event
        What the accountant was told, usually :class:`rdpkit.DPSGD`.
    adjacency : Adjacency or str
        The neighbouring relation of the claim.
    delta : float
        The claim's delta, in (0, 1).
    epsilon : float, optional
        The claimed epsilon; by default what ``event`` implies.
    model : torch.nn.Module, optional
        What is trained. Needed unless ``parameters`` is given.
    parameters : callable, optional
        Returns the present parameters as a dictionary of arrays, for training without torch.
    optimizer : torch.optim.Optimizer, optional
        Put back between trials; with Opacus it also takes gradient canaries.
    accountant : object, optional
        With a list ``history`` of (noise multiplier, sampling rate, steps), as in Opacus.
    records : sequence, optional
        The training records; by default ``loader.dataset``.
    held_out : sequence, optional
        Records that are kept for evaluation and must not be trained on.
    indices : callable, optional
        Returns an iterable of the batches of one epoch as arrays of positions in ``records``; by
        default what ``loader.batch_sampler`` yields, or what is found by comparing batches with
        records.
    train : callable, optional
        Makes the whole training; by default the loader is iterated until the steps of ``event``
        are made.
    losses : callable, optional
        ``losses(batch)`` returns the loss of each record under the present model, for canaries in
        the black box.
    with_records : callable, optional
        ``with_records(extra)`` returns a new training whose records are these and, after them, the
        given ones (a list, each like the training's own), for canaries in the black box.
    noisy_sum : callable, optional
        ``noisy_sum(gradients)`` clips, adds and adds noise: the function that ``step`` calls with
        the gradients of its records, one a row over all parameters. With it canaries are gradients,
        as with Opacus.
    reseed : callable, optional
        ``reseed(seed)`` seeds random numbers that neither the global generators nor generators
        among the training's own attributes draw, such as keys of jax.
    max_grad_norm : float, optional
        The clipping norm; only said to the reader.
    objects : tuple
        Further objects that a step changes, such as random generators; they are put back between
        trials.
    name : str
        How reports call it.

    Raises
    ------
    ValueError
        If an argument is outside of its range, or neither ``model`` nor ``parameters`` is given.
    """

    step: Callable[[Batch], Any]
    loader: Iterable[Batch]
    event: Event
    adjacency: Adjacency
    delta: float
    epsilon: float | None = None
    model: Any = None
    parameters: Callable[[], dict[str, Any]] | None = None
    optimizer: Any = None
    accountant: Any = None
    records: Any = None
    held_out: Any = None
    indices: Callable[[], Iterable[Any]] | None = None
    train: Callable[[], Any] | None = None
    losses: Callable[[Batch], Any] | None = None
    with_records: Callable[[Any], PrivateTraining] | None = None
    noisy_sum: Callable[[Any], Any] | None = None
    reseed: Callable[[int], Any] | None = None
    max_grad_norm: float | None = None
    objects: tuple[Any, ...] = ()
    name: str = "training"

    def __post_init__(self) -> None:
        for name in (
            "step",
            "parameters",
            "indices",
            "train",
            "losses",
            "with_records",
            "noisy_sum",
            "reseed",
        ):
            value = getattr(self, name)
            if not callable(value) and (name == "step" or value is not None):
                raise _validate.fail(name, "to be callable", value)
        if not isinstance(self.loader, Iterable):
            raise _validate.fail("loader", "to be an iterable of batches", self.loader)
        _validate.one_of_a_kind("event", self.event, Event)
        object.__setattr__(self, "adjacency", Adjacency.parse(self.adjacency))
        object.__setattr__(self, "delta", _validate.target_delta("delta", self.delta))
        if self.epsilon is not None:
            _validate.non_negative("epsilon", self.epsilon)
        if self.model is None and self.parameters is None:
            raise ValueError(
                "Expected a model, or parameters() that returns a dictionary of arrays, got "
                "neither."
            )
        if self.records is None:
            object.__setattr__(self, "records", getattr(self.loader, "dataset", None))

    def described(self) -> tuple[str, ...]:
        """What was said of the training, in words."""
        claim = "" if self.epsilon is None else f"epsilon {self.epsilon:g} at "
        return (
            described_event(self.event),
            f"{claim}delta {self.delta:g}, {self.adjacency.value}",
        )


def described_event(event: Event) -> str:
    """An event as it is written in Python, without what nobody said."""
    parts = []
    for field in dataclasses.fields(event):
        value = getattr(event, field.name)
        if value is None or value == field.default:
            continue
        said = described_event(value) if isinstance(value, Event) else f"{value!r}"
        parts.append(f"{field.name}={said}")
    return f"{type(event).__name__}({', '.join(parts)})"


_FIELDS = tuple(field.name for field in dataclasses.fields(PrivateTraining))
_REQUIRED = ("step", "loader", "event", "adjacency", "delta")


class _AskedAgain:
    """The batches of a property that is a generator: asked for anew in each epoch."""

    def __init__(self, owner: Any) -> None:
        self._owner = owner

    def __iter__(self) -> Iterator[Batch]:
        return iter(self._owner.loader)


def as_training(what: Any) -> PrivateTraining:
    """A training from whatever was made: the record itself, or any object with its attributes.

    Parameters
    ----------
    what : PrivateTraining, mapping or object
        A mapping's keys, or an object's attributes, are those of :class:`PrivateTraining`.

    Raises
    ------
    ValueError
        If an attribute that is needed is missing, or a value is refused.
    """
    if isinstance(what, PrivateTraining):
        return what
    if isinstance(what, dict):
        unknown = sorted(set(what) - set(_FIELDS))
        if unknown:
            raise _validate.no_such("a key of a training", unknown[0], _FIELDS)
        given = dict(what)
    else:
        given = {name: getattr(what, name) for name in _FIELDS if hasattr(what, name)}
        if isinstance(given.get("loader"), Iterator):
            given["loader"] = _AskedAgain(what)
        given["objects"] = (*given.get("objects", ()), what)
        given.setdefault("name", type(what).__name__)
    missing = [name for name in _REQUIRED if name not in given]
    if missing:
        raise ValueError(
            f"Expected a training to have {', '.join(_REQUIRED)}, got {what!r:.100} without "
            f"{', '.join(missing)}."
        )
    if not isinstance(given.get("name", ""), str):
        given.pop("name")
    return PrivateTraining(**given)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingMaker:
    """Makes the same training again and again, as every check needs a fresh one.

    Parameters
    ----------
    make : callable
        Called without arguments; returns what :func:`as_training` reads.
    name : str
        How reports call it.
    repeats : bool
        False if ``make`` returns the same object each time, so that no fresh one can be had.
    anew : callable, optional
        Imports the module again, and returns what makes a training there.
    """

    make: Callable[[], Any]
    name: str
    repeats: bool = True
    anew: Callable[[], Callable[[], Any]] | None = None

    def started_anew(self) -> PrivateTraining:
        """A training as a new process would make it, with what its module does at import.

        Raises
        ------
        ValueError
            If the module cannot be imported twice, or no training can be made.
        """
        if self.anew is None:
            return self.fresh()
        return dataclasses.replace(self, make=self.anew()).fresh()

    def fresh(self) -> PrivateTraining:
        """A new training.

        Raises
        ------
        ValueError
            If the maker raises, or what it returns is no training.
        """
        try:
            made = self.make()
        except Exception as error:
            raise ValueError(f"{self.name} raised {type(error).__name__}: {error}") from error
        try:
            return as_training(made)
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None


def training_maker(what: str | Callable[[], Any] | PrivateTraining) -> TrainingMaker:
    """A maker of trainings from its name, a callable, or a training that was made already.

    Parameters
    ----------
    what : str, callable, PrivateTraining or object
        ``module:callable``, which is imported from the current directory or from wherever Python
        finds it, because the user named it; a training of the zoo; a callable; or one training.

    Raises
    ------
    ValueError
        If there is no such module or callable.
    """
    if isinstance(what, str):
        if ":" in what:
            return TrainingMaker(make=_imported(what), name=what, anew=lambda: _again(what))
        # The zoo needs torch, and is made of what this module says.
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


__all__ = ["Batch", "PrivateTraining", "TrainingMaker", "as_training", "training_maker"]
