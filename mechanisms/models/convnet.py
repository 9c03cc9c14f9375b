"""ConvNet of dataset condensation: three blocks of convolution, instance norm, ReLU and pooling."""

from __future__ import annotations

from torch import nn

from rdpkit import _validate
from rdpkit.mechanisms.models.image_classifier import ImageClassifier, Size, normalise_each_channel


class ConvNet(ImageClassifier):
    """Blocks of 3x3 convolution, group normalisation, ReLU and average pooling; one linear layer.

    Normalisation is within one image and one channel, so that the representation of a record does
    not depend on the other records of its batch: NDPDC's account needs that.

    Source
    ------
    Zhao and Bilen, Dataset Condensation with Distribution Matching (2021), and its public code;
    Zheng and Li, Differentially Private Dataset Condensation (2023), Section 4.1.
    """

    def __init__(
        self,
        *,
        # Channels of an image. With one channel the first convolution pads by 3 pixels, which makes
        # a 28 x 28 image 32 x 32.
        channels: int,
        size: Size,  # Height and width of an image in pixels, each at least ``2 ** depth``
        classes: int,  # Number of labels
        width: int = 128,  # Channels of every convolution
        depth: int = 3,  # Number of blocks
    ) -> None:
        _validate.integer("width", width)
        _validate.integer("depth", depth, maximum=16)

        def layers() -> list[nn.Module]:
            found: list[nn.Module] = []
            for block in range(depth):
                padding = 3 if channels == 1 and block == 0 else 1
                found += [
                    nn.Conv2d(channels if block == 0 else width, width, 3, padding=padding),
                    normalise_each_channel(width),
                    nn.ReLU(inplace=True),  # the normalisation keeps its input, not its output
                    nn.AvgPool2d(2),
                ]
            return found

        super().__init__(
            "convnet", layers, smallest=2**depth, channels=channels, size=size, classes=classes
        )
