"""AlexNet for small images: five convolutions, three poolings, one linear layer."""

from __future__ import annotations

import torch
from torch import nn

from rdpkit.mechanisms.models.shapes import Size, check_images, flat_width


class AlexNet(nn.Module):
    """AlexNet's five convolutions with narrower layers and no stride, for images near 32 x 32.

    Parameters
    ----------
    channels, classes : int
        Channels of an image (one channel is padded by 4 pixels first, otherwise 2); number of
        labels.
    size : int or (int, int)
        Height and width in pixels, each at least 8.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Source
    ------
    Krizhevsky et al. (2012), in the form of the public code of Zhao and Bilen's dataset
    condensation.
    """

    def __init__(self, *, channels: int, size: Size, classes: int) -> None:
        super().__init__()
        shape = check_images(channels, size, classes, model="alexnet", smallest=8)
        self.features = nn.Sequential(
            nn.Conv2d(channels, 128, 5, padding=4 if channels == 1 else 2),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(128, 192, 5, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(192, 256, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(256, 192, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(192, 192, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
        )
        self.classifier = nn.Linear(flat_width(self.features, channels, shape), classes)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Logits, of shape (n, classes)."""
        logits: torch.Tensor = self.classifier(self.features(images))
        return logits
