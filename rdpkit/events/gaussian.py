"""One release of a noisy sum."""

from __future__ import annotations

import math
from typing import ClassVar

from rdpkit.adjacency import Adjacency
from rdpkit.events.fields import diameter, event_class, noise, norm
from rdpkit.events.geometry import SumOfVectors
from rdpkit.events.losses import Dominating, sampled_step


@event_class
class Gaussian(SumOfVectors):
    """The sum of the records' vectors plus Gaussian noise, released once.

    Released: sum of x_i + N(0, noise_std^2 I). With s the sensitivity, ``record_norm`` under
    add-or-remove-one and zero-out and ``record_diameter`` under replace-one, the Renyi divergence
    between neighbours is at most order * s^2 / (2 * noise_std^2), and some neighbours attain that.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.Gaussian(noise_std=5.0, record_norm=1.0)
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    0.726
    """

    mechanism: ClassVar[str] = "gaussian"

    noise_std: float = noise()
    record_norm: float = norm(more="It is the sensitivity under add-or-remove-one and zero-out")
    record_diameter: float | None = diameter(
        more="It is the sensitivity under replace-one", default=None
    )

    def noise_multiplier(self, adjacency: Adjacency) -> float:
        """Noise standard deviation over the sensitivity under ``adjacency``."""
        return min(self.noise_std / self.sensitivity(adjacency), math.inf)

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """Two Gaussians, as far apart as the sensitivity."""
        z = self.noise_multiplier(adjacency)
        return Dominating(sampled_step("replaced", noise_multiplier=z, sampling_probability=1.0))
