r"""How far a small epsilon reaches: releases that are read by classifiers without any training.

    python docs/studies/reach.py --dataset mnist
    python docs/studies/reach.py --mechanism dpmix --noise 0.0711 --order-of-mixture 256

The classifiers see the releases alone and tune nothing on real records. For the sound variant of
DP-CDA they are the nearest of the classes' mean releases, and Gaussian discriminant analysis that
is corrected for mixing and noise (``discriminant.py``). For DPMix, which releases mixtures of all
classes, the classes' means are computed first (``mixture_means.py``). The noise is given, or it is
calibrated to targets with the best bound.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np
from discriminant import fit_discriminant
from mixture_means import mixture_means
from numpy.typing import NDArray

import rdpkit
from rdpkit.mechanisms.algorithms import find_mechanism
from rdpkit.mechanisms.data import load_dataset
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.parts.records import clip_rows, public_scaling
from rdpkit.mechanisms.releases.release import Release

_EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_CLIP_NORM = 1.0

Predictions = Mapping[str, NDArray[np.int64]]
"""Classes of the test records, by the name of the classifier."""


def nearest(means: NDArray[Any], tested: NDArray[Any]) -> NDArray[np.int64]:
    """The number of the nearest of some means, for each row of ``tested``."""
    scores = tested @ means.T - 0.5 * (means * means).sum(axis=1)
    return np.asarray(scores.argmax(axis=1))


def nearest_mean(
    features: NDArray[Any], labels: NDArray[Any], tested: NDArray[Any]
) -> NDArray[np.int64]:
    """The class whose mean release is nearest, for each row of ``tested``."""
    means = np.array([features[labels == k].mean(axis=0) for k in range(int(labels.max()) + 1)])
    return nearest(means, tested)


def read(release: Release, tested: NDArray[Any]) -> Predictions:
    """The classes of test records by each classifier, from a release of DP-CDA or DPMix alone."""
    features, labels, event = release.features, release.labels, release.manifest.event
    if isinstance(event, rdpkit.DPMix):
        return {"nearest_mean": nearest(mixture_means(features, labels, event=event), tested)}
    assert isinstance(event, rdpkit.DPCDA)
    return {
        "nearest_mean": nearest_mean(features, labels, tested),
        "discriminant": fit_discriminant(features, labels, event=event).predict(tested),
    }


def rows(
    dataset: str,
    *,
    mechanism: str,
    directory: Path | None,
    noise_std: float | None,
    epsilons: tuple[float, ...],
    seeds: int,
    delta: float,
    order_of_mixture: int,
    releases: int,
    center: float,
) -> Iterator[dict[str, Any]]:
    """One row for each noise: mean and standard deviation of each classifier's accuracy."""
    data = load_dataset(dataset, directory)
    low, high = data.value_range
    wanted = find_mechanism(mechanism)
    stated: dict[str, Any] = {"order_of_mixture": order_of_mixture, **wanted.fixed}
    if mechanism == "dpmix":
        center = 0.0  # its records lie in [0, 1]
        stated["releases"] = releases
    else:
        stated |= {"samples_per_class": releases // len(data.classes), "clip_norm": _CLIP_NORM}
    scaling = public_scaling(factor=1.0 / (high - low), shift=-low / (high - low) - center)
    tested = scaling.apply(data.test_features)
    if "clip_norm" in stated:
        tested = clip_rows(tested, _CLIP_NORM)
    for target in epsilons if noise_std is None else (None,):
        if target is None:
            options = {**stated, **dict.fromkeys(wanted.calibrated, noise_std)}
        else:
            options = wanted.calibrate(
                stated,
                class_sizes=data.class_sizes,
                dimension=data.train_features.shape[1],
                target_epsilon=target,
                delta=delta,
                adjacency=rdpkit.Adjacency.REPLACE_ONE,
                bound="best",
            )
        accuracies: dict[str, list[float]] = {}
        for seed in range(seeds):
            noise = NoiseSource.seeded(seed)
            release = wanted.synthesize(
                data.train_features,
                data.train_labels,
                classes=len(data.classes),
                scaling=scaling,
                options=wanted.build(options),
                privacy=Privacy(delta=delta, adjacency="replace_one", noise=noise, counts="public"),
            )
            for name, found in read(release, tested).items():
                share = float((found == data.test_labels).mean())
                accuracies.setdefault(name, []).append(share)
        row: dict[str, Any] = {
            "dataset": dataset,
            "mechanism": mechanism,
            "target_epsilon": target,
            "epsilon": release.guarantee.epsilon,
            "bound": release.guarantee.bound,
            "delta": delta,
            "adjacency": "replace_one",
            **{name: options[name] for name in wanted.calibrated},
            "seeds": seeds,
        }
        for name, values in accuracies.items():
            row[name] = statistics.mean(values)
            row[f"{name}_std"] = statistics.stdev(values) if seeds > 1 else None
        yield row


@click.command()
@click.option("--dataset", default="mnist", show_default=True)
@click.option(
    "--mechanism", type=click.Choice(["dpcda", "dpmix"]), default="dpcda", show_default=True
)
@click.option(
    "--data-dir",
    "directory",
    type=click.Path(path_type=Path),
    help="The data directory.  [default: RDPKIT_DATA_DIR]",
)
@click.option("--noise", "noise_std", type=float, help="Standard deviation, instead of targets.")
@click.option("--epsilon", "epsilons", multiple=True, type=float, default=_EPSILONS)
@click.option("--seeds", type=click.IntRange(min=1), default=5, show_default=True)
@click.option("--delta", type=float, default=1e-5, show_default=True)
@click.option("--order-of-mixture", type=int, default=128, show_default=True)
@click.option(
    "--releases",
    type=int,
    default=10_000,
    show_default=True,
    help="All classes together.",
)
@click.option(
    "--center",
    type=float,
    default=0.2,
    show_default=True,
    help="Grey value that becomes the origin, for dpcda.",
)
def main(**options: Any) -> None:
    """Print one JSON line for each epsilon."""
    try:
        for row in rows(options.pop("dataset"), **options):
            click.echo(json.dumps(row))
            sys.stdout.flush()
    except (ValueError, ArithmeticError, OSError) as error:
        raise click.UsageError(str(error)) from None


if __name__ == "__main__":
    main()
