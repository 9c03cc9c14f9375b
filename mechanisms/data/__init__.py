"""Loaders of data sets; nothing here knows of privacy beyond what is public."""

from __future__ import annotations

from rdpkit.mechanisms.data.dataset import Dataset
from rdpkit.mechanisms.data.registry import DATASETS, load_dataset

__all__ = ["DATASETS", "Dataset", "load_dataset"]
