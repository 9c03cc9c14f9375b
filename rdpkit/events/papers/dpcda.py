"""DP-CDA (Saha, Tonoy and Imtiaz): class-centric mixing with noise on features and labels."""

from __future__ import annotations

from typing import ClassVar, Literal

from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.data_sets import NeighbouringDataSets, one_record_of_a_class_changed
from rdpkit.events.fields import (
    choice,
    declared,
    event_class,
    integer,
    noise,
    non_negative,
    positive,
    sizes,
)
from rdpkit.events.free_parameters import integers
from rdpkit.events.mixing import Mixing
from rdpkit.events.papers.classes import any_order, check_mixtures, mixtures, samples_of_classes

Preprocessing = Literal["public", "exact-z-score"]


@event_class
class DPCDA(Event):
    """DP-CDA, Algorithm 1: every release is the noisy mean of some records of one class.

    Released, for each class and ``samples_per_class`` times: the mean of ``order_of_mixture``
    records of the class, each clipped to L2 norm ``clip_norm`` and drawn without replacement,
    + N(0, feature_noise^2 I), and their mean one-hot label + N(0, label_noise^2 I).

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.DPCDA(
    ...     class_sizes=[6000, 6000], samples_per_class=100, order_of_mixture=50, clip_norm=1.0,
    ...     feature_noise=0.1, label_noise=0.0
    ... )
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    0.116
    """

    mechanism: ClassVar[str] = "dpcda"
    of_whole_data: ClassVar[str] = "it states how many records there are of each class"
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)
    mixing: ClassVar[Mixing | None] = Mixing(
        mixed="order_of_mixture",
        releases="samples_per_class",
        noise="feature_noise",
        label_noise="label_noise",
        scale="clip_norm",
    )
    expansion_is_attained = True

    class_sizes: tuple[int, ...] = sizes(
        "Records of each class, in the larger of two neighbours", least="order_of_mixture"
    )
    samples_per_class: int | tuple[int, ...] = declared(
        "Releases of each class (T_k of the paper), fixed before the data are seen; one number at "
        "least 1 for all classes, or one for each",
        free=integers(-1, role="count"),
    )
    order_of_mixture: int = integer(
        "Records in the mean, drawn without replacement from one class (l of the paper)",
        free=any_order,
    )
    clip_norm: float = positive(
        "L2 norm to which every feature vector is clipped (c of the paper), in the units of the "
        "features",
        private=-1,
    )
    feature_noise: float = noise(
        "Standard deviation of the noise on each coordinate of the mean feature vector, in the "
        "units of the features"
    )
    label_noise: float = non_negative(
        "Standard deviation of the noise on each coordinate of the mean one-hot label. Within a "
        "class that mean is a constant, so the label noise protects nothing",
        private=1,
        role="noise",
    )
    preprocessing: Preprocessing = choice(
        '"public": features were not scaled, or were scaled with constants that do not depend on '
        'the data. "exact-z-score": features were scaled with the data\'s own mean and standard '
        "deviation, as in Algorithm 1. No sound bound is known for this, because the scaling "
        "itself uses the data",
        Preprocessing,
        default="public",
    )

    def _check_together(self) -> None:
        check_mixtures(self)

    @property
    def samples(self) -> tuple[int, ...]:
        """Releases of each class."""
        return samples_of_classes(self.class_sizes, self.samples_per_class)

    def expand(self) -> Event | None:
        """For each class, T_k sampled means; None if features are scaled with the exact z-score.

        The number of releases of every class is fixed in advance, and each release has the label of
        its class, so labels tell nothing about the data.
        """
        if self.preprocessing != "public":
            return None
        return mixtures(self, record_norm=self.clip_norm)

    def neighbours(self, adjacency: Adjacency, touched: tuple[int, ...]) -> NeighbouringDataSets:
        """One record at the clip norm, all others at its mirror image."""
        return one_record_of_a_class_changed(
            self.class_sizes,
            adjacency,
            touched,
            others=-self.clip_norm,
            changed=self.clip_norm,
            replacement=-self.clip_norm,
        )

    def assumptions(self) -> tuple[str, ...]:
        """What must hold beyond the parameters."""
        if self.preprocessing == "public":
            return (
                "features are scaled with public constants before clipping, not with the z-score "
                "of the private data that Algorithm 1 prescribes",
                "samples per class are fixed before the data are seen",
            )
        return (
            "features are scaled with the exact mean and standard deviation of the private data: "
            "an unaccounted release",
        )
