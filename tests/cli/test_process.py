"""The command line as a process: entry points, pipes and progress."""

import json
import os
import signal
import subprocess
import sys

import pytest

CLAIM = """
[[claim]]
id = "a"
source = "a paper"
mechanism = "gaussian"
adjacency = "add_or_remove_one"
bound = "gaussian"
epsilon = 0.80
delta = 1e-5
[claim.parameters]
noise_std = 5.0
record_norm = 1.0
"""
QUESTION = ["epsilon", "gaussian", "--noise-std", "5", "--record-norm", "1", "--delta", "1e-5"]


def rdpkit(*arguments, **environment):
    clean = {k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "TTY_COMPATIBLE")}
    return subprocess.run(
        [sys.executable, "-m", "rdpkit", *map(str, arguments)],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env={**clean, "PYTHONIOENCODING": "utf-8", **environment},
    )


@pytest.fixture
def claims(tmp_path):
    path = tmp_path / "claims.toml"
    path.write_text(CLAIM)
    return path


@pytest.mark.thorough
def test_the_module_is_the_command():
    done = rdpkit(*QUESTION, "--adjacency", "add_or_remove_one", "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["kind"] == "upper"
    assert "Usage: " in rdpkit("--help").stdout
    assert rdpkit("--version").stdout.startswith("rdpkit, version ")


def test_bad_input_is_status_2():
    done = rdpkit(*QUESTION, "--adjacency", "add_or_remove_one", "--bound", "none")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("Error: Expected bound to be one of ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("options", [(), ("--format", "json")])
def test_a_pipe_gets_no_progress_and_no_colour(claims, options):
    done = rdpkit("audit", claims, *options)
    assert done.returncode == 0
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert "auditing" not in done.stdout


@pytest.mark.thorough
@pytest.mark.parametrize("columns", [80, 120])
def test_whoever_sets_columns_decides_how_wide_a_pipe_is(claims, columns):
    wide = rdpkit("audit", claims).stdout
    assert max(map(len, wide.splitlines())) <= 150
    narrow = rdpkit("audit", claims, COLUMNS=str(columns)).stdout
    assert max(map(len, narrow.splitlines())) <= columns
    assert narrow.split()[-6:] == wide.split()[-6:]


@pytest.mark.thorough
@pytest.mark.parametrize("columns", ["", "0", "wide", "-1"])
def test_columns_that_are_no_width_change_nothing(claims, columns):
    assert rdpkit("audit", claims, COLUMNS=columns).stdout == rdpkit("audit", claims).stdout


@pytest.mark.thorough
def test_a_wish_for_colour_is_no_wish_for_progress(claims):
    assert rdpkit("audit", claims, FORCE_COLOR="1").stderr == ""


@pytest.mark.skipif(os.name == "nt", reason="signals are of Unix")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_a_command_with_the_status_that_shells_expect(tmp_path, number, status):
    process = subprocess.Popen(
        [sys.executable, "-m", "rdpkit", "claims", "new"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    # The command waits for an answer once it has asked its first question.
    assert process.stdout.read(9) == b"Mechanism"
    process.send_signal(number)
    _, errors = process.communicate()
    assert process.returncode == status
    assert b"Traceback" not in errors
    assert list(tmp_path.iterdir()) == []
