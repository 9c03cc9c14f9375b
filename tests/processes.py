"""Processes that tests start and wait for, and code that runs in an interpreter of its own."""

import json
import os
import subprocess
import sys


def ran(*words, status=0, program=sys.executable, **options):
    """A process that ended with this status, and what it printed."""
    command = [program, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert status in (None, done.returncode), done.stdout + done.stderr
    return done


def printed(code: str, **variables: str) -> str:
    """What a fresh interpreter prints, with variables of the environment besides the present."""
    path = os.pathsep.join(filter(None, sys.path))
    done = ran("-W", "error", "-c", code, env={**os.environ, "PYTHONPATH": path, **variables})
    assert done.stderr == ""
    return done.stdout


def loaded(statement: str) -> set[str]:
    """Names of all modules, with their packages, that an interpreter holds after a statement."""
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    return set(json.loads(printed(code).splitlines()[-1]))
