"""``rdpkit evaluate`` of a release: files, formats, statuses and errors."""

import dataclasses
import json

import numpy as np
import pytest
from pyarrow import csv, parquet

from rdpkit.mechanisms import NoiseSource, Privacy, Release
from rdpkit.mechanisms.algorithms import dpcda
from rdpkit.mechanisms.parts.records import public_scaling
from rdpkit.mechanisms.releases.files import described
from tests.browser import assert_usable
from tests.cli.commands import answer, run
from tests.mechanisms.evaluation.utility.small_tables import people


@pytest.fixture
def files(tmp_path):
    """A release and the records that it might have been made from."""
    csv.write_csv(people(150, 0), tmp_path / "synth.csv")
    parquet.write_table(people(150, 1), tmp_path / "real.parquet")
    parquet.write_table(people(80, 2), tmp_path / "held.parquet")
    return tmp_path / "synth.csv", "--real", tmp_path / "real.parquet", "--model", "logistic"


def test_a_report_is_written_in_every_format(files, tmp_path):
    for end, first in ((".html", "<!doctype html>"), (".md", "# How good is synth.csv?")):
        done = run("evaluate", *files, "--target", "income", "-o", tmp_path / f"report{end}")
        assert done.exit_code == 0, done.output
        assert done.stdout.startswith("Do not publish this report.\n")
        assert "prediction of income" in done.stdout
        assert (tmp_path / f"report{end}").read_text(encoding="utf-8").startswith(first)
    held = ("--holdout", tmp_path / "held.parquet", "--public-test")
    found = answer("evaluate", *files, *held, "-o", tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_text()) == found
    assert found["cost"]["kind"] == "public"
    assert found["membership"]["pairs"] == 80
    assert found["membership"]["refuted"] is False
    assert [one["target"] for one in found["targets"]] == ["school", "income"]


def test_a_report_with_noise_says_what_it_costs(files):
    asked = ("--epsilon", "1", "--delta", "1e-6", "--adjacency", "replace-one")
    found = answer("evaluate", *files, *asked)
    assert found["cost"]["kind"] == "accounted"
    assert 0.99 < found["cost"]["guarantee"]["epsilon"] <= 1.0
    assert found["membership"] is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("digits-dpcda", "--real", "mnist"), "for --real, got an experiment"),
        (("synth.csv",), "Expected --real: the records that the release was made from."),
        (("FILES", "--epsilon", "1"), "Expected --delta and --adjacency for a report with noise."),
        (("FILES", "-o", "x.csv"), "Expected --output to end in .html, .md, .json for a release"),
        (("FILES", "--model", "forrest"), "Did you mean 'forest'?"),
        (("FILES", "--target", "agee"), "Did you mean 'age'?"),
    ],
)
def test_mistakes_are_named(files, given, said):
    done = run("evaluate", *(files if given[0] == "FILES" else given[:1]), *given[1:])
    assert done.exit_code == 2
    assert said in done.stderr


def test_a_release_that_shows_its_records_ends_with_status_1(tmp_path):
    data, other = people(240, 5), people(240, 6)
    rng = np.random.default_rng(0)
    features = np.column_stack([data["age"].to_numpy().astype(float), rng.normal(size=(240, 3))])
    outside = np.column_stack([other["age"].to_numpy().astype(float), rng.normal(size=(240, 3))])
    labels = np.arange(240) % 2
    np.savez(tmp_path / "real.npz", features=features, labels=labels)
    np.savez(tmp_path / "held.npz", features=outside, labels=labels)
    made = dpcda.synthesize(
        features,
        labels,
        classes=2,
        options=dpcda.DPCDAOptions(
            samples_per_class=120,
            order_of_mixture=1,
            clip_norm=200.0,
            feature_noise=300.0,
            label_noise=0.0,
        ),
        scaling=public_scaling(),
        privacy=Privacy(
            delta=1e-5, adjacency="replace_one", noise=NoiseSource.seeded(0), counts=[120, 120]
        ),
    )
    # The manifest of an honest release beside the records themselves: what a bug would leave.
    arrays = {"features": described(features), "labels": described(labels)}
    forged = dataclasses.replace(made.manifest, arrays=arrays)
    Release(features=features, labels=labels, manifest=forged).save(tmp_path / "bad.npz")
    asked = (
        "evaluate",
        tmp_path / "bad.npz",
        "--real",
        tmp_path / "real.npz",
        "--model",
        "logistic",
    )
    done = run(*asked, "--holdout", tmp_path / "held.npz", "-o", tmp_path / "report.html")
    assert done.exit_code == 1, done.output
    assert done.stdout.startswith("THE GUARANTEE OF THIS RELEASE IS WRONG")
    (proven,) = (one for one in done.stdout.splitlines() if one.startswith("proven epsilon"))
    assert " at delta 1e-05, replace-one" in proven
    assert 'role="alert"' in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_the_page_is_usable(files, tmp_path, browser):
    held = ("--holdout", tmp_path / "held.parquet", "-o", tmp_path / "report.html")
    done = run("evaluate", *files, *held)
    assert done.exit_code == 0, done.output
    assert_usable(browser, tmp_path / "report.html", name="evaluate")
