"""Running an experiment: synthesise, train and test, write a row for each run, summarise rows."""

from __future__ import annotations

import functools
import json
import math
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import rdpkit
from rdpkit.formats import columns as tables
from rdpkit.formats.journal import Journal
from rdpkit.formats.text import rounded_up
from rdpkit.mechanisms.algorithms import find_mechanism
from rdpkit.mechanisms.algorithms.specification import SCALING
from rdpkit.mechanisms.evaluation.training import Augment, accuracy, seeded, train
from rdpkit.mechanisms.experiments.experiment import READER, Cell, Experiment, short
from rdpkit.mechanisms.experiments.preparation import (
    Scaled,
    as_inputs,
    calibrated,
    load,
    private_records,
    scale,
    tested_records,
    training_records,
)
from rdpkit.mechanisms.models import build_model
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.releases.computation import Checkpoint, Computation
from rdpkit.mechanisms.releases.manifest import Manifest
from rdpkit.mechanisms.releases.release import Release

Row = Mapping[str, Any]
ROWS = "rows.journal"
"""The file of the finished runs of an experiment, in a folder of the experiment's name."""
EARLIER_ROWS = "rows"
"""The folder in which earlier versions kept a file for each run."""


def finished_runs(
    folder: Path,  # Of one experiment
) -> Journal:
    """The rows of finished runs, by :meth:`Cell.key`."""
    if (folder / EARLIER_ROWS).is_dir():
        raise ValueError(
            f"{folder / EARLIER_ROWS}: results of an earlier version of rdpkit, a file each, "
            f"are not read: now all are in {ROWS}. Move that folder away, or choose another one."
        )
    return Journal(folder / ROWS, mark="rdpkit-rows-1", kind="row")


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The mean and the spread of several runs of one cell."""

    row: Row  # The columns that all runs share
    seeds: int  # Number of runs
    mean: float  # Mean accuracy
    std: float | None
    """Its standard deviation over runs (n - 1 in the denominator); None for one run."""
    published: float | None  # What the source printed

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            **{k: v for k, v in self.row.items() if k != "cell"},
            "seeds": self.seeds,
            "mean_accuracy": self.mean,
            "std_accuracy": self.std,
            "published_accuracy": self.published,
        }


OF_ONE_RUN = ("seed", "accuracy", "epochs", "best_epoch", "synthesis_seconds", "training_seconds")


def summarise(rows: Iterable[Row]) -> list[Summary]:
    """Group rows by cell, in the order in which cells first occur."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(f"{row['experiment']}/{row['cell']}", []).append(row)
    found = []
    for group in groups.values():
        values = [float(row["accuracy"]) for row in group]
        shared = {k: v for k, v in group[0].items() if k not in OF_ONE_RUN}
        found.append(
            Summary(
                row={k: v for k, v in shared.items() if k != "published_accuracy"},
                seeds=len(values),
                mean=statistics.fmean(values),
                std=statistics.stdev(values) if len(values) > 1 else None,
                published=shared.get("published_accuracy"),
            )
        )
    return found


def columns(rows: Sequence[Row]) -> dict[str, list[Any]]:
    """Rows as columns of a table; varied values get columns of their own."""
    flat = [{k: v for k, v in row.items() if k != "varied"} for row in rows]
    for target, row in zip(flat, rows, strict=True):
        for key, value in row["varied"].items():
            target[key] = json.dumps(value) if isinstance(value, (dict, list)) else value
    names = list(dict.fromkeys(name for row in flat for name in row))
    return {name: [row.get(name) for row in flat] for name in names}


def write_table(path: Path, rows: Sequence[Row]) -> None:
    """Write rows to CSV or Parquet, by the file's ending."""
    tables.write(path, columns(rows))


# Summaries of results as the cells of a table.

COLUMNS = ("data set", "mechanism", "releases", "setting", "epsilon", "delta", "adjacency",
           "private", "model", "seeds", "accuracy", "published")  # fmt: skip

# What speaks against a release, by the name of the check that fails.
_REASONS = {
    "secret_noise": "noise not secret",
    "public_parameters": "exact numbers shown",
    "preconditions": "assumes things of the data",
    "delta": "delta too large",
    "epsilon": "epsilon too large",
    "code_path": "code not tested",
}


