"""LeNet-5 with ReLU and max pooling."""

from __future__ import annotations

import torch
from torch import nn

from rdpkit.mechanisms.models.shapes import Size, check_images, flat_width


class LeNet(nn.Module):
    """Two 5x5 convolutions (6 and 16 filters), hidden layers of 120 and 84 units.

    Parameters
    ----------
    channels, classes : int
        Channels of an image (one channel is padded by 2 pixels first); number of labels.
    size : int or (int, int)
        Height and width in pixels, each at least 12 with one channel and 16 with more.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Source
    ------
    LeCun et al. (1998), in the form of the public code of Zhao and Bilen's dataset condensation.
    """

    def __init__(self, *, channels: int, size: Size, classes: int) -> None:
        super().__init__()
        padding, smallest = (2, 12) if channels == 1 else (0, 16)
        shape = check_images(channels, size, classes, model="lenet", smallest=smallest)
        self.features = nn.Sequential(
            nn.Conv2d(channels, 6, 5, padding=padding),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(6, 16, 5),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
        )
        self.classifier = nn.Sequential(
            nn.Linear(flat_width(self.features, channels, shape), 120),
            nn.ReLU(),
            nn.Linear(120, 84),
            nn.ReLU(),
            nn.Linear(84, classes),
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Logits, of shape (n, classes)."""
        logits: torch.Tensor = self.classifier(self.features(images))
        return logits
