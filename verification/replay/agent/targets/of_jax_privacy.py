"""Steps of training with JAX Privacy, whose sums of clipped gradients move by one record."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax_privacy import clipping, noise_addition

from . import REMOVE, target

_NOISE = 4.0
_DELTA = 1e-5
_EPSILON = 1.1
"""One step of Gaussian noise of four times the norm spends less."""


def _loss(weights: Any, rows: Any) -> Any:
    return jnp.mean((rows @ weights - 1.0) ** 2)


def _released(data: Any, rng: Any, **given: Any) -> Any:
    """The weights after one step from zeros."""
    weights = jnp.zeros(2)
    gradient = clipping.clipped_grad(_loss, l2_clip_norm=1.0, **given)
    privatizer = noise_addition.gaussian_privatizer(
        stddev=_NOISE * gradient.sensitivity(), prng_key=int(rng.integers(1 << 30))
    )
    clipped = gradient(weights, jnp.asarray(data.features))
    noisy, _ = privatizer.update(clipped, privatizer.init(weights))
    return np.asarray(weights - noisy)


_step = target(REMOVE, epsilon=_EPSILON, delta=_DELTA, records=8)

one_step = _step(_released)
one_step_divided_by_a_public_number = _step(
    lambda data, rng: _released(data, rng, normalize_by=10.0)
)
one_step_on_any_values = target(REMOVE, epsilon=_EPSILON, delta=_DELTA, records=8, any_values=True)(
    lambda data, rng: _released(data, rng, nan_safe=True)
)
