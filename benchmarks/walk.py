"""How many functions and files one call of ``rdpkit.epsilon`` passes: a measure of its design.

Run it from the repository: ``python -m benchmarks.walk``; with ``--list`` it names them. Functions
are counted once each, by file and name, after everything has been imported.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import rdpkit

DELTA, ADJACENCY = 1e-5, "add_or_remove_one"
EVENTS: dict[str, rdpkit.Event] = {
    "a Gaussian": rdpkit.Gaussian(noise_std=5.0, record_norm=1.0),
    "100 Poisson samples": rdpkit.Repeated(
        event=rdpkit.PoissonSampledGaussian(
            noise_std=1.0, record_norm=1.0, sampling_probability=0.01
        ),
        count=100,
    ),
}
"""What is measured, by the name that is printed."""

Visited = set[tuple[str, str]]
"""Pairs of a file, relative to the package, and the name of a function in it."""


@contextmanager
def _recorded(visited: Visited) -> Iterator[None]:
    """Add every function of the package that is called inside of the block to ``visited``."""
    package = Path(rdpkit.__file__).parent

    def note(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(package):
            visited.add((str(path.relative_to(package)), frame.f_code.co_name))

    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)


def passed(event: rdpkit.Event) -> Visited:
    """The functions that a call of ``rdpkit.epsilon`` passes, and the files that they are in."""
    # The first call imports what is imported when it is needed; the second one is measured.
    other = rdpkit.Composed(events=[event, event])
    for warm in (other, event):
        rdpkit.epsilon(warm, delta=2.0 * DELTA, adjacency=ADJACENCY)
    visited: Visited = set()
    with _recorded(visited):
        rdpkit.epsilon(event, delta=DELTA, adjacency=ADJACENCY)
    return visited


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--list", action="store_true", help="name the functions, too")
    arguments = parser.parse_args()
    for name, event in EVENTS.items():
        visited = passed(event)
        files = {path for path, _ in visited}
        print(f"{name}: {len(visited)} functions in {len(files)} files")
        if arguments.list:
            for path, function in sorted(visited):
                print(f"    {path}: {function}")


if __name__ == "__main__":
    main()
