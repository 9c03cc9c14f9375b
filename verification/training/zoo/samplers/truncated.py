"""Large Poisson samples are cut, and the accountant does not know."""

from __future__ import annotations

from collections.abc import Iterator

from rdpkit.verification.training.mistakes import TrainingMistakeKind
from rdpkit.verification.training.trainer import PrivateTraining
from rdpkit.verification.training.zoo.base import TrainingZooEntry
from rdpkit.verification.training.zoo.parts import (
    BATCH,
    RECORDS,
    PoissonBatches,
    loader_of,
    records,
    torch_training,
)

_LARGEST = 68


class CutBatches(PoissonBatches):
    """Poisson samples that fit into the memory: what is beyond the limit is left out."""

    def __iter__(self) -> Iterator[list[int]]:
        for batch in super().__iter__():
            yield batch[:_LARGEST]


def _made(kind: type[PoissonBatches]) -> PrivateTraining:
    batches = kind(RECORDS, BATCH / RECORDS, RECORDS // BATCH)
    return torch_training(loader=loader_of(batches, records()))


ENTRY = TrainingZooEntry(
    name="cut-batches",
    mistake="Poisson samples of more than 68 records are cut to 68, and accounted for as if they "
    "were not: whether a record is used depends on who else was sampled.",
    correction="Large samples are processed in parts, none of which is left out.",
    seen_in="after google-deepmind/jax_privacy pull request 103 (samples that are padded to a "
    "fixed size) and the comments of lxuechen/private-transformers issue 7 on memory",
    check="sampler",
    kinds=(TrainingMistakeKind.TRUNCATED,),
    style="torch",
    broken=lambda: _made(CutBatches),
    fixed=lambda: _made(PoissonBatches),
)
