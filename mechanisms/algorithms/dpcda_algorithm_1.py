"""DP-CDA's Algorithm 1 as printed: noisy labels, and the exact z-score where it is asked for."""

from __future__ import annotations

from rdpkit.mechanisms.algorithms.dpcda import (
    DPCDAOptions,
    clipped,
    synthesize,
    verify_target_noisy_labels,
)
from rdpkit.mechanisms.algorithms.specification import Mechanism

SPEC = Mechanism(
    name="dpcda-algorithm-1",
    synthesize=synthesize,
    options=DPCDAOptions,
    prepare=clipped,
    verify=verify_target_noisy_labels,
)
