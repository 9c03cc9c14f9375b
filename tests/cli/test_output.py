"""What every command shares: forms of errors, files, progress, and how a process ends."""

import json
import math
import os
import signal
import subprocess
import sys
import threading
from decimal import Decimal

import click
import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st

from rdpkit import Adjacency, Guarantee, Kind
from rdpkit.cli import progress
from rdpkit.cli.output import CommandError, one_line_errors
from rdpkit.formats.text import as_json, guarantee_rows, in_columns, rounded_up
from tests.cli.commands import ADD, GAUSSIAN, claim, run
from tests.processes import ran

positive = st.floats(0, exclude_min=True, allow_infinity=False, allow_nan=False)


@given(positive, st.integers(1, 6))
@example(5e-324, 4)
@example(1.7976931348623157e308, 4)
@example(9.9999e-6, 4)
@example(0.99995, 4)
def test_rounding_for_people_never_goes_down(value, digits):
    shown = Decimal(rounded_up(value, digits))
    assert float(shown) >= value
    # At most one unit in the last digit shown, and whole numbers are exact to one.
    assert shown <= Decimal(value) * (1 + Decimal(10) ** (1 - digits)) + Decimal("5e-324")


@given(st.integers(1, 9999), st.integers(-30, 3))
def test_short_decimals_stay_what_they_are(digits, exponent):
    value = float(f"{digits}e{exponent}")
    assert float(rounded_up(value)) == value


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1e-5, "1e-05"),
        (1e-300, "1e-300"),
        (0.1, "0.1000"),
        (1.10, "1.100"),
        (1.10001, "1.101"),
        (12345.0, "12345"),
        (12345.1, "12346"),
        (0.0, "0"),
        (math.inf, "inf"),
        (1.234501e-7, "1.235e-07"),
    ],
)
def test_numbers_as_they_are_printed(value, shown):
    assert rounded_up(value) == shown


def test_json_refuses_what_parsers_refuse():
    assert json.loads(as_json({"a": "\u00e9"})) == {"a": "\u00e9"}
    for value in (math.nan, math.inf):
        with pytest.raises(ValueError, match="not JSON compliant"):
            as_json({"a": value})


@pytest.mark.parametrize("error", [ValueError("a\n  b"), FileNotFoundError(2, "a\nb", "c")])
def test_errors_are_one_line_and_status_2(error):
    @one_line_errors
    def fails():
        raise error

    with pytest.raises(CommandError) as caught:
        fails()
    assert isinstance(caught.value, click.ClickException)
    assert caught.value.exit_code == 2
    assert "\n" not in caught.value.format_message()


def test_a_guarantee_in_words_says_all_it_knows():
    rows = guarantee_rows(
        Guarantee(
            epsilon=1.00001,
            delta=1e-5,
            adjacency=Adjacency.REPLACE_ONE,
            bound="gaussian",
            kind=Kind.UPPER,
            order=4.0,
            conversion="optimal",
            assumptions=("this",),
            notes=("that",),
        )
    )
    text = "\n".join(in_columns(rows))
    for part in ("1.001", "1e-05", "replace-one", "gaussian", "upper", "optimal", "this", "that"):
        assert part in text


QUESTION = ["epsilon", *GAUSSIAN, "--delta", "1e-5", *ADD]


def test_what_is_printed_goes_to_a_file(tmp_path):
    path = tmp_path / "answer.txt"
    printed = run(*QUESTION)
    done = run(*QUESTION, "-o", path)
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", f"wrote {path}\n")
    assert path.read_text() == printed.stdout


def test_the_name_of_a_file_chooses_the_format_where_it_has_an_end(tmp_path):
    path = tmp_path / "answer.json"
    assert run(*QUESTION, "--output", path).exit_code == 0
    assert json.loads(path.read_text())["kind"] == "upper"
    path = tmp_path / "answer"
    assert run(*QUESTION, "--output", path, "--format", "json").exit_code == 0
    assert json.loads(path.read_text())["kind"] == "upper"


@pytest.mark.parametrize("name", ["a.pdf", "a.html", "a.md", "a.b"])
def test_a_name_that_asks_for_another_format_is_refused(tmp_path, name):
    done = run(*QUESTION, "-o", tmp_path / name, status=2)
    assert "Expected --output to end in .txt, .json, .csv or .tex, got" in done.stderr
    assert list(tmp_path.iterdir()) == []
    assert run("tradeoff", *GAUSSIAN, *ADD, "-o", tmp_path / "a.csv").exit_code == 0


