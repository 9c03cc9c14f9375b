"""Conversions from RDP at one order to (epsilon, delta): three theorems, one file each."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from rdpkit.conversions import balle2020, mironov2017, optimal

Array = NDArray[np.float64]

_MODULES = {"mironov2017": mironov2017, "balle2020": balle2020, "optimal": optimal}

EPSILON: MappingProxyType[str, Callable[[Array, Array, float], Array]] = MappingProxyType(
    {name: module.epsilon for name, module in _MODULES.items()}
)
"""Conversions to epsilon at a delta, by name."""

DELTA: MappingProxyType[str, Callable[[Array, Array, float], Array]] = MappingProxyType(
    {name: module.delta for name, module in _MODULES.items()}
)
"""Conversions to delta at an epsilon, by name."""

__all__ = ["DELTA", "EPSILON"]
