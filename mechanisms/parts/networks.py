"""Networks with weights from public randomness: random extractors, and a generator of images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from rdpkit import _validate
from rdpkit.mechanisms.models.classifiers import ConvNet
from rdpkit.mechanisms.parts.augmentation import OPERATIONS, check_operations
from rdpkit.mechanisms.parts.labelled_images import Floats, balanced_labels


def draw_seed(generator: torch.Generator) -> int:
    """A seed for one extractor, from randomness that need not be secret."""
    return int(torch.randint(2**62, (), generator=generator))


def random_convnet(
    seed: int,  # Decides the weights; not secret
    *,
    shape: tuple[int, int, int],  # Channels, height and width of the images
    # Channels of a convolution, and number of blocks.
    width: int = 128,
    depth: int = 3,
    device: str | torch.device = "cpu",  # Where it computes
) -> ConvNet:
    """Draw a ConvNet with untrained, frozen weights; torch's global generator stays as it was.

    It normalises within one record and one channel, so the representation of a record does not
    depend on the rest of its batch.
    """
    channels, height, pixels = shape
    with torch.random.fork_rng(devices=[]):
        # Weights are drawn on the CPU; other devices' generators stay as they are.
        torch.default_generator.manual_seed(seed)
        # The classifier is not used, and a ConvNet has at least two classes.
        network = ConvNet(
            channels=channels, size=(height, pixels), classes=2, width=width, depth=depth
        )
    network.requires_grad_(False)
    network.eval()
    return network.to(device)


@dataclass(frozen=True, slots=True, kw_only=True)
class CondensationOptions:
    """Options of methods that learn records from their representations in random ConvNets."""

    iterations: int  # Number of steps, each with a freshly drawn ConvNet
    samples_per_class: int = 50  # Synthetic records per class
    # Learning rate and momentum of the step on the synthetic records.
    learning_rate: float = 1.0
    momentum: float = 0.0
    operations: Sequence[str] = OPERATIONS
    """Augmentations to draw from; leave out "flip" for digits."""
    # Width and depth of the ConvNets.
    extractor_width: int = 128
    extractor_depth: int = 3

    def __post_init__(self) -> None:
        for name in ("iterations", "samples_per_class", "extractor_width", "extractor_depth"):
            _validate.integer(name, getattr(self, name))
        _validate.positive("learning_rate", self.learning_rate)
        _validate.non_negative("momentum", self.momentum)
        object.__setattr__(self, "operations", check_operations(self.operations))

    def as_parameters(self, *, shape: tuple[int, int, int], seed: int) -> dict[str, Any]:
        """What a manifest says of these options, of the shape of images and of the public seed."""
        return {
            "samples_per_class": self.samples_per_class,
            "learning_rate": float(self.learning_rate),
            "momentum": float(self.momentum),
            "operations": list(self.operations),
            "extractor_width": self.extractor_width,
            "extractor_depth": self.extractor_depth,
            "image_shape": list(shape),
            "seed": _validate.integer("seed", seed, minimum=0),
        }

    def draw_extractor(
        self, generator: torch.Generator, *, shape: tuple[int, int, int], device: str
    ) -> ConvNet:
        """A fresh ConvNet for images of a shape."""
        return random_convnet(
            draw_seed(generator),
            shape=shape,
            width=self.extractor_width,
            depth=self.extractor_depth,
            device=device,
        )


# A small network that generates images of a class, trained on released numbers only.


_HIDDEN = 200  # Width of the first linear layer


class ConditionalGenerator(nn.Module):
    """A network that turns a code and a one-hot label into an image with pixels in (-1, 1).

    Batch normalisation is fine here: the network sees codes and labels, never private records.

    Source
    ------
    Sizes as in the public code of Harder, Adamczewski and Park, DP-MERF (AISTATS 2021).
    """

    def __init__(
        self,
        *,
        shape: tuple[int, int, int],  # Channels, height and width of an image
        classes: int,  # Number of labels
        code_size: int = 5,  # Length of a code
    ) -> None:
        super().__init__()
        channels, height, width = shape
        self.image_size = (height, width)
        self.start = (math.ceil(height / 4), math.ceil(width / 4))
        self.classes = _validate.integer("classes", classes)
        self.code_size = _validate.integer("code_size", code_size)
        self.expand = nn.Sequential(
            nn.Linear(code_size + classes, _HIDDEN),
            nn.BatchNorm1d(_HIDDEN),
            nn.ReLU(),
            nn.Linear(_HIDDEN, 16 * self.start[0] * self.start[1]),
            nn.BatchNorm1d(16 * self.start[0] * self.start[1]),
            nn.ReLU(),
        )
        self.first = nn.Conv2d(16, 8, 5, padding=2)
        self.second = nn.Conv2d(8, channels, 5, padding=2)

    def forward(
        self,
        codes: torch.Tensor,  # Shape (n, code_size)
        labels: torch.Tensor,  # Shape (n,)
    ) -> torch.Tensor:
        """Images of shape (n, channels, height, width)."""
        one_hot = functional.one_hot(labels, self.classes).to(codes.dtype)
        planes = self.expand(torch.cat((codes, one_hot), dim=1)).unflatten(1, (16, *self.start))
        middle = (self.start[0] * 2, self.start[1] * 2)
        planes = functional.interpolate(planes, size=middle, mode="bilinear")
        planes = functional.relu(self.first(planes))
        planes = functional.interpolate(planes, size=self.image_size, mode="bilinear")
        images: torch.Tensor = torch.tanh(self.second(planes))
        return images


def draw_network(
    seed: int,
    *,
    shape: tuple[int, int, int],
    classes: int,
    code_size: int,
    device: str,
) -> ConditionalGenerator:
    """Draw an untrained generator; torch's global generator stays as it was."""
    with torch.random.fork_rng(devices=[]):
        # Weights are drawn on the CPU; other devices' generators stay as they are.
        torch.default_generator.manual_seed(seed)
        network = ConditionalGenerator(shape=shape, classes=classes, code_size=code_size)
    return network.to(device)


def draw_codes(
    generator: torch.Generator, count: int, network: ConditionalGenerator, device: str
) -> torch.Tensor:
    """Draw standard normal codes, of shape (count, code_size)."""
    return torch.randn(count, network.code_size, generator=generator).to(device)


def generate(
    network: ConditionalGenerator,
    *,
    samples_per_class: int,
    generator: torch.Generator,
    device: str,
) -> Floats:
    """``samples_per_class`` images of each class, sorted by class.

    Raises ArithmeticError if a pixel is not finite.
    """
    labels = torch.from_numpy(balanced_labels(network.classes, samples_per_class))
    network.eval()
    pieces = []
    with torch.no_grad():
        for part in torch.split(labels, 1000):
            codes = draw_codes(generator, len(part), network, device)
            pieces.append(network(codes, part.to(device)).cpu())
    images = torch.cat(pieces)
    if not bool(torch.isfinite(images).all()):
        raise ArithmeticError(
            "The generator's pixels are not finite; choose a smaller learning_rate."
        )
    found: Floats = images.numpy()
    return found
