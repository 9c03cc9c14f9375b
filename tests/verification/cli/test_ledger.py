"""rdpkit ledger: releases of data sets, and one budget."""

import json

import numpy as np
import pytest

import rdpkit
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.releases.release import release
from rdpkit.verification.auditing.audit import audit_files
from rdpkit.verification.auditing.findings import Soundness
from tests.cli.commands import ADD, answer, run
from tests.cli.test_guarantees import write

NEW = ["--delta", "1e-5", "--adjacency", "replace_one"]


def saved(folder, name, noise_std=8.0, seed=None):
    noise = NoiseSource.system() if seed is None else NoiseSource.seeded(seed)
    made = release(
        np.random.default_rng().normal(size=(3, 2)),
        np.arange(3),
        event=rdpkit.Gaussian(noise_std=noise_std, record_norm=1.0),
        parameters={},
        privacy=Privacy(delta=1e-5, adjacency="replace_one", noise=noise),
    )
    made.save(folder / f"{name}.npz")
    return folder / f"{name}.json"


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "ledger.jsonl"
    made = run("ledger", "new", found, "--dataset", "people", "--epsilon", "3", *NEW)
    assert made.exit_code == 0, made.output
    return found


def test_added_shown_and_checked(path, tmp_path):
    names = [saved(tmp_path, name) for name in ("a", "b")]
    assert run("ledger", "add", path, *names, "--dataset", "people").exit_code == 0
    table = json.loads(run("ledger", "show", path, "--format", "json").output)["datasets"][0]
    assert table["private"]
    assert table["budget"] == 3.0
    assert 0.0 < table["epsilon_if_fixed_in_advance"] <= table["epsilon_however_chosen"] <= 3.0
    text = run("ledger", "show", path).output
    assert "if all releases were fixed in advance" in text
    assert "however later ones were chosen" in text
    checked = run("ledger", "check", path)
    assert (checked.exit_code, checked.output) == (0, "people: 2 releases, no problem\n")


def test_refusals_have_status_1_and_the_others_are_charged(path, tmp_path):
    loud, quiet = saved(tmp_path, "loud", 1.0), saved(tmp_path, "quiet")
    done = run("ledger", "add", path, loud, quiet, "--dataset", "people", "--format", "json")
    assert done.exit_code == 1
    told = json.loads(done.output)["releases"]
    assert "exceeds" in told[0]["refused"]
    assert told[1]["refused"] is None
    for words in (
        ["add", tmp_path / "no.jsonl", quiet],
        ["add", path, quiet],
        ["add", path, quiet, "--dataset", "peple"],
        ["add", path, tmp_path / "none.json", "--dataset", "people"],
        ["show", tmp_path / "no.jsonl"],
        ["new", path, "--dataset", "people", *NEW],
    ):
        done = run("ledger", *words)
        assert done.exit_code == 2, done.output
        assert done.output.startswith("Error: ")


@pytest.mark.thorough
def test_what_was_charged_before_a_file_that_is_none_is_said(path, tmp_path):
    quiet, none = saved(tmp_path, "quiet"), tmp_path / "none.json"
    done = run("ledger", "add", path, quiet, none, "--dataset", "people")
    assert done.exit_code == 2
    assert str(none) in done.stderr
    assert done.stdout.startswith("charged: ")


def test_a_data_set_that_is_not_private_any_more(path, tmp_path):
    seeded = saved(tmp_path, "seeded", seed=1)
    anyway = ["--dataset", "people", "--record-anyway"]
    assert "NOT PRIVATE" in run("ledger", "add", path, seeded, *anyway).output
    assert "NOT PRIVATE: 1 release" in run("ledger", "show", path).output
    assert run("ledger", "check", path).exit_code == 1
    (finding,) = audit_files(path)
    assert finding.soundness is Soundness.REFUTED


@pytest.mark.thorough
def test_the_audit_takes_a_ledger(path, tmp_path):
    run("ledger", "new", path, "--dataset", "recorded", *NEW)
    for name, dataset in (("a", "people"), ("b", "people"), ("c", "recorded")):
        run("ledger", "add", path, saved(tmp_path, name), "--dataset", dataset)
    found = audit_files(path)
    assert [finding.claim.id for finding in found] == ["ledger/people", "ledger/recorded"]
    assert all(finding.soundness is Soundness.SOUND for finding in found)
    assert any("fixed in advance" in note for note in found[1].notes)
    audited = run("audit", path, "--junit", tmp_path / "j.xml", "--sarif", tmp_path / "s.sarif")
    assert audited.exit_code == 0, audited.output
    (tmp_path / "b.npz").unlink()
    assert [one.soundness for one in audit_files(path)] == [Soundness.REFUTED, Soundness.SOUND]
    assert run("audit", path).exit_code == 1
    checked = json.loads(run("ledger", "check", path, "--format", "json").output)["datasets"]
    assert [len(one["problems"]) > 0 for one in checked] == [True, False]


def test_a_ledger_without_releases_has_nothing_to_audit(path):
    done = run("audit", path)
    assert done.exit_code == 2
    assert "nothing was released" in done.output


