"""What is made of a training before it is checked."""

import math
import sys
import time

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

import rdpkit
from rdpkit.verification.blackbox.mistakes import MistakeKind
from rdpkit.verification.estimators.error_budget import ErrorBudget
from rdpkit.verification.training.checks.run import check_run
from rdpkit.verification.training.checks.step import _started_anew, check_step
from rdpkit.verification.training.options import TrainingOptions
from rdpkit.verification.training.results import CheckResult
from rdpkit.verification.training.trainer import as_training, functional_training
from rdpkit.verification.training.updates import _unit, rhythm_of
from rdpkit.verification.training.verify_training import _in_time, training_maker, verify_training
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
        time.sleep(1.2)
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


@pytest.mark.thorough
def test_all_names_together_have_the_stated_rate():
    found = verify_training(Summing, options=TrainingOptions(seed=3, seconds=20.0))
    assert not found.rejected
    assert {name.partition(":")[0] for name in found.spent} == {
        check.name for check in found.checks
    }
    assert math.fsum(found.spent.values()) <= found.false_alarm_rate * (1.0 + 1e-9)


def test_a_check_cannot_spend_more_than_it_has():
    with pytest.raises(ValueError, match="of step to have at most"):
        CheckResult(name="step", false_alarm_rate=0.01, spent={"one": 0.006, "two": 0.006})


@pytest.mark.thorough
def test_a_seed_in_an_imported_module_is_run_again(tmp_path, monkeypatch):
    (tmp_path / "own_seeds.py").write_text("import torch\ntorch.manual_seed(42)\n")
    (tmp_path / "own_training.py").write_text(
        "import own_seeds, torch\n"
        "def make():\n"
        "    return dict(step=print, loader=[], event=EVENT, adjacency='replace_one', delta=1e-5,"
        " parameters=dict, records=float(torch.rand(())))\n"
        "import rdpkit\n"
        "EVENT = rdpkit.Gaussian(noise_std=1.0, record_norm=1.0)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    maker = training_maker("own_training:make")
    before = sys.modules["own_seeds"]
    drawn = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        drawn.append(maker.started_anew().records)
    assert drawn[0] == drawn[1] != maker.fresh().records
    assert sys.modules["own_seeds"] is before


def test_a_module_that_can_be_imported_once_is_noted(tmp_path, monkeypatch):
    (tmp_path / "own_once.py").write_text(
        "import sys\n"
        "if hasattr(sys, 'own_once'):\n"
        "    raise RuntimeError('imported twice')\n"
        "sys.own_once = True\n"
        "from tests.verification.training.loops import PlainLoop\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    maker = training_maker("own_once:PlainLoop")
    monkeypatch.chdir(tmp_path)
    notes = []
    for _ in range(2):
        assert _started_anew(maker, notes).name == "PlainLoop"
    (note,) = notes
    assert "RuntimeError: imported twice; so a seed that is set at import was not" in note
    del sys.own_once


@pytest.mark.thorough
def test_a_function_that_trains_is_said_at_its_first_update():
    said = []

    def train():
        made = loops.PlainLoop()
        for batch in made.loader:
            made.step(batch)
            assert said
        return made

    options = TrainingOptions(seed=1, seconds=4.0, checks=("accountant",))
    verify_training(train, options=options, said=said.append)
    assert "trains before it returns" in said[0]


def test_checks_share_the_time_that_is_left():
    options = TrainingOptions(seconds=30.0)
    assert _in_time(options, 30.0, 1.2).seconds == 25.0
    assert _in_time(options, 30.0, 0.5).seconds == 30.0
    assert 0.0 < _in_time(options, -5.0, 0.5).seconds < 1.0


def test_short_floats_have_larger_rounding_errors():
    values = np.random.default_rng(1).normal(size=100)
    short = torch.as_tensor(values).bfloat16().double().numpy()
    assert _unit(values) == 2.0**-23
    assert _unit(short) == 2.0**-7
    assert _unit(values.astype(np.float16).astype(float)) == 2.0**-10


FEATURES = np.random.default_rng(0).normal(size=(128, 6))
TARGETS = FEATURES @ np.arange(6.0)


def regression_step(params, state, batch):
    """Linear regression: gradients clipped to 1, noise from a key that is split at each step."""
    features, targets = batch
    rng = np.random.default_rng(state["key"])
    residual = features @ params["weight"] + params["bias"] - targets
    gradients = np.column_stack([features * residual[:, None], residual])
    norms = np.maximum(1.0, np.linalg.norm(gradients, axis=1, keepdims=True))
    total = (gradients / norms).sum(axis=0) + state["noise"] * rng.normal(size=7)
    new = {
        "weight": params["weight"] - 0.1 * total[:6] / 16,
        "bias": params["bias"] - 0.1 * total[6:] / 16,
    }
    return new, {**state, "key": int(rng.integers(2**62))}


def regression(noise):
    def batches():
        for _ in range(8):
            chosen = np.random.random(128) < 16 / 128  # noqa: NPY002 - as trainings of others do
            yield FEATURES[chosen], TARGETS[chosen]

    class Loader:
        def __iter__(self):
            return batches()

    return functional_training(
        regression_step,
        params={"weight": np.zeros(6), "bias": np.zeros(1)},
        state={"key": 1, "noise": noise},
        reseeded=lambda state, seed: {**state, "key": seed},
        loader=Loader(),
        event=rdpkit.DPSGD(noise_multiplier=1.0, dataset_size=128, batch_size=16, steps=8),
        adjacency="add_or_remove_one",
        delta=1e-5,
    )


@pytest.mark.thorough
@pytest.mark.parametrize("noise", [1.0, 0.5])
def test_the_step_of_a_pure_function_is_checked(noise):
    maker = training_maker(lambda: regression(noise))
    found = check_step(maker, TrainingOptions(seed=1, seconds=20.0))
    kinds = [mistake.kind for mistake in found.mistakes]
    assert kinds == ([] if noise == 1.0 else [MistakeKind.NOISE_TOO_SMALL])
    # The bound sees the noise multiplier to within the spread of its estimate.
    assert f"{noise:g}"[:3] in dict(found.measured)["noise multiplier"]
