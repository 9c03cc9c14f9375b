"""One training run with records as canaries: records with wrong labels, or that were held out."""

from __future__ import annotations

import time
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from rdpkit.verification.training.batches import joined, leaves, records_of, rows, size
from rdpkit.verification.training.canaries.joining import CanaryRun, ended_early
from rdpkit.verification.training.options import TrainingOptions
from rdpkit.verification.training.state import seed_everything
from rdpkit.verification.training.told import Told
from rdpkit.verification.training.trainer import (
    Batch,
    PrivateTraining,
    TrainingMaker,
    as_training,
)
from rdpkit.verification.training.updates import Vector, observe

_FEWEST_CANARIES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class BlackBoxRun(CanaryRun):
    """What a run with records as canaries showed; a score is how much the loss of one fell."""

    training: PrivateTraining  # The training with the canaries among its records
    kind: str  # What the canaries are, in words


def black_box_run(
    maker: TrainingMaker, account: Told, options: TrainingOptions, *, until: float
) -> BlackBoxRun | str:  # Why there was none, in words
    """Train once with records as canaries."""
    seed_everything(options.known_seed)
    training = maker.fresh()
    if training.with_records is None or training.losses is None:
        return (
            "no gradient canaries: the optimiser is none of Opacus's that clips gradients of "
            "records, and there is no noisy_sum(); no records as canaries: with_records() and "
            "losses() are needed"
        )
    rng = np.random.default_rng([options.known_seed, 4])
    found = _canaries(training, options.canaries, rng)
    if found is None:
        return "no records can be canaries: neither held-out records nor labels were found"
    extra, kind = found
    count = size(extra)
    coins = rng.random(count) < 0.5
    notes = (
        [] if count == options.canaries else [f"{count} canaries in place of {options.canaries}"]
    )
    wanted = options.steps or account.updates or 1
    try:
        chosen = _records(training, extra, np.flatnonzero(coins).tolist())
        with_them = as_training(training.with_records(chosen))
        losses = with_them.losses or training.losses
        before = _numbers(losses(extra))
        made = _trained(with_them, wanted, until)
        after = _numbers(losses(extra))
    except Exception as error:
        return f"training with canaries among the records raised {type(error).__name__}: {error}"
    if not before.shape == after.shape == coins.shape:
        return "losses() did not return one number for each record"
    return BlackBoxRun(
        training=with_them,
        coins=coins,
        scores=before - after,
        updates=made,
        kind=kind,
        notes=(*notes, *ended_early(made, wanted)),
    )


def _trained(training: PrivateTraining, wanted: int, until: float) -> int:
    """Make updates, and return how many were made."""
    made, idle = 0, 0
    while made < wanted and idle < 2 and (made == 0 or time.perf_counter() < until):
        idle += 1
        for batch in training.loader:
            idle = 0
            made += observe(training, batch).count
            if made >= wanted or time.perf_counter() > until:
                break
    return made


def _records(training: PrivateTraining, batch: Batch, which: list[int]) -> list[Any]:
    """Some records of a batch, each as the training's own records are."""
    like = None
    if training.records is not None and len(training.records):
        like = training.records[0]
    return [_single(rows(batch, [place]), like) for place in which]


def _single(batch: Batch, like: Any) -> Any:
    if isinstance(batch, dict):
        parts = like if isinstance(like, dict) else {}
        return {key: _single(value, parts.get(key)) for key, value in batch.items()}
    if isinstance(batch, tuple | list):
        kinds = like if isinstance(like, tuple | list) else [None] * len(batch)
        return tuple(_single(value, kind) for value, kind in zip(batch, kinds, strict=False))
    value = batch[0]
    return int(value) if isinstance(like, int) else value


def _numbers(values: Any) -> Vector:
    detached = values.detach().cpu().double().numpy() if hasattr(values, "detach") else values
    found = np.asarray(detached, dtype=np.float64).ravel()
    return np.nan_to_num(found, nan=0.0, posinf=1e300, neginf=-1e300)


def _canaries(
    training: PrivateTraining, count: int, rng: np.random.Generator
) -> tuple[Batch, str] | None:
    """Records with wrong labels, if there are labels; otherwise held-out records."""
    records = records_of(training.loader, count)
    if records is not None and size(records) >= _FEWEST_CANARIES:
        wrong = _mislabelled(records, rng)
        if wrong is not None:
            return wrong, "black box, records with wrong labels"
    if training.held_out is None:
        return None
    there = min(count, len(training.held_out))
    if there < _FEWEST_CANARIES:
        return None
    return _held_out(training.held_out, there), "black box, held-out records"


def _held_out(records: Any, count: int) -> Batch:
    if hasattr(records, "__getitem__") and not hasattr(records, "shape"):
        singles = [records[place] for place in range(count)]
        if isinstance(singles[0], tuple):
            return tuple(_stacked(list(parts)) for parts in zip(*singles, strict=True))
        return _stacked(singles)
    return joined([records[:count]])


def _stacked(values: list[Any]) -> Any:
    tensors = hasattr(values[0], "detach")
    whole = isinstance(values[0], int) and not isinstance(values[0], bool)
    if tensors or (whole and find_spec("torch") is not None):
        import torch  # noqa: PLC0415 - trainings without torch are verified, too

        return torch.stack(values) if tensors else torch.tensor(values)
    return np.stack([np.asarray(value) for value in values])


def _mislabelled(records: Batch, rng: np.random.Generator) -> Batch | None:
    """The records with other labels, where the last part of a batch is one integer for each."""
    parts = leaves(records)
    labels = parts[-1]
    kind = str(getattr(labels, "dtype", "")).removeprefix("torch.")
    if len(parts) < 2 or getattr(labels, "ndim", 0) != 1 or "int" not in kind:
        return None
    values = np.asarray(labels)
    classes = int(values.max()) + 1
    if classes < 2:
        return None
    other = (values + rng.integers(1, classes, values.size)) % classes
    if hasattr(labels, "detach"):
        import torch  # noqa: PLC0415 - trainings without torch are verified, too

        changed: Any = torch.as_tensor(other, dtype=labels.dtype)
    else:
        changed = other.astype(values.dtype)
    if isinstance(records, dict):
        last = list(records)[-1]
        return {**records, last: changed} if records[last] is labels else None
    if isinstance(records, tuple | list) and records[-1] is labels:
        return type(records)([*records[:-1], changed])
    return None
