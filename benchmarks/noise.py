"""Normal numbers a second: hardened as releases get them, beside numpy's.

    python -m benchmarks.noise [--numbers 2097152] [--rounds 20]

Both on one core, in processor time; the best of several rounds. One JSON line for each row.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import click
import numpy as np

from rdpkit.mechanisms.parts.compiled.box_muller import compiled_sums, portable_sums
from rdpkit.mechanisms.parts.noise import NoiseSource

_WARM = 2_000_000
_HALF = 8192


def rate(run: Callable[[], object], count: int, rounds: int) -> float:
    """Numbers a second in the fastest of some runs."""
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return count / min(seconds)


@click.command()
@click.option("--numbers", type=click.IntRange(min=1), default=1 << 21, show_default=True)
@click.option("--rounds", type=click.IntRange(min=1), default=20, show_default=True)
def main(numbers: int, rounds: int) -> None:
    """Measure, print one JSON line for each row."""
    source, array = NoiseSource.system(), np.zeros(numbers)
    source.normal(_WARM)
    generator = np.random.default_rng()
    words = source.words(8 * _HALF).reshape(2, 4, _HALF)
    found = np.empty(2 * _HALF)
    key_stream = rate(lambda: source.words(4 * 2 * _HALF), 2 * _HALF, 10 * rounds)
    rows = {
        "numpy": rate(lambda: generator.normal(size=numbers), numbers, rounds),
        "hardened, added to an array": rate(
            lambda: source.add_normal(array, std=1.0), numbers, rounds
        ),
        "hardened, a new array": rate(lambda: source.normal(numbers), numbers, rounds),
        "its words alone": key_stream,
        "its sums alone, compiled": rate(
            lambda: compiled_sums()(words, found), 2 * _HALF, 10 * rounds
        ),
        "its sums alone, by numpy": rate(
            lambda: portable_sums(words, found), 2 * _HALF, 10 * rounds
        ),
    }
    for name, value in rows.items():
        row = {
            "what": name,
            "million_a_second": round(value / 1e6, 1),
            "over_numpy": round(value / rows["numpy"], 2),
        }
        click.echo(json.dumps(row))


if __name__ == "__main__":
    main()
