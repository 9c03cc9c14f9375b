"""Classifiers for small images, one architecture a file. They do not depend on privacy."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

from rdpkit import _validate

if TYPE_CHECKING:
    from torch import nn

    from rdpkit.mechanisms.models.shapes import Size

MODELS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "dpcda-cnn": ("dpcda_cnn", "DPCDACNN"),
        "thesis-cnn": ("thesis_cnn", "ThesisCNN"),
        "convnet": ("convnet", "ConvNet"),
        "mlp": ("mlp", "MLP"),
        "lenet": ("lenet", "LeNet"),
        "alexnet": ("alexnet", "AlexNet"),
        "vgg11": ("vgg11", "VGG11"),
        "resnet18": ("resnet18", "ResNet18"),
    }
)
"""Every model by the name that experiments use: its module here, and its class."""


def build_model(name: str, channels: int, size: Size, classes: int) -> nn.Module:
    """A freshly initialised classifier; its weights come from torch's global generator.

    Parameters
    ----------
    name : str
        A key of :data:`MODELS`.
    channels : int
        Channels of an image. Records that are no images are ``channels`` numbers of size 1, which
        only "mlp" takes.
    size : int or (int, int)
        Height and width in pixels; one number for square images.
    classes : int
        Number of labels.

    Returns
    -------
    torch.nn.Module
        It maps images of shape (n, channels, height, width) to logits of shape (n, classes).

    Raises
    ------
    ValueError
        For an unknown name, an argument out of range, or an image too small for the model.
    """
    module, kind = MODELS[_validate.choice("model", name, MODELS)]
    # Imported here, because a command that only lists the names does not need torch.
    build = getattr(import_module(f"rdpkit.mechanisms.models.{module}"), kind)
    model: nn.Module = build(channels=channels, size=size, classes=classes)
    return model


__all__ = ["MODELS", "build_model"]
