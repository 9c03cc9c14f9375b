"""The works, one a file: cases, references, and an adapter for every library that can do it."""

from __future__ import annotations

from benchmarks.model import Work


def all_works() -> list[Work]:
    """Every work, in the order of the table."""
    from benchmarks.work import (  # noqa: PLC0415  (the references are made without the works)
        calibration,
        fixed_size_curve,
        loss_distribution,
        poisson_curve,
        rdp_epsilon,
        sweep,
    )

    return [
        poisson_curve.WORK,
        fixed_size_curve.WORK,
        rdp_epsilon.WORK,
        *sweep.WORKS,
        calibration.WORK,
        loss_distribution.WORK,
    ]
