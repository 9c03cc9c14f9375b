"""The experiments that come with the package, and files of the user's own."""

from __future__ import annotations

from pathlib import Path

from rdpkit.formats.records import did_you_mean
from rdpkit.mechanisms.experiments.experiment import Experiment, load_experiment

FOLDER = Path(__file__).parent / "files"


def names() -> list[str]:
    """Names of the experiments that come with the package."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def find_experiment(
    given: str,  # The name of one that comes with the package, or the path of a TOML file
) -> Experiment:
    """An experiment by its name, or from a file."""
    path = Path(given)
    if path.suffix != ".toml" and not path.exists():
        if given not in names():
            raise ValueError(
                f"Expected EXPERIMENT to be a TOML file or one of {', '.join(names())}, "
                f"got {given!r}.{did_you_mean(given, names())}"
            )
        path = FOLDER / f"{given}.toml"
    return load_experiment(path)
