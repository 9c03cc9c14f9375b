"""The privacy parameters of every mechanism: delta, adjacency, the noise and the counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rdpkit import Adjacency, _validate
from rdpkit.adjacency import ordinary
from rdpkit.mechanisms.data.dataset import Source
from rdpkit.mechanisms.parts.checks import source_checks
from rdpkit.mechanisms.parts.counts import (
    CountsUse,
    KnownCounts,
    NoisyCounts,
    PublicCounts,
    Sizes,
    counts_policy,
    known_counts,
)
from rdpkit.mechanisms.parts.noise import NoiseSource


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Privacy:
    """Delta and adjacency of the guarantee in a manifest, the source of noise, and the counts.

    Examples
    --------
    >>> Privacy(delta=1e-5, adjacency="replace_one", noise=NoiseSource.system()).adjacency
    <Adjacency.REPLACE_ONE: 'replace_one'>
    """

    delta: float  #: In (0, 1). The manifest states epsilon at this delta.
    adjacency: Adjacency | str  #: Neighbouring relation of the manifest's guarantee
    noise: NoiseSource  #: Source of the noise and of the sampled subsets. Both must stay secret.
    accept_epsilon: float | None = None
    """The largest epsilon that you accept for a release that calls itself private. Without it, no
    release with an epsilon above 20 does. The manifest states that you accepted it.
    """
    counts: str | int | Sequence[int] | NoisyCounts | PublicCounts | KnownCounts = "noisy"
    """How the numbers of records become known that a mechanism needs. "noisy": they are estimated
    with noise, and the guarantee pays for it. A sequence: these public numbers, one for each class
    (or one for all records), which do not come from the data; for samples of a fixed size they are
    lower bounds. "public": the data's own numbers are public, as you say; then the manifest shows
    them, and says that the release is not private.
    """
    public: Mapping[str, Source] = field(
        default_factory=lambda: {"classes, shapes and options": "stated"}
    )
    """How each parameter became known that the mechanism takes as public: see
    :func:`rdpkit.mechanisms.parts.checks.source_checks`. A release with one that was read from the
    records is not private. By default whoever calls the mechanism states them all. One of
    {"stated", "confirmed", "paid", "read"}.
    """

    most_per_person: int | None = None
    """Neighbours differ in all records of one person, which are so many at most, instead of in one
    record. Whoever calls the mechanism has left out what a person has beyond that, and a person
    with fewer records counts as one whose other records are absent.
    """

    def __post_init__(self) -> None:
        if self.most_per_person is not None:
            _validate.integer("most_per_person", self.most_per_person)
        _validate.open_probability("delta", self.delta)
        relation = ordinary(
            Adjacency.parse(self.adjacency), because="mechanisms are given no special records"
        )
        object.__setattr__(self, "adjacency", relation)
        _validate.one_of_a_kind("noise", self.noise, NoiseSource)
        if self.accept_epsilon is not None:
            _validate.positive("accept_epsilon", self.accept_epsilon)
        object.__setattr__(self, "counts", counts_policy(self.counts))
        source_checks(self.public)

    def known_counts(self, actual: Sizes, use: CountsUse) -> KnownCounts:
        """Find out how many records there are, as ``counts`` says.

        Parameters
        ----------
        actual : tuple of int
            The data's own class sizes.
        use : CountsUse
            What the mechanism needs them for.

        Raises
        ------
        ValueError
            If public numbers do not fit the classes.
        """
        return known_counts(
            counts_policy(self.counts),
            actual,
            use,
            delta=self.delta,
            adjacency=Adjacency.parse(self.adjacency),
            noise=self.noise,
            most_per_person=self.most_per_person,
        )