def test_a_file_that_was_there_stays_if_the_command_fails(tmp_path):
    path = tmp_path / "answer.txt"
    path.write_text("before")
    run(*QUESTION[:-4], "--delta", "2", *ADD, "-o", path, status=2)
    assert path.read_text() == "before"
    assert [one.name for one in tmp_path.iterdir()] == ["answer.txt"]


def test_a_folder_that_is_missing_is_noticed_at_once(tmp_path):
    done = run(*QUESTION, "-o", tmp_path / "none" / "answer.txt", status=2)
    assert "Expected --output to be a file in a folder" in done.stderr


def test_options_may_have_underscores():
    words = [word.replace("noise-std", "noise_std") for word in QUESTION]
    assert run(*words).stdout == run(*QUESTION).stdout


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test moves."""
    now = [1000.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize(
    ("items", "printed"),
    [
        # Long work is announced once; neither the pace of slow first items nor short work is.
        ((range(4), 100, 10.0), "auditing: 3 of 100 are done, about 16 minutes left.\n"),
        (((0, 1, 20, 40), 40, 8.0), ""),
        ((range(20), 40, 1.0), ""),
    ],
)
def test_long_work_is_announced(clock, capsys, items, printed):
    done, of, pace = items
    with progress.work_shown() as work:
        for number in done:
            work.show("auditing", number, of)
            clock[0] += pace
    assert capsys.readouterr().err == printed


def test_work_that_may_end_at_any_time_says_so(clock, capsys):
    with progress.work_shown() as work:
        for done, at_most in ((0, 900.0), (1, 8.0), (2, 180.0)):
            work.show("slow to begin", done, 100, at_most=at_most)
            clock[0] += 10.0
    printed = capsys.readouterr().err
    assert printed == "slow to begin: 2 of 100 are done, at most about 3 minutes left.\n"


def test_long_work_says_now_and_then_how_far_it_is(clock, capsys):
    with progress.work_shown() as work:
        for done in range(8):
            work.show("searching", done)
            clock[0] += 10.0
    assert capsys.readouterr().err == "searching: 3 are done.\nsearching: 6 are done.\n"


class Bars:
    """What a terminal's bars are told."""

    def __init__(self):
        self.moved = threading.Event()
        self.seen = []

    def add_task(self, name, **_):
        return name

    def update(self, _, **fields):
        self.seen.append(fields)
        self.moved.set()


def test_a_bar_follows_the_clock_within_a_part():
    bars = Bars()
    with progress.ShownWork(bars).timed("checks", 30.0) as part:
        part("step")
        assert bars.moved.wait(10.0)
    assert bars.seen[0]["total"] == 30.0
    assert bars.seen[0]["note"] == "step"
    with progress.ShownWork(None).timed("checks", 30.0) as part:
        part("step")


def test_a_limit_on_threads_is_set_before_the_command_runs(monkeypatch):
    seen = []
    monkeypatch.setattr(progress.supervisor, "limit_threads", seen.append)

    @click.command()
    @progress.threads_option
    def command():
        assert seen == [3]

    assert CliRunner().invoke(command, ["--threads", "3"]).exit_code == 0
    assert CliRunner().invoke(command, ["--threads", "0"]).exit_code == 2


LONG_QUESTION = ["epsilon", "gaussian", "--noise-std", "5", "--record-norm", "1", "--delta", "1e-5"]


def rdpkit(*arguments, **environment):
    clean = {k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "TTY_COMPATIBLE")}
    env = {**clean, "PYTHONIOENCODING": "utf-8", **environment}
    return ran("-m", "rdpkit", *arguments, status=None, encoding="utf-8", env=env)


@pytest.fixture
def claims(tmp_path):
    path = tmp_path / "claims.toml"
    path.write_text(claim("0.80", 'bound = "gaussian"'))
    return path


@pytest.mark.thorough
def test_the_module_is_the_command():
    done = rdpkit(*LONG_QUESTION, "--adjacency", "add_or_remove_one", "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["kind"] == "upper"
    assert "Usage: " in rdpkit("--help").stdout
    assert rdpkit("--version").stdout.startswith("rdpkit, version ")


def test_bad_input_is_status_2():
    done = rdpkit(*LONG_QUESTION, "--adjacency", "add_or_remove_one", "--bound", "none")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("Error: Expected bound to be one of ")
    assert done.stderr.count("\n") == 1


@pytest.mark.thorough
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
