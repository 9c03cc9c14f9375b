"""Combinations without noise, grids, mistakes that have a name, and summaries."""

import numpy as np
import pytest

from rdpkit.verification.blackbox.mistakes import MistakeKind
from rdpkit.verification.blackbox.scores.named_score import TrainingOutputs
from rdpkit.verification.blackbox.scores.structure import (
    count_scores,
    grid_of,
    noiseless_direction,
    structure_scores,
    summary,
)

N = 400


def noise(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def explanations(p, q):
    numbers = np.ones(p.shape[1], dtype=np.bool_)
    training = TrainingOutputs(p=p, q=q, is_number=numbers, shapes=(p.shape[1:],))
    return [score.explanation for score in structure_scores(training)]


def kinds(p, q):
    return [found.kind for found in explanations(p, q)]


def test_noise_used_twice():
    p, q = (np.repeat(noise(seed, N, 1), 2, axis=1) for seed in (1, 2))
    p[:, 0] += 0.25
    found = noiseless_direction(p, q)
    assert sorted(found.columns) == [0, 1]
    # Weights are relative to the largest: the difference of the columns.
    assert abs(found.weights[0]) == pytest.approx(1.0, rel=1e-9)
    assert found.weights[0] == pytest.approx(-found.weights[1], rel=1e-9)
    assert found.gap == pytest.approx(0.25, rel=1e-6)
    assert np.ptp(found(p)) < 1e-12
    assert kinds(p, q) == [MistakeKind.NOISE_REUSED]


def test_noise_used_twice_with_another_scale_and_sign():
    p, q = (noise(seed, N, 1) @ np.array([[1.0, -3.0, 0.0]]) for seed in (1, 2))
    for side, seed in ((p, 3), (q, 4)):
        side[:, 2] = noise(seed, N)
    p[:, 1] += 1e-3
    found = noiseless_direction(p, q)
    assert sorted(found.columns) == [0, 1]
    assert kinds(p, q) == [MistakeKind.NOISE_REUSED]


def test_noise_cancels_in_a_sum_of_three():
    p, q = (noise(seed, N, 3) for seed in (1, 2))
    for side, shift in ((p, 0.0), (q, 0.5)):
        side[:, 2] = shift - side[:, 0] - side[:, 1]
    assert kinds(p, q) == [MistakeKind.NOISE_REUSED]


def test_what_is_the_same_on_both_sides_is_no_mistake():
    # Probabilities that sum to 1, a copy of a column, a constant column.
    p, q = (np.abs(noise(seed, N, 3)) for seed in (1, 2))
    p, q = (side / side.sum(axis=1, keepdims=True) for side in (p, q))
    p, q = (np.hstack([side, side[:, :1], np.full((N, 1), 0.3)]) for side in (p, q))
    assert noiseless_direction(p, q) is None
    assert kinds(p, q) == []


def test_an_output_without_noise():
    p, q = (
        np.hstack([noise(seed, N, 2), np.full((N, 1), value)])
        for seed, value in ((1, 0.125), (2, 0.25))
    )
    assert noiseless_direction(p, q).columns == (2,)
    assert kinds(p, q) == [MistakeKind.NO_NOISE]


def test_a_fixed_seed():
    p, q = np.full((N, 2), 0.1), np.full((N, 2), 0.1)
    p[:, 0] = 1.1
    assert kinds(p, q) == [MistakeKind.FIXED_SEED]
    assert kinds(p, p.copy()) == []


def test_independent_noise_has_no_structure():
    for width in (1, 3, 60, 300):
        p, q = (noise(seed, N, width) for seed in (1, 2))
        p[:, 0] += 1.0
        assert noiseless_direction(p, q) is grid_of(p, q) is None
        assert kinds(p, q) == []


def test_more_columns_than_rows():
    # The copies are among the columns whose means differ most.
    p, q = (noise(seed, 100, 500) for seed in (1, 2))
    for side, shift in ((p, 2.0), (q, 0.0)):
        side[:, 400] = side[:, 7]
        side[:, 7] += shift
        side[:, 400] -= shift
    found = noiseless_direction(p, q)
    assert sorted(found.columns) == [7, 400]


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_noise_in_single_precision(scale):
    p, q = (
        (scale * noise(seed, N, 1)).astype(np.float32).astype(np.float64) + scale * offset
        for seed, offset in ((1, np.sqrt(0.02)), (2, np.sqrt(0.5)))
    )
    grid = grid_of(p, q)
    assert grid.column == 0
    near, far = sorted([np.median(grid(p)), np.median(grid(q))])
    assert near < 1e-3
    assert far > 0.2
    assert kinds(p, q) == [MistakeKind.COARSE_NOISE]


def test_a_few_levels():
    rng = np.random.default_rng(3)
    levels = rng.normal(size=200)
    p, q = (rng.choice(levels, (N, 1)).round(2) for _ in range(2))
    # Two digits are no grid of powers of two; sixteenths are.
    assert grid_of(p + 0.004, q) is None
    p, q = np.round(p * 16.0) / 16.0, np.round(q * 16.0) / 16.0
    grid = grid_of(p + 0.03, q)
    assert grid.step >= 2.0**-6


def test_a_grid_that_both_share_is_no_mistake():
    p, q = (np.round(noise(seed, N, 1) * 1024.0) / 1024.0 for seed in (1, 2))
    assert grid_of(p + 1.0, q) is None
    p, q = (noise(seed, N, 1).astype(np.float32).astype(np.float64) for seed in (1, 2))
    assert grid_of(p, q) is None


def test_few_outputs_show_nothing():
    assert kinds(np.zeros((19, 1)), np.ones((19, 1))) == []
    assert kinds(np.zeros((20, 1)), np.ones((20, 1))) == [MistakeKind.FIXED_SEED]


def test_messages_say_what_to_do():
    p, q = np.full((N, 2), 0.1), np.full((N, 2), 0.2)
    (found,) = explanations(p, q)
    assert found.kind == "fixed_seed"
    assert "400 runs on D" in found.message
    assert found.advice.endswith(".")


ROWS = np.array([[0.0, 0.0, -3.0, 0.0, 5.0, 5.0], [1.0, 2.0, 3.0, 4.0, 0.0, 0.0]])
EVERY = np.arange(6)


@pytest.mark.parametrize(
    ("kind", "level", "expected"),
    [
        ("zeros", 0.0, [3.0, 2.0]),
        ("negative values", 0.0, [1.0, 0.0]),
        ("values above a level", 1.0, [2.0, 3.0]),
        ("rows that are not zero", 3, [2.0, 2.0]),
        ("different values", 0.0, [2.0, 4.0]),
        ("smallest value", 0.0, [-3.0, 0.0]),
        ("largest value", 0.0, [5.0, 4.0]),
        ("largest size", 0.0, [5.0, 4.0]),
        ("sum", 0.0, [7.0, 10.0]),
        ("order statistic", 0.4, [0.0, 1.0]),
    ],
)
def test_what_summaries_are(kind, level, expected):
    assert summary(kind, EVERY, level, ROWS).tolist() == expected


def test_the_number_of_zeros_is_explained():
    rng = np.random.default_rng(1)
    p, q = (
        np.where(rng.random((1000, 30)) < chance, 0.0, rng.normal(size=(1000, 30)))
        for chance in (0.5, 0.4)
    )
    found = count_scores(TrainingOutputs(p=p, q=q, shapes=((30,),)))
    explained = [one for one in found if one.explanation is not None]
    assert explained[0].name == "zeros"
    assert explained[0].explanation.kind is MistakeKind.SIZE_OF_RELEASE


def test_names_do_not_depend_on_the_outputs():
    names = []
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        p, q = rng.normal(size=(200, 8)), rng.normal(size=(200, 8)) * 3.0
        training = TrainingOutputs(p=p, q=q, shapes=((4, 2),))
        names.append({one.name for one in count_scores(training)})
    assert names[0] == names[1]
    assert "rows of part 0 that are not zero" not in names[0]
