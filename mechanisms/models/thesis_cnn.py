"""The CNN of the DPMix thesis: two 5x5 convolutions, two hidden layers of 100 units."""

from __future__ import annotations

import torch
from torch import nn

from rdpkit.mechanisms.models.shapes import Size, check_images, flat_width


class ThesisCNN(nn.Module):
    """The network of the thesis's Table 4.1, initialised as Keras does (Glorot uniform, no bias).

    Its last layer's softmax is left to the loss.

    Parameters
    ----------
    channels, classes : int
        Channels of an image; number of labels.
    size : int or (int, int)
        Height and width in pixels, each at least 16: nothing is padded.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Source
    ------
    Mahmud, Implementation and Performance Analysis of DPMix Algorithm (2025), Table 4.1, A.2.
    """

    def __init__(self, *, channels: int, size: Size, classes: int) -> None:
        super().__init__()
        shape = check_images(channels, size, classes, model="thesis-cnn", smallest=16)
        self.features = nn.Sequential(
            nn.Conv2d(channels, 32, 5),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(32, 48, 5),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
        )
        self.classifier = nn.Sequential(
            nn.Linear(flat_width(self.features, channels, shape), 100),
            nn.ReLU(),
            nn.Linear(100, 100),
            nn.ReLU(),
            nn.Linear(100, classes),
        )
        for layer in self.modules():
            if isinstance(layer, (nn.Conv2d, nn.Linear)):
                nn.init.xavier_uniform_(layer.weight)
                assert layer.bias is not None
                nn.init.zeros_(layer.bias)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Logits, of shape (n, classes)."""
        logits: torch.Tensor = self.classifier(self.features(images))
        return logits
