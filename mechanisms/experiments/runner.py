"""Running an experiment: synthesise, train and test, and write a row for each run."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import rdpkit
from rdpkit.mechanisms.algorithms import find_mechanism
from rdpkit.mechanisms.algorithms.specification import SCALING
from rdpkit.mechanisms.evaluation.training import Augment, accuracy, seeded, train
from rdpkit.mechanisms.experiments.experiment import READER, Cell, Experiment
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
from rdpkit.mechanisms.experiments.rows import Row, finished_runs, published_for
from rdpkit.mechanisms.models import build_model
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.releases.computation import Checkpoint, Computation
from rdpkit.mechanisms.releases.manifest import Manifest
from rdpkit.mechanisms.releases.release import Release

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
            "published_accuracy": published_for(experiment, cell),
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
