"""``rdpkit tradeoff``: what an attack achieves, in words, in JSON, in columns, and drawn."""

import csv
import io

import pytest
from scipy.stats import norm

import rdpkit
from tests.cli.commands import ADD, EVENTS, GAUSSIAN, answer, options, run

POISSON = options("poisson_sampled_gaussian")


@pytest.mark.parametrize(
    "name", ["gaussian", "poisson_sampled_gaussian", "custom_profile", "dpcda"]
)
def test_every_kind_of_event_has_an_answer(name):
    found = answer("tradeoff", *options(name), *ADD, "--fpr", "0.01")
    (row,) = found["curve"]
    assert 0.01 <= row["tpr"][0] <= row["tpr"][1] <= 1.0
    mu = found["gdp"]
    assert EVENTS[name]
    assert mu["enclosure"][0] <= (mu["mu"] if mu["mu"] != "inf" else float("inf"))


@pytest.mark.thorough
def test_the_command_says_what_the_library_says():
    event = rdpkit.Repeated(
        event=rdpkit.PoissonSampledGaussian(
            noise_std=2.0, record_norm=1.0, sampling_probability=0.01
        ),
        count=500,
    )
    adjacency = "add_or_remove_one"
    found = answer("tradeoff", *POISSON, "--count", 500, *ADD, "--fpr", "0.01,1/4")
    assert found.pop("gdp") == rdpkit.gdp(event, adjacency=adjacency).as_dict()
    assert found == rdpkit.tradeoff(event, adjacency=adjacency).as_dict([0.01, 0.25])
    closer = answer("tradeoff", *POISSON, "--count", 500, *ADD, "--smallest-delta", "1e-6")
    expected = rdpkit.gdp(event, adjacency=adjacency, smallest_delta=1e-6)
    assert closer["gdp"] == expected.as_dict()


def test_the_mu_of_an_event_that_leaks_very_little_is_for_smaller_deltas():
    words = ("poisson-sampled-gaussian", "--noise-std", 10, "--record-norm", 1)
    found = answer("tradeoff", *words, "--sampling-probability", "1e-7", *ADD)
    assert 0.0 < found["advantage"][1] < 1e-7
    assert found["gdp"]["smallest_delta"] < 1e-16


def test_text():
    text = run("tradeoff", *GAUSSIAN, *ADD, "--fpr", "0.01").output
    tpr = norm.sf(norm.isf(0.01) - 0.2)
    assert f"{tpr:.5f}"[:6] in text
    assert "advantage   0.07966 at most" in text
    assert "mu          0.2000 at most" in text
    assert "delta >= 1e-10" in text
    text = run("tradeoff", *options("custom_profile"), *ADD).output
    assert "no pair of data sets is known" in text


def test_columns_and_files(tmp_path):
    path = tmp_path / "curve.csv"
    run("tradeoff", *GAUSSIAN, *ADD, "--fpr", "0.1,0.2", "-o", path)
    rows = list(csv.DictReader(io.StringIO(path.read_text())))
    assert [float(row["fpr"]) for row in rows] == [0.1, 0.2]
    for row in rows:
        low, high = float(row["tpr_attained"]), float(row["tpr_proven"])
        assert low <= norm.sf(norm.isf(float(row["fpr"])) - 0.2) <= high


@pytest.mark.thorough
@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_drawings_are_the_same_each_time(tmp_path, suffix):
    files = [tmp_path / f"{k}.{suffix}" for k in "ab"]
    for file in files:
        assert run("tradeoff", *GAUSSIAN, *ADD, "--plot", file).exit_code == 0
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize(
    ("ending", "begins"),
    [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF"), ("tex", b"\\begin{tabular}")],
)
def test_the_end_of_a_name_says_what_is_written(tmp_path, ending, begins):
    path = tmp_path / f"curve.{ending}"
    assert run("tradeoff", *GAUSSIAN, *ADD, "-o", path).exit_code == 0
    assert path.read_bytes().startswith(begins)


def test_bad_input(tmp_path):
    done = run("tradeoff", *GAUSSIAN, *ADD, "--plot", tmp_path / "curve.eps")
    assert done.exit_code == 2
    assert "Expected --plot to end in .svg, .png or .pdf" in done.output
    done = run("tradeoff", *GAUSSIAN, *ADD, "--fpr", "2")
    assert done.exit_code == 2
    assert "Expected fpr in [0, 1], got 2.0." in done.output
    done = run("tradeoff", *GAUSSIAN, *ADD, "--smallest-delta", "0")
    assert done.exit_code == 2
    assert "Expected smallest_delta in (0, 1), got 0.0." in done.output


class TestCalibrate:
    def test_targets_of_attacks(self):
        event = rdpkit.Gaussian(noise_std=1.0, record_norm=1.0)
        found = answer(
            *("calibrate", "gaussian", "--record-norm", "1", "--parameter", "noise_std"),
            *("--target-tpr", "0.05", "--at-fpr", "0.01", *ADD),
        )
        expected = rdpkit.calibrate_attack(
            event, adjacency=ADD[1], parameter="noise_std", target_tpr=0.05, at_fpr=0.01
        )
        assert found == expected.as_dict()

    def test_in_words(self):
        text = run(
            *("calibrate", "gaussian", "--record-norm", "1", "--parameter", "noise_std"),
            *("--target-advantage", "0.1", *ADD),
        ).output
        assert "target     advantage <= 0.1" in text

    def test_an_epsilon_or_an_attack(self):
        words = ["calibrate", "gaussian", "--record-norm", "1", "--parameter", "noise_std", *ADD]
        assert "Missing option '--target-epsilon'" in run(*words).output
        assert "Missing option '--delta'" in run(*words, "--target-epsilon", "1").output
        both = run(*words, "--target-mu", "1", "--delta", "1e-5")
        assert both.exit_code == 2
        assert "Expected --target-mu without --delta" in both.output
        two = run(*words, "--target-mu", "1", "--target-advantage", "0.1")
        assert "exactly one of" in two.output
