"""Classifiers for small images. They do not depend on privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdpkit import _validate

if TYPE_CHECKING:
    from torch import nn

    from rdpkit.mechanisms.models.classifiers import Size

MODELS = (
    "dpcda-cnn",
    "thesis-cnn",
    "convnet",
    "mlp",
    "lenet",
    "alexnet",
    "vgg11",
    "resnet18",
)
"""Names of all models, as experiments use them."""


def build_model(
    name: str,  # One of :data:`MODELS`
    # Channels of an image. A row of a table is an image of one pixel with a channel for each
    # column, which only "mlp" takes.
    channels: int,
    size: Size,  # Height and width in pixels; one number for square images
    classes: int,  # Number of labels
) -> nn.Module:
    """A freshly initialised classifier; its weights come from torch's global generator.

    It maps images of shape (n, channels, height, width) to logits of shape (n, classes).
    """
    _validate.choice("model", name, MODELS)
    # Imported here, because a command that only lists the names does not need torch.
    from rdpkit.mechanisms.models.classifiers import built  # noqa: PLC0415

    return built(name, channels=channels, size=size, classes=classes)


__all__ = ["MODELS", "build_model"]
