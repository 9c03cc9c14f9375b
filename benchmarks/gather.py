"""Gather-and-average beside a plain copy, which is as fast as memory goes.

    python -m benchmarks.gather [--orders 16,128,512] [--workers 2]

Bytes of the records that go into means, in a second, against bytes copied by as many threads, of a
block far larger than any cache. Records have the size of MNIST's; the best of several rounds. Means
are taken in batches, as mechanisms take them.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import click
import numpy as np

from rdpkit.mechanisms.parts.mixing import Mixer
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.records import Records, in_batches, public_scaling
from rdpkit.mechanisms.parts.sampling import subsets

KINDS = (np.uint8, np.float32, np.float64)
_RECORDS, _WIDTH = 60_000, 784
_COPIED = 1 << 28
_GATHERED = 1 << 27


def best(run: Callable[[], object], rounds: int) -> float:
    """Seconds of the fastest of some runs, after one that is not counted."""
    seconds = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return min(seconds[1:])


def copy_speed(workers: int, *, size: int = _COPIED, rounds: int = 10) -> float:
    """Bytes copied in a second by so many threads."""
    source, target = np.ones(size, np.uint8), np.empty(size, np.uint8)
    parts = [slice(i * size // workers, (i + 1) * size // workers) for i in range(workers)]
    with ThreadPoolExecutor(workers) as pool:

        def run() -> list[None]:
            return list(pool.map(lambda part: np.copyto(target[part], source[part]), parts))

        return size / best(run, rounds)


def gather_speed(
    kind: Any, *, order: int, clipped: bool, workers: int, size: int = _GATHERED, rounds: int = 10
) -> float:
    """Bytes of records that are averaged in a second."""
    features = np.random.default_rng(0).integers(0, 256, (_RECORDS, _WIDTH)).astype(kind)
    records = Records(
        features=features,
        labels=np.zeros(_RECORDS, int),
        classes=1,
        scaling=public_scaling(factor=1 / 255),
        norm=1.0 if clipped else None,
    )
    count = max(workers, size // (order * _WIDTH * features.itemsize))
    chosen = subsets(_RECORDS, order, count, noise=NoiseSource.seeded(1))
    mixer = Mixer(records, workers=workers)
    used = chosen.size * _WIDTH * features.itemsize
    batches = [chosen[part] for part in in_batches(count, _WIDTH + order)]

    def run() -> int:
        return sum(len(mixer.means(batch)) for batch in batches)

    return used / best(run, rounds)


def _orders(context: click.Context, option: click.Parameter, value: str) -> list[int]:
    try:
        found = [int(part) for part in value.split(",")]
    except ValueError:
        found = []
    if not found or not all(1 <= order <= _RECORDS for order in found):
        raise click.BadParameter(
            f"Expected whole numbers in [1, {_RECORDS}] with commas between, got {value!r}."
        )
    return found


@click.command()
@click.option("--orders", default="16,128,512", show_default=True, callback=_orders)
@click.option(
    "--workers", type=click.IntRange(min=1), default=os.cpu_count() or 1, show_default="cores"
)
def main(orders: list[int], workers: int) -> None:
    """Measure, print one JSON line for each row."""
    copied = copy_speed(workers)
    click.echo(json.dumps({"workers": workers, "copy_gb_per_s": round(copied / 1e9, 2)}))
    for kind in KINDS:
        for clipped in (False, True):
            for order in orders:
                speed = gather_speed(kind, order=order, clipped=clipped, workers=workers)
                row = {
                    "stored_as": np.dtype(kind).name,
                    "clipped": clipped,
                    "order_of_mixture": order,
                    "gather_gb_per_s": round(speed / 1e9, 2),
                    "gather_over_copy": round(speed / copied, 2),
                }
                click.echo(json.dumps(row))


if __name__ == "__main__":
    main()
