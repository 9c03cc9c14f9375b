"""A ledger: what is released is never missing from it, and what exceeds the budget is refused."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import rdpkit
from rdpkit.mechanisms import Ledger, LedgerRefusalError
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.releases.release import release, release_without_guarantee

REPLACE = rdpkit.Adjacency.REPLACE_ONE
OPTIONS = {"adjacency": REPLACE, "delta": 1e-5}
# Charges as long as it is allowed, and says so after each charge, when a release would be made.
CHARGER = """
import sys
import rdpkit
from rdpkit.mechanisms import Ledger
ledger = Ledger(sys.argv[1])
event = rdpkit.Gaussian(noise_std=40.0, record_norm=1.0)
print("ready", flush=True)
try:
    while True:
        ledger.charge(
            dataset="people", event=event, adjacency="replace_one", delta=1e-5, path="x.npz"
        )
        print("charged", flush=True)
except rdpkit.BudgetExceededError:
    print("refused", flush=True)
"""


def gaussian(noise_std):
    return rdpkit.Gaussian(noise_std=noise_std, record_norm=1.0)


def released(sums, *, noise_std=8.0, adjacency=REPLACE, seed=None):
    noise = NoiseSource.system() if seed is None else NoiseSource.seeded(seed)
    privacy = Privacy(delta=1e-5, adjacency=adjacency, noise=noise)
    labels = np.arange(len(sums))
    return release(sums, labels, event=gaussian(noise_std), parameters={}, privacy=privacy)


def saved(folder, name, **changes):
    made = released(np.random.default_rng().normal(size=(3, 2)), **changes)
    made.save(folder / f"{name}.npz")
    return folder / f"{name}.json"


@pytest.fixture
def ledger(tmp_path):
    found = Ledger.create(tmp_path / "ledger.jsonl")
    found.open("people", epsilon=3.0, composition="gaussian", **OPTIONS)
    return found


def test_releases_of_one_data_set_compose(ledger, tmp_path):
    for name, noise_std in (("a", 6.0), ("b", 8.0)):
        ledger.add(saved(tmp_path, name, noise_std=noise_std), dataset="people")
    account = Ledger(ledger.path).account("people")
    assert account == ledger.account("people")
    both = rdpkit.Composed(events=(gaussian(6.0), gaussian(8.0)))
    expected = rdpkit.epsilon(both, delta=1e-5, adjacency=REPLACE)
    assert account.fixed.epsilon == expected.epsilon
    assert [one.path for one in account.releases] == ["a.json", "b.json"]
    assert account.private
    assert account.left.epsilon == pytest.approx(3.0 - expected.epsilon, abs=1e-6)
    assert account.adaptive == 3.0  # a Gaussian filter knows its budget alone
    assert ledger.problems("people") == ()


def test_what_exceeds_the_budget_is_refused_and_nothing_is_written(ledger, tmp_path):
    before = ledger.path.read_bytes()
    loud = saved(tmp_path, "loud", noise_std=1.0)
    with pytest.raises(rdpkit.BudgetExceededError, match=r"loud\.json: .* exceeds"):
        ledger.add(loud, dataset="people")
    assert ledger.path.read_bytes() == before
    ledger.add(loud, dataset="people", record_anyway=True)
    account = ledger.account("people")
    assert not account.private
    assert "exceeds" in account.unaccounted[0].reason
    assert any("covered by no account" in problem for problem in ledger.problems("people"))


def test_other_refusals(ledger, tmp_path):
    ledger.open("others", **OPTIONS)
    quiet = saved(tmp_path, "quiet")
    ledger.add(quiet, dataset="people")
    # The same data in a file of another format are the same release.
    again = tmp_path / "again.json"
    again.write_text(json.dumps(json.loads(quiet.read_text())))
    (tmp_path / "again.npz").write_bytes((tmp_path / "quiet.npz").read_bytes())
    other = saved(tmp_path, "other", adjacency="add_or_remove_one")
    seeded = saved(tmp_path, "seeded", seed=1)
    release_without_guarantee(
        np.ones((2, 2)), np.arange(2), mechanism="bare", parameters={}, notes=(),
        noise=NoiseSource.system(),
    ).save(tmp_path / "bare.npz")  # fmt: skip
    for path, words in (
        (quiet, "recorded already"),
        (again, "recorded already"),
        (other, "about add_or_remove_one"),
        (seeded, "not private"),
        (tmp_path / "bare.json", "guarantees nothing"),
    ):
        with pytest.raises(LedgerRefusalError, match=words):
            ledger.add(path, dataset="people")
    with pytest.raises(ValueError, match="expected --dataset"):
        ledger.add(quiet)
    with pytest.raises(ValueError, match="'people' is there already"):
        ledger.open("people", **OPTIONS)
    with pytest.raises(ValueError, match=r"no data set 'peple'\. Did you mean 'people'"):
        ledger.account("peple")
    assert len(ledger.account("people").releases) == 1
    ledger.add(tmp_path / "bare.json", dataset="others", record_anyway=True)
    assert ledger.account("others").event is None


def test_a_release_with_other_noise_is_charged_though_its_numbers_are_the_same(ledger, tmp_path):
    for name, noise_std in (("a", 8.0), ("b", 6.0)):
        released(np.ones((1, 1)), noise_std=noise_std).save(tmp_path / f"{name}.npz")
        ledger.add(tmp_path / f"{name}.json", dataset="people")
    charged = Ledger(ledger.path).account("people").releases
    assert [one.event for one in charged] == [gaussian(8.0), gaussian(6.0)]
    with pytest.raises(LedgerRefusalError, match=r"another draw .* --record-anyway"):
        ledger.add(tmp_path / "b.json", dataset="people")
    # Nothing in a manifest tells a second draw of the same event from a copy of the first.
    before = ledger.account("people").fixed.epsilon
    ledger.add(tmp_path / "b.json", dataset="people", record_anyway=True)
    assert ledger.account("people").fixed.epsilon > before


def test_without_a_budget_releases_are_recorded(ledger, tmp_path):
    ledger.open("others", **OPTIONS)
    ledger.add(saved(tmp_path, "loud", noise_std=1.0), dataset="others")
    account = ledger.account("others")
    assert account.budget is None
    assert account.left is None
    assert account.fixed.epsilon <= account.adaptive < np.inf


def test_the_name_in_the_manifest_counts(ledger, tmp_path):
    path = saved(tmp_path, "named")
    path.write_text(json.dumps({**json.loads(path.read_text()), "dataset": "people"}))
    with pytest.raises(ValueError, match="a release from the data set 'people', not 'others'"):
        ledger.add(path, dataset="others")
    ledger.add(path)
    assert len(ledger.account("people").releases) == 1


def test_charged_before_and_completed_after(ledger, tmp_path):
    plan = {"dataset": "people", "adjacency": REPLACE, "delta": 1e-5}
    charge = ledger.charge(event=gaussian(8.0), path=tmp_path / "a.npz", **plan)
    waiting = Ledger(ledger.path).account("people")
    assert waiting.releases[0].sha256 is None
    assert waiting.fixed.epsilon > 0.0
    with pytest.raises(LedgerRefusalError, match="not the one that was charged"):
        ledger.complete(charge, saved(tmp_path, "b", noise_std=7.0))
    made = ledger.complete(charge, saved(tmp_path, "a"))
    assert made.path == "a.json"
    assert Ledger(ledger.path).account("people").releases == (made,)
    assert ledger.account("people").fixed == waiting.fixed
    with pytest.raises(LedgerRefusalError, match="waits for its release"):
        ledger.complete(charge, tmp_path / "a.json")
    with pytest.raises(LedgerRefusalError, match="recorded already"):
        ledger.add(tmp_path / "a.json", dataset="people")
    with pytest.raises(LedgerRefusalError, match="zero_out"):
        ledger.charge(event=gaussian(8.0), path="a", **{**plan, "adjacency": "zero_out"})
    with pytest.raises(ValueError, match="no data set"):
        ledger.charge(event=gaussian(8.0), path="a", **{**plan, "dataset": "x"})


def test_a_release_in_memory_is_charged_before_it_is_saved(ledger, tmp_path):
    made = released(np.ones((2, 2)))
    ledger.expect("people", REPLACE)
    with pytest.raises(LedgerRefusalError, match="about zero_out"):
        ledger.expect("people", "zero_out")
    charge = ledger.charge_unsaved(made.manifest, dataset="people", path=tmp_path / "a.npz")
    assert ledger.account("people").releases[0].sha256 is None
    made.save(tmp_path / "a.npz")
    ledger.complete(charge, tmp_path / "a.json")
    assert ledger.problems("people") == ()


def test_an_event_without_finite_divergences_pays_with_its_delta(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.jsonl")
    ledger.open("strict", epsilon=3.0, **OPTIONS)
    ledger.open("people", epsilon=3.0, delta_for_events=5e-6, **OPTIONS)
    stated = rdpkit.EpsilonDelta(epsilon=0.1, delta=1e-6, adjacency=REPLACE)
    plan = {"event": stated, "adjacency": REPLACE, "delta": 1e-6, "path": "x.npz"}
    with pytest.raises(rdpkit.BudgetExceededError, match="delta_for_events"):
        ledger.charge(dataset="strict", **plan)
    for _ in range(5):
        ledger.charge(dataset="people", **plan)
    with pytest.raises(rdpkit.BudgetExceededError):
        ledger.charge(dataset="people", **plan)
    account = Ledger(ledger.path).account("people")
    assert [one.delta for one in account.releases] == [1e-6] * 5
    assert account.adaptive == 3.0


def test_what_has_changed_is_found(ledger, tmp_path):
    for name in ("kept", "gone", "edited", "swapped"):
        ledger.add(saved(tmp_path, name), dataset="people")
    (tmp_path / "gone.json").unlink()
    edited = tmp_path / "edited.json"
    edited.write_text(edited.read_text() + "\n")
    (tmp_path / "swapped.npz").write_bytes((tmp_path / "kept.npz").read_bytes())
    problems = ledger.problems("people")
    assert [problem.partition(":")[0] for problem in problems[:2]] == ["gone.json", "edited.json"]
    assert all("swapped.json" in problem for problem in problems[2:])
    assert problems[2:]


def test_a_damaged_line_stops_everything(ledger, tmp_path):
    ledger.add(saved(tmp_path, "a"), dataset="people")
    whole = ledger.path.read_bytes()
    ledger.path.write_bytes(whole.replace(b"8.0", b"9.0"))
    with pytest.raises(ValueError, match="line 3: this is not what was written"):
        Ledger(ledger.path)
    # A last line without its end was being written by what was killed before any release.
    ledger.path.write_bytes(whole + b'{"n":3,"check":"00')
    assert len(Ledger(ledger.path).account("people").releases) == 1
    for other in (b"", b"text\n"):
        ledger.path.write_bytes(other)
        with pytest.raises(ValueError, match=r"no ledger|not what was written"):
            Ledger(ledger.path)
    rdpkit.PrivacyFilter(epsilon=1.0, **OPTIONS).save(tmp_path / "budget.jsonl")
    with pytest.raises(ValueError, match="no ledger of releases"):
        Ledger(tmp_path / "budget.jsonl")
    with pytest.raises(FileNotFoundError, match="rdpkit ledger new"):
        Ledger(tmp_path / "nothing.jsonl")


def test_what_cannot_be_written_is_not_charged(ledger, monkeypatch):
    plan = {"dataset": "people", "adjacency": REPLACE, "delta": 1e-5, "path": "x.npz"}

    def full(file, entry):
        raise OSError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr("rdpkit.planning.budgets.ledger.LedgerFile.add", full)
        with pytest.raises(OSError, match="full"):
            ledger.charge(event=gaussian(8.0), **plan)
    assert ledger.account("people").releases == ()
    ledger.charge(event=gaussian(8.0), **plan)
    assert len(Ledger(ledger.path).account("people").releases) == 1


@pytest.mark.thorough
def test_many_processes_share_a_budget_and_a_kill_loses_no_charge(ledger):
    command = [sys.executable, "-c", CHARGER, str(ledger.path)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert running[0].stdout.readline() == "ready\n"
    time.sleep(0.05)
    running[0].send_signal(signal.SIGKILL)
    charged = sum(one.communicate(timeout=120)[0].count("charged") for one in running)
    releases = Ledger(ledger.path).account("people").releases
    # The killed process may have charged once without saying so.
    assert charged <= len(releases) <= charged + 1
    alone = rdpkit.PrivacyFilter(epsilon=3.0, composition="gaussian", **OPTIONS)
    assert len(releases) == alone.affordable(gaussian(40.0))


@pytest.mark.thorough
def test_thousands_of_entries_are_read_quickly(tmp_path, monkeypatch):
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
    ledger = Ledger.create(tmp_path / "ledger.jsonl")
    ledger.open("people", epsilon=3.0, **OPTIONS)
    plan = {"dataset": "people", "adjacency": REPLACE, "delta": 1e-5, "path": "x.npz"}
    for k in range(2000):
        ledger.charge(event=gaussian(1000.0 + k % 10), **plan)
    started = time.monotonic()
    account = Ledger(ledger.path).account("people")
    assert time.monotonic() - started < 20.0
    assert len(account.releases) == 2000
    assert account.fixed.epsilon <= account.adaptive <= 3.0
