"""Checks of the size of images, and layers that several models share."""

from __future__ import annotations

import torch
from torch import nn

from rdpkit import _validate

Size = int | tuple[int, int]
"""Height and width in pixels; one number for square images."""


def height_and_width(size: Size) -> tuple[int, int]:
    """Check a size and write it as a pair.

    Parameters
    ----------
    size : int or (int, int)
        Height and width in pixels; one number for square images.

    Raises
    ------
    ValueError
        If it is neither, or a side is below one pixel.
    """
    if isinstance(size, (tuple, list)):
        if len(size) != 2:
            raise _validate.fail("size", "to be one integer or (height, width)", size)
        return _validate.integer("size[0]", size[0]), _validate.integer("size[1]", size[1])
    side = _validate.integer("size", size)
    return side, side


def check_images(
    channels: int, size: Size, classes: int, *, model: str, smallest: int
) -> tuple[int, int]:
    """Check the arguments of a model for images, and return the size as a pair.

    Parameters
    ----------
    channels, classes : int
        Channels of an image; number of labels, at least 2.
    size : int or (int, int)
        Height and width in pixels.
    model : str
        Name of the model, for the error.
    smallest : int
        Smallest side in pixels; of smaller images the model's layers would leave nothing.

    Raises
    ------
    ValueError
        If an argument is out of range, or a side is below ``smallest``.
    """
    _validate.integer("channels", channels)
    _validate.integer("classes", classes, minimum=2)
    height, width = height_and_width(size)
    if min(height, width) < smallest:
        raise _validate.fail("size", f"to be at least {smallest} for {model!r}", size)
    return height, width


def flat_width(layers: nn.Module, channels: int, size: tuple[int, int]) -> int:
    """The number of outputs of the layers for one image, found by passing an empty image."""
    training = layers.training
    layers.eval()
    with torch.no_grad():
        width = int(layers(torch.zeros(1, channels, *size)).numel())
    layers.train(training)
    return width


def normalise_each_channel(channels: int) -> nn.GroupNorm:
    """Instance normalisation with learnt scale and shift; records of a batch stay independent."""
    return nn.GroupNorm(channels, channels, affine=True)
