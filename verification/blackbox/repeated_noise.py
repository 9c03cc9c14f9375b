"""Whether a mechanism makes the same noise in every new process.

A generator with a fixed seed that is made when a module is imported gives outputs that look
independent within one process. Comparing two new processes reveals it.

``python -m rdpkit.verification.blackbox.repeated_noise TARGET DIRECTORY DATA.npz SEED RUNS`` prints
the releases.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from rdpkit.verification.blackbox.encoding import ReleaseLayout, layout_of
from rdpkit.verification.blackbox.mistakes import Mistake, MistakeKind
from rdpkit.verification.blackbox.neighbours import LabelledData
from rdpkit.verification.blackbox.runs import MechanismError, Part, run_part, structures_of
from rdpkit.verification.blackbox.targets import TargetReference

_RUNS = 3
_SECONDS = 300.0


def find_repeated_noise(
    target: TargetReference, dataset: LabelledData, *, seed: int
) -> Mistake | None:
    """Run the target in two new processes with different generators, and compare the outputs.

    Parameters
    ----------
    target : TargetReference
        A target with a name.
    dataset : LabelledData
        The data set to run it on.
    seed : int
        The seeds of both processes are drawn from it.

    Returns
    -------
    Mistake or None
        The mistake, if all releases are the same in both processes.

    Raises
    ------
    MechanismError
        If a process fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data.npz"
        np.savez(data, features=dataset.features, labels=dataset.labels)
        processes = [
            # Python itself, this module, and the target that the user asked to run.
            subprocess.Popen(  # noqa: S603
                [
                    *(sys.executable, "-m", "rdpkit.verification.blackbox.repeated_noise"),
                    *(target.name, target.directory or "", str(data), str(child), str(_RUNS)),
                ],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            )
            for child in np.random.SeedSequence(entropy=seed).generate_state(2, np.uint32).tolist()
        ]
        found = []
        try:
            for process in processes:
                out, err = process.communicate(timeout=_SECONDS)
                if process.returncode != 0:
                    last = err.decode(errors="replace").strip().splitlines()[-1:]
                    raise MechanismError(f"{target.name} failed in a new process: {' '.join(last)}")
                # The mechanism may have printed lines before this one.
                found.append(json.loads(out.decode().strip().splitlines()[-1]))
        except subprocess.TimeoutExpired:
            raise MechanismError(
                f"{target.name} took more than {_SECONDS:g} seconds for {_RUNS} runs in a new "
                "process."
            ) from None
        finally:
            for process in processes:
                if process.poll() is None:
                    process.kill()
                    process.wait()
                for stream in (process.stdout, process.stderr):
                    if stream is not None:
                        stream.close()
    if found[0] != found[1] or all(float(value).is_integer() for row in found[0] for value in row):
        return None
    return Mistake(
        kind=MistakeKind.SEED_AT_IMPORT,
        message=f"Two new processes gave the same {_RUNS} outputs, though their generators had "
        "different seeds.",
        advice="Draw the noise from the generator that is passed to the mechanism; look for one "
        "that is seeded when a module is imported.",
        log_e_value=0.0,
    )


def main(arguments: list[str]) -> None:
    """Print the releases of a few runs as JSON."""
    name, directory, path, seed, runs = arguments
    with np.load(path, allow_pickle=False) as file:
        dataset = LabelledData(features=file["features"], labels=file["labels"])
    part = Part(
        target=TargetReference(name=name, directory=directory or None),
        dataset=dataset,
        side=0,
        seed=int(seed),
        key=(0,),
        start=0,
        count=int(runs),
        layout=ReleaseLayout(fields=()),
        at_once=False,
        scores=None,
    )
    rows, _ = run_part(replace(part, layout=layout_of(structures_of(part))))
    sys.stdout.write("\n" + json.dumps(rows.tolist()) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])

__all__ = ["find_repeated_noise", "main"]
