"""The check of the accountant: updates, history, delta and claim against each other."""

from __future__ import annotations

import time
from typing import Any

import pytest

from rdpkit import DPSGD
from rdpkit.verification.blackbox.mistakes import MistakeKind as Kind
from rdpkit.verification.training.checks.accountant import check_accountant
from rdpkit.verification.training.options import TrainingOptions
from rdpkit.verification.training.results import CheckResult
from rdpkit.verification.training.verify_training import training_maker

torch = pytest.importorskip("torch")

N, B = 128, 16


class Trainer:
    """A plain loop; each attribute is what one mistake changes."""

    adjacency = "add_or_remove_one"
    delta = 1e-5
    epsilon: float | None = None
    updates_of_a_batch = 1
    batches_of_an_update = 1
    counted = 1
    multiplier = 1.0
    extra = 0

    def __init__(self) -> None:
        self.event = DPSGD(noise_multiplier=1.0, dataset_size=N, batch_size=B, steps=16)
        self.records = torch.arange(float(N))[:, None]
        self.model = torch.nn.Linear(1, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.history: list[tuple[float, float, int]] = []
        self.calls = 0

    @property
    def accountant(self) -> Any:
        return self

    @property
    def loader(self) -> Any:
        for _ in range(N // B):
            yield self.records[torch.rand(N) < B / N]

    def step(self, batch: Any) -> None:
        self.calls += 1
        if self.calls % self.batches_of_an_update:
            return
        for number in range(self.updates_of_a_batch):
            for parameter in self.model.parameters():
                parameter.grad = torch.randn_like(parameter)
            self.optimizer.step()
            if number < self.counted:
                done = self.history.pop()[2] if self.history else 0
                self.history.append((self.multiplier, B / N, done + 1))

    def train(self) -> None:
        made = 0
        while made < 16 + self.extra:
            for batch in self.loader:
                self.step(batch)
                made += 1
                if made == 16 + self.extra:
                    return


def checked(**changed: Any) -> CheckResult:
    kind = type("Changed", (Trainer,), changed)
    return check_accountant(training_maker(kind), TrainingOptions(seed=1, seconds=20.0))


def epsilons(result: CheckResult) -> list[str]:
    """All that says an epsilon."""
    rows = [f"{name} {value}" for name, value in result.measured]
    words = [one.message for one in result.mistakes] + [one.describe() for one in result.bounds]
    return [text for text in (*rows, *words, *result.notes) if "epsilon" in text.lower()]


def kinds(result: CheckResult) -> set[Kind]:
    return {mistake.kind for mistake in result.mistakes}


def test_a_correct_training_passes() -> None:
    result = checked()
    assert not result.rejected, [one.describe() for one in result.mistakes]
    assert dict(result.measured)["whole training"] == "16 updates; told 16"
    assert len(epsilons(result)) == 2
    assert all("delta 1e-05, add_or_remove_one" in text for text in epsilons(result))


def test_a_training_that_is_ended_before_all_of_its_updates_is_inconclusive() -> None:
    class Slow(Trainer):
        def step(self, batch: Any) -> None:
            time.sleep(0.02)
            super().step(batch)

    options = TrainingOptions(seed=1, seconds=1.0)
    result = check_accountant(training_maker(Slow), options)
    assert result.verdict == "inconclusive"
    assert "ended before it could make more updates" in result.inconclusive


def test_an_accountant_that_fails_is_noted() -> None:
    def get_epsilon(_: Any, delta: float) -> float:
        raise OSError(f"no table for {delta}")

    result = checked(get_epsilon=get_epsilon)
    assert not result.rejected
    assert any("get_epsilon raised OSError: no table for 1e-05" in note for note in result.notes)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"updates_of_a_batch": 2}, {Kind.STEPS_MISCOUNTED}),
        ({"batches_of_an_update": 4}, {Kind.STEPS_MISCOUNTED}),
        ({"extra": 1}, {Kind.STEPS_MISCOUNTED}),
        ({"counted": 0}, {Kind.ACCOUNTANT_NOT_TOLD}),
        ({"multiplier": 0.5}, {Kind.ACCOUNTANT_NOT_TOLD}),
        ({"delta": 0.01}, {Kind.DELTA_TOO_LARGE}),
        ({"epsilon": 1.0}, {Kind.CLAIM_TOO_SMALL}),
        ({"epsilon": 50.0}, set()),
    ],
)
def test_mistakes_are_named(changed: dict[str, Any], expected: set[Kind]) -> None:
    result = checked(**changed)
    assert kinds(result) == expected, [one.describe() for one in result.mistakes]
    at = f"delta {changed.get('delta', 1e-5):g}, add_or_remove_one"
    assert all(at in text for text in epsilons(result)), epsilons(result)


@pytest.mark.thorough
def test_one_update_too_many_says_both_epsilons() -> None:
    (mistake,) = checked(extra=1).mistakes
    assert "17 noisy updates" in mistake.message
    assert "(lower bound)" in mistake.message
    assert "(upper bound)" in mistake.message
