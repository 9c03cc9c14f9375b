"""What is made of a training before it is checked."""

import time

import pytest

pytest.importorskip("torch")

from rdpkit.verification.training.checks.run import check_run
from rdpkit.verification.training.error_budget import ErrorBudget
from rdpkit.verification.training.options import TrainingOptions
from rdpkit.verification.training.rhythm import rhythm_of
from rdpkit.verification.training.trainer import as_training, training_maker
from rdpkit.verification.training.verify_training import verify_training
from tests.verification.training import loops


def test_a_generator_of_batches_is_asked_for_again():
    training = as_training(loops.PlainLoop())
    assert [len(list(training.loader)) for _ in range(2)] == [16, 16]


class Fourth(loops.PlainLoop):
    """Makes an update in every fourth call, after two calls of warming up."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def step(self, batch):
        self.calls += 1
        if self.calls > 2 and self.calls % 4 == 2:
            super().step(batch)


def test_the_calls_of_an_update_are_found():
    found = rhythm_of(as_training(Fourth()), until=time.perf_counter() + 60.0)
    assert (found.calls, found.before, found.regular) == (4, 2, True)
    usual = rhythm_of(as_training(loops.PlainLoop()), until=time.perf_counter() + 60.0)
    assert (usual.calls, usual.before) == (1, 0)


@pytest.mark.thorough
def test_a_function_that_trains_to_its_end_is_called_once():
    made, said = [], []

    def train():
        made.append(1)
        time.sleep(0.7)
        return loops.PlainLoop()

    options = TrainingOptions(seed=1, seconds=2.0, checks=("accountant",))
    found = verify_training(train, options=options, said=said.append)
    assert len(made) == 1
    assert "the checks make about 14" in said[0]
    assert list(found.notes) == said


class Summing(loops.PlainLoop):
    """Says with which function it clips and adds noise."""

    std = 1.0

    def noisy_sum(self, gradients):
        import torch

        norms = gradients.norm(dim=1, keepdim=True).clamp(min=1.0)
        return (gradients / norms).sum(0) + self.std * torch.randn(gradients.shape[1])


class Quiet(Summing):
    std = 0.2


@pytest.mark.thorough
def test_canaries_go_through_the_noisy_sum_of_a_plain_loop():
    options = TrainingOptions(seed=3, seconds=60.0)
    right = check_run(training_maker(Summing), options)
    assert not right.rejected
    assert right.bounds[0].epsilon > 0.0
    assert check_run(training_maker(Quiet), options).rejected


def test_a_budget_is_a_rate():
    with pytest.raises(ValueError, match="rate"):
        ErrorBudget(0.0)