def cells(summary: Summary) -> tuple[str, ...]:
    """A text for each of :data:`COLUMNS`: epsilon rounded up, accuracy with its spread over seeds.

    The texts come from files and are not escaped.
    """
    row = summary.row
    epsilon = row["epsilon"]
    varied = ", ".join(f"{k.split('.')[-1]}={short(v)}" for k, v in row["varied"].items())
    spread = "" if summary.std is None else f" +- {summary.std:.4f}"
    return (
        row["dataset"],
        row["mechanism"],
        row["kind"],
        varied,
        "none" if epsilon is None else rounded_up(epsilon),
        "" if epsilon is None else f"{row['delta']:g}",
        "" if epsilon is None else row["adjacency"],
        private(summary),
        row["model"],
        str(summary.seeds),
        f"{summary.mean:.4f}{spread}",
        "" if summary.published is None else f"{summary.published:g}",
    )


def private(summary: Summary) -> str:
    """Whether the manifests call the releases private, and what speaks against it."""
    row = summary.row
    if row["epsilon"] is None:
        return "no guarantee"
    reasons = [_REASONS.get(name, name) for name in row["failed_checks"]]
    if row["private"]:
        return "yes"
    return "no" if not reasons else "no: " + ", ".join(reasons)


Report = Callable[[str, int, int], None]
"""Called with the name of the work, how much of it is done, and how much there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of running an experiment."""

    rows: tuple[Row, ...]  # All rows, those of earlier runs among them
    resumed: int  # Number of rows of earlier runs


