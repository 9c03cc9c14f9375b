"""Summaries: sizes, zeros, values above a level, order statistics."""

import numpy as np

from rdpkit.verification.blackbox.mistakes import MistakeKind
from rdpkit.verification.blackbox.scores.counts import OutputSummary, count_scores
from rdpkit.verification.blackbox.scores.training_outputs import TrainingOutputs

ROWS = np.array([[0.0, 0.0, -3.0, 0.0, 5.0, 5.0], [1.0, 2.0, 3.0, 4.0, 0.0, 0.0]])
EVERY = np.arange(6)


def summary(kind, **options):
    return OutputSummary(kind=kind, columns=EVERY, **options)(ROWS).tolist()


def test_what_summaries_are():
    assert summary("zeros") == [3.0, 2.0]
    assert summary("negative values") == [1.0, 0.0]
    assert summary("values above a level", level=1.0) == [2.0, 3.0]
    assert summary("rows that are not zero", rows=3) == [2.0, 2.0]
    assert summary("different values") == [2.0, 4.0]
    assert summary("smallest value") == [-3.0, 0.0]
    assert summary("largest value") == [5.0, 4.0]
    assert summary("largest size") == [5.0, 4.0]
    assert summary("sum") == [7.0, 10.0]
    assert summary("order statistic", level=0.4) == [0.0, 1.0]


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
