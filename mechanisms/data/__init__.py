"""Loaders of data sets."""

from __future__ import annotations

from rdpkit.mechanisms.data.dataset import Dataset
from rdpkit.mechanisms.data.published import DATASETS, load_dataset

__all__ = ["DATASETS", "Dataset", "load_dataset"]
