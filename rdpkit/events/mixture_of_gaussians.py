"""One release of a noisy sum to which a person contributes a random amount."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.fields import declared, event_class, noise
from rdpkit.events.losses import Dominating, NoLossDistributionError
from rdpkit.events.pairs import GaussianMixturePair

_SUM = 1e-9


@event_class
class MixtureOfGaussians(Event):
    """A noisy sum to which what one person contributes is random, released once.

    Released: sum of x_i + N(0, noise_std^2 I), where the vector of one person (a user with several
    records, say) has at most the norm sensitivities[j] with probability probabilities[j],
    independently of all others. With two sensitivities, one of them 0, it is the Gaussian mechanism
    on a Poisson sample.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.MixtureOfGaussians(
    ...     noise_std=4.0, sensitivities=[0.0, 1.0, 2.0], probabilities=[0.9, 0.09, 0.01]
    ... )
    >>> hundred = rdpkit.Repeated(event=event, count=100)
    >>> round(rdpkit.epsilon(hundred, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    1.11
    """

    mechanism: ClassVar[str] = "mixture_of_gaussians"
    of_whole_data: ClassVar[str] = ""
    adjacencies: ClassVar[tuple[Adjacency, ...]] = (Adjacency.ADD_OR_REMOVE_ONE, Adjacency.ZERO_OUT)
    # By vectors of these norms, all in one direction.
    losses_are_attained = True

    noise_std: float = noise()
    sensitivities: tuple[float, ...] = declared(
        "L2 norms, in the units of the sum; finite and >= 0"
    )
    probabilities: tuple[float, ...] = declared(
        "Their probabilities, in (0, 1], which add up to 1 within 1e-9 and are scaled to do so"
    )

    def _check_together(self) -> None:
        condition = "to be finite numbers >= 0, of shape (k,) with k >= 1"
        norms = np.atleast_1d(_validate.real_array("sensitivities", self.sensitivities, condition))
        if norms.ndim != 1 or not norms.size or not (np.isfinite(norms) & (norms >= 0.0)).all():
            raise _validate.fail("sensitivities", condition, self.sensitivities)
        condition = f"to be numbers in (0, 1] that add up to 1, of shape ({norms.size},)"
        shares = np.atleast_1d(_validate.real_array("probabilities", self.probabilities, condition))
        if shares.shape != norms.shape or not ((shares > 0.0) & (shares <= 1.0)).all():
            raise _validate.fail("probabilities", condition, self.probabilities)
        if abs(float(shares.sum()) - 1.0) > _SUM:
            raise _validate.fail("probabilities", condition, self.probabilities)
        object.__setattr__(self, "sensitivities", tuple(float(v) + 0.0 for v in norms))
        object.__setattr__(self, "probabilities", tuple(float(v) for v in shares))

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """A mixture against a Gaussian; what a replacement by another vector does is not known."""
        if adjacency is Adjacency.REPLACE_ONE:
            raise NoLossDistributionError(
                "No privacy loss distribution is known for a mixture of Gaussians under "
                "replace_one."
            )
        if max(self.sensitivities) == 0.0:
            return Dominating(())
        pair = GaussianMixturePair(
            kind="removed",
            noise_std=self.noise_std,
            positions=self.sensitivities,
            weights=self.probabilities,
        )
        return Dominating((pair,))
