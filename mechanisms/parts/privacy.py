"""The privacy parameters that every mechanism takes: delta, adjacency and the source of noise."""

from __future__ import annotations

from dataclasses import dataclass

from rdpkit import Adjacency, _validate
from rdpkit.mechanisms.parts.noise import NoiseSource


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Privacy:
    """Delta and adjacency of the guarantee in a manifest, and the source of the release's noise.

    Parameters
    ----------
    delta : float
        In (0, 1). The manifest states epsilon at this delta.
    adjacency : Adjacency or str
        Neighbouring relation of the manifest's guarantee.
    noise : NoiseSource
        Source of the noise and of the sampled subsets. Both must stay secret.
    accept_epsilon : float, optional
        The largest epsilon that you accept for a release that calls itself private. Without it, no
        release with an epsilon above 20 does. The manifest states that you accepted it.

    Raises
    ------
    ValueError
        If ``delta`` is not in (0, 1), or another argument is not of its kind.

    Examples
    --------
    >>> Privacy(delta=1e-5, adjacency="replace_one", noise=NoiseSource.system()).adjacency
    <Adjacency.REPLACE_ONE: 'replace_one'>
    """

    delta: float
    adjacency: Adjacency | str
    noise: NoiseSource
    accept_epsilon: float | None = None

    def __post_init__(self) -> None:
        _validate.open_probability("delta", self.delta)
        object.__setattr__(self, "adjacency", Adjacency.parse(self.adjacency))
        _validate.one_of_a_kind("noise", self.noise, NoiseSource)
        if self.accept_epsilon is not None:
            _validate.positive("accept_epsilon", self.accept_epsilon)


__all__ = ["Privacy"]
