"""How long work shows: in a pipe a line about what takes long, and how far it is."""

import threading

import click
import pytest
from click.testing import CliRunner

from rdpkit.cli import progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test moves."""
    now = [1000.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_long_work_is_announced_once(clock, capsys):
    with progress.work_shown() as work:
        for done in range(4):
            work.show("auditing", done, 100)
            clock[0] += 10.0
    assert capsys.readouterr().err == "auditing: 3 of 100 are done, about 16 minutes left.\n"


def test_the_pace_of_slow_first_items_is_not_announced(clock, capsys):
    with progress.work_shown() as work:
        for done in (0, 1, 20, 40):
            work.show("auditing", done, 40)
            clock[0] += 8.0
    assert capsys.readouterr().err == ""


def test_work_that_may_end_at_any_time_says_so(clock, capsys):
    with progress.work_shown() as work:
        for done, at_most in ((0, 900.0), (1, 8.0), (2, 180.0)):
            work.show("slow to begin", done, 100, at_most=at_most)
            clock[0] += 10.0
    printed = capsys.readouterr().err
    assert printed == "slow to begin: 2 of 100 are done, at most about 3 minutes left.\n"


def test_short_work_is_not_announced(clock, capsys):
    with progress.work_shown() as work:
        for done in range(20):
            work.show("auditing", done, 40)
            clock[0] += 1.0
    assert capsys.readouterr().err == ""


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
