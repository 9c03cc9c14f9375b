"""Records as canaries: they are like the training's own, and what cannot be is said."""

import dataclasses

import pytest

from rdpkit.verification.training import zoo
from rdpkit.verification.training.canaries.run import check_run
from rdpkit.verification.training.options import TrainingOptions
from rdpkit.verification.training.targets import training_maker

pytest.importorskip("torch")

OPTIONS = TrainingOptions(seed=3, canaries=60, steps=4)


def test_records_with_wrong_labels():
    result = check_run(zoo.maker("batch-clipping-fixed"), OPTIONS)
    assert result.verdict == "not rejected"
    assert dict(result.measured)["canaries"].startswith("60, of which")
    assert len(result.scores.inside) + len(result.scores.outside) == 60
    assert [bound.delta for bound in result.bounds] == [1e-5] * len(result.bounds)


def test_a_training_that_refuses_records_is_skipped():
    training = zoo.maker("batch-clipping-fixed").fresh()

    def refuse(extra):
        raise KeyError("no room")

    refusing = dataclasses.replace(training, with_records=refuse)
    result = check_run(training_maker(refusing), OPTIONS)
    assert result.verdict == "skipped"
    assert "no room" in result.skipped