def test_a_guarantee_that_is_too_small_is_found(path, tmp_path):
    manifest = saved(tmp_path, "small")
    table = json.loads(manifest.read_text())
    table["guarantee"] |= {"epsilon": 0.1, "computed": [0.09, 0.1]}
    table["checks"] = [check for check in table["checks"] if check["name"] != "epsilon"]
    manifest.write_text(json.dumps(table))
    done = run("ledger", "add", path, manifest, "--dataset", "people")
    assert done.exit_code == 0, done.output
    # The event was charged, whatever the manifest says of it.
    shown = json.loads(run("ledger", "show", path, "--format", "json").output)["datasets"][0]
    assert shown["epsilon_if_fixed_in_advance"] > 0.5
    assert "refuted" in run("ledger", "check", path).output


NEW_BUDGET = ["--epsilon", "1", "--delta", "1e-5", *ADD]
QUERY = ["gaussian", "--noise-std", "20", "--record-norm", "1"]


@pytest.fixture
def budget(tmp_path):
    found = tmp_path / "budget.jsonl"
    assert run("ledger", "new", found, *NEW_BUDGET).exit_code == 0
    return found


@pytest.mark.thorough
def test_what_python_does_with_the_same_file(budget):
    spent = answer("ledger", "spend", *QUERY, "--count", "3", "--label", "ages", "--budget", budget)
    kept = rdpkit.PrivacyFilter.load(budget)
    assert spent["used"] == kept.used
    assert spent["remaining"]["noise_multiplier"] == kept.remaining.noise_multiplier
    (charge,) = spent["charges"]
    assert (charge["count"], charge["label"]) == (3, "ages")
    assert charge["event"] == {"mechanism": "gaussian", "noise_std": 20.0, "record_norm": 1.0}
    assert answer("ledger", "show", budget) == spent
    text = run("ledger", "show", budget).output
    assert "gaussian x 3 (ages)" in text
    assert "one more Gaussian release: with noise of" in text


def test_events_in_files(budget, tmp_path):
    event = write(tmp_path / "event.toml", "poisson_sampled_gaussian")
    spent = answer("ledger", "spend", event, "--count", "2", "--budget", budget)
    assert spent["charges"][0]["event"]["mechanism"] == "poisson_sampled_gaussian"


def test_what_exceeds_is_refused(budget):
    done = run("ledger", "spend", *QUERY, "--count", "1000", "--budget", budget)
    assert done.exit_code == 1
    assert "Nothing was spent." in done.output
    assert rdpkit.PrivacyFilter.load(budget).spendings == ()


@pytest.mark.parametrize("composition", ["zcdp", "gaussian", "basic", "fixed-schedule"])
def test_other_compositions(tmp_path, composition):
    budget = tmp_path / "budget"
    share = ["--delta-for-events", "1e-6"] if composition == "basic" else []
    own = ["--own-delta", "1e-7"] if share else []
    made = answer("ledger", "new", budget, *NEW_BUDGET, "--composition", composition, *share)
    assert made["composition"] == composition
    spent = answer("ledger", "spend", *QUERY, *own, "--budget", budget)
    assert 0.0 < spent["used"] < 1.0
    assert run("ledger", "show", budget).exit_code == 0


def test_plans_and_orders(tmp_path):
    event = write(tmp_path / "event.toml", "poisson_sampled_gaussian")
    planned = tmp_path / "planned"
    assert run("ledger", "new", planned, *NEW_BUDGET, "--planned", event).exit_code == 0
    ordered = tmp_path / "ordered"
    assert run("ledger", "new", ordered, *NEW_BUDGET, "--orders", "4,8,16").exit_code == 0
    for found in (planned, ordered):
        assert answer("ledger", "spend", event, "--budget", found)["used"] > 0.0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["ledger", "show", "no-such-file"], "no-such-file"),
        (["ledger", "spend", *QUERY, "--budget", "no-such-file"], "there is no such budget"),
        (["ledger", "spend", "gausian", "--budget", "b"], "Did you mean 'gaussian'"),
        (["ledger", "new", "b", *NEW_BUDGET, "--composition", "renji"], "renyi"),
        (
            ["ledger", "new", "b", *NEW_BUDGET[2:]],
            "Expected --epsilon for one budget, or --dataset",
        ),
        (
            ["ledger", "new", "b", *NEW_BUDGET, "--of-persons"],
            "Expected --dataset with --of-persons",
        ),
        (["ledger", "new", "b", *NEW_BUDGET, "--dataset", "d", "--orders", "8"], "no --orders"),
    ],
)
def test_bad_input(words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run(*words)
    assert done.exit_code == 2
    assert message in done.output


def test_nothing_is_spent_of_a_ledger_of_releases(path):
    done = run("ledger", "spend", *QUERY, "--budget", path)
    assert (done.exit_code, "expected a budget" in done.output) == (2, True)


def test_a_budget_is_not_overwritten(budget):
    done = run("ledger", "new", budget, *NEW_BUDGET)
    assert done.exit_code == 2
    assert "is there already" in done.output


def test_the_earlier_name_of_the_command(budget):
    assert run("budget", "show", budget).output == run("ledger", "show", budget).output
