"""The evaluation set is part of the training set."""

from __future__ import annotations

from torch.utils.data import TensorDataset

from rdpkit.verification.training.mistakes import TrainingMistakeKind
from rdpkit.verification.training.trainer import PrivateTraining
from rdpkit.verification.training.zoo.base import TrainingZooEntry
from rdpkit.verification.training.zoo.parts import RECORDS, records
from rdpkit.verification.training.zoo.with_opacus import private_parts, trained_with_opacus

_KEPT = 64


def _made(*, apart: bool) -> PrivateTraining:
    features, labels = records(RECORDS + _KEPT).tensors
    trained = TensorDataset(features[:RECORDS], labels[:RECORDS])
    begin = RECORDS if apart else RECORDS - _KEPT
    kept = TensorDataset(features[begin : begin + _KEPT], labels[begin : begin + _KEPT])
    return trained_with_opacus(private_parts(trained), held_out=kept)


ENTRY = TrainingZooEntry(
    name="evaluation-data-in-training",
    mistake="The last 64 training records are also those of the evaluation.",
    correction="Records of the evaluation are kept apart.",
    seen_in="after NVIDIA/NVFlare issue 3233 and openai/parameter-golf issue 2127",
    check="sampler",
    kinds=(TrainingMistakeKind.HELD_OUT_IN_TRAINING,),
    style="opacus",
    broken=lambda: _made(apart=False),
    fixed=lambda: _made(apart=True),
)
