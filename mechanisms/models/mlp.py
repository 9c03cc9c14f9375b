"""A multilayer perceptron: two hidden layers of 128 units."""

from __future__ import annotations

import math

import torch
from torch import nn

from rdpkit.mechanisms.models.shapes import Size, check_images


class MLP(nn.Module):
    """Flattened records, two hidden layers with ReLU, logits; the only model for plain tables.

    Parameters
    ----------
    channels, classes : int
        Channels of an image (columns of a table whose size is 1); number of labels.
    size : int or (int, int)
        Height and width in pixels.
    width : int
        Units of each hidden layer.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Source
    ------
    The public code of Zhao and Bilen's dataset condensation, which DPDC's Table 3 evaluates with.
    """

    def __init__(self, *, channels: int, size: Size, classes: int, width: int = 128) -> None:
        super().__init__()
        shape = check_images(channels, size, classes, model="mlp", smallest=1)
        self.layers = nn.Sequential(
            nn.Flatten(),
            nn.Linear(channels * math.prod(shape), width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, classes),
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Logits, of shape (n, classes)."""
        logits: torch.Tensor = self.layers(images)
        return logits
