"""The handwritten digits that come with scikit-learn: a small data set that needs no files."""

from __future__ import annotations

import numpy as np

from rdpkit.mechanisms.data.dataset import Dataset

_EVERY = 5  # One record in so many is a test record


def load_digits() -> Dataset:  # 1,437 training and 360 test records
    """1,797 digits of 8 x 8 pixels with values 0 to 16; every fifth record is a test record.

    Source
    ------
    Alpaydin and Kaynak, Optical Recognition of Handwritten Digits (1998), as scikit-learn has it.
    """
    # scikit-learn takes a second to import; loaders of other data sets do not need it.
    from sklearn.datasets import load_digits as load  # noqa: PLC0415

    features, labels = load(return_X_y=True)
    pixels = features.astype(np.uint8)
    test = np.arange(len(labels)) % _EVERY == 0
    return Dataset(
        name="digits",
        train_features=pixels[~test],
        train_labels=labels[~test],
        test_features=pixels[test],
        test_labels=labels[test],
        classes=tuple("0123456789"),
        value_range=(0.0, 16.0),
        image_shape=(1, 8, 8),
    )
