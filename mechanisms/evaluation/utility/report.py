"""What is known of a release after its evaluation, as values."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import rdpkit
from rdpkit import Event, Guarantee
from rdpkit.formats.records import as_plain, plain_of
from rdpkit.formats.tables import event_to_table
from rdpkit.mechanisms.evaluation.utility.columns import (
    ColumnSummary,
    Correlation,
    Histogram,
    Marginals,
    mean,
)
from rdpkit.mechanisms.evaluation.utility.membership import MembershipTest
from rdpkit.mechanisms.evaluation.utility.samples import Sample
from rdpkit.mechanisms.evaluation.utility.trained import TargetScores

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What the report itself costs the people in the data."""

    kind: Literal["public", "unaccounted", "accounted"]
    """"public": whoever asked for the report says that all real records in it are public.
    "unaccounted": private records were read, and nothing limits what the report tells of them.
    "accounted": it has noise, and costs ``guarantee`` on top of the release.
    """
    guarantee: Guarantee | None = None  # Of an accounted report
    noise_std: float | None = None  # The noise on each of its numbers
    event: Event | None = None  # What an accounted report releases, to be composed with the release


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFacts:
    """What the release says of itself."""

    name: str  # Of its file
    rows: int  # How many records it has
    mechanism: str | None  # From its manifest; None if there is none
    private: bool | None  # The verdict of its manifest
    guarantee: Guarantee | None  # Of its manifest


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pictures:
    """Images of each class; never part of the JSON."""

    classes: tuple[str, ...]  # The label of each column
    # Images of the release, and real ones; shape (rows, classes, height, width, 3).
    synthetic: NDArray[np.uint8]
    real: NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True)
class UtilityReport:
    """How good a release is."""

    release: ReleaseFacts  #: What was evaluated
    cost: Cost  #: What the report itself costs
    #: What the real records and the test records are.
    real: str
    test: str  #: As ``real``
    real_records: int  #: How many real records there are
    targets: tuple[TargetScores, ...]  #: Models trained on the release and tested on real records
    marginals: Marginals  #: Errors of columns and of pairs of columns
    columns: tuple[ColumnSummary, ...] = ()
    """Ranges, categories and missing values; empty in a private report."""
    correlations: tuple[Correlation, ...] = ()
    """How numbers move together; empty in a private report."""
    histograms: tuple[Histogram, ...] = ()  #: For drawings; empty in a private report
    membership: MembershipTest | None = None
    """None where no records are known not to be in the release."""
    seed: int = 0
    """With the same seed and the same files the same report comes out, unless it has noise."""
    notes: tuple[str, ...] = ()  #: What a reader has to know
    pictures: Pictures | None = field(default=None, compare=False)  #: Of a release of images

    @property
    def refuted(self) -> bool:
        """Whether the membership test shows more than the release's guarantee allows."""
        return self.membership is not None and self.membership.refuted

    @property
    def single_error(self) -> float:
        """The mean error of single columns."""
        return mean([one.error for one in self.marginals.single]) or 0.0

    @property
    def pair_error(self) -> float:
        """The mean error of pairs of columns; 0 if there is only one column."""
        return mean([one.error for one in self.marginals.pairs]) or 0.0

    @property
    def single_floor(self) -> float | None:
        """The mean distance of single columns between two halves of the real records."""
        return mean([one.floor for one in self.marginals.single])

    @property
    def pair_floor(self) -> float | None:
        """The mean distance of pairs between two halves of the real records."""
        return mean([one.floor for one in self.marginals.pairs])

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without the pictures."""
        event = self.cost.event
        cost = _with_guarantee(replace(self.cost, event=None))
        cost["event"] = None if event is None else event_to_table(event)
        membership = None
        if self.membership is not None:
            membership = {**as_plain(self.membership), "refuted": self.refuted}
        return {
            "format": FORMAT,
            "rdpkit": rdpkit.__version__,
            "release": _with_guarantee(self.release),
            "cost": cost,
            **plain_of(self, ("real", "test", "real_records", "targets")),
            "marginals": {
                "mean_single_error": self.single_error,
                "mean_pair_error": self.pair_error,
                "mean_single_floor": self.single_floor,
                "mean_pair_floor": self.pair_floor,
                **as_plain(self.marginals),
            },
            "columns": as_plain(self.columns),
            "correlations": [{**as_plain(one), "error": one.error} for one in self.correlations],
            "membership": membership,
            **plain_of(self, ("seed", "notes")),
        }


def _with_guarantee(record: Cost | ReleaseFacts) -> dict[str, Any]:
    """A record as plain values, and its guarantee as everywhere."""
    found: dict[str, Any] = as_plain(replace(record, guarantee=None))
    if record.guarantee is not None:
        found["guarantee"] = record.guarantee.as_dict()
    return found


# Images of each class side by side: those of the release, and real ones.

MOST_CLASSES, ROWS = 10, 3


def pictures(synthetic: Sample, real: Sample) -> Pictures | None:
    """The first images of each class, or None if the records are no images."""
    if synthetic.image is None or synthetic.image[0] not in (1, 3):
        return None
    labels = synthetic.columns[-1].values
    classes = tuple(sorted(set(labels), key=lambda v: (len(v), v)))[:MOST_CLASSES]
    return Pictures(
        classes=classes,
        synthetic=_rows(synthetic, classes, labels),
        real=_rows(real, classes, real.columns[-1].values),
    )


def png(images: NDArray[np.uint8]) -> str:
    """Rows of images, shape (rows, classes, height, width, 3), as one image in a data address."""
    from PIL import Image  # noqa: PLC0415

    rows, classes, height, width, _ = images.shape
    whole = np.full((rows * (height + 1), classes * (width + 1), 3), 127, np.uint8)
    for i in range(rows):
        for j in range(classes):
            top, left = i * (height + 1), j * (width + 1)
            whole[top : top + height, left : left + width] = images[i, j]
    file = io.BytesIO()
    Image.fromarray(whole).save(file, format="PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def _rows(
    sample: Sample, classes: tuple[str, ...], labels: NDArray[np.object_]
) -> NDArray[np.uint8]:
    """The first images of each class; grey where there are not so many."""
    assert sample.image is not None
    channels, height, width = sample.image
    pixels = sample.pixels()
    found = np.full((ROWS, len(classes), height, width, 3), 127, np.uint8)
    for j, name in enumerate(classes):
        for i, row in enumerate(np.flatnonzero(labels == name)[:ROWS]):
            values = pixels[row]
            low, high = values.min(), values.max()
            shades = np.round(255.0 * (values - low) / (high - low if high > low else 1.0))
            image = shades.astype(np.uint8).reshape(channels, height, width).transpose(1, 2, 0)
            found[i, j] = np.broadcast_to(image, (height, width, 3))
    return found
