"""``rdpkit sweep``: grids, tables, bad rows, and the files it writes."""

import csv
import io
import json
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose

import rdpkit
from rdpkit.cli import sweep_rows as axes
from rdpkit.formats import columns as tables
from tests.cli import commands
from tests.cli.commands import ADD, GAUSSIAN, answer, words
from tests.events import of_papers, unit

POISSON = words("sweep poisson_sampled_gaussian --record-norm=1 --adjacency=add_or_remove_one")
NESTED = """
mechanism = "repeated"
count = 100
[event]
mechanism = "composed"
[[event.events]]
mechanism = "gaussian"
noise_std = 10.0
record_norm = 1.0
[[event.events]]
mechanism = "poisson_sampled_gaussian"
noise_std = 1.0
record_norm = 1.0
sampling_probability = 0.001
"""


run = partial(commands.run, status=0)


def rows_of(*words):
    return json.loads(run(*words, "--format=json").stdout)["rows"]


def test_a_grid_is_the_product_of_its_axes():
    axes = words("--noise-std=1,2 --sampling-probability=0.001:0.1:3:log --count=10,1000")
    found = rows_of(*POISSON, *axes, "--delta=1e-5")
    assert len(found) == 12
    assert [row["count"] for row in found[:3]] == [10, 1000, 10]
    expected = rdpkit.sweep_epsilon(
        noise_multiplier=[row["noise_std"] for row in found],
        sampling_probability=[row["sampling_probability"] for row in found],
        steps=[row["count"] for row in found],
        delta=1e-5,
        adjacency="add_or_remove_one",
    )
    assert [row["epsilon"] for row in found] == expected.epsilon.tolist()
    assert {row["bound"] for row in found} == {"mironov2019"}
    assert "error" not in found[0]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_files_hold_every_digit(tmp_path, suffix):
    pytest.importorskip("pyarrow")
    path = tmp_path / f"out{suffix}"
    arguments = [*POISSON, "--noise-std=1:2:5", "--sampling-probability=0.01", "--delta=1e-5"]
    result = run(*arguments, "-o", path)
    assert result.stdout == f"5 rows in {path}\n"
    found = tables.read(path)
    expected = rows_of(*arguments)
    assert found["epsilon"] == [row["epsilon"] for row in expected]
    assert list(found) == list(expected[0])
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_csv_on_standard_output():
    result = run(
        *POISSON, "--noise-std=1", "--sampling-probability=0", "--delta=0.1", "--format=csv"
    )
    (row,) = csv.DictReader(io.StringIO(result.stdout))
    assert float(row["epsilon"]) == 0.0
    assert row["order"] == ""


def test_text_shows_what_differs_and_says_what_does_not():
    result = run(*POISSON, "--noise-std=1:2:50", "--sampling-probability=0.01", "--delta=1e-5")
    assert "sampling_probability: 0.01" in result.stdout
    assert "and 10 more rows" in result.stdout