class Runner:
    """Runs cells; data sets are loaded, and noise is calibrated, once for all seeds."""

    def __init__(
        self,
        *,
        directory: str | Path | None = None,  # The data directory; without it ``RDPKIT_DATA_DIR``
        device: str = "cpu",  # Torch device on which to synthesise and train
        report: Report | None = None,  # Called with the progress
    ) -> None:
        self.directory = directory
        self.device = device
        self.report = report or (lambda what, done, total: None)
        self._scaled: dict[str, Scaled] = {}
        self._options: dict[str, dict[str, Any]] = {}

    def run(
        self,
        experiment: Experiment,  # What to run
        # The folder of results; rows go to ``results / NAME / rows.journal``, and checkpoints to
        # ``results / NAME / unfinished``.
        results: Path,
    ) -> Outcome:
        """Run what has not been run yet; each finished run is written at once.

        Mechanisms that take hours keep a checkpoint, from which an interrupted run continues.
        Raises ValueError, ArithmeticError, OSError if the data set, the calibration, the mechanism
        or the training fails. The rows of finished runs are kept.
        """
        folder = results / experiment.name
        finished = finished_runs(folder)
        total = len(experiment.cells) * len(experiment.seeds)
        rows: list[Row] = []
        resumed = 0
        last = {cell.release_key(seed): i for i, (cell, seed) in enumerate(experiment.runs())}
        for number, (cell, seed) in enumerate(experiment.runs()):
            self.report("runs", number, total)
            run, key = cell.key(seed), cell.release_key(seed)
            checkpoint = Checkpoint(folder / "unfinished" / f"{key}.npz", run=key)
            if run in finished:
                rows.append(finished.get(run))
                resumed += 1
            else:
                rows.append(self.one(experiment, cell, seed, checkpoint=checkpoint))
                folder.mkdir(parents=True, exist_ok=True)
                finished.add(run, rows[-1], name=run)
            # Runs that train other models on the same release continue from the checkpoint, too.
            if number == last[key]:
                checkpoint.clear()
        self.report("runs", total, total)
        return Outcome(rows=tuple(rows), resumed=resumed)

    def one(
        self, experiment: Experiment, cell: Cell, seed: int, *, checkpoint: Checkpoint | None = None
    ) -> Row:
        """The row of one run. Its seconds do not include those of an interrupted run before it."""
        started = time.perf_counter()
        release = self.synthesize(cell, seed, checkpoint=checkpoint)
        synthesised = time.perf_counter()
        measured = self.evaluate(cell, release, seed)
        found = release.guarantee
        guarantee = found if found is not None and math.isfinite(found.epsilon) else None
        return {
            "experiment": experiment.name,
            "cell": cell.key(-1),
            "dataset": cell.dataset["name"],
            "mechanism": cell.mechanism,
            "model": cell.model,
            "adjacency": cell.privacy.adjacency.value,
            "delta": cell.privacy.delta,
            "target_epsilon": cell.privacy.target_epsilon,
            "epsilon": None if guarantee is None else guarantee.epsilon,
            "bound": None if guarantee is None else guarantee.bound,
            "private": release.manifest.private,
            "failed_checks": sorted(
                {check.name for check in release.manifest.checks if check.status == "fails"}
            ),
            "kind": find_mechanism(cell.mechanism).kind,
            "releases": len(release.features),
            "varied": dict(cell.varied),
            **_planned(cell, release.manifest),
            "published_accuracy": experiment.published.get(
                ",".join(map(short, cell.varied.values()))
            ),
            "seed": seed,
            **measured,
            "synthesis_seconds": synthesised - started,
            "training_seconds": time.perf_counter() - synthesised,
            "version": rdpkit.__version__,
        }

    def data(self, cell: Cell) -> Scaled:
        """The cell's data set, scaled as its mechanism wants it."""
        features = find_mechanism(cell.mechanism).features
        key = f"{sorted(cell.dataset.items(), key=str)}{features}"
        if key not in self._scaled:
            # Only one data set is kept, because two copies of CelebA do not fit into every memory.
            self._scaled = {key: scale(load(cell.dataset, self.directory), features)}
        return self._scaled[key]

    def synthesize(
        self,
        cell: Cell,  # What to release
        # Seed of randomness that need not be secret, and of the noise where the cell asks for
        # seeded noise.
        seed: int,
        *,
        checkpoint: Checkpoint | None = None,  # For mechanisms that keep one
    ) -> Release:
        """Make the cell's release."""
        mechanism = find_mechanism(cell.mechanism)
        scaled = self.data(cell)
        data = scaled.data
        seeded_noise = cell.privacy.noise == "seeded"
        noise = NoiseSource.seeded(seed) if seeded_noise else NoiseSource.system()
        privacy = Privacy(
            delta=cell.privacy.delta,
            adjacency=cell.privacy.adjacency,
            noise=noise,
            accept_epsilon=cell.privacy.accept_epsilon,
            counts=cell.privacy.counts_policy(),
        )
        target = cell.privacy.target_epsilon
        options = mechanism.check(cell.options, calibrated=target is not None)
        if target is not None:
            options, privacy = calibrated(
                mechanism,
                options,
                privacy,
                data.class_sizes,
                dimension=data.train_features.shape[1],
                kept=self._options,
                checkpoint=checkpoint,
                target_epsilon=target,
                bound=cell.privacy.bound,
            )
        records, scaling = private_records(mechanism, options.pop(SCALING, "public"), scaled)
        given: dict[str, Any] = {
            "scaling": scaling,
            "options": mechanism.build(options),
            "privacy": privacy,
            "noise": noise,
            "seed": seed,
            "classes": len(data.classes),
            "image_shape": data.image_shape,
            "computation": Computation(
                device=self.device,
                checkpoint=checkpoint,
                progress=lambda done, total: self.report("synthesis", done, total),
            ),
        }
        return mechanism.run(records, data.train_labels, given)

    def evaluate(self, cell: Cell, release: Release, seed: int) -> dict[str, Any]:
        """Train the cell's model on a release, and measure its accuracy on real test records."""
        scaled = self.data(cell)
        data = scaled.data
        if cell.model == READER:
            reader = find_mechanism(cell.mechanism).reader
            assert reader is not None
            predicted = reader(release, tested_records(cell, scaled))
            return {"accuracy": float(np.mean(predicted == data.test_labels))}
        settings = cell.settings()
        images = as_inputs(cell, data, training_records(cell, release))
        tested = as_inputs(cell, data, tested_records(cell, scaled))
        classes = len(data.classes)
        _, channels, height, width = images.shape
        with seeded(seed, self.device):
            model = build_model(cell.model, channels, (height, width), classes)
            done = train(
                model,
                images,
                np.asarray(release.labels),
                settings=settings,
                classes=classes,
                seed=seed,
                device=self.device,
                augment=_augmentation(cell) if settings.augmentation == "dsa" else None,
                progress=lambda epoch, epochs: self.report("training", epoch, epochs),
            )
            share = accuracy(model, tested, data.test_labels, device=self.device)
        return {"accuracy": share, "epochs": done.epochs, "best_epoch": done.best_epoch}


def _planned(cell: Cell, manifest: Manifest) -> dict[str, Any]:
    """The order of mixture that was planned for a release, under its option's name."""
    mechanism = find_mechanism(cell.mechanism)
    name = mechanism.planned
    if name is None or not mechanism.is_planned(cell.options):
        return {}
    events = [manifest.event] if manifest.event is not None else []
    for event in events:
        if hasattr(event, name):
            return {name: getattr(event, name)}
        events += [part for _, part in event.parts()]
    raise RuntimeError(f"The manifest of a planned release does not state {name}.")


def _augmentation(cell: Cell) -> Augment:
    """One random operation for each batch; digits are never mirrored."""
    from rdpkit.mechanisms.parts.augmentation import OPERATIONS, augment_each  # noqa: PLC0415

    digits = cell.dataset["name"] in ("digits", "mnist")
    operations = tuple(o for o in OPERATIONS if not (digits and o == "flip"))
    return functools.partial(augment_each, operations=operations)
