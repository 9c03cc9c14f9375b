"""VGG11 for small images, with instance normalisation."""

from __future__ import annotations

import torch
from torch import nn

from rdpkit.mechanisms.models.shapes import Size, check_images, flat_width, normalise_each_channel

_STAGES = ((64,), (128,), (256, 256), (512, 512), (512, 512))


class VGG11(nn.Module):
    """Eight 3x3 convolutions in five stages, each stage halving the image; one linear layer.

    Parameters
    ----------
    channels, classes : int
        Channels of an image (one channel is padded by 3 pixels first, which makes 28 x 28 images
        32 x 32); number of labels.
    size : int or (int, int)
        Height and width in pixels, each at least 28 with one channel and 32 with more.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Source
    ------
    Simonyan and Zisserman (2015), configuration A, in the form of the public code of Zhao and
    Bilen's dataset condensation.
    """

    def __init__(self, *, channels: int, size: Size, classes: int) -> None:
        super().__init__()
        smallest = 28 if channels == 1 else 32
        shape = check_images(channels, size, classes, model="vgg11", smallest=smallest)
        layers: list[nn.Module] = []
        before = channels
        for stage in _STAGES:
            for width in stage:
                padding = 3 if channels == 1 and not layers else 1
                layers += [
                    nn.Conv2d(before, width, 3, padding=padding),
                    normalise_each_channel(width),
                    nn.ReLU(),
                ]
                before = width
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers, nn.Flatten())
        self.classifier = nn.Linear(flat_width(self.features, channels, shape), classes)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Logits, of shape (n, classes)."""
        logits: torch.Tensor = self.classifier(self.features(images))
        return logits
