"""The last batch of an epoch is smaller than the others, and is not accounted for."""

from __future__ import annotations

from torch.utils.data import DataLoader

from rdpkit.verification.training.mistakes import TrainingMistakeKind
from rdpkit.verification.training.trainer import PrivateTraining
from rdpkit.verification.training.zoo.base import TrainingZooEntry
from rdpkit.verification.training.zoo.parts import (
    EPOCHS,
    RECORDS,
    accounted,
    records,
    torch_training,
)

_BATCH = 60


def _made(*, drop_last: bool) -> PrivateTraining:
    loader = DataLoader(records(), batch_size=_BATCH, shuffle=True, drop_last=drop_last)

    def train() -> None:
        for _ in range(EPOCHS):
            for batch in loader:
                made.step(batch)

    made = torch_training(
        loader=loader,
        event=accounted(batch_size=_BATCH, steps=EPOCHS * (RECORDS // _BATCH), sampling="shuffle"),
        train=train,
    )
    return made


ENTRY = TrainingZooEntry(
    name="last-partial-batch",
    mistake="512 records in batches of 60: eight batches an epoch are accounted for, and a ninth "
    "of 32 records is trained on.",
    correction="The loader drops the last batch.",
    seen_in="after meta-pytorch/opacus pull request 16 and ftramer/Handcrafted-DP issue 2, where "
    "what becomes of the last batch is asked",
    check="sampler",
    kinds=(TrainingMistakeKind.PARTIAL_BATCH, TrainingMistakeKind.STEPS_MISCOUNTED),
    style="torch",
    broken=lambda: _made(drop_last=False),
    fixed=lambda: _made(drop_last=True),
)
