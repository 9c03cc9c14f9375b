"""Epsilon of many sampled Gaussian mechanisms at once: arrays in, arrays out.

Configurations that differ in their number of releases or delta only share one Renyi curve, and all
curves are computed together (:mod:`rdpkit.numerics.sampled_gaussian_block`). The best order is
looked for on a grid that the curves share, then between two points of it for every configuration.
Every order gives a valid bound, so a search that misses the best costs tightness, never soundness.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rdpkit import _validate
from rdpkit.accountants.order_search import proposals
from rdpkit.adjacency import Adjacency, needed
from rdpkit.bounds.base import Kind
from rdpkit.formats.columns import optional_library
from rdpkit.numerics import sampled_gaussian_block as block
from rdpkit.numerics.pearson_vajda import log_weights_minimum
from rdpkit.numerics.sampled_gaussian import (
    log_excess_quadrature,
    log_sums_of_binomials,
    rdp_from_log_excess,
)

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Rdp = Callable[[Array, Array, Array], Array]

SAMPLINGS = ("poisson", "fixed_size")
# The relations under which each kind of sampling is swept.
_RELATIONS = {
    "poisson": (Adjacency.ADD_OR_REMOVE_ONE, Adjacency.ZERO_OUT),
    "fixed_size": (Adjacency.ADD_OR_REMOVE_ONE, Adjacency.REPLACE_ONE),
}
CONVERSIONS = ("balle2020", "mironov2017")
INVALID = ("raise", "skip")

# Added to every divergence, relative to it. Against ball arithmetic no relative error was above
# 2e-13, except where exponents of the size a^2/(2 z^2) + a log(1/q) lose digits at large orders.
_MARGIN = 1e-11
_ULPS = 8 * 2.3e-16

# Where the best real order is searched: first in the middle range, then beyond the end that is
# best. Ranges are so narrow that the orders of each can share quadrature nodes.
_MIDDLE = 1.0 + np.geomspace(0.075, 12.0, 16)
_HIGHER = tuple(1.0 + np.geomspace(low, low * 8.0, 8) for low in (12.0, 96.0, 768.0, 6144.0))
_LOWER = 1.0 + np.geomspace(0.009, 0.1, 10)
_ROUNDS = 12
# A parabola that foretells epsilon this well, relative to it, has found the minimum.
_CONVERGED = 1e-5

# Integer orders: all up to 64, then about 9 % apart.
_FIRST_INTEGERS = np.arange(2.0, 65.0)
_MORE_INTEGERS = tuple(
    np.unique(np.round(np.geomspace(low, low * 8.0, 25))) for low in (64.0, 512.0)
)

_CHUNK = 20_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sweep:
    """Upper bounds on epsilon for many configurations."""

    epsilon: Array
    """Upper bounds in nats, of the shape to which the arguments broadcast; inf where nothing is
    claimed, as for a configuration that was skipped.
    """
    order: Array
    """The Renyi order of each; NaN where there is none (nothing is released, or skipped)."""
    bound: str  #: Id of the theorem
    kind: Kind  #: ``Kind.UPPER``
    adjacency: Adjacency  #: The neighbouring relation
    conversion: str  #: From RDP to epsilon
    errors: dict[int, str]
    """Why configurations were skipped, by their index in the flattened arrays."""
    inputs: dict[str, Array] = field(default_factory=dict)
    """The configurations, each argument in the shape of ``epsilon``."""

    def as_columns(self) -> dict[str, list[Any]]:
        """One row for each configuration: its inputs, and what was found.

        Returns
        -------
        dict
            Lists of equal length by the names of columns. ``order`` is None where there is none,
            and ``error`` where nothing went wrong; epsilon is inf where nothing is claimed.
        """
        rows = self.epsilon.size
        found: dict[str, list[Any]] = {
            name: (column.astype(np.int64) if _are_whole(name, column) else column).ravel().tolist()
            for name, column in self.inputs.items()
        }
        orders = self.order.ravel().tolist()
        found["adjacency"] = [self.adjacency.value] * rows
        found["epsilon"] = self.epsilon.ravel().tolist()
        found["order"] = [None if math.isnan(order) else order for order in orders]
        found["bound"] = [self.bound] * rows
        found["kind"] = [self.kind.value] * rows
        found["conversion"] = [self.conversion] * rows
        if self.errors:
            found["error"] = [self.errors.get(row) for row in range(rows)]
        return found

    def to_pandas(self) -> Any:
        """The columns as a ``pandas.DataFrame``.

        Raises
        ------
        ModuleNotFoundError
            If pandas is not installed; the message says how to install it.
        """
        return optional_library("pandas", "to_pandas()").DataFrame(self.as_columns())

    def to_arrow(self) -> Any:
        """The columns as a ``pyarrow.Table``.

        Raises
        ------
        ModuleNotFoundError
            If pyarrow is not installed; the message says how to install it.
        """
        return optional_library("pyarrow", "to_arrow()", "sweeps").table(self.as_columns())


def _are_whole(name: str, column: Array) -> bool:
    """Whether a column holds integers that int64 holds; a skipped row may hold anything."""
    largest = _validate.LARGEST_INTEGER
    return name == "steps" and bool(((np.abs(column) <= largest) & (column % 1 == 0)).all())


@_validate.by_name(adjacency=needed())
def sweep_epsilon(
    *,
    noise_multiplier: ArrayLike,
    sampling_probability: ArrayLike,
    steps: ArrayLike,
    delta: ArrayLike,
    adjacency: Adjacency | str,
    sampling: str = "poisson",
    conversion: str = "balle2020",
    invalid: str = "raise",
    progress: Callable[[int, int], None] | None = None,
) -> Sweep:
    r"""Epsilon of many sampled Gaussian mechanisms, without a loop over them.

    Guarantee
    ---------
    Configuration i, ``steps[i]`` releases of a sampled Gaussian, is (epsilon[i], delta[i])-DP under
    ``adjacency``: an upper bound, from the Renyi divergence at order[i]. It is computed in floats,
    with 1e-11 of the divergence (far more than any error seen against ball arithmetic) and the
    rounding of the conversion added; :func:`rdpkit.epsilon` certifies single ones.

    Assumes
    -------
    As the bound's module says: fresh samples of the stated kind, noise from a real Gaussian.

    Parameters
    ----------
    noise_multiplier : array_like
        Noise standard deviation over sensitivity, in [1e-100, 1e100]. The sensitivity is the
        largest norm of one record's contribution for "poisson", and how far swapping one member of
        the sample moves the released vector for "fixed_size".
    sampling_probability : array_like
        In [0, 1]; for "fixed_size" the sample's share of the population. 1 means no sampling.
    steps : array_like of int
        Number of releases, each >= 1.
    delta : array_like
        In (0, 1).
    adjacency : Adjacency or str
        The neighbouring relation. "poisson" is for add-or-remove-one and zero-out, "fixed_size" for
        add-or-remove-one and replace-one.
    sampling : {"poisson", "fixed_size"}
        How a sample is drawn.
    conversion : {"balle2020", "mironov2017"}
        From RDP to epsilon.
    invalid : {"raise", "skip"}
        What to do about configurations with a value that is not accepted: raise an error about the
        first, or report all in ``errors`` and keep the others.
    progress : callable, optional
        Called with the number of configurations done, and of all.

    Returns
    -------
    Sweep
        Arrays of the shape to which the four arguments broadcast.

    Raises
    ------
    ValueError
        If an argument is outside of its range, or shapes do not broadcast.

    Source
    ------
    Poisson: Mironov, Talwar and Zhang 2019 (arXiv 1908.10530v1). Fixed size, replace-one: Wang,
    Balle and Kasiviswanathan 2019, Theorems 9 and 27 (arXiv 1808.00087v2). Fixed size,
    add-or-remove-one: rdpkit, theory page "Fixed-size sampling". Conversion: Balle et al. 2020,
    Theorem 21; Mironov 2017, Proposition 3.

    Examples
    --------
    >>> import numpy as np, rdpkit
    >>> noise = np.array([[0.8], [1.0], [2.0]])
    >>> steps = np.array([100, 1000])
    >>> found = rdpkit.sweep_epsilon(noise_multiplier=noise, sampling_probability=0.01, steps=steps,
    ...                              delta=1e-5, adjacency="add_or_remove_one")
    >>> found.epsilon.round(3).tolist()
    [[2.185, 3.695], [1.214, 2.101], [0.257, 0.686]]
    """
    relation = Adjacency.parse(adjacency)
    _validate.choice("sampling", sampling, SAMPLINGS)
    _validate.choice("conversion", conversion, CONVERSIONS)
    _validate.choice("invalid", invalid, INVALID)
    if relation not in _RELATIONS[sampling]:
        names = " or ".join(repr(known.value) for known in _RELATIONS[sampling])
        raise _validate.fail(
            "adjacency",
            f"to be {names} for {'Poisson' if sampling == 'poisson' else 'fixed-size'} sampling "
            "(rdpkit.epsilon knows all)",
            relation.value,
        )
    columns, shape = _columns(
        {
            "noise_multiplier": noise_multiplier,
            "sampling_probability": sampling_probability,
            "steps": steps,
            "delta": delta,
        }
    )
    errors = _errors(columns, shape, limit=1 if invalid == "raise" else None)
    if errors and invalid == "raise":
        raise ValueError(next(iter(errors.values())))
    count = columns["delta"].size
    valid = np.setdiff1d(np.arange(count), np.fromiter(errors, np.int64, len(errors)))
    epsilon, order = np.full(count, np.inf), np.full(count, np.nan)
    bound, search = _theorem(sampling, relation)
    for start in range(0, valid.size, _CHUNK):
        rows = valid[start : start + _CHUNK]
        part = _Configurations(
            **{name: column[rows] for name, column in columns.items()}, conversion=conversion
        )
        epsilon[rows], order[rows] = part.finish(*search(part))
        if progress is not None:
            progress(min(start + _CHUNK, valid.size), valid.size)
    return Sweep(
        epsilon=epsilon.reshape(shape),
        order=order.reshape(shape),
        bound=bound,
        kind=Kind.UPPER,
        adjacency=relation,
        conversion=conversion,
        errors=errors,
        inputs={name: column.reshape(shape) for name, column in columns.items()},
    )


def _theorem(
    sampling: str, adjacency: Adjacency
) -> tuple[str, Callable[[_Configurations], tuple[Array, Array]]]:
    """The id of the theorem that answers, and the search for its best order."""
    if sampling == "fixed_size" and adjacency is Adjacency.REPLACE_ONE:
        return "wang2019", _search_integers
    return "mironov2019" if sampling == "poisson" else "swap-coupling", _search_reals


_ACCEPTED: dict[str, tuple[str, Callable[[Array], NDArray[np.bool_]]]] = {
    "noise_multiplier": ("in [1e-100, 1e+100]", lambda v: (v >= 1e-100) & (v <= 1e100)),
    "sampling_probability": ("in [0, 1]", lambda v: (v >= 0.0) & (v <= 1.0)),
    "steps": (
        "to be an integer in [1, 10^15]",
        lambda v: (v >= 1.0) & (v <= _validate.LARGEST_INTEGER) & (v == np.floor(v)),
    ),
    "delta": ("in (0, 1)", lambda v: (v > 0.0) & (v < 1.0)),
}


def _columns(given: dict[str, Any]) -> tuple[dict[str, Array], tuple[int, ...]]:
    """The arguments as flat arrays of the same length, and the shape that they broadcast to."""
    arrays = {}
    for name, value in given.items():
        array = np.asarray(value)
        if array.dtype.kind not in "iuf":
            raise _validate.fail(name, f"{_ACCEPTED[name][0]}, a number or an array of them", value)
        arrays[name] = array.astype(np.float64)
    try:
        together = np.broadcast_arrays(*arrays.values())
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(f"Expected shapes that broadcast, got {shapes}.") from None
    columns = {name: a.ravel() for name, a in zip(arrays, together, strict=True)}
    return columns, together[0].shape


def _errors(columns: dict[str, Array], shape: tuple[int, ...], limit: int | None) -> dict[int, str]:
    """What is wrong with which configuration."""
    found: dict[int, str] = {}
    for name, column in columns.items():
        condition, accepts = _ACCEPTED[name]
        for row in np.flatnonzero(~accepts(column))[:limit]:
            where = np.unravel_index(int(row), shape) if shape else ()
            at = f"[{', '.join(str(int(i)) for i in where)}]" if shape else ""
            message = str(_validate.fail(f"{name}{at}", condition, float(column[row])))
            found.setdefault(int(row), message)
    return dict(sorted(found.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Configurations:
    """Columns of valid configurations, all of shape (n,)."""

    noise_multiplier: Array
    sampling_probability: Array
    steps: Array
    delta: Array
    conversion: str

    def pairs(self) -> tuple[Array, Array, Integers]:
        """The distinct (z, q), and which of them each configuration has."""
        both = self.noise_multiplier + 1j * self.sampling_probability
        distinct, index = np.unique(both, return_inverse=True)
        return distinct.real, distinct.imag, index

    def terms(self, orders: Array, rows: Integers) -> tuple[Array, Array]:
        """What the conversion adds to the divergence, as two terms, for ``orders`` of (n, k)."""
        log_delta = np.log(self.delta[rows])[:, None]
        if self.conversion == "mironov2017":
            return np.zeros_like(orders), -log_delta / (orders - 1.0)
        return np.log1p(-1.0 / orders), -(log_delta + np.log(orders)) / (orders - 1.0)

    def epsilons(self, orders: Array, rdp: Array, rows: Integers) -> Array:
        """Epsilon of the given configurations at ``orders`` of shape (n, k); negative means 0."""
        first, second = self.terms(orders, rows)
        return self.steps[rows, None] * rdp + first + second

    def finish(self, orders: Array, rdp: Array) -> tuple[Array, Array]:
        """Epsilon rounded up, and the order, from each configuration's best order."""
        first, second = (term[:, 0] for term in self.terms(orders[:, None], np.arange(orders.size)))
        q = self.sampling_probability
        with np.errstate(over="ignore"):
            exponents = (orders / self.noise_multiplier) ** 2
        exponents += orders * np.abs(np.log(np.where(q > 0.0, q, 1.0)))
        divergence = self.steps * rdp * (1.0 + _MARGIN + _ULPS * exponents)
        rounding = _ULPS * (divergence + np.abs(first) + np.abs(second))
        epsilon = np.maximum(divergence + first + second + rounding, 0.0)
        if np.isnan(epsilon).any():
            row = int(np.flatnonzero(np.isnan(epsilon))[0])
            raise ArithmeticError(
                f"epsilon could not be computed at noise_multiplier "
                f"{self.noise_multiplier[row]!r}, sampling_probability "
                f"{self.sampling_probability[row]!r}, steps {self.steps[row]!r}."
            )
        nothing = q == 0.0
        return np.where(nothing, 0.0, epsilon), np.where(nothing, np.nan, orders)


