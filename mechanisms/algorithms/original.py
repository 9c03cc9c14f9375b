"""The private records themselves: a baseline without privacy, for the accuracy of releases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from rdpkit.mechanisms.algorithms.specification import Mechanism
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.releases.release import Release, release_without_guarantee


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginalOptions:
    """Options of the original records, of which there are none."""


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
        The source that the manifest states. No noise is drawn from it.

    Returns
    -------
    Release
    """
    return release_without_guarantee(
        features,
        labels,
        mechanism=SPEC.name,
        parameters={},
        notes=("the private records themselves",),
        noise=noise,
    )


SPEC = Mechanism(
    name="original", synthesize=synthesize, options=OriginalOptions, kind="real records"
)

__all__ = ["SPEC", "OriginalOptions", "synthesize"]
