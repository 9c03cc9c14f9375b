"""``python -m benchmarks.peer_suites PEER PATH``: a peer's own tests with our accountants.

A test has passed if its own assertions hold. One that fails is accepted with a note if what two
data sets attain shows that our number is right, which is no pass.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.peer_suites.answers import ACCEPTED
from benchmarks.peer_suites.suites import SUITES, folder

_HERE = Path(__file__).resolve().parents[2]
OUTCOMES = ("passed", ACCEPTED, "failed", "skipped")


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


def counted(rows: list[dict[str, Any]]) -> list[int]:
    """How many tests ended in each of the ways."""
    return [sum(row["outcome"] == outcome for row in rows) for outcome in OUTCOMES]


def on_page(text: str, label: str, rows: list[dict[str, Any]]) -> str:
    """The page with the row of one suite in its table, new or in place of an older one.

    Raises
    ------
    ValueError
        If the page has no such table.
    """
    heading = f"| suite | {' | '.join(OUTCOMES)} |"
    lines = text.split("\n")
    if heading not in lines:
        raise ValueError(f"Expected a page with a table that begins with {heading!r}.")
    start = lines.index(heading) + 2
    end = next(k for k in range(start, len(lines)) if not lines[k].startswith("|"))
    row = f"| {label} | {' | '.join(map(str, counted(rows)))} |"
    kept = [line for line in lines[start:end] if not line.startswith(f"| {label} |")]
    return "\n".join([*lines[:start], *sorted([*kept, row]), *lines[end:]])


def main() -> None:
    """Run a suite, and print the counts and every failure with its reason."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peer_suites", description=__doc__)
    parser.add_argument("peer", choices=sorted(SUITES))
    parser.add_argument("path", type=Path, help="a checkout of the peer")
    parser.add_argument("-k", dest="select", help="as for pytest")
    parser.add_argument("-o", dest="output", type=Path, help="a file for all outcomes, as JSON")
    parser.add_argument("--page", type=Path, help="a page whose table gets the counts")
    parser.add_argument("--label", help="what the suite is called there, with its version")
    given = parser.parse_args()
    rows = run(given.peer, given.path, given.select)
    for outcome in OUTCOMES[1:]:
        for row in rows:
            if row["outcome"] == outcome:
                print(f"{outcome}: {row['test']}\n    {row['reason']}")
    for words, some in (
        ("tests that ask an accountant", [row for row in rows if row["asked"]]),
        ("all tests in these files", rows),
    ):
        numbers = zip(OUTCOMES, counted(some), strict=True)
        found = ", ".join(f"{number} {outcome}" for outcome, number in numbers)
        print(f"{given.peer}, {words}: {found}")
    if given.page is not None:
        page = given.page.read_text(encoding="utf-8")
        given.page.write_text(on_page(page, given.label or given.peer, rows), encoding="utf-8")
    if given.output is not None:
        given.output.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
