"""Which scores there are, and what every score must be able to do."""

import pickle

import numpy as np

from rdpkit.verification.blackbox.scores import NamedScore, TrainingOutputs, candidate_scores


def noise(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def training(p, q, **options):
    return TrainingOutputs(
        p=p,
        q=q,
        **{
            "is_number": np.ones(p.shape[1], dtype=bool),
            "shapes": ((p.shape[1],),),
            "pair": None,
            **options,
        },
    )


def scores_of(p, q, *, own=None, models=(), **options):
    return candidate_scores(
        training(p, q, **options), own=own, models=models, rng=np.random.default_rng(1)
    )


def test_there_is_always_a_linear_score():
    p, q = noise(1, 400, 3) + 0.3, noise(2, 400, 3)
    assert "linear" in [one.family for one in scores_of(p, q)]
    assert scores_of(np.zeros((50, 2)), np.zeros((50, 2)))


def test_rows_are_added_up_where_there_are_any():
    p, q = noise(1, 200, 120) + 0.05, noise(2, 200, 120)
    assert "rows" in [one.family for one in scores_of(p, q, shapes=((60, 2),))]
    assert "rows" not in [one.family for one in scores_of(p, q)]


def test_a_given_score_comes_first():
    p, q = noise(1, 400, 3) + 0.3, noise(2, 400, 3)
    own = NamedScore(name="first column", score=lambda outputs: outputs[:, 0])
    assert scores_of(p, q, own=own)[0].score is own.score


def test_scores_reach_other_processes():
    p, q = noise(1, 400, 3) + 0.3, noise(2, 400, 3)
    for one in scores_of(p, q, models=("boosting",)):
        assert pickle.loads(pickle.dumps(one)).of(p).tolist() == one.of(p).tolist()
