"""``rdpkit ledger`` with one budget: made, spent, shown, and refused."""

import pytest

import rdpkit
from tests.cli.commands import ADD, answer, run
from tests.cli.test_guarantees import write

NEW = ["--epsilon", "1", "--delta", "1e-5", *ADD]
QUERY = ["gaussian", "--noise-std", "20", "--record-norm", "1"]


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "budget.jsonl"
    assert run("ledger", "new", found, *NEW).exit_code == 0
    return found


@pytest.mark.thorough
def test_what_python_does_with_the_same_file(path):
    spent = answer("ledger", "spend", *QUERY, "--count", "3", "--label", "ages", "--budget", path)
    budget = rdpkit.PrivacyFilter.load(path)
    assert spent["used"] == budget.used
    assert spent["remaining"]["noise_multiplier"] == budget.remaining.noise_multiplier
    (charge,) = spent["charges"]
    assert (charge["count"], charge["label"]) == (3, "ages")
    assert charge["event"] == {"mechanism": "gaussian", "noise_std": 20.0, "record_norm": 1.0}
    assert answer("ledger", "show", path) == spent
    text = run("ledger", "show", path).output
    assert "gaussian x 3 (ages)" in text
    assert "one more Gaussian release: with noise of" in text


def test_events_in_files(path, tmp_path):
    event = write(tmp_path / "event.toml", "poisson_sampled_gaussian")
    spent = answer("ledger", "spend", event, "--count", "2", "--budget", path)
    assert spent["charges"][0]["event"]["mechanism"] == "poisson_sampled_gaussian"


def test_what_exceeds_is_refused(path):
    done = run("ledger", "spend", *QUERY, "--count", "1000", "--budget", path)
    assert done.exit_code == 1
    assert "Nothing was spent." in done.output
    assert rdpkit.PrivacyFilter.load(path).spendings == ()


@pytest.mark.parametrize("composition", ["zcdp", "gaussian", "basic", "fixed-schedule"])
def test_other_compositions(tmp_path, composition):
    path = tmp_path / "budget"
    share = ["--delta-for-events", "1e-6"] if composition == "basic" else []
    own = ["--own-delta", "1e-7"] if share else []
    made = answer("ledger", "new", path, *NEW, "--composition", composition, *share)
    assert made["composition"] == composition
    spent = answer("ledger", "spend", *QUERY, *own, "--budget", path)
    assert 0.0 < spent["used"] < 1.0
    assert run("ledger", "show", path).exit_code == 0


def test_plans_and_orders(tmp_path):
    event = write(tmp_path / "event.toml", "poisson_sampled_gaussian")
    planned = tmp_path / "planned"
    assert run("ledger", "new", planned, *NEW, "--planned", event).exit_code == 0
    ordered = tmp_path / "ordered"
    assert run("ledger", "new", ordered, *NEW, "--orders", "4,8,16").exit_code == 0
    for found in (planned, ordered):
        assert answer("ledger", "spend", event, "--budget", found)["used"] > 0.0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["ledger", "show", "no-such-file"], "no-such-file"),
        (["ledger", "spend", *QUERY, "--budget", "no-such-file"], "there is no such budget"),
        (["ledger", "spend", "gausian", "--budget", "b"], "Did you mean 'gaussian'"),
        (["ledger", "new", "b", *NEW, "--composition", "renji"], "renyi"),
        (["ledger", "new", "b", *NEW[2:]], "Expected --epsilon for one budget, or --dataset"),
        (["ledger", "new", "b", *NEW, "--of-persons"], "Expected --dataset with --of-persons"),
        (["ledger", "new", "b", *NEW, "--dataset", "d", "--orders", "8"], "no --orders"),
    ],
)
def test_bad_input(words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run(*words)
    assert done.exit_code == 2
    assert message in done.output


def test_a_budget_is_not_overwritten(path):
    done = run("ledger", "new", path, *NEW)
    assert done.exit_code == 2
    assert "is there already" in done.output


def test_the_earlier_name_of_the_command(path):
    assert run("budget", "show", path).output == run("ledger", "show", path).output
