"""ResNet18 for small images: a 3x3 stem without pooling, instance normalisation."""

from __future__ import annotations

import torch
from torch import nn

from rdpkit.mechanisms.models.shapes import Size, check_images, normalise_each_channel


class _Block(nn.Module):
    """Two 3x3 convolutions and a shortcut around them."""

    def __init__(self, before: int, width: int, stride: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(before, width, 3, stride=stride, padding=1, bias=False),
            normalise_each_channel(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            normalise_each_channel(width),
        )
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or before != width:
            self.shortcut = nn.Sequential(
                nn.Conv2d(before, width, 1, stride=stride, bias=False),
                normalise_each_channel(width),
            )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.layers(images) + self.shortcut(images))


class ResNet18(nn.Module):
    """Four stages of two residual blocks, averaged over the image, and one linear layer.

    Parameters
    ----------
    channels, classes : int
        Channels of an image; number of labels.
    size : int or (int, int)
        Height and width in pixels, each at least 9: the last stage must leave more than one pixel
        to normalise over.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Source
    ------
    He et al. (2016), in the form of the public code of Zhao and Bilen's dataset condensation.
    """

    def __init__(self, *, channels: int, size: Size, classes: int) -> None:
        super().__init__()
        check_images(channels, size, classes, model="resnet18", smallest=9)
        layers: list[nn.Module] = [
            nn.Conv2d(channels, 64, 3, padding=1, bias=False),
            normalise_each_channel(64),
            nn.ReLU(),
        ]
        before = 64
        for width in (64, 128, 256, 512):
            layers += [_Block(before, width, 1 if width == 64 else 2), _Block(width, width, 1)]
            before = width
        self.features = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.classifier = nn.Linear(before, classes)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Logits, of shape (n, classes)."""
        logits: torch.Tensor = self.classifier(self.features(images))
        return logits
