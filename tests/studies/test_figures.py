"""Figures of papers: files, both formats, progress, and what is refused."""

import csv
import re
import sys

import figures
import pytest
from click.testing import CliRunner
from paper_figures.catalogue import FIGURES

SMALL = ["synthesis-figure3", "--records", "1000000", "--points", "2"]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def plot(*arguments):
    done = CliRunner().invoke(figures.plot, list(map(str, arguments)))
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return done


@pytest.mark.thorough
def test_by_default_an_svg_named_after_the_figure(tmp_path):
    done = plot(*SMALL)
    assert done.exit_code == 0
    assert done.stderr == ""
    assert [path.name for path in tmp_path.iterdir()] == ["synthesis-figure3.svg"]
    assert (tmp_path / "synthesis-figure3.svg").read_bytes().startswith(b"<?xml")
    assert "wrote synthesis-figure3.svg" in done.stdout
    assert "d = 6, sigma = 0.01, outputs = n" in done.stdout


@pytest.mark.thorough
def test_data_is_written_beside_the_drawing(tmp_path):
    assert plot(*SMALL, "--data", "a.csv", "--output", "a.svg").exit_code == 0
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert lines[0] == "panel,n,d,sigma,outputs,x,published,upper,lower"
    assert len(lines) == 5
    assert {path.name for path in tmp_path.iterdir()} == {"a.csv", "a.svg"}


def _as_tuple(value):
    return tuple(value) if isinstance(value, list) else value


@pytest.mark.parametrize("entry", FIGURES.values(), ids=lambda entry: entry.id)
def test_defaults_can_be_typed_as_the_help_shows_them(entry, monkeypatch):
    monkeypatch.setattr(figures, "_make", lambda entry, **values: given.update(values))
    text = " ".join(plot(entry.id, "--help").stdout.split())
    for parameter in entry.parameters:
        option = f"--{parameter.name.replace('_', '-')}"
        shown = re.search(rf"{option} .*?\[default: ([^]]*)\]", text)
        if parameter.default is not None:
            given = {}
            assert plot(entry.id, option, *shown[1].split()).exit_code == 0
            assert _as_tuple(given[parameter.name]) == parameter.default


@pytest.mark.slow
@pytest.mark.parametrize("entry", FIGURES.values(), ids=lambda entry: entry.id)
def test_every_figure_is_drawn_with_its_defaults(tmp_path, entry):
    done = plot(entry.id, "--data", "data.csv")
    assert done.exit_code == 0, done.output
    assert (tmp_path / f"{entry.id}.svg").read_bytes().startswith(b"<?xml")
    with (tmp_path / "data.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) in (entry.points, 2 * entry.points)
    assert all(row["published"] or row["upper"] for row in rows)


@pytest.mark.thorough
def test_refuted_points_are_named():
    done = plot(
        *("dpcda-figure3", "--orders-of-mixture", "256", "--points", "2"),
        *("--noise", "0.01", "0.5"),
    )
    assert "refuted: order of mixture l = 256, x = 0.01: published 5.663, lower 8.26" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["figure9"], "Expected FIGURE to be one of dpcda-figure3, dpcda-order-of-mixture,"),
        ([*SMALL, "--output", "a.pdf"], "Expected --output to end in .svg or .png, got 'a.pdf'."),
        ([*SMALL, "--output", "no/a.svg"], "Expected --output to be a file in a directory"),
        ([*SMALL, "--data", "a.txt"], "Expected --data to end in .csv, got 'a.txt'."),
        (["dpcda-figure3", "--releases", "7"], "Expected releases to be an integer >= 10, got 7."),
        (["ndpdc-figure1", "--group-size", "6000"], "Expected group_size to be at most 5421"),
    ],
)
def test_bad_input_is_one_line_and_status_2_and_writes_nothing(tmp_path, arguments, message):
    done = plot(*arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    # An option of the wrong type comes with two lines about usage.
    assert len([line for line in done.stderr.splitlines() if line.startswith("Error: ")]) == 1
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_the_data_is_there_all_the_same(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    done = plot(*SMALL)
    assert done.exit_code == 2
    assert done.stderr.startswith("Error: Drawing needs matplotlib: pip install")
    assert plot(*SMALL, "--format", "json").exit_code == 0