@dataclass(frozen=True, slots=True)
class _Best:
    """Epsilon, order and divergence at three orders per configuration, the best in the middle.

    Each array has the shape (n, 3). Where the best order is the last of a grid, its outer neighbour
    is itself.
    """

    epsilon: Array
    order: Array
    rdp: Array

    @classmethod
    def of(cls, count: int) -> _Best:
        return cls(*(np.full((count, 3), np.inf) for _ in range(3)))

    def take(self, rows: Integers, epsilon: Array, order: Array, rdp: Array) -> Integers:
        """Replace rows by the best of some orders and its neighbours; the orders ascend.

        Returns which of the orders was the best.
        """
        pick: Integers = np.where(np.isnan(epsilon), np.inf, epsilon).argmin(axis=1)
        around = np.clip(pick[:, None] + np.array([-1, 0, 1]), 0, order.shape[1] - 1)
        self.epsilon[rows] = np.take_along_axis(epsilon, around, axis=1)
        self.order[rows] = np.take_along_axis(order, around, axis=1)
        self.rdp[rows] = np.take_along_axis(rdp, around, axis=1)
        return pick


def _scan(
    part: _Configurations, first: Array, higher: tuple[Array, ...], lower: Array, rdp_of: Rdp
) -> _Best:
    """The best order on a grid, and beyond its end where the best is at that end."""
    z, q, index = part.pairs()
    best = _Best.of(index.size)

    def visit(grid: Array, rows: Integers) -> Integers:
        """The best on ``grid`` of each configuration."""
        needed, inverse = np.unique(index[rows], return_inverse=True)
        curves = rdp_of(np.broadcast_to(grid, (needed.size, grid.size)), z[needed], q[needed])
        orders = np.broadcast_to(grid, (rows.size, grid.size))
        curve = curves[inverse]
        return best.take(rows, part.epsilons(orders, curve, rows), orders, curve)

    rows = np.arange(index.size)
    pick = visit(first, rows)
    at_start, at_end = rows[pick == 0], rows[pick == first.size - 1]
    below = first[-2]
    for grid in higher:
        # Once epsilon is 0 nothing can be gained, and larger orders take longer.
        at_end = at_end[best.epsilon[at_end, 1] > 0.0]
        if not at_end.size:
            break
        # The last order but one of the range before is added, so that the best has two neighbours.
        joined = np.concatenate([[below], grid])
        at_end = at_end[visit(joined, at_end) == joined.size - 1]
        below = grid[-2]
    if at_start.size and lower.size:
        visit(lower, at_start)
    return best


