"""The budget is looked at after the update that exceeds it."""

from __future__ import annotations

from itertools import chain, repeat

from rdpkit.verification.training.mistakes import TrainingMistakeKind
from rdpkit.verification.training.trainer import PrivateTraining
from rdpkit.verification.training.zoo.base import TrainingZooEntry
from rdpkit.verification.training.zoo.parts import accounted, torch_training

_ALLOWED = 12


def _made(*, looks_before: bool) -> PrivateTraining:
    def train() -> None:
        for done, batch in enumerate(chain.from_iterable(repeat(made.loader))):
            if looks_before and done == _ALLOWED:
                return
            made.step(batch)
            if done == _ALLOWED:
                return

    made = torch_training(event=accounted(steps=_ALLOWED), train=train)
    return made


ENTRY = TrainingZooEntry(
    name="one-step-too-many",
    mistake="The loop updates first and looks at the budget afterwards: 13 updates are made "
    "where 12 are accounted for.",
    correction="The loop looks at the budget before each update.",
    seen_in="after opendp/smartnoise-sdk pull request 424",
    check="accountant",
    kinds=(TrainingMistakeKind.STEPS_MISCOUNTED,),
    style="torch",
    broken=lambda: _made(looks_before=False),
    fixed=lambda: _made(looks_before=True),
)
