"""How far a small epsilon reaches: sound DP-CDA, read by classifiers that need no training.

    python -m mechanisms.experiments.reach --dataset mnist

Two classifiers look at the releases alone, and neither has anything to tune on real records:
the nearest of the classes' mean releases, and Gaussian discriminant analysis with mixing and noise
taken out (:mod:`mechanisms.discriminant`). Noise is calibrated to the target with the best bound.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

import rdpkit
from mechanisms import dpcda
from mechanisms.data import load_dataset
from mechanisms.discriminant import fit_discriminant
from mechanisms.noise import NoiseSource
from mechanisms.preprocessing import clip_rows, public_scaling

_EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


def nearest_mean(
    features: NDArray[Any], labels: NDArray[Any], tested: NDArray[Any]
) -> NDArray[np.int64]:
    """The class whose mean release is nearest, for each row of ``tested``."""
    means = np.array([features[labels == k].mean(axis=0) for k in range(int(labels.max()) + 1)])
    scores = tested @ means.T - 0.5 * (means * means).sum(axis=1)
    return np.asarray(scores.argmax(axis=1))


def rows(
    dataset: str,
    *,
    directory: Path | None,
    epsilons: tuple[float, ...],
    seeds: int,
    delta: float,
    order_of_mixture: int,
    samples_per_class: int,
    center: float,
) -> Iterator[dict[str, Any]]:
    """One row for each epsilon: accuracy of both classifiers, mean and standard deviation."""
    data = load_dataset(dataset, directory)
    low, high = data.value_range
    scaling = public_scaling(factor=1.0 / (high - low), shift=-low / (high - low) - center)
    tested = clip_rows(scaling.apply(data.test_features), 1.0)
    shape = rdpkit.DPCDA(
        class_sizes=data.class_sizes,
        samples_per_class=samples_per_class,
        order_of_mixture=order_of_mixture,
        clip_norm=1.0,
        feature_noise=1.0,
        label_noise=0.0,
    )
    for target in epsilons:
        found = rdpkit.calibrate(
            shape,
            target_epsilon=target,
            delta=delta,
            adjacency="replace_one",
            parameter="feature_noise",
            bound="best",
        )
        noise_std = found.value
        assert isinstance(noise_std, float)
        accuracies: dict[str, list[float]] = {"nearest_mean": [], "discriminant": []}
        for seed in range(seeds):
            release = dpcda.synthesize(
                data.train_features,
                data.train_labels,
                classes=len(data.classes),
                samples_per_class=samples_per_class,
                order_of_mixture=order_of_mixture,
                clip_norm=1.0,
                feature_noise=noise_std,
                label_noise=0.0,
                scaling=scaling,
                delta=delta,
                adjacency="replace_one",
                noise=NoiseSource.seeded(seed),
            )
            event = release.manifest.event
            assert isinstance(event, rdpkit.DPCDA)
            near = nearest_mean(release.features, release.labels, tested)
            accuracies["nearest_mean"].append(float((near == data.test_labels).mean()))
            fitted = fit_discriminant(release.features, release.labels, event=event)
            accuracies["discriminant"].append(fitted.accuracy(tested, data.test_labels))
        row: dict[str, Any] = {
            "dataset": dataset,
            "target_epsilon": target,
            "epsilon": found.guarantee.epsilon,
            "bound": found.guarantee.bound,
            "delta": delta,
            "adjacency": "replace_one",
            "feature_noise": noise_std,
            "seeds": seeds,
        }
        for name, values in accuracies.items():
            row[name] = statistics.mean(values)
            row[f"{name}_std"] = statistics.stdev(values) if seeds > 1 else None
        yield row


@click.command()
@click.option("--dataset", default="mnist", show_default=True)
@click.option(
    "--data-dir", "directory", type=click.Path(path_type=Path), help="As RDPKIT_DATA_DIR."
)
@click.option("--epsilon", "epsilons", multiple=True, type=float, default=_EPSILONS)
@click.option("--seeds", type=click.IntRange(min=1), default=5, show_default=True)
@click.option("--delta", type=float, default=1e-5, show_default=True)
@click.option("--order-of-mixture", type=int, default=128, show_default=True)
@click.option("--samples-per-class", type=int, default=1000, show_default=True)
@click.option(
    "--center", type=float, default=0.2, show_default=True, help="Grey that becomes the origin."
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
