"""Pairs of neighbouring data sets that show the mistakes that implementations make.

A worst-case pair is the worst one for the mechanism that is claimed. A mistake often shows on other
data: a record that is far longer than the clip, a class with a single record, counts that one
record moves, sums beside a rounding step, or records without any spread. This module makes a fixed,
ordered list of such pairs. The most valuable come first, so any prefix of the list is a sensible
choice, and after the list come random pairs of the same kinds.

Noise that is smaller in one coordinate, or correlated, shows only where a record lies along that
direction. The direction is seen in the outputs themselves, so :func:`quiet_pairs` makes pairs along
it once some runs have been made on other pairs.
"""

from __future__ import annotations

import itertools
import math
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import resources

import numpy as np

from rdpkit import _validate
from rdpkit.adjacency import Adjacency, ordinary
from rdpkit.verification.blackbox.neighbours import Array, LabelledData, Labels, Neighbours
from rdpkit.verification.blackbox.options import USUAL_RECORDS

# Multiplying records by this moves them off any grid of powers of two that the noise may lie on.
OFF_GRID = 0.9172635
USUAL_NORM = 1.0
"""The norm that lengths of records are multiples of, where no claim names one."""
# Adversarial pairs are drawn by the children of the seed below this number.
_ADVERSARIAL = 2**31 + 1
_MANY_RECORDS = 50
# Sums in the half-steps pair lie this far from a whole number, on the lower side of a half.
_BELOW_HALF = 0.49
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelLayout:
    """The labels that an event fixes, because it states how many records each class has."""

    rest: tuple[int, ...]  # Labels of the records that both data sets have
    changed: int  # Label of the changed record in D
    replacement: int  # Its label in D', under replace-one

    @classmethod
    def of_pair(cls, pair: Neighbours) -> LabelLayout:
        """The layout of a pair; under add-or-remove-one D is the larger data set."""
        first, second = pair.first, pair.second
        if len(second) > len(first):
            first, second = second, first
        left = second.records()
        rest: list[int] = []
        changed = 0
        for row, label in zip(first.features, first.labels, strict=True):
            key = row.tobytes() + label.tobytes()
            if left[key] > 0:
                left[key] -= 1
                rest.append(int(label))
            else:
                changed = int(label)
        counts = np.bincount(second.labels, minlength=changed + 1).astype(np.int64)
        counts -= np.bincount(np.array(rest, dtype=np.int64), minlength=len(counts))
        replacement = int(np.argmax(counts)) if counts.max(initial=0) > 0 else changed
        return cls(rest=tuple(rest), changed=changed, replacement=replacement)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataDomain:
    """The data that a claim is about, as far as it is known."""

    dimension: int  #: Number of features
    record_norm: float = USUAL_NORM
    """The L2 norm of a record that the claim is for, or by default 1."""
    bounded: bool = False
    """Whether the code is only ever given records within that norm. Otherwise the norm is one that
    the code is claimed to clip to, and some records are longer.
    """
    records: int | None = None
    """The number of records of the larger data set, if it is fixed. By default it varies."""
    classes: int | None = None  #: Labels are 0, ..., classes - 1. By default there are two classes.
    layout: LabelLayout | None = None
    """All labels, if the claim states how many records each class has."""

    def __post_init__(self) -> None:
        _validate.integer("dimension", self.dimension)
        _validate.positive("record_norm", self.record_norm)
        for name in ("records", "classes"):
            if getattr(self, name) is not None:
                _validate.integer(name, getattr(self, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Recipe:
    """How to make a pair, in terms of the dimension and the norm."""

    changed: str = "dense"  # The direction of the changed record, or what its values are
    scale: float = 1.0  # Its length, in units of the norm
    rest: str = "origin"  # Where the other records are
    replacement: str = "mirror"  # What takes its place under replace-one
    labels: str = "equal"  # The labels
    records: int | None = None
    """Records of the larger data set; None for the usual number, and 0 for as many as a covariance
    needs.
    """


_TABLE = tomllib.loads(
    resources.files(__package__).joinpath("adversarial_pairs.toml").read_text("utf-8")
)
_RECIPES = tuple(_Recipe(**recipe) for recipe in _TABLE["recipes"])


def adversarial_neighbours(
    domain: DataDomain, *, adjacency: Adjacency | str, count: int, seed: int
) -> list[Neighbours]:
    """Pairs that show common mistakes, the most valuable first.

    The changed record lies along an axis, in the direction of all coordinates or in a random one,
    at the norm or, if the domain is not bounded, at 10 or 1000 times the norm. The others are at
    the origin, at one point, opposite to it, in the ball, in a tight cluster, or whole numbers. The
    record may be alone in its class, or change its class, and there are data sets with one record,
    and, under add-or-remove-one, without any.

    Guarantee
    ---------
    The list for a smaller ``count`` is the beginning of the list for a larger one. All pairs are
    different. If the domain is bounded, no record is longer than its norm.

    Parameters
    ----------
    domain : DataDomain
        The data that the claim is about.
    adjacency : Adjacency or str
        The neighbouring relation.
    count : int
        How many pairs.
    seed : int
        What is random comes from it.
    """
    relation = ordinary(Adjacency.parse(adjacency), because="code is run on ordinary records alone")
    wanted = _validate.integer("count", count)
    found: list[Neighbours] = []
    seen: set[bytes] = set()
    # After the list, every pair is drawn at random.
    for index, recipe in enumerate(itertools.chain(_RECIPES, itertools.repeat(None))):
        sequence = np.random.SeedSequence(entropy=seed, spawn_key=(_ADVERSARIAL, index))
        drawn = _of_recipe(recipe, domain, relation, np.random.default_rng(sequence), index)
        if drawn is None:
            continue
        sides = (drawn.first, drawn.second)
        key = b"|".join(side.features.tobytes() + side.labels.tobytes() for side in sides)
        if key in seen:
            continue
        seen.add(key)
        found.append(drawn)
        if len(found) == wanted:
            break
    return found


def _of_recipe(
    recipe: _Recipe | None,
    domain: DataDomain,
    relation: Adjacency,
    rng: np.random.Generator,
    index: int,
) -> Neighbours | None:
    """The pair of a recipe; None if there is none in this domain."""
    # After the list, no two recipes are alike.
    chosen = recipe or _Recipe(
        changed="random",
        scale=float(rng.choice([1.0, 1.0, 10.0, 1000.0]) * rng.uniform(0.5, 1.0)),
        rest=str(rng.choice(["origin", "opposite", "point", "ball", "duplicates", "cluster"])),
        replacement=str(rng.choice(["mirror", "origin", "another", "same"])),
        labels=str(rng.choice(["equal", "alone", "in turn", "balanced, other class"])),
    )
    if domain.bounded:
        chosen = replace(chosen, scale=min(chosen.scale, 1.0))
    size = _size(chosen, domain)
    rest, changed, replacement = _features(chosen, domain, size, rng)
    labels, label, new_label = _labels(chosen, domain, size)
    if np.array_equal(changed, replacement) and label == new_label:
        replacement = -changed
    rows = _fitted(np.vstack([rest, changed, replacement]), domain)
    unbounded = relation is Adjacency.ADD_OR_REMOVE_ONE
    if not unbounded and np.array_equal(rows[-1], rows[-2]) and label == new_label:
        return None
    first = LabelledData(features=rows[:size], labels=[*labels, label])
    second = LabelledData(
        features=rows[: size - 1] if unbounded else np.vstack([rows[: size - 1], rows[-1:]]),
        labels=labels if unbounded else [*labels, new_label],
    )
    longest = float(max(_norms(first.features).max(), _norms(second.features).max(initial=0.0)))
    beyond = longest > domain.record_norm * (1.0 + _TOLERANCE)
    return Neighbours(
        first=first,
        second=second,
        adjacency=relation,
        beyond_norm=beyond,
        description=(
            *_words(chosen, domain, size, index, unbounded=unbounded),
            *_advice(domain, size, longest if beyond else None, first, second),
        ),
    )


def _size(recipe: _Recipe, domain: DataDomain) -> int:
    """Records of the larger data set."""
    if domain.layout is not None:
        return len(domain.layout.rest) + 1
    if domain.records is not None:
        return domain.records
    if recipe.records == 0:
        return min(max(USUAL_RECORDS, 2 * domain.dimension + 2), _MANY_RECORDS)
    return recipe.records or USUAL_RECORDS


def _features(
    recipe: _Recipe, domain: DataDomain, size: int, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """The other records, shape (size - 1, d), the changed one and its replacement."""
    d, norm, others = domain.dimension, domain.record_norm, size - 1
    # In so many coordinates records within the norm can sum to just below 1/2; at least in one.
    steps = max(1, int(min(d, (0.9 * norm * others / _BELOW_HALF) ** 2)))
    point = norm * random_unit(d, rng)
    first, second = np.eye(2, d) if d > 1 else (np.zeros(1), np.ones(1))
    plain = {
        "tens": np.full(d, 10.0),
        "ones": np.ones(d),
        "half ones": (np.arange(d) < max(1, d // 2)).astype(np.float64),
        "first category": first,
        "second category": second,
    }
    if recipe.changed in plain:
        changed = plain[recipe.changed]
    elif recipe.changed == "against":
        changed = -recipe.scale * point
    else:
        changed = recipe.scale * norm * _unit(recipe.changed, d, steps, rng)
    length = float(np.linalg.norm(changed))
    makers: dict[str, Callable[[], Array]] = {
        "origin": lambda: np.zeros((others, d)),
        "opposite": lambda: np.tile(-changed * (norm / length), (others, 1)),
        "point": lambda: np.tile(point, (others, 1)),
        "ball": lambda: from_ball(others, d, norm, rng),
        "duplicates": lambda: np.tile(changed, (others, 1)),
        # Their covariance has full rank if there are enough of them.
        "cluster": lambda: (
            rng.standard_normal((others, d)) * (0.01 * norm / math.sqrt(d))
            - 0.5 * changed * (norm / length)
        ),
        "half-steps": lambda: np.tile(
            np.where(np.arange(d) < steps, _BELOW_HALF / max(others, 1), 0.0), (others, 1)
        ),
        "whole": lambda: rng.integers(0, 11, (others, d)).astype(np.float64),
        "bits": lambda: rng.integers(0, 2, (others, d)).astype(np.float64),
        "categories": lambda: np.where(np.arange(others)[:, None] % 2 == 0, first, second),
        "categories, second first": lambda: np.where(
            np.arange(others)[:, None] % 2 == 1, first, second
        ),
        "one category": lambda: np.tile(first, (others, 1)),
        # As many of either kind, and one at the origin if their number is odd.
        "halves": lambda: np.where(
            np.arange(others)[:, None] == others - others % 2,
            0.0,
            np.where(np.arange(others)[:, None] % 2 == 0, changed, plain["ones"] - changed),
        ),
        "two modes": lambda: np.outer(np.arange(others) % 2, changed * (norm / length)),
        "two copies": lambda: np.vstack([changed, changed, from_ball(others, d, norm, rng)])[
            :others
        ],
    }
    rest = makers[recipe.rest]()
    replacement = {
        "mirror": -changed,
        "origin": np.zeros(d),
        "same": changed,
        "another": rest[0] if others else -changed,
        "first category": first,
        "second category": second,
        "other half": plain["ones"] - plain["half ones"],
    }[recipe.replacement]
    return rest, changed, replacement


def _labels(recipe: _Recipe, domain: DataDomain, size: int) -> tuple[Labels, int, int]:
    """Labels of the others, of the changed record and of its replacement."""
    if domain.layout is not None:
        layout = domain.layout
        return np.array(layout.rest, dtype=np.int64), layout.changed, layout.replacement
    others = np.arange(size - 1, dtype=np.int64)
    classes = 2 if domain.classes is None else domain.classes
    last = classes - 1
    if classes == 1:
        return 0 * others, 0, 0
    # The category of a record is its class; the others have both, or the first one alone.
    first = recipe.changed == "first category"
    categories = 0 * others if recipe.rest == "one category" else (others + first) % 2
    return {
        "equal": (0 * others, 0, 0),
        "second": (0 * others + 1, 1, 1),
        "alone": (others % last, last, last),
        "alone, other class": (others % last, last, 0),
        "two alike": (np.where(others < 2, last, others % last), last, 0),
        "in turn": (others % classes, last, last),
        "balanced, other class": (others % classes, last, 0),
        "categories": (categories, int(not first), int(first)),
    }[recipe.labels]


def _fitted(rows: Array, domain: DataDomain) -> Array:
    """The records, within the norm if the domain is bounded, and never beyond it by rounding."""
    norm = domain.record_norm
    lengths = _norms(rows)
    if domain.bounded and lengths.max() > norm:
        # One factor for all of them, so that equal values stay equal.
        rows = rows * (norm / lengths.max())
        lengths = _norms(rows)
    by_rounding = (lengths > norm) & (lengths <= norm * (1.0 + _TOLERANCE))
    return np.where(by_rounding[:, None], rows * (1.0 - 1e-14), rows)


def _norms(rows: Array) -> Array:
    return np.asarray(np.linalg.norm(rows, axis=1))


def _unit(name: str, d: int, steps: int, rng: np.random.Generator) -> Array:
    places = np.arange(d)
    if name == "random":
        return random_unit(d, rng)
    if name == "one":
        return np.asarray(places == rng.integers(d), dtype=np.float64)
    vector = {
        "dense": np.ones(d),
        # The coordinates sum to 0, if there are at least two: the last of an odd number is 0.
        "alternating": np.where(places < max(1, d - d % 2), 1.0 - 2.0 * (places % 2), 0.0),
        "three": places < 3,
        "half-steps": places < steps,
        "first": places == 0,
        "last": places == d - 1,
    }[name]
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float64)


def random_unit(d: int, rng: np.random.Generator) -> Array:
    """A unit vector in a random direction."""
    vector = rng.standard_normal(d)
    return np.asarray(vector / np.linalg.norm(vector))


def from_ball(count: int, d: int, norm: float, rng: np.random.Generator) -> Array:
    """Records drawn uniformly from the ball of this radius, shape (count, d)."""
    directions = rng.standard_normal((count, d))
    lengths = np.linalg.norm(directions, axis=1, keepdims=True)
    radii = norm * rng.random((count, 1)) ** (1.0 / d)
    return np.asarray(directions / lengths * radii)


def _words(
    recipe: _Recipe, domain: DataDomain, size: int, index: int, *, unbounded: bool
) -> tuple[str, ...]:
    """What the pair is, in words."""
    plain = recipe.changed in _TABLE["plain"]
    length = "" if plain else f"of norm {recipe.scale * domain.record_norm:.6g} "
    same = recipe.replacement == "same" and (domain.classes == 1 or domain.layout is not None)
    other = _TABLE["replacement"]["mirror" if same else recipe.replacement]
    against = "against none" if unbounded else f"against {other}"
    labels = _TABLE["labels"][recipe.labels]
    if domain.layout is not None:
        labels = "classes have the sizes that the event says"
    elif domain.classes == 1:
        labels = "all of one class"
    others = f"{size - 1} other{'s' if size > 2 else ''} {_TABLE['rest'][recipe.rest]}"
    return (
        f"adversarial pair {index}: a record {length}{_TABLE['changed'][recipe.changed]}, "
        f"{against}; {others if size > 1 else 'no others'}; {labels}",
    )


def _advice(
    domain: DataDomain, size: int, longest: float | None, first: LabelledData, second: LabelledData
) -> tuple[str, ...]:
    """What to say on the command line if the code is never given such data."""
    lines = []
    if longest is not None:
        lines.append(
            f"a record has norm {longest:.6g}, beyond the norm {domain.record_norm:.6g}: if the "
            "code is only ever given records within it, say so with --record-norm "
            f"{domain.record_norm:.6g}"
        )
    if domain.records is None and domain.layout is None and size != USUAL_RECORDS:
        lines.append(
            "if the number of records is fixed and public, say so with --records: all data sets "
            "have that many then"
        )
    classes = bool(first.labels.any() or second.labels.any())
    if domain.classes is None and domain.layout is None and classes:
        lines.append("if there is only one class, say so with --classes 1")
    return tuple(lines)


# A direction is quiet if its variance is below this part of what even noise would show by chance.
_QUIET = 0.8
MOST_QUIET_PAIRS = 2
"""Along a coordinate, and along an eigenvector."""
# Eigenvectors are looked for among at most this many coordinates.
_MOST_COORDINATES = 512


def quiet_pairs(
    noise: Array,  # Outputs, less their mean on the data set that they come from; shape (runs, d)
    *,
    # A pair. The changed record of the new pairs is as long as its longest record, and all other
    # records are at the origin, with its labels.
    like: Neighbours,
) -> list[Neighbours]:
    """Pairs whose changed record lies where there is little noise; none if the noise is even."""
    directions = []
    runs, d = noise.shape
    if d != like.first.dimension or d == 1 or runs < 4 * d:
        return []
    # By chance the smallest of d variances is sqrt(2 log d) deviations below the usual one.
    variances = noise.var(axis=0)
    chance = max(0.0, 1.0 - math.sqrt(2.0 * math.log(d)) * math.sqrt(2.0 / runs))
    quietest = int(np.argmin(variances))
    if variances[quietest] < _QUIET * chance * np.median(variances):
        directions.append(("the coordinate with the least noise", np.eye(1, d, quietest)[0]))
    if d <= _MOST_COORDINATES:
        values, vectors = np.linalg.eigh(np.cov(noise, rowvar=False))
        # The edge of the spectrum that even noise has (Marchenko and Pastur).
        edge = (1.0 - math.sqrt(d / runs)) ** 2
        if values[0] < _QUIET * edge * np.median(values) and abs(vectors[:, 0]).max() < 0.95:
            directions.append(("the direction with the least noise", vectors[:, 0]))
    return [_along(direction, words, like) for words, direction in directions]


def _along(direction: Array, words: str, like: Neighbours) -> Neighbours:
    """The pair with its changed record along a direction."""
    larger = like.first if len(like.first) >= len(like.second) else like.second
    length = float(_norms(larger.features).max())
    # A little less, because norms are rounded.
    changed = (1.0 - 1e-12) * length * direction
    rest = np.zeros((len(larger) - 1, larger.dimension))
    removed = like.adjacency is Adjacency.ADD_OR_REMOVE_ONE
    others = rest if removed else np.vstack([rest, -changed])
    return Neighbours(
        first=LabelledData(features=np.vstack([rest, changed]), labels=larger.labels),
        second=LabelledData(features=others, labels=larger.labels[: len(others)]),
        adjacency=like.adjacency,
        beyond_norm=like.beyond_norm,
        description=(f"a record of norm {length:.6g} in {words}; all others at the origin",),
    )
