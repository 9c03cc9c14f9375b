"""The common form of all classifiers: layers for an image, then linear layers for its numbers."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from rdpkit import _validate

Size = int | tuple[int, int]
"""Height and width in pixels; one number for square images."""


class ImageClassifier(nn.Module):
    """Layers that turn an image into numbers, and linear layers that turn these into logits."""

    def __init__(
        self,
        name: str,  # For errors
        layers: Callable[[], list[nn.Module]],  # Called after all other arguments were checked
        *,
        smallest: int,  # Side of an image in pixels; layers leave nothing of a smaller one
        channels: int,
        size: Size,
        classes: int,  # At least 2
        hidden: tuple[int, ...] = (),  # Widths of linear layers, each with a ReLU behind it
        dropout: float = 0.0,  # Share of a hidden layer's outputs that training sets to zero
    ) -> None:
        super().__init__()
        _validate.integer("channels", channels)
        _validate.integer("classes", classes, minimum=2)
        shape = _height_and_width(size)
        if min(shape) < smallest:
            raise _validate.fail("size", f"to be at least {smallest} for {name!r}", size)
        self.features = nn.Sequential(*layers(), nn.Flatten())
        self.embedding_size = _outputs(self.features, channels, shape)
        widths = (self.embedding_size, *hidden)
        linear: list[nn.Module] = []
        for before, after in zip(widths, hidden, strict=False):
            linear += [nn.Linear(before, after), nn.ReLU()]
            if dropout:
                linear.append(nn.Dropout(dropout))
        self.classifier = nn.Sequential(*linear, nn.Linear(widths[-1], classes))

    def embed(
        self,
        images: torch.Tensor,  # Shape (n, channels, height, width)
    ) -> torch.Tensor:  # Shape (n, embedding_size)
        """Representations of images: the numbers before the linear layers."""
        representations: torch.Tensor = self.features(images)
        return representations

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Logits, of shape (n, classes)."""
        logits: torch.Tensor = self.classifier(self.embed(images))
        return logits


def normalise_each_channel(channels: int) -> nn.GroupNorm:
    """Instance normalisation with learnt scale and shift; records of a batch stay independent."""
    return nn.GroupNorm(channels, channels, affine=True)


def _height_and_width(size: Size) -> tuple[int, int]:
    if isinstance(size, (tuple, list)):
        if len(size) != 2:
            raise _validate.fail("size", "to be one integer or (height, width)", size)
        return _validate.integer("size[0]", size[0]), _validate.integer("size[1]", size[1])
    side = _validate.integer("size", size)
    return side, side


def _outputs(layers: nn.Module, channels: int, size: tuple[int, int]) -> int:
    """The number of outputs of the layers for one image, found by passing an empty image."""
    layers.eval()
    with torch.no_grad():
        width = int(layers(torch.zeros(1, channels, *size)).numel())
    layers.train()
    return width
