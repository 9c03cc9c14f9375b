"""Networks of public randomness: what they are drawn from, and that records stay apart."""

import numpy as np
import pytest
import torch

from rdpkit.mechanisms.parts.networks import (
    ConditionalGenerator,
    draw_network,
    draw_seed,
    generate,
    random_convnet,
)

SHAPE = (3, 8, 8)


def _images(n):
    return torch.rand(n, *SHAPE, generator=torch.Generator().manual_seed(1)) * 2 - 1


def test_no_record_sees_another():
    # The sensitivity of a sum over records rests on this.
    extractor = random_convnet(0, shape=SHAPE, width=8)
    together = extractor.embed(_images(6))
    alone = torch.cat([extractor.embed(image[None]) for image in _images(6)])
    # Single precision: a convolution may sum in another order for another batch.
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-6)


def test_the_seed_decides_and_the_global_generator_is_left_alone():
    before = torch.get_rng_state()
    one, two, other = (random_convnet(s, shape=SHAPE, width=8).embed(_images(2)) for s in (5, 5, 6))
    assert torch.equal(before, torch.get_rng_state())
    assert torch.equal(one, two)
    assert not torch.allclose(one, other)


def test_weights_are_frozen_and_pixels_are_not():
    extractor = random_convnet(0, shape=SHAPE, width=8)
    images = _images(2).requires_grad_()
    extractor.embed(images).square().sum().backward()
    assert float(images.grad.abs().max()) > 0.0
    assert all(weight.grad is None for weight in extractor.parameters())
    assert not extractor.training


def test_seeds_follow_each_other():
    generator = torch.Generator().manual_seed(0)
    seeds = [draw_seed(generator) for _ in range(100)]
    assert len(set(seeds)) == 100
    assert min(seeds) >= 0


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 32, 32), (1, 8, 8), (2, 5, 7)])
def test_images_have_the_shape_asked_for(shape):
    network = ConditionalGenerator(shape=shape, classes=3)
    images = network(torch.zeros(4, 5), torch.tensor([0, 1, 2, 2]))
    assert images.shape == (4, *shape)
    assert float(images.detach().abs().max()) <= 1.0


def _draw(seed=3):
    return draw_network(seed, shape=(1, 8, 8), classes=2, code_size=4, device="cpu")


def test_the_seed_decides_weights_and_the_global_generator_is_left_alone():
    before = torch.get_rng_state()
    one, two, other = _draw(), _draw(), _draw(4)
    assert torch.equal(before, torch.get_rng_state())
    weights = [network.first.weight for network in (one, two, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_generated_images_are_sorted_by_class_and_depend_on_the_label():
    images = generate(
        _draw(), samples_per_class=1500, generator=torch.Generator().manual_seed(0), device="cpu"
    )
    assert images.shape == (3000, 1, 8, 8)
    assert images.dtype == np.float32
    means = images.reshape(2, 1500, -1).mean(axis=1)
    assert abs(means[0] - means[1]).max() > 1e-3


def test_weights_that_are_no_numbers_are_an_error():
    network = _draw()
    with torch.no_grad():
        network.second.bias.fill_(float("nan"))
    with pytest.raises(ArithmeticError, match="smaller learning_rate"):
        generate(network, samples_per_class=1, generator=torch.Generator(), device="cpu")


@pytest.mark.parametrize("name", ["classes", "code_size"])
def test_sizes_are_checked(name):
    with pytest.raises(ValueError, match=f"{name} to be an integer >= 1"):
        ConditionalGenerator(**{"shape": (1, 8, 8), "classes": 2} | {name: 0})
