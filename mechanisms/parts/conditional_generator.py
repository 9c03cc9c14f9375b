"""A small network that generates images of a class, trained on released numbers only."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional

from rdpkit import _validate
from rdpkit.mechanisms.parts.labelled_images import Floats, balanced_labels


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
        hidden: int = 200,  # Width of the first linear layer
    ) -> None:
        super().__init__()
        channels, height, width = shape
        self.image_size = (height, width)
        self.start = (math.ceil(height / 4), math.ceil(width / 4))
        self.classes = _validate.integer("classes", classes)
        self.code_size = _validate.integer("code_size", code_size)
        self.expand = nn.Sequential(
            nn.Linear(code_size + classes, _validate.integer("hidden", hidden)),
            nn.BatchNorm1d(hidden),
            nn.ReLU(),
            nn.Linear(hidden, 16 * self.start[0] * self.start[1]),
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
