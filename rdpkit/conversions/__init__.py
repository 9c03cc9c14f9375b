"""Conversions from RDP at one order to (epsilon, delta): two in closed form, and the best one."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from rdpkit.conversions import closed, optimal

Array = NDArray[np.float64]

EPSILON: MappingProxyType[str, Callable[[Array, Array, float], Array]] = MappingProxyType(
    {
        "mironov2017": closed.mironov_epsilon,
        "balle2020": closed.balle_epsilon,
        "optimal": optimal.epsilon,
    }
)
"""Conversions to epsilon at a delta, by name."""

DELTA: MappingProxyType[str, Callable[[Array, Array, float], Array]] = MappingProxyType(
    {"mironov2017": closed.mironov_delta, "balle2020": closed.balle_delta, "optimal": optimal.delta}
)
"""Conversions to delta at an epsilon, by name."""

__all__ = ["DELTA", "EPSILON"]