def _search_reals(part: _Configurations) -> tuple[Array, Array]:
    """The best order > 1 of each configuration, and the divergence there.

    Between three orders of which the middle one is best, each round looks at the lowest point of
    the parabola through them, in the logarithm of the order less 1, and in the middle of both gaps:
    epsilon has sharp bends, where parabolas mislead.
    """
    best = _scan(part, _MIDDLE, _HIGHER, _LOWER, _sampled_rdp)
    rows = np.flatnonzero(best.epsilon[:, 1] > 0.0)
    for _ in range(_ROUNDS):
        known = best.order[rows]
        points, foretold = proposals(np.log(known - 1.0), best.epsilon[rows])
        fresh = 1.0 + np.exp(points)
        curve = _sampled_rdp(fresh, part.noise_multiplier[rows], part.sampling_probability[rows])
        values = part.epsilons(fresh, curve, rows)
        orders = np.concatenate([known, fresh], axis=1)
        ranked = np.argsort(orders, axis=1)
        columns = (
            np.concatenate([best.epsilon[rows], values], axis=1),
            orders,
            np.concatenate([best.rdp[rows], curve], axis=1),
        )
        best.take(rows, *(np.take_along_axis(column, ranked, axis=1) for column in columns))
        found = best.epsilon[rows, 1]
        converged = np.abs(values[:, 0] - foretold) <= _CONVERGED * np.abs(found)
        rows = rows[~converged & (found > 0.0)]
        if not rows.size:
            break
    return best.order[:, 1], best.rdp[:, 1]


