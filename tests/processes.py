"""Code that runs in an interpreter of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys


def printed(code: str, **variables: str) -> str:
    """What a fresh interpreter prints, with variables of the environment besides the present."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def loaded(statement: str) -> set[str]:
    """Names of all modules, with their packages, that an interpreter holds after a statement."""
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    return set(json.loads(printed(code).splitlines()[-1]))