def test_a_table_with_bad_rows(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text(
        "noise_std,sampling_probability,count\n1.0,0.01,10\n-1.0,0.01,10\n2.0,nan,10\n2.0,0.01,1.5\n"
        "3.0,0.5,20\n"
    )
    arguments = [*POISSON, "--table", path, "--delta=1e-5"]
    failed = run(*arguments, status=2)
    assert "Row 2: Expected noise_std to be a finite number > 0, got -1.0." in failed.stderr
    kept = run(*arguments, "--keep-going", "--format=json", status=1)
    found = json.loads(kept.stdout)["rows"]
    assert [row["error"] is None for row in found] == [True, False, False, False, True]
    assert found[1]["epsilon"] is None
    assert "noise_std" in found[1]["error"]
    assert "sampling_probability" in found[2]["error"]
    assert found[3]["error"] == "Expected count to be an integer in [1, 10^15], got 1.5."
    assert kept.stderr == (
        "3 of 5 rows were skipped; row 2: Expected noise_std to be a finite number > 0, got -1.0.\n"
    )


def test_a_table_may_hold_delta_and_options_the_rest(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "in.parquet"
    tables.write(path, {"delta": [1e-5, 1e-3], "noise_std": [1.0, 1.0]})
    found = rows_of(*POISSON, "--table", path, "--sampling-probability=0.1")
    assert [row["delta"] for row in found] == [1e-5, 1e-3]
    assert found[0]["epsilon"] > found[1]["epsilon"]


@pytest.mark.parametrize(
    ("mechanism", "adjacency", "bound"),
    [
        ("gaussian", "replace_one", "gaussian"),
        ("gaussian", "add_or_remove_one", "gaussian"),
        ("fixed_size_sampled_gaussian", "replace_one", "wang2019"),
        ("fixed_size_sampled_gaussian", "add_or_remove_one", "swap-coupling"),
    ],
)
def test_other_mechanisms_in_one_go(mechanism, adjacency, bound):
    extra = ["--sample-size=10", "--population-size=1000", "--release=sum"]
    found = rows_of(
        *("sweep", mechanism, f"--adjacency={adjacency}"),
        *(extra if mechanism.startswith("fixed") else []),
        *words("--noise-std=4 --record-norm=1 --count=100 --delta=1e-5"),
    )
    kind = {"gaussian": rdpkit.Gaussian}.get(mechanism, rdpkit.FixedSizeSampledGaussian)
    sizes = {"sample_size": 10, "population_size": 1000, "release": "sum"}
    event = kind(noise_std=4.0, record_norm=1.0, **(sizes if kind is not rdpkit.Gaussian else {}))
    alone = rdpkit.epsilon(
        event * 100, delta=1e-5, adjacency=adjacency, bound=bound, conversion="balle2020"
    )
    assert found[0]["bound"] == bound
    assert_allclose(found[0]["epsilon"], alone.epsilon, rtol=1e-4)


@pytest.mark.thorough
def test_mechanisms_row_by_row_and_in_processes():
    arguments = words(
        "sweep dpcda --class-sizes=1000,1000 --samples-per-class=100 --order-of-mixture=10,20 "
        "--clip-norm=1 --feature-noise=0.5 --label-noise=0.5 --adjacency=replace_one --delta=1e-5"
    )
    found = rows_of(*arguments, "--jobs=1")
    assert rows_of(*arguments, "--jobs=2") == found
    event = of_papers.dpcda((1000, 1000), 100, 20, noise=0.5, label_noise=0.5)
    alone = rdpkit.epsilon(event, delta=1e-5, adjacency="replace_one", bound="best-rdp")
    assert found[1]["epsilon"] == alone.epsilon
    assert found[1]["conversion"] == alone.conversion


def test_a_named_bound_is_asked_row_by_row():
    found = rows_of(
        *POISSON, "--noise-std=5", "--sampling-probability=0.01", "--delta=1e-5", "--bound=best"
    )
    assert found[0]["bound"] == "pld-upper"


def test_numbers_inside_a_file_are_varied(tmp_path):
    path = tmp_path / "event.toml"
    path.write_text(NESTED)
    axes = words("--vary=event.events[0].noise_std=10,20 --vary=count=1:100:2")
    found = rows_of("sweep", path, *axes, "--delta=1e-5", *ADD)
    assert [row["event.events[0].noise_std"] for row in found] == [10, 10, 20, 20]
    by_hand = 100 * rdpkit.Composed(events=(unit.gaussian(20.0), unit.poisson(1.0, 0.001)))
    alone = rdpkit.epsilon(by_hand, delta=1e-5, adjacency="add_or_remove_one", bound="best-rdp")
    assert_allclose(found[3]["epsilon"], alone.epsilon, rtol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sweep", "no_such"], "Expected EVENT to be a TOML file or a mechanism, got"),
        ([*POISSON, "--noise-std=1", "--sampling-probability=0.1"], "Expected --delta"),
        ([*POISSON, "--noise-std=1:2", "--delta=0.1"], "Expected --noise-std to be X,X,"),
        ([*POISSON, "--noise-std=-1:2:3:log", "--delta=0.1"], "Expected --noise-std to be X,X,"),
        ([*POISSON, "--noise-std=inf", "--delta=0.1"], "Expected --noise-std to be X,X,"),
        ([*POISSON, "--noise-std=1", "--delta=0.1"], "needs the parameter 'sampling_probability'"),
        (
            [*POISSON, "--noise-std=1", "--sampling-probability=0.1", "--delta=0.1", "--count=1.5"],
            "Expected --count to be integers",
        ),
        (
            [*POISSON, "--noise-std=1", "--sampling-probability=0.1", "--delta=2"],
            "Row 1: Expected delta in (0, 1), got 2.0.",
        ),
        ([*POISSON, "--delta=0.1", "-o", "out.txt"], "to end in .csv or .parquet"),
        ([*POISSON, "--delta=0.1", "--table", "missing.csv"], "missing.csv"),
    ],
)
def test_bad_input_is_one_line(arguments, message):
    result = run(*arguments, status=2)
    assert message in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "first line with the names"),
        (b"noise_std,noise_std\n1,2\n", "each column to be named once"),
        (b"noise_std\n1,2\n", "line 2: expected 1 cells, got 2"),
        (b"colour\n1\n", "expected columns among noise_std"),
        (b"\xff\xfe\n", "not a CSV file"),
    ],
)
def test_bad_tables(tmp_path, content, message):
    path = tmp_path / "in.csv"
    path.write_bytes(content)
    assert message in run(*POISSON, "--delta=0.1", "--table", path, status=2).stderr


