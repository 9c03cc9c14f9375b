"""Images of each class side by side: those of the release, and real ones."""

from __future__ import annotations

import base64
import io

import numpy as np
from numpy.typing import NDArray

from rdpkit.mechanisms.evaluation.utility.report import Pictures
from rdpkit.mechanisms.evaluation.utility.samples import Sample

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
