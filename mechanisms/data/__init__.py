"""Loaders of data sets."""

from __future__ import annotations

from rdpkit.mechanisms.data.dataset import Dataset
from rdpkit.mechanisms.data.registry import DATASETS, load_dataset

__all__ = ["DATASETS", "Dataset", "load_dataset"]
