"""How many functions and files a call passes: a measure of the library's design.

Run it from the repository: ``python -m benchmarks.walk``; with ``--list`` it names them. Functions
are counted once each, by file and name, in a second call of the same kind, when all is imported.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import rdpkit
from rdpkit.verification.blackbox import verify as tests_of_code
from rdpkit.verification.blackbox.options import VerificationOptions
from rdpkit.verification.training import verify_training as checks
from rdpkit.verification.training.options import TrainingOptions

ROOT = Path(rdpkit.__file__).parents[1]
LAYERS = ("rdpkit", "mechanisms", "verification")
DELTA, ADJACENCY = 1e-5, "add_or_remove_one"
SECONDS = 20.0
EVENTS: dict[str, rdpkit.Event] = {
    "a Gaussian": rdpkit.Gaussian(noise_std=5.0, record_norm=1.0),
    "100 Poisson samples": rdpkit.Repeated(
        event=rdpkit.PoissonSampledGaussian(
            noise_std=1.0, record_norm=1.0, sampling_probability=0.01
        ),
        count=100,
    ),
}
"""Whose epsilon is asked for, by the name that is printed."""

Visited = set[tuple[str, str]]
"""Pairs of a file, relative to the repository, and the name of a function in it."""


@contextmanager
def _recorded(visited: Visited) -> Iterator[None]:
    """Add every function of the library that is called inside of the block to ``visited``."""
    known: dict[str, str] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            file = frame.f_code.co_filename
            if file not in known:
                path = Path(file)
                own = path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in LAYERS
                known[file] = str(path.relative_to(ROOT)) if own else ""
            if known[file]:
                visited.add((known[file], frame.f_code.co_name))

    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)


def passed(event: rdpkit.Event) -> Visited:
    """What a call of ``rdpkit.epsilon`` passes: functions, and the files that they are in."""
    # The first call imports what is imported when it is needed; the second one is measured.
    other = rdpkit.Composed(events=[event, event])
    for warm in (other, event):
        rdpkit.epsilon(warm, delta=2.0 * DELTA, adjacency=ADJACENCY)
    visited: Visited = set()
    with _recorded(visited):
        rdpkit.epsilon(event, delta=DELTA, adjacency=ADJACENCY)
    return visited


def passed_again(call: Callable[[], object]) -> Visited:
    """What a call passes that is made for the second time."""
    call()
    visited: Visited = set()
    with _recorded(visited):
        call()
    return visited


def verify() -> object:
    """A test of one mechanism."""
    return tests_of_code.verify("half-sensitivity", options=VerificationOptions(seed=1))


def verify_training() -> object:
    """The checks of one training."""
    given = TrainingOptions(seed=1, seconds=SECONDS)
    return checks.verify_training("batch-clipping", options=given)


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--list", action="store_true", help="name the functions, too")
    arguments = parser.parse_args()
    walks = {name: passed(event) for name, event in EVENTS.items()}
    walks |= {"verify": passed_again(verify), "verify-training": passed_again(verify_training)}
    for name, visited in walks.items():
        print(f"{name}: {len(visited)} functions in {len({path for path, _ in visited})} files")
        if arguments.list:
            for path, function in sorted(visited):
                print(f"    {path}: {function}")


if __name__ == "__main__":
    main()
