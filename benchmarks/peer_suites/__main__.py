"""``python -m benchmarks.peer_suites PEER PATH``: a peer's own tests with our accountants."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.peer_suites.suites import SUITES, folder

_HERE = Path(__file__).resolve().parents[2]


def run(peer: str, path: Path, select: str | None = None) -> list[dict[str, Any]]:
    """The outcome of every test: its name, how it ended, and why.

    Raises
    ------
    FileNotFoundError
        If the checkout has no such tests.
    RuntimeError
        If they could not be run at all; the message ends with what pytest has said.
    """
    suite = SUITES[peer]
    inside = folder(suite, path)
    roots = [str(inside / root) for root in suite.roots]
    with tempfile.TemporaryDirectory() as temporary:
        results = Path(temporary) / "results.json"
        environment = os.environ | {
            "PEER_SUITE": peer,
            "PEER_FOLDER": str(inside),
            "PEER_RESULTS": str(results),
            "PYTHONPATH": os.pathsep.join([str(_HERE), *roots]),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        (Path(temporary) / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        command = [
            sys.executable, "-m", "pytest", "-q", "--import-mode=importlib", "--noconftest",
            "-c", "pytest.ini", "-p", "no:cacheprovider", "-p", "no:rdpkit",
            "-p", "benchmarks.peer_suites.plugin",
            *(["-k", select] if select else []),
            *(str(inside / test) for test in suite.tests if (inside / test).is_file()),
        ]  # fmt: skip
        done = subprocess.run(  # noqa: S603
            command, cwd=temporary, env=environment, capture_output=True, text=True, check=False
        )
        if not results.is_file():
            raise RuntimeError(f"{peer} could not be run:\n{(done.stdout + done.stderr)[-4000:]}")
        rows: list[dict[str, Any]] = json.loads(results.read_text(encoding="utf-8"))
        if not rows:
            raise RuntimeError(f"No test was run:\n{(done.stdout + done.stderr)[-4000:]}")
        return rows


def main() -> None:
    """Run a suite, and print the counts and every failure with its reason."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peer_suites", description=__doc__)
    parser.add_argument("peer", choices=sorted(SUITES))
    parser.add_argument("path", type=Path, help="a checkout of the peer")
    parser.add_argument("-k", dest="select", help="as for pytest")
    parser.add_argument("-o", dest="output", type=Path, help="a file for all outcomes, as JSON")
    given = parser.parse_args()
    rows = run(given.peer, given.path, given.select)
    for outcome in ("passed with a note", "failed"):
        for row in rows:
            if row["outcome"] == outcome:
                print(f"{outcome}: {row['test']}\n    {row['reason']}")
    for words, some in (
        ("tests that ask an accountant", [row for row in rows if row["asked"]]),
        ("all tests in these files", rows),
    ):
        passed = sum(row["outcome"] != "failed" for row in some)
        noted = sum(row["outcome"] == "passed with a note" for row in some)
        print(f"{given.peer}, {words}: {passed} of {len(some)} passed, {noted} with a note")
    if given.output is not None:
        given.output.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
