"""Processes that tests start and wait for."""

import subprocess
import sys


def ran(*words, status=0, program=sys.executable, **options):
    """A process that ended with this status, and what it printed."""
    command = [program, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert status in (None, done.returncode), done.stdout + done.stderr
    return done
