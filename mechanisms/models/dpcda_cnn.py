"""The CNN of DP-CDA's experiments: two convolutions with batch normalisation, two hidden layers."""

from __future__ import annotations

import torch
from torch import nn

from rdpkit.mechanisms.models.shapes import Size, check_images, flat_width


class DPCDACNN(nn.Module):
    """The network of DP-CDA's Table 1; the image's size changes the first linear layer only.

    Parameters
    ----------
    channels, classes : int
        Channels of an image; number of labels.
    size : int or (int, int)
        Height and width in pixels, each at least 4.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Source
    ------
    Saha, Tonoy and Imtiaz, DP-CDA, Table 1.
    """

    def __init__(self, *, channels: int, size: Size, classes: int) -> None:
        super().__init__()
        shape = check_images(channels, size, classes, model="dpcda-cnn", smallest=4)
        self.features = nn.Sequential(
            nn.Conv2d(channels, 32, 5, padding=2),
            nn.ReLU(),
            nn.BatchNorm2d(32),
            nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1),
            nn.ReLU(),
            nn.BatchNorm2d(64),
            nn.MaxPool2d(2),
            nn.Flatten(),
        )
        self.classifier = nn.Sequential(
            nn.Linear(flat_width(self.features, channels, shape), 100),
            nn.ReLU(),
            nn.Dropout(0.5),
            nn.Linear(100, 100),
            nn.ReLU(),
            nn.Dropout(0.5),
            nn.Linear(100, classes),
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Logits, of shape (n, classes)."""
        logits: torch.Tensor = self.classifier(self.features(images))
        return logits
