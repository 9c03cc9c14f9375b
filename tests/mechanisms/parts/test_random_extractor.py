import torch

from rdpkit.mechanisms.parts.random_extractor import draw_seed, random_convnet

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
