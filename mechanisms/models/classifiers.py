"""Classifiers of small images: their common form, ConvNets, and those of papers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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


# ConvNet of dataset condensation: three blocks of convolution, instance norm, ReLU and pooling.


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


# The architectures of the papers, each described by its layers.
#
# Unless something else is said, layers and sizes are those of the public code of Zhao and Bilen's
# dataset condensation.


def _dpcda_cnn(channels: int) -> list[nn.Module]:
    """Two convolutions with batch normalisation: Saha, Tonoy and Imtiaz, DP-CDA, Table 1."""
    return [
        nn.Conv2d(channels, 32, 5, padding=2),
        nn.ReLU(),
        nn.BatchNorm2d(32),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(),
        nn.BatchNorm2d(64),
        nn.MaxPool2d(2),
    ]


def _two_convolutions(channels: int, *, widths: tuple[int, int], padding: int) -> list[nn.Module]:
    """Two 5x5 convolutions, each with ReLU and max pooling; only the first one pads."""
    first, second = widths
    return [
        nn.Conv2d(channels, first, 5, padding=padding),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(first, second, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
    ]


def _thesis_cnn(channels: int) -> list[nn.Module]:
    """Mahmud, Implementation and Performance Analysis of DPMix Algorithm (2025), Table 4.1, A.2.

    The softmax of the thesis's last layer is left to the loss.
    """
    return _two_convolutions(channels, widths=(32, 48), padding=0)


def _as_keras_does(layer: nn.Module) -> None:
    """Glorot's uniform weights and no bias."""
    if isinstance(layer, (nn.Conv2d, nn.Linear)):
        nn.init.xavier_uniform_(layer.weight)
        assert layer.bias is not None
        nn.init.zeros_(layer.bias)


def _lenet(channels: int) -> list[nn.Module]:
    """LeNet-5 (LeCun et al. 1998), with ReLU and max pooling."""
    return _two_convolutions(channels, widths=(6, 16), padding=2 if channels == 1 else 0)


def _alexnet(channels: int) -> list[nn.Module]:
    """AlexNet's five convolutions (Krizhevsky et al. 2012), narrower and without a stride."""
    return [
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
    ]


def _vgg11(channels: int) -> list[nn.Module]:
    """Configuration A of Simonyan and Zisserman (2015), with instance normalisation."""
    layers: list[nn.Module] = []
    before = channels
    for stage in ((64,), (128,), (256, 256), (512, 512), (512, 512)):
        for width in stage:
            padding = 3 if channels == 1 and not layers else 1
            layers += [
                nn.Conv2d(before, width, 3, padding=padding),
                normalise_each_channel(width),
                nn.ReLU(),
            ]
            before = width
        layers.append(nn.MaxPool2d(2))
    return layers


class _ResidualBlock(nn.Module):
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


def _resnet18(channels: int) -> list[nn.Module]:
    """ResNet18 (He et al. 2016) with a 3x3 stem, no pooling behind it, and instance normalisation.

    The last stage must leave more than one pixel to normalise over.
    """
    layers: list[nn.Module] = [
        nn.Conv2d(channels, 64, 3, padding=1, bias=False),
        normalise_each_channel(64),
        nn.ReLU(),
    ]
    before = 64
    for width in (64, 128, 256, 512):
        stride = 1 if width == 64 else 2
        layers += [_ResidualBlock(before, width, stride), _ResidualBlock(width, width, 1)]
        before = width
    return [*layers, nn.AdaptiveAvgPool2d(1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """What a paper says of a classifier, without the images and the number of their labels."""

    layers: Callable[[int], list[nn.Module]]
    """Makes the layers before the linear ones, from the number of channels."""
    smallest: tuple[int, int]
    """Smallest side in pixels of an image with one channel, and with more. The two differ where an
    image with one channel is padded first, which makes 28 x 28 images 32 x 32.
    """
    hidden: tuple[int, ...] = ()  # As for :class:`ImageClassifier`
    dropout: float = 0.0  # As for :class:`ImageClassifier`


ARCHITECTURES = {
    "dpcda-cnn": Architecture(layers=_dpcda_cnn, smallest=(4, 4), hidden=(100, 100), dropout=0.5),
    "thesis-cnn": Architecture(layers=_thesis_cnn, smallest=(16, 16), hidden=(100, 100)),
    # The only model for plain tables: it flattens a record and has no layers but the linear ones.
    "mlp": Architecture(layers=lambda channels: [], smallest=(1, 1), hidden=(128, 128)),
    "lenet": Architecture(layers=_lenet, smallest=(12, 16), hidden=(120, 84)),
    "alexnet": Architecture(layers=_alexnet, smallest=(8, 8)),
    "vgg11": Architecture(layers=_vgg11, smallest=(28, 32)),
    "resnet18": Architecture(layers=_resnet18, smallest=(9, 9)),
}


def built(name: str, *, channels: int, size: Size, classes: int) -> ImageClassifier:
    """A freshly initialised classifier; see :func:`rdpkit.mechanisms.models.build_model`."""
    if name == "convnet":
        return ConvNet(channels=channels, size=size, classes=classes)
    found = ARCHITECTURES[name]
    model = ImageClassifier(
        name,
        lambda: found.layers(channels),
        smallest=found.smallest[channels != 1],
        channels=channels,
        size=size,
        classes=classes,
        hidden=found.hidden,
        dropout=found.dropout,
    )
    return model.apply(_as_keras_does) if name == "thesis-cnn" else model
