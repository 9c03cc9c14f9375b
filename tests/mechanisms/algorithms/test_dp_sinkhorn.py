from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit.mechanisms.algorithms import dp_sinkhorn
from rdpkit.mechanisms.parts.noise import NoiseSource
from tests.mechanisms.flat import synthesize

SHAPE = (1, 4, 4)
COST = dp_sinkhorn.Transport(regularisation=0.1, sinkhorn_steps=20, l1_weight=0.5, label_weight=2.0)


def _records(n, seed):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (n, *SHAPE)).astype(np.float32), rng.integers(0, 2, n)


class _NoNoise:
    """Stands for a source of noise, so that what is under the noise can be seen."""

    def normal(self, shape, *, std):
        return np.zeros(shape)


def _without_noise(images, wanted, records, labels, *, clip, transport=COST, self_term=None):
    return dp_sinkhorn.noisy_gradient(
        images,
        wanted,
        records,
        labels,
        clip_norm=clip,
        noise_std=1.0,
        noise=_NoNoise(),
        transport=transport,
        self_term=self_term,
    )


def _gradient(records, labels, *, clip, seed=0, self_size=0.0):
    generator = torch.Generator().manual_seed(seed)
    images = torch.rand(6, *SHAPE, generator=generator) * 2 - 1
    self_term = self_size * torch.randn(6, *SHAPE, generator=generator)
    return _without_noise(
        images, torch.tensor([0, 1] * 3), records, labels, clip=clip, self_term=self_term
    )


def _synthesize(data=None, **changes):
    settings = {
        "classes": 2, "batch_size": 8, "iterations": 3, "noise_std": 1.0, "clip_norm": 0.5,
        "delta": 1e-5, "adjacency": rdpkit.Adjacency.REPLACE_ONE, "noise": 1, "seed": 0,
        "samples_per_class": 3, "generated": 6, "learning_rate": 1e-3,
    }  # fmt: skip
    data = _records(40, 0) if data is None else data
    return synthesize(dp_sinkhorn, *data, **(settings | changes))


def test_the_plan_has_uniform_margins_and_prefers_what_is_near():
    cost = torch.tensor([[0.0, 1.0], [1.0, 0.0]], dtype=torch.float64)
    plan = dp_sinkhorn.sinkhorn_plan(cost, regularisation=0.1, steps=50)
    half = torch.full((2,), 0.5, dtype=torch.float64)
    torch.testing.assert_close(plan.sum(dim=0), half)
    torch.testing.assert_close(plan.sum(dim=1), half)
    # Between two points a symmetric plan is known: the ratio is e^(cost / regularisation).
    ratio = float(plan[0, 0] / plan[0, 1])
    assert ratio == pytest.approx(np.exp(1.0 / (0.1 * 0.5)), rel=1e-9)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 1), (1, 4), (5, 9)])
def test_a_plan_is_a_distribution(n, m):
    cost = torch.rand(n, m, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    plan = dp_sinkhorn.sinkhorn_plan(cost, regularisation=0.05, steps=500)
    assert (plan >= 0).all()
    torch.testing.assert_close(plan.sum(dim=0), torch.full((m,), 1 / m, dtype=torch.float64))
    torch.testing.assert_close(
        plan.sum(dim=1), torch.full((n,), 1 / n, dtype=torch.float64), rtol=1e-3, atol=0
    )


def test_the_cost_is_that_of_its_definition():
    x, y = torch.tensor([[[[0.0, 1.0]]]]), torch.tensor([[[[3.0, -3.0]]], [[[0.0, 1.0]]]])
    found = dp_sinkhorn.transport_cost(
        x, torch.tensor([1]), y, torch.tensor([1, 0]), l1_weight=0.5, label_weight=7.0
    )
    torch.testing.assert_close(found, torch.tensor([[(9 + 16) / 2 + 0.5 * 7, 7.0]]))


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(0, 12),
    seed=st.integers(0, 1000),
    clip=st.sampled_from([1e-3, 0.5, 100.0]),
    self_size=st.sampled_from([0.0, 0.01, 10.0]),
)
def test_one_record_moves_the_gradient_by_at_most_twice_the_clip_norm(n, seed, clip, self_size):
    rest, one, other = _records(n, seed), _records(1, seed + 1), _records(1, seed + 2)

    def joined(record):
        return [np.concatenate(pair) for pair in zip(rest, record)]

    def gradient(data):
        return _gradient(*data, clip=clip, self_size=self_size)

    without = gradient(rest)
    with_one = gradient(joined(one))
    assert np.linalg.norm(with_one) <= clip
    assert np.linalg.norm(with_one - without) <= 2 * clip
    assert np.linalg.norm(with_one - gradient(joined(other))) <= 2 * clip