def test_a_broken_parquet_file(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "in.parquet"
    path.write_bytes(b"PAR1 and nothing else")
    assert "not a Parquet file" in run(*POISSON, "--delta=1", "--table", path, status=2).stderr


@pytest.mark.parametrize("vary", ["count", "no.path=1", "event=1", "mechanism=1", "events[9]=1"])
def test_paths_that_lead_nowhere(tmp_path, vary):
    path = tmp_path / "event.toml"
    path.write_text(NESTED)
    result = run("sweep", path, "--vary", vary, "--delta=0.1", "--adjacency=replace_one", status=2)
    assert "Expected" in result.stderr


def test_an_output_that_cannot_be_written_leaves_nothing(tmp_path):
    numbers = words("--noise-std=1 --sampling-probability=0.1 --delta=0.1")
    result = run(*POISSON, *numbers, "-o", tmp_path / "missing" / "out.csv", status=2)
    assert "missing" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_axes_hold_their_ends():
    assert axes.numbers("x", "0.1:0.7:7")[-1] == 0.7
    assert_allclose(np.diff(np.log(axes.numbers("x", "1e-5:1:6:log"))), np.log(10.0), rtol=1e-12)
    assert axes.integers("x", "1:4:100") == [1, 2, 3, 4]


def test_a_sweep_that_was_killed_goes_on(tmp_path, monkeypatch):
    path = tmp_path / "out.csv"
    words = ["sweep", "gaussian", "--noise-std=1,2,3", "--record-norm=1", "--delta=1e-5"]
    words += ["--adjacency=replace-one", "--bound=best-rdp", "--jobs=1", "-o", path]
    asked = []

    def killed_at_the_third(event, **question):
        asked.append(event.noise_std)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return epsilon(event, **question)

    epsilon = rdpkit.analysis.epsilon
    monkeypatch.setattr(rdpkit.analysis, "epsilon", killed_at_the_third)
    run(*words, status=1)
    assert [file.name for file in tmp_path.iterdir()] == ["out.csv.unfinished"]
    run(*words)
    assert asked == [1.0, 2.0, 3.0, 3.0]
    assert [file.name for file in tmp_path.iterdir()] == ["out.csv"]
    monkeypatch.undo()
    kept = tables.read(path)
    path.unlink()
    run(*words)
    assert tables.read(path) == kept


def test_a_file_of_somebody_else_is_no_unfinished_sweep(tmp_path):
    (tmp_path / "out.csv.unfinished").write_text("mine")
    words = ["--noise-std=1", "--sampling-probability=0.1", "--delta=0.1", "--bound=best-rdp"]
    failed = run(*POISSON, *words, "-o", tmp_path / "out.csv", status=2)
    assert "out.csv.unfinished" in failed.stderr
    assert (tmp_path / "out.csv.unfinished").read_text() == "mine"


def test_an_event_of_a_file_is_counted(tmp_path):
    path = tmp_path / "event.toml"
    path.write_text("mechanism = 'gaussian'\nnoise_std = 5.0\nrecord_norm = 1.0\n")
    question = ["--delta", "1e-5", *ADD]
    rows = answer("sweep", path, "--count", "1,10", *question)["rows"]
    same = answer("sweep", *GAUSSIAN, "--count", "1,10", *question)["rows"]
    assert [row["count"] for row in rows] == [1, 10]
    assert [row["epsilon"] for row in rows] == [row["epsilon"] for row in same]
    path.write_text(
        "mechanism = 'repeated'\ncount = 2\n[event]\nmechanism = 'gaussian'\nnoise_std = 5.0\n"
        "record_norm = 1.0\n"
    )
    twice = answer("sweep", path, "--count", "5", *question)["rows"]
    assert twice[0]["epsilon"] == rows[1]["epsilon"]
    both = run("sweep", path, "--count", "5", "--vary", "count=1,2", *question, status=2)
    assert "Expected --count or --vary count=..., got both." in both.output
