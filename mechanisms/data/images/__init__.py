"""Labelled images of the user's own: from where they are, and back to there."""

from __future__ import annotations

from rdpkit.mechanisms.data.images.image_set import ImageSet
from rdpkit.mechanisms.data.images.loading import load_images
from rdpkit.mechanisms.data.images.writing import (
    as_bytes,
    to_hugging_face,
    to_image_folder,
    to_npz,
    to_torch,
)

__all__ = [
    "ImageSet",
    "as_bytes",
    "load_images",
    "to_hugging_face",
    "to_image_folder",
    "to_npz",
    "to_torch",
]
