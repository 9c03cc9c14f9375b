"""The private records themselves: no privacy, and the accuracy that a release is measured by."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.releases.release import Release, release


def synthesize(features: NDArray[Any], labels: NDArray[Any], *, noise: NoiseSource) -> Release:
    """Release the records as they are.

    Guarantee
    ---------
    None: the manifest says ``private: false``.

    Parameters
    ----------
    features : array of shape (n, d)
        Records.
    labels : array of int, shape (n,)
        Their labels.
    noise : NoiseSource
        Not used; every mechanism takes one.

    Returns
    -------
    Release
    """
    return release(
        features,
        labels,
        event=None,
        delta=None,
        adjacency=None,
        parameters={},
        noise=noise,
        notes=("the private records themselves",),
        mechanism="original",
    )