def test_adding_one_record_may_move_it_by_twice_the_clip_norm():
    # The image lies at 0, one record at -0.2, and a new one at 1 turns the gradient around. So a
    # sensitivity of one clip norm under add-or-remove-one would be too small.
    image, label = torch.zeros(1, 1, 1, 1), torch.tensor([0])

    def gradient(*values):
        records = np.array(values, dtype=np.float32).reshape(-1, 1, 1, 1)
        cost = replace(COST, l1_weight=0.0)
        labels = np.zeros(len(values), dtype=np.int64)
        return _without_noise(image, label, records, labels, clip=0.1, transport=cost)

    change = np.linalg.norm(gradient(-0.2) - gradient(-0.2, 1.0))
    # 1e-9 of the norm is kept free for rounding.
    assert change == pytest.approx(0.2, rel=1e-8)


def test_the_self_term_is_clipped_with_the_gradient_and_not_beside_it():
    # Image at 0, record at 1: the gradient is -1; less a self term of 2 it is -3, and clipped -0.5.
    image, label = torch.zeros(1, 1, 1, 1), torch.tensor([0])
    record, of_class = np.ones((1, 1, 1, 1), dtype=np.float32), np.zeros(1, dtype=np.int64)
    cost = replace(COST, l1_weight=0.0)

    def gradient(size, clip):
        term = torch.full((1, 1, 1, 1), size)
        found = _without_noise(
            image, label, record, of_class, clip=clip, transport=cost, self_term=term
        )
        return found.item()

    # 1e-9 of the norm is kept free for rounding; cdist is in double precision.
    assert gradient(2.0, 10.0) == pytest.approx(-3.0, abs=1e-7)
    assert gradient(2.0, 0.5) == pytest.approx(-0.5, rel=1e-8)
    assert gradient(-2.0, 0.5) == pytest.approx(0.5, rel=1e-8)


def test_a_gradient_that_is_no_number_is_an_error():
    with pytest.raises(ArithmeticError, match="not a finite number"):
        dp_sinkhorn.clipped_gradient(torch.tensor([np.nan]), clip_norm=1.0)


def test_the_data_are_seen_through_noisy_gradients_only(monkeypatch):
    sizes, noises = [], []

    def blind(images, wanted, records, labels, **options):
        sizes.append(len(records))
        return torch.zeros(images.shape, dtype=torch.float64)

    real = NoiseSource.normal

    def watched(self, shape, *, std=1.0):
        noises.append((shape, std))
        return real(self, shape, std=std)

    monkeypatch.setattr(dp_sinkhorn, "_data_gradient", blind)
    monkeypatch.setattr(NoiseSource, "normal", watched)
    one = _synthesize(iterations=12)
    # Noise on every pixel of every generated image, in each iteration, as accounted for.
    assert noises == [((6, *SHAPE), 1.0)] * 12
    # 480 choices at q = 1/5: 96 expected, standard deviation 9.
    assert abs(sum(sizes) - 96) < 5 * 9
    two = _synthesize(iterations=12, data=_records(40, 7))
    assert one.manifest.arrays == two.manifest.arrays


@pytest.mark.thorough
def test_images_follow_the_records():
    labels = np.arange(40) % 2
    features = np.where(labels == 0, -0.7, 0.7)[:, None, None, None] * np.ones((40, *SHAPE))
    steps = []
    found = _synthesize(
        (features, labels), batch_size=20, iterations=80, noise_std=1e-3, clip_norm=1.0,
        adjacency="add_or_remove_one", samples_per_class=4, generated=10, learning_rate=5e-3,
        progress=lambda done, total: steps.append(done),
    )  # fmt: skip
    assert found.features[:4].mean() < -0.3
    assert found.features[4:].mean() > 0.3
    assert steps[-1] == 80
