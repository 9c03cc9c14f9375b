"""A case is a mechanism, its claim as it is given on the command line, and what is true of it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

import rdpkit

Array = NDArray[np.float64]

ADD = "add_or_remove_one"
REPLACE = "replace_one"


class DataSet(Protocol):
    """What a mechanism is given."""

    features: Array
    labels: NDArray[np.int64]

    def __len__(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A mechanism and its claim."""

    name: str  # The name of the callable in its module
    module: str  # The module, as it is imported
    mechanism: Callable[..., Any] = field(repr=False)
    """``mechanism(dataset, rng)``; half of them have ``many(dataset, rng, count)`` as well."""
    adjacency: str  # The neighbouring relation of the claim
    # The claim; None where the mechanism has an attribute ``event`` that says it.
    epsilon: float | None
    delta: float | None
    dimension: int | None
    """Features of a record; None where any number will do, and the command is not told."""
    record_norm: float | None
    """The largest norm of a record that the code is ever given; None where it takes any record."""
    classes: int  # Labels are 0, ..., classes - 1
    true_epsilon: float | None
    """The smallest epsilon at the claimed delta, where it is known, of the worst pair known."""
    true_delta: float | None
    """The smallest delta at the claimed epsilon, where it is known, of the worst pair known."""

    @property
    def target(self) -> str:
        """The mechanism as ``rdpkit verify`` finds it."""
        return f"{self.module}:{self.name}"

    @property
    def has_many(self) -> bool:
        """Whether it makes many releases at once."""
        return hasattr(self.mechanism, "many")

    @property
    def claim(self) -> str:
        """The claim in words."""
        relation = self.adjacency.replace("_", "-")
        if self.epsilon is None:
            return f"{self.mechanism.event.mechanism} event, {relation}"  # type: ignore[attr-defined]
        return f"({self.epsilon:.6g}, {self.delta:.3g}), {relation}"

    @property
    def truth(self) -> str:
        """What is true of it, as far as it is known."""
        known = []
        if self.true_epsilon is not None:
            known.append(f"epsilon {self.true_epsilon:.4g}")
        if self.true_delta is not None:
            known.append(f"delta {self.true_delta:.3g}")
        return " or ".join(known)

    def arguments(self) -> list[str]:
        """The words after ``rdpkit verify``, without a seed or a number of samples."""
        words = [self.target]
        if self.epsilon is None:
            return words
        words += ["--epsilon", repr(self.epsilon), "--delta", repr(self.delta)]
        words += ["--adjacency", self.adjacency]
        if self.dimension is not None:
            words += ["--dimension", str(self.dimension)]
        if self.record_norm is not None:
            words += ["--record-norm", repr(self.record_norm)]
        return words + (["--classes", str(self.classes)] if self.classes > 1 else [])


class Collection:
    """Cases by their names, in the order in which they are written down."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._cases: dict[str, Case] = {}

    def __iter__(self) -> Iterator[Case]:
        return iter(self._cases.values())

    def __len__(self) -> int:
        return len(self._cases)

    def __getitem__(self, name: str) -> Case:
        return self._cases[name]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all cases."""
        return tuple(self._cases)

    def claims(
        self,
        epsilon: float | None = None,
        delta: float | None = None,
        adjacency: str = ADD,
        *,
        event: rdpkit.Event | None = None,
        dimension: int | None = None,
        record_norm: float | None = None,
        classes: int = 1,
        true_epsilon: float | None = None,
        true_delta: float | None = None,
    ) -> Callable[[Any], Any]:
        """Decorate a mechanism with its claim, and collect it."""

        def collect(mechanism: Any) -> Any:
            if event is not None:
                mechanism.event, mechanism.adjacency = event, adjacency
                mechanism.dimension = dimension or 1
            name = mechanism.__name__
            self._cases[name] = Case(
                name=name,
                module=self._module,
                mechanism=mechanism,
                adjacency=adjacency,
                epsilon=epsilon,
                delta=delta,
                dimension=dimension,
                record_norm=record_norm,
                classes=classes,
                true_epsilon=true_epsilon,
                true_delta=true_delta,
            )
            return mechanism

        return collect


class Batched:
    """A mechanism with a method ``many``, made from a function that takes a count."""

    def __init__(self, function: Callable[[Any, np.random.Generator, int], Any]) -> None:
        self.many = function
        functools.update_wrapper(self, function)

    def __call__(self, dataset: DataSet, rng: np.random.Generator) -> Any:
        """One release."""
        return self.many(dataset, rng, 1)[0]


def clip_l2(features: Array, norm: float) -> Array:
    """The rows, each scaled down to an L2 norm of at most ``norm``."""
    lengths = np.linalg.norm(features, axis=1, keepdims=True)
    return np.asarray(features / np.maximum(1.0, lengths / norm))


def clip_l1(features: Array, norm: float) -> Array:
    """The rows, each scaled down to an L1 norm of at most ``norm``."""
    lengths = np.abs(features).sum(axis=1, keepdims=True)
    return np.asarray(features / np.maximum(1.0, lengths / norm))


def counts_of(dataset: DataSet, classes: int) -> NDArray[np.int64]:
    """How many records have each of the labels 0, ..., classes - 1."""
    labels = np.clip(dataset.labels, 0, classes - 1)
    return np.bincount(labels, minlength=classes)[:classes]


def two_sided_geometric(
    rng: np.random.Generator, scale: float, size: int | tuple[int, ...] | None = None
) -> Any:
    """Discrete Laplace noise: P(k) is proportional to exp(-|k| / scale)."""
    success = -np.expm1(-1.0 / scale)
    return rng.geometric(success, size) - rng.geometric(success, size)
