"""Noise that is correlated between steps: banded matrix factorisation, with or without sampling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.composition import Composed, Repeated
from rdpkit.events.fields import (
    count,
    declared,
    diameter,
    event_class,
    integer,
    noise,
    norm,
    probability,
)
from rdpkit.events.free_parameters import FreeParameter
from rdpkit.events.geometry import diameter_of, record_move
from rdpkit.events.losses import (
    Attained,
    Dominating,
    Losses,
    NoLossDistributionError,
    attains,
    sampled_step,
)
from rdpkit.events.sampled.poisson import PoissonSampledGaussian
from rdpkit.events.training import strategies
from rdpkit.events.training.strategies import Distance, Pattern

_MOST_STEPS = 1_000_000
_MOST_WRITTEN_OUT = 2_000
_OPTIONAL = ("participations", "sampling_probability")


@event_class
class MatrixFactorization(Event):
    """Sums of many steps, times a strategy matrix, plus Gaussian noise (DP-MF, BandMF, DP-FTRL).

    Released: C G + Z. Row t of G is the sum of the records' vectors in the batch of step t, C is a
    lower-triangular strategy matrix, and Z has independent N(0, noise_std^2) entries. A vector may
    depend on all that was released before. C is given by ``coefficients`` or by ``matrix``. A
    record takes part in at most ``participations`` steps, any two of which are at least
    ``min_separation`` apart; with a ``sampling_probability`` it belongs to one of as many groups,
    which take turns, and is in its group's batches with that probability.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.MatrixFactorization(
    ...     noise_std=4.0, record_norm=1.0, steps=1000, coefficients=[1.0, 0.5, 0.25],
    ...     min_separation=250
    ... )
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="zero_out").epsilon, 3)
    2.321
    """

    mechanism: ClassVar[str] = "matrix_factorization"
    of_whole_data: ClassVar[str] = "it states in which of its steps a record takes part"
    adjacencies: ClassVar[tuple[Adjacency, ...]] = (Adjacency.REPLACE_ONE, Adjacency.ZERO_OUT)

    noise_std: float = noise(
        "Standard deviation of the entries of Z, in the units of a record times those of C"
    )
    record_norm: float = norm(
        "Largest L2 norm of one record's vector in one step. It is what a record moves in a step "
        "under zero-out"
    )
    steps: int = declared("Number of steps", accepted="at least 1")
    coefficients: tuple[float, ...] | None = declared(
        "First column of C if C is a Toeplitz matrix, from the diagonal downwards; zeros below "
        "the last one may be left out",
        default=None,
    )
    matrix: tuple[float, ...] | None = declared(
        "Entries of the lower triangle of C, row by row: 1 of the first row, 2 of the second, and "
        "so on; for at most 2000 steps. :meth:`of_matrix` takes an array",
        default=None,
    )
    min_separation: int = integer(
        "Smallest distance, in steps, between two participations of one record, or the number of "
        "groups",
        default=1,
    )
    participations: int | None = count(
        "Largest number of steps in which one record takes part. By default as many as fit into "
        "the steps",
        default=None,
    )
    sampling_probability: float | None = probability(
        "Probability with which a record is in a batch of its group. C must not have more bands "
        "than there are groups. By default nothing is sampled",
        default=None,
    )
    record_diameter: float | None = diameter(
        "Largest L2 distance between two records' vectors. It is what a record moves in a step "
        "under replace-one",
        default=None,
    )

    def _check_together(self) -> None:
        most = _MOST_STEPS if self.matrix is None else _MOST_WRITTEN_OUT
        _validate.integer("steps", self.steps, maximum=most)
        given = [name for name in ("coefficients", "matrix") if getattr(self, name) is not None]
        for name in given:
            self._check_entries(name)
        if len(given) != 1:
            raise ValueError(
                "Expected coefficients or matrix, exactly one of the two, got "
                f"{' and '.join(given) or 'neither'}."
            )
        if self.sampling_probability is not None:
            self._check_groups()

    def _check_entries(self, name: str) -> None:
        # The square of the largest entry must neither vanish nor overflow.
        condition = "to be finite numbers, not all zero and of a size between 1e-100 and 1e100"
        entries = _validate.real_array(name, getattr(self, name), condition)
        if name == "matrix":
            wanted = self.steps * (self.steps + 1) // 2
            if entries.shape != (wanted,):
                raise _validate.fail(
                    "matrix", f"to be the {wanted} entries of {self.steps} rows", self.matrix
                )
        used = entries[: self.steps] if name == "coefficients" else entries
        if entries.ndim != 1 or not 1e-100 <= np.abs(used).max(initial=0.0) <= 1e100:
            raise _validate.fail(name, condition, getattr(self, name))
        object.__setattr__(self, name, tuple((entries + 0.0).tolist()))

    def _check_groups(self) -> None:
        if self.participations is not None:
            raise ValueError(
                "Expected participations to be None with a sampling_probability: a record may be "
                f"sampled in every batch of its group, got {self.participations!r}."
            )
        if self.bands > self.min_separation:
            raise _validate.fail(
                "min_separation",
                f"to be at least {self.bands}, the number of bands of the strategy matrix, with a "
                "sampling_probability",
                self.min_separation,
            )

    @classmethod
    def of_matrix(cls, matrix: Any, **parameters: Any) -> MatrixFactorization:
        """The event for a strategy matrix that is given as a lower-triangular array.

        Parameters
        ----------
        matrix : array_like, shape (n, n)
            The strategy matrix C; zero above the diagonal.
        **parameters
            The other parameters but ``steps``.

        Raises
        ------
        ValueError
            If the array is not square and lower-triangular, or a parameter is outside of its range.
        """
        condition = "to be a square lower-triangular array of finite numbers"
        array = _validate.real_array("matrix", matrix, condition)
        square = array.ndim == 2 and array.shape[0] == array.shape[1] and array.size > 0
        if not square or np.any(np.triu(array, 1)):
            raise _validate.fail("matrix", condition, matrix)
        entries = tuple(array[np.tril_indices(array.shape[0])].tolist())
        return cls(steps=array.shape[0], matrix=entries, **parameters)

    @property
    def bands(self) -> int:
        """Number of diagonals of the strategy matrix up to the last one that is not zero."""
        if self.coefficients is not None:
            return strategies.bands_of_toeplitz(self.coefficients, self.steps)
        assert self.matrix is not None
        return strategies.bands_of_matrix(strategies.lower_triangle(self.matrix, self.steps))

    @property
    def turns(self) -> int:
        """The largest number of steps in which one record may take part."""
        most = -(-self.steps // self.min_separation)
        return most if self.participations is None else min(self.participations, most)

    @property
    def distance(self) -> Distance:
        """How far one record of norm 1 that is in all its batches moves C G: above and below."""
        pattern = Pattern(separation=self.min_separation, participations=self.turns)
        if self.coefficients is not None:
            return strategies.of_toeplitz(self.coefficients, self.steps, pattern)
        assert self.matrix is not None
        return strategies.of_matrix(self.matrix, self.steps, pattern)

    def record_move(self, adjacency: Adjacency) -> float:
        """How far one record moves one step's sum.

        Raises
        ------
        NoLossDistributionError
            Under add-or-remove-one: a record that goes may move others to another step.
        """
        if adjacency is Adjacency.ADD_OR_REMOVE_ONE:
            raise NoLossDistributionError(
                "Under add_or_remove_one a record that comes or goes may move others to another "
                "step."
            )
        return record_move(self, adjacency)

    def noise_multiplier(self, adjacency: Adjacency, *, attained: bool = False) -> float:
        """Noise over how far one record that is in all its batches moves the whole release."""
        distance = self.distance.below if attained else self.distance.above
        return self.noise_std / (self.record_move(adjacency) * distance)

    def step_of_a_group(self, column: float) -> PoissonSampledGaussian:
        """What one batch of a group shows of a record, if its column of C has this norm."""
        assert self.sampling_probability is not None
        return PoissonSampledGaussian(
            noise_std=self.noise_std,
            record_norm=self.record_norm * column,
            sampling_probability=self.sampling_probability,
            record_diameter=diameter_of(self) * column,
        )

    def expand(self) -> Event | None:
        """With sampling, for a Toeplitz matrix: a Poisson-sampled Gaussian for each turn.

        Those of the group that begins; the columns of its steps are at least as long as those of
        the other groups.
        """
        return self._turns(lambda distance: distance.above)

    def attained_expansion(self) -> Event | None:
        """The same: a record of the group that begins, with columns rounded down."""
        return self._turns(lambda distance: distance.below)

    def _turns(self, side: Callable[[strategies.Distance], float]) -> Event | None:
        if self.sampling_probability is None or self.coefficients is None:
            return None
        once = Pattern(separation=1, participations=1)
        whole = (self.steps - self.bands) // self.min_separation + 1
        full = side(strategies.of_toeplitz(self.coefficients, self.steps, once))
        repeated = Repeated(event=self.step_of_a_group(full), count=whole)
        if whole == self.turns:
            return repeated
        left = self.steps - whole * self.min_separation
        if strategies.bands_of_toeplitz(self.coefficients, left) == 0:
            return repeated
        rest = side(strategies.of_toeplitz(self.coefficients, left, once))
        return Composed(events=(repeated, self.step_of_a_group(rest)))

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """Two Gaussians; with sampling, for each turn the pair of a Poisson sample."""
        if self.sampling_probability is None:
            return Dominating(self._gaussians(self.noise_multiplier(adjacency)))
        self.record_move(adjacency)
        return Dominating(self.largest_step().dominating(adjacency) * self.turns)

    def attained(self, adjacency: Adjacency) -> Attained:
        """Two Gaussians: a record that is in all its batches."""
        if self.sampling_probability is None:
            return attains(self._gaussians(self.noise_multiplier(adjacency, attained=True)))
        self.record_move(adjacency)
        raise NoLossDistributionError(
            "No pair of data sets is composed for sampled batches and a matrix written out."
        )

    def _gaussians(self, noise_multiplier: float) -> Losses:
        return sampled_step("replaced", noise_multiplier=noise_multiplier, sampling_probability=1.0)

    def largest_step(self) -> PoissonSampledGaussian:
        """What a batch shows of a record at most, for a matrix that is written out."""
        assert self.matrix is not None
        matrix = strategies.lower_triangle(self.matrix, self.steps)
        return self.step_of_a_group(strategies.largest_column(matrix))

    def free_parameters(self) -> Mapping[str, FreeParameter]:
        """More noise is more private; more participations, samples or larger records are less."""
        found = Event.free_parameters(self)
        unset = [name for name in _OPTIONAL if getattr(self, name) is None]
        return {name: free for name, free in found.items() if name not in unset}

    def assumptions(self) -> tuple[str, ...]:
        """How records are spread over the steps."""
        if self.sampling_probability is None:
            return (
                "the steps in which a record takes part do not depend on the other records, and "
                f"any two of them are at least {self.min_separation} apart",
            )
        return (
            f"each record is in one of {self.min_separation} groups, which does not depend on the "
            "other records; the groups take turns, and each batch is a Poisson sample of its group",
        )
