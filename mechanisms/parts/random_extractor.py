"""Freshly drawn ConvNets as feature extractors: public randomness, frozen, record by record."""

from __future__ import annotations

import torch
from rdpkit.mechanisms.models.convnet import ConvNet


def draw_seed(generator: torch.Generator) -> int:
    """A seed for one extractor, from randomness that need not be secret."""
    return int(torch.randint(2**62, (), generator=generator))


def random_convnet(
    seed: int,
    *,
    shape: tuple[int, int, int],
    width: int = 128,
    depth: int = 3,
    device: str | torch.device = "cpu",
) -> ConvNet:
    """Draw a ConvNet with untrained, frozen weights; torch's global generator stays as it was.

    Its normalisation is within one record and one channel, so what it makes of a record does not
    depend on the rest of the batch.

    Parameters
    ----------
    seed : int
        Decides the weights; not secret.
    shape : (int, int, int)
        Channels, height and width of the images.
    width, depth : int
        Channels of a convolution, and number of blocks.
    device : str or torch.device
        Where it computes.
    """
    channels, height, pixels = shape
    with torch.random.fork_rng(devices=[]):
        # Weights are drawn on the CPU; other devices' generators stay as they are.
        torch.default_generator.manual_seed(seed)
        # The classifier is not used; two classes are the fewest.
        network = ConvNet(
            channels=channels, size=(height, pixels), classes=2, width=width, depth=depth
        )
    network.requires_grad_(False)
    network.eval()
    return network.to(device)


__all__ = ["draw_seed", "random_convnet"]
