"""Small labelled data sets that tests share."""

import numpy as np

from rdpkit.mechanisms.parts.records import public_scaling

BYTES = public_scaling(factor=1 / 255)


def images(count=60, *, classes=3, shape=(4, 4), kind=np.uint8, seed=0):
    """Random images, and labels of which every class has as many."""
    rng = np.random.default_rng(seed)
    features = rng.integers(0, 256, (count, *shape)).astype(kind)
    return features, np.arange(count) % classes
