"""What is verified: one training, as its code makes it.

A training is described by a small record: a function that makes one noisy update, the loader that
batches come from, and what the accountant was told. Any object with these attributes will do
(:func:`as_training`), so that a class that trains can be verified as it is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rdpkit import Event, _validate
from rdpkit.adjacency import Adjacency
from rdpkit.formats.numbers import as_given

Batch = Any
"""A batch as the loader yields it: arrays, tensors, or tuples, lists and dictionaries of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateTraining:
    """One training: how it makes an update, where batches come from, what was accounted for.

    Raises
    ------
    ValueError
        If an argument is outside of its range, or neither ``model`` nor ``parameters`` is given.
    """

    step: Callable[[Batch], Any]
    """``step(batch)`` makes one noisy update from one batch: clipping, noise and optimiser, as the
    training does it. What it returns is ignored.
    """
    loader: Iterable[Batch]  #: Yields the batches of one epoch, anew each time that it is iterated
    event: Event  #: What the accountant was told, usually :class:`rdpkit.DPSGD`
    adjacency: Adjacency  #: The neighbouring relation of the claim
    delta: float  #: The claim's delta, in (0, 1)
    epsilon: float | None = None  #: The claimed epsilon; by default what ``event`` implies
    model: Any = None  #: What is trained. Needed unless ``parameters`` is given.
    parameters: Callable[[], dict[str, Any]] | None = None
    """Returns the present parameters as a dictionary of arrays, for training without torch."""
    optimizer: Any = None  #: Put back between trials; with Opacus it also takes gradient canaries
    accountant: Any = None
    """With a list ``history`` of (noise multiplier, sampling rate, steps), as in Opacus."""
    records: Any = None  #: The training records; by default ``loader.dataset``
    held_out: Any = None  #: Records that are kept for evaluation and must not be trained on
    indices: Callable[[], Iterable[Any]] | None = None
    """Returns an iterable of the batches of one epoch as arrays of positions in ``records``; by
    default what ``loader.batch_sampler`` yields, or what is found by comparing batches with
    records.
    """
    train: Callable[[], Any] | None = None
    """Makes the whole training; by default the loader is iterated until the steps of ``event`` are
    made.
    """
    losses: Callable[[Batch], Any] | None = None
    """``losses(batch)`` returns the loss of each record under the present model, for canaries in
    the black box.
    """
    with_records: Callable[[Any], PrivateTraining] | None = None
    """``with_records(extra)`` returns a new training whose records are these and, after them, the
    given ones (a list, each like the training's own), for canaries in the black box.
    """
    noisy_sum: Callable[[Any], Any] | None = None
    """``noisy_sum(gradients)`` clips, adds and adds noise: the function that ``step`` calls with
    the gradients of its records, one a row over all parameters. With it canaries are gradients, as
    with Opacus.
    """
    reseed: Callable[[int], Any] | None = None
    """``reseed(seed)`` seeds random numbers that neither the global generators nor generators among
    the training's own attributes draw, such as keys of jax.
    """
    max_grad_norm: float | None = None  #: The clipping norm; only said to the reader
    objects: tuple[Any, ...] = ()
    """Further objects that a step changes, such as random generators; they are put back between
    trials.
    """
    name: str = "training"  #: How reports call it

    def __post_init__(self) -> None:
        functions = "step parameters indices train losses with_records noisy_sum reseed"
        for name in functions.split():
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
        claim = self.at if self.epsilon is None else f"epsilon {self.epsilon:g} at {self.at}"
        return (described_event(self.event), claim)

    @property
    def at(self) -> str:
        """What every epsilon of the training is at, in words."""
        return f"delta {as_given(self.delta)}, {self.adjacency.value}"


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
    """Makes the same training again and again, as every check needs a fresh one."""

    make: Callable[[], Any]  # Called without arguments; returns what :func:`as_training` reads
    name: str  # How reports call it
    repeats: bool = True
    """False if ``make`` returns the same object each time, so that no fresh one can be had."""
    anew: Callable[[], Callable[[], Any]] | None = None
    """Imports the module again, and returns what makes a training there."""

    def started_anew(self) -> PrivateTraining:
        """A training as a new process would make it, with what its module does at import."""
        if self.anew is None:
            return self.fresh()
        return dataclasses.replace(self, make=self.anew()).fresh()

    def fresh(self) -> PrivateTraining:
        """A new training."""
        with _validate.ErrorsOf(self.name):
            made = self.make()
        try:
            return as_training(made)
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None


class _Carried:
    """Parameters and state between steps; attributes, so that they are put back between trials."""

    def __init__(self, params: Any, state: Any) -> None:
        self.params = params
        self.state = state


def functional_training(
    step: Callable[[Any, Any, Batch], tuple[Any, Any]],
    *,
    params: Any,
    state: Any,
    reseeded: Callable[[Any, int], Any],
    loader: Iterable[Batch],
    event: Event,
    adjacency: Adjacency,
    delta: float,
    **more: Any,
) -> PrivateTraining:
    """A training from a pure function, such as one that is compiled with jax.

    Parameters
    ----------
    step : callable
        ``step(params, state, batch)`` returns the parameters and the state after one noisy update.
        For what is released to be seen, the optimiser must add the noisy gradient times a constant
        (plain gradient descent); momentum and Adam are verified with it in their place, because
        they come after the noise.
    params, state
        At the beginning: arrays, in dictionaries, lists and tuples. Random keys are in the state.
    reseeded : callable
        ``reseeded(state, seed)`` returns the state with random keys made of the seed, as in
        ``lambda state, seed: {**state, "key": jax.random.key(seed)}``.
    loader, event, adjacency, delta
        As in :class:`rdpkit.verification.training.trainer.PrivateTraining`.
    **more
        Its further fields.

    Returns
    -------
    PrivateTraining
        For :func:`rdpkit.verification.training.verify_training.verify_training`.
    """
    carried = _Carried(params, state)

    def one_step(batch: Batch) -> None:
        carried.params, carried.state = step(carried.params, carried.state, batch)

    def parameters() -> dict[str, Any]:
        return dict(_named("", carried.params))

    def reseed(seed: int) -> None:
        carried.state = reseeded(carried.state, seed)

    return PrivateTraining(
        step=one_step,
        parameters=parameters,
        reseed=reseed,
        loader=loader,
        event=event,
        adjacency=adjacency,
        delta=delta,
        objects=(*more.pop("objects", ()), carried),
        **more,
    )


def _named(path: str, tree: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from _named(f"{path}.{key}" if path else str(key), value)
    elif isinstance(tree, list | tuple):
        for place, value in enumerate(tree):
            yield from _named(f"{path}.{place}" if path else str(place), value)
    else:
        yield path or "parameters", np.asarray(tree)
