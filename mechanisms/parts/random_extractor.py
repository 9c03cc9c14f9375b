"""Untrained ConvNets as feature extractors, with weights drawn from public randomness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from rdpkit import _validate
from rdpkit.mechanisms.models.convnet import ConvNet
from rdpkit.mechanisms.parts.augmentation import OPERATIONS, check_operations


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