def _search_integers(part: _Configurations) -> tuple[Array, Array]:
    """The best integer order on the grid, and the divergence there."""
    best = _scan(part, _FIRST_INTEGERS, _MORE_INTEGERS, np.empty(0), _fixed_size_rdp)
    return best.order[:, 1], best.rdp[:, 1]


def _sampled_rdp(orders: Array, z: Array, q: Array) -> Array:
    """Divergence of (1-q) N(0, z^2) + q N(1, z^2) from N(0, z^2) at ``orders`` of shape (n, k)."""
    with np.errstate(over="ignore"):
        result = orders / (2.0 * z * z)[:, None]
    result[q == 0.0] = 0.0
    sampled = (q > 0.0) & (q < 1.0)
    ordinary = sampled & (z >= block.LEAST_NOISE) & (q >= block.LEAST_PROBABILITY)
    excess = block.log_excess_of_rows(orders[ordinary], z[ordinary], q[ordinary])
    result[ordinary] = rdp_from_log_excess(excess, orders[ordinary])
    # Configurations outside of the range of block evaluation are computed one at a time.
    for row in np.flatnonzero(sampled & ~ordinary):
        single = log_excess_quadrature(np.array(orders[row]), float(z[row]), float(q[row]))
        result[row] = rdp_from_log_excess(single, orders[row])
    return result


def _fixed_size_rdp(orders: Array, z: Array, q: Array) -> Array:
    """The smaller of Wang et al.'s per-term minimum and no amplification, for n equal rows."""
    with np.errstate(over="ignore"):
        result = orders / (2.0 * z * z)[:, None]
    result[q == 0.0] = 0.0
    grid = orders[0]
    sampled = q > 0.0
    # The terms' weights depend on the noise alone.
    for noise in np.unique(z[sampled]):
        rows = np.flatnonzero(sampled & (z == noise))
        weights = log_weights_minimum(int(grid[-1]), float(noise))
        powers = np.arange(2.0, grid[-1] + 1.0) * np.log(q[rows])[:, None]
        excess = log_sums_of_binomials(grid, weights + powers)
        result[rows] = np.minimum(result[rows], rdp_from_log_excess(excess, grid))
    return result
