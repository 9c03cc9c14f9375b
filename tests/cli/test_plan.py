"""``rdpkit plan``: the table and its best row, in words, JSON and CSV."""

import csv
import io

import pytest

from tests.cli.commands import ADD, EVENTS, answer, run

TARGET = ["--target-epsilon", "1", "--delta", "1e-5"]
CDA = ["dpcda", "--class-sizes", "600,700", "--clip-norm", "1"]
ORDERS = ["--orders-of-mixture", "4,16,64"]
# Certified loss distributions take fifteen times as long; one test asks for them.
QUICK = ["--bound", "best-rdp"]


def test_three_formats_say_the_same():
    arguments = [*CDA, "--samples-per-class", "50", *ORDERS, *TARGET, *ADD, *QUICK]
    found = answer("plan", *arguments)
    assert found["best"]["order_of_mixture"] == 16
    assert found["guarantee"]["rigorous"]
    rows = list(csv.DictReader(io.StringIO(run("plan", *arguments, "--format", "csv").stdout)))
    assert [int(row["order_of_mixture"]) for row in rows] == [4, 16, 64]
    assert [float(row["noise"]) for row in rows] == [c["noise"] for c in found["choices"]]
    text = run("plan", *arguments)
    assert text.exit_code == 0
    assert text.stderr == ""
    assert "order of mixture 16\n" in text.stdout
    assert f"noise            {found['best']['noise']!r}\n" in text.stdout
    assert "16 *" in text.stdout
    assert "signal-to-noise ratio of a release" in text.stdout


@pytest.mark.thorough
def test_releases_are_listed_instead_of_given():
    arguments = [*CDA, *ORDERS, *TARGET, *ADD, *QUICK]
    listed = answer("plan", *arguments, "--releases", "10,50", "--objective", "total-variation")
    assert [c["releases"] for c in listed["choices"]] == [10, 10, 10, 50, 50, 50]
    assert listed["best"]["releases"] == 50
    one = answer("plan", *arguments, "--samples-per-class", "50")
    for key in ("noise", "variation"):
        assert [c[key] for c in one["choices"]] == pytest.approx(
            [c[key] for c in listed["choices"][3:]], rel=1e-6
        )
    done = run("plan", *arguments)
    assert done.exit_code == 2
    assert "Missing option '--releases' or '--samples-per-class'" in done.stderr


@pytest.mark.thorough
def test_soft_labels(tmp_path):
    arguments = [
        "--population-size",
        "1000",
        "--feature-dimension",
        "50",
        "--label-dimension",
        "10",
    ]
    ask = [*ORDERS, *TARGET, *ADD, *QUICK]
    done = answer(
        *("plan", "dpmix", *arguments, "--releases", "20", "--label-shares", "0.2,0.5", *ask)
    )
    assert done["best"]["label_share"] == 0.5
    assert len(done["choices"]) == 6
    missing = run("plan", "dpmix", *arguments, *ask)
    assert missing.exit_code == 2
    assert "Missing option '--releases'" in missing.stderr
    text = run("plan", "dpmix", *arguments, "--releases", "20", *ask)
    assert "label share" in text.stdout
    file = tmp_path / "event.toml"
    file.write_text(
        'mechanism = "dpmix"\npopulation_size = 1000\nfeature_dimension = 50\n'
        "label_dimension = 10\nreleases = 20\n"
    )
    best = answer("plan", file, *ask)["best"]
    assert best["order_of_mixture"] == done["best"]["order_of_mixture"]
    # Where a search begins changes its last digits.
    assert best["noise"] == pytest.approx(done["best"]["noise"], rel=1e-6)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["class_wise_dpmix", "ldpdc", "ndpdc"])
def test_other_mechanisms(name):
    words = [name]
    for key, value in EVENTS[name].items():
        shown = ",".join(map(str, value)) if isinstance(value, list) else value
        words += ["--" + key.replace("_", "-"), shown]
    found = answer("plan", *words, "--orders-of-mixture", "16", *TARGET, *ADD)
    assert found["mechanism"] == name
    assert found["guarantee"]["epsilon"] <= 1.0


def test_out_of_reach_is_status_1():
    arguments = [*CDA, "--samples-per-class", "5", "--preprocessing", "exact-z-score"]
    done = run("plan", *arguments, "--orders-of-mixture", "4", *TARGET, *ADD)
    assert done.exit_code == 1
    assert done.stdout == ""
    assert done.stderr.startswith("Error: No choice meets the target. ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gaussian"], "Expected EVENT to be one of dpmix, class-wise-dpmix, dpcda, ldpdc, ndpdc"),
        ([*CDA, "--releases", "5", "--orders-of-mixture", "x"], "'x' is not a list of integers"),
        ([*CDA, "--releases", "5", "--orders-of-mixture", "601"], "Expected orders_of_mixture"),
        ([*CDA, "--releases", "5", "--label-shares", "0.5"], "Expected label_shares to be None"),
        ([*CDA, "--releases", "5", "--label-shares", "x"], "'x' is not a list of numbers"),
        (["dpcda", "--class-sizes", "600", "--releases", "5"], "Missing option '--clip-norm'"),
    ],
)
def test_bad_input_is_status_2(arguments, message):
    done = run("plan", *arguments, *TARGET, *ADD)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert message in done.stderr


def test_a_file_of_another_kind_is_refused(tmp_path):
    file = tmp_path / "event.toml"
    file.write_text('mechanism = "gaussian"\nnoise_std = 1.0\nrecord_norm = 1.0\n')
    done = run("plan", file, "--releases", "5", *TARGET, *ADD)
    assert done.exit_code == 2
    assert "which can be planned, got 'gaussian'" in done.stderr
