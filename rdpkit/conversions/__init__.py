"""Conversions from RDP at one order to (epsilon, delta): three theorems, one file each."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from rdpkit.conversions import balle2020, mironov2017, optimal

Array = NDArray[np.float64]

EPSILON: MappingProxyType[str, Callable[[Array, Array, float], Array]] = MappingProxyType(
    {
        "mironov2017": mironov2017.epsilon,
        "balle2020": balle2020.epsilon,
        "optimal": optimal.epsilon,
    }
)
"""Conversions to epsilon at a delta, by name."""

DELTA: MappingProxyType[str, Callable[[Array, Array, float], Array]] = MappingProxyType(
    {
        "mironov2017": mironov2017.delta,
        "balle2020": balle2020.delta,
        "optimal": optimal.delta,
    }
)
"""Conversions to delta at an epsilon, by name."""

__all__ = ["DELTA", "EPSILON"]
