"""Budgets on the disk: nothing that was released is ever missing, whatever kills the process."""

import errno
import os
import random
import signal
import subprocess
import sys
import threading
import time

import pytest

import rdpkit
from rdpkit.planning.budgets.ledger import LedgerFile, as_line
from tests.events import unit
from tests.processes import ran

ADD = rdpkit.Adjacency.ADD_OR_REMOVE_ONE
QUERY = unit.gaussian(20.0)
TINY = unit.gaussian(1e4)
# Spends as long as it is allowed, and says so after each charge, when a release would be made.
SPENDER = """
import sys
import rdpkit
budget = rdpkit.PrivacyFilter.load(sys.argv[1])
event = rdpkit.Gaussian(noise_std=float(sys.argv[2]), record_norm=1.0)
print("ready", flush=True)
try:
    while True:
        budget.spend(event, label=sys.argv[3])
        print("released", flush=True)
except rdpkit.BudgetExceededError:
    print("refused", flush=True)
"""


def budget(**changes):
    options = {"epsilon": 1.0, "delta": 1e-5, "adjacency": ADD, "composition": "gaussian"}
    return rdpkit.PrivacyFilter(**{**options, **changes})


def spender(path, noise, label):
    return subprocess.Popen(
        [sys.executable, "-c", SPENDER, str(path), str(noise), label],
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("composition", ["renyi", "zcdp", "gaussian", "basic", "fixed-schedule"])
def test_saved_and_loaded(tmp_path, composition):
    share = 1e-8 if composition == "basic" else 0.0
    found = budget(composition=composition, delta_for_events=1e-6 if share else 0.0)
    found.spend(QUERY, delta=share, label="before")
    found.save(tmp_path / "budget.jsonl")
    found.spend(TINY * 3, delta=share, label="after")
    again = rdpkit.PrivacyFilter.load(tmp_path / "budget.jsonl")
    assert again.spendings == found.spendings
    assert again.used == found.used
    assert again.remaining == found.remaining
    assert again.composition == composition
    # What one of them spends the other one sees.
    again.spend(QUERY, delta=share)
    assert found.spendings == again.spendings
    assert found.affordable(QUERY, delta=share) == again.affordable(QUERY, delta=share)


def test_infinite_divergences_at_some_orders_are_kept(tmp_path):
    curve = rdpkit.CustomRdp(orders=[8.0, 48.0], values=[0.01, 0.06], adjacency=ADD)
    found = budget(composition="renyi").save(tmp_path / "budget")
    found.spend(curve)
    assert rdpkit.PrivacyFilter.load(tmp_path / "budget").used == found.used


def test_a_file_that_is_there_is_not_overwritten(tmp_path):
    path = tmp_path / "budget"
    found = budget().save(path)
    with pytest.raises(FileExistsError, match="is there already"):
        budget().save(path)
    with pytest.raises(ValueError, match="a copy could be spent a second time"):
        found.save(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_a_line_that_was_cut_off_is_forgotten(tmp_path):
    """The process that was killed while it wrote it has not released anything."""
    path = tmp_path / "budget"
    found = budget().save(path)
    found.spend(QUERY)
    whole = path.read_bytes()
    with path.open("ab") as file:
        line, _, _ = as_line(2, {"event": {}}).partition(b"\n")
        file.write(line[:-20])
    assert len(rdpkit.PrivacyFilter.load(path).spendings) == 1
    found.spend(QUERY)
    assert path.read_bytes()[28 : len(whole)] == whole[28:]
    assert len(rdpkit.PrivacyFilter.load(path).spendings) == 2


@pytest.mark.parametrize(
    "change", [(b'"count":1', b'"count":0'), (b'"n":1', b'"n":2'), (b'{"n":1', b'"n":1')]
)
def test_other_damage_is_an_error(tmp_path, change):
    path = tmp_path / "budget"
    found = budget().save(path)
    found.spend(QUERY)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(*change, 1))
    with pytest.raises(ValueError, match="line 2: this is not what was written there"):
        rdpkit.PrivacyFilter.load(path)
    path.write_bytes(whole[: whole.index(b'{"n":1')])
    with pytest.raises(ValueError, match="what was spent is no longer there"):
        found.spend(QUERY)
    with pytest.raises(ValueError, match="2 lines were written, and the first 1 are left"):
        rdpkit.PrivacyFilter.load(path)


def test_a_file_that_lost_its_last_line_or_a_part_of_it_has_every_charge(tmp_path):
    path = tmp_path / "budget"
    found = budget().save(path)
    found.spend(TINY)
    found.spend(QUERY)
    spendings, whole = found.spendings, path.read_bytes()
    last = whole.rfind(b"\n", 0, -1)
    # The copy of the last line, its break, and the break before it.
    for size in range(last, len(whole)):
        path.write_bytes(whole[:size])
        again = rdpkit.PrivacyFilter.load(path)
        assert again.spendings == spendings
        again.spend(TINY)
        assert len(rdpkit.PrivacyFilter.load(path).spendings) == 3
    # A part of the charge itself is missing, although it had been written.
    for size in (last - 1, last - 40):
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match="no longer there"):
            rdpkit.PrivacyFilter.load(path)


def test_what_cannot_be_understood_is_read_again(tmp_path):
    """Otherwise a budget that was loaded would go on without the charges before the damage."""
    path = tmp_path / "budget"
    found = budget().save(path)
    other = rdpkit.PrivacyFilter.load(path)
    found.spend(QUERY)
    found.spend(QUERY)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"n":2', b'"n":3'))
    with pytest.raises(ValueError, match="line 3"):
        _ = other.spendings
    path.write_bytes(whole)
    assert len(other.spendings) == 2


def test_another_file_in_its_place_is_noticed(tmp_path):
    path = tmp_path / "budget"
    found = budget().save(path)
    budget().save(tmp_path / "other")
    (tmp_path / "other").replace(path)
    with pytest.raises(ValueError, match="another file has taken its place"):
        found.spend(QUERY)


@pytest.mark.skipif(sys.platform == "win32", reason="of Unix alone")
def test_reading_needs_no_right_to_write(tmp_path, monkeypatch):
    path = tmp_path / "budget"
    budget().save(path).spend(QUERY)
    opened = open

    def reading_alone(file, mode="r", *args, **options):
        if set(mode) & set("wa+x"):
            raise OSError(errno.EROFS, "Read-only file system", str(file))
        return opened(file, mode, *args, **options)

    monkeypatch.setattr("builtins.open", reading_alone)
    found = rdpkit.PrivacyFilter.load(path)
    assert len(found.spendings) == 1
    with pytest.raises(OSError, match="Read-only"):
        found.spend(QUERY)


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit on the size of files")
def test_a_full_disk_leaves_what_was_there(tmp_path):
    path = tmp_path / "budget"
    budget().save(path).spend(QUERY)
    before = path.read_bytes()
    for room in (1, 50, 150):
        code = (
            "import resource, sys, rdpkit\n"
            "budget = rdpkit.PrivacyFilter.load(sys.argv[1])\n"
            "event = rdpkit.Gaussian(noise_std=20.0, record_norm=1.0)\n"
            "budget.affordable(event)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)\n"
            "budget.spend(event)"
        )
        # Without -B, what Python compiles meanwhile would be cut off and kept.
        done = ran("-B", "-c", code, path, len(before) + room, status=1)
        assert "OSError" in done.stderr
        assert path.read_bytes() == before


def names_of(path, folder):
    """Five names of one file."""
    folder.mkdir()
    (folder / "symbolic").symlink_to(path)
    (folder / "hard").hardlink_to(path)
    (folder / "of-a-link").symlink_to(folder / "symbolic")
    (folder / "through").symlink_to(path.parent)
    links = ("symbolic", "hard", "of-a-link", f"through/{path.name}")
    return [path, *(folder / name for name in links)]


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize("seed", range(2))
def test_kills_links_and_lost_ends_never_exceed_a_budget(tmp_path, seed):
    rng = random.Random(seed)
    path = tmp_path / "budget"
    whole = budget().save(path)
    noise = 60.0
    most = whole.affordable(unit.gaussian(noise))
    names = names_of(path, tmp_path / "names")
    released, killed = 0, 0
    for _ in range(4):
        writers = [spender(rng.choice(names), noise, "") for _ in range(3)]
        for writer in writers:
            assert writer.stdout.readline() == "ready\n"
        time.sleep(rng.uniform(0.0, 0.05))
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
        killed += len(writers)
        released += sum(writer.communicate()[0].count("released") for writer in writers)
        # What has lost its last line, or a part of it, has lost no charge.
        content = path.read_bytes()
        os.truncate(path, len(content) - rng.randrange(len(content) - content.rfind(b"\n", 0, -1)))
        charged = len(rdpkit.PrivacyFilter.load(rng.choice(names)).spendings)
        assert released <= charged <= min(most, released + killed)
    output = spender(rng.choice(names), noise, "").communicate(timeout=60)[0]
    assert output.endswith("refused\n")
    found = rdpkit.PrivacyFilter.load(path)
    assert len(found.spendings) == most
    assert found.used <= 1.0


def test_files_that_are_no_budgets(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no such budget"):
        rdpkit.PrivacyFilter.load(tmp_path / "none")
    (tmp_path / "text").write_text("hello\n")
    with pytest.raises(ValueError, match="not what was written"):
        rdpkit.PrivacyFilter.load(tmp_path / "text")
    (tmp_path / "empty").write_text("")
    with pytest.raises(ValueError, match="expected a budget"):
        rdpkit.PrivacyFilter.load(tmp_path / "empty")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")
@pytest.mark.parametrize("name", ["pipe", "/dev/full"])
def test_a_pipe_or_a_device_is_not_read_for_ever(tmp_path, name):
    path = tmp_path / name
    if not path.exists():
        os.mkfifo(path)
    with pytest.raises(OSError, match="expected a file that keeps what is written"):
        rdpkit.PrivacyFilter.load(path)


def test_a_charge_that_cannot_be_written_is_not_made(tmp_path, monkeypatch):
    found = budget().save(tmp_path / "budget")

    def fail(self, entry):
        raise OSError("the disk is full")

    monkeypatch.setattr(LedgerFile, "add", fail)
    with pytest.raises(OSError, match="the disk is full"):
        found.spend(QUERY)
    monkeypatch.undo()
    assert found.spendings == ()
    assert rdpkit.PrivacyFilter.load(tmp_path / "budget").spendings == ()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize("charges", [1, 7])
def test_a_kill_loses_no_charge(tmp_path, charges):
    path = tmp_path / "budget"
    budget().save(path)
    process = spender(path, 1e4, "killed")
    for _ in range(charges + 1):
        assert process.stdout.readline() in ("ready\n", "released\n")
    process.send_signal(signal.SIGKILL)
    released = charges + process.stdout.read().count("released")
    process.stdout.close()
    process.wait()
    found = rdpkit.PrivacyFilter.load(path)
    # A charge may have been written that was not announced any more.
    assert released <= len(found.spendings) <= released + 1
    found.spend(TINY)


@pytest.mark.thorough
def test_two_writers_share_one_budget(tmp_path):
    path = tmp_path / "budget"
    whole = budget().save(path)
    noise = 40.0
    most = whole.affordable(unit.gaussian(noise))
    writers = [spender(path, noise, label) for label in ("one", "two")]
    outputs = [writer.communicate(timeout=60)[0] for writer in writers]
    assert all(output.endswith("refused\n") for output in outputs)
    assert sum(output.count("released") for output in outputs) == most
    assert len(rdpkit.PrivacyFilter.load(path).spendings) == most


def test_nobody_else_spends_within_a_block(tmp_path):
    path = tmp_path / "budget"
    budget().save(path)
    process = None
    with rdpkit.PrivacyFilter.load(path) as found:
        process = spender(path, 20.0, "other")
        found.spend(TINY)
        time.sleep(0.3)
        assert found.spend(TINY).count == 1
        assert [one.label for one in found.spendings] == ["", ""]
    output = process.communicate(timeout=60)[0]
    assert output.count("released") > 5
    assert [one.label for one in found.spendings][:3] == ["", "", "other"]
    # In memory a block does nothing, and an error in it is passed on.
    free = budget()

    def fail_within():
        with free:
            free.spend(TINY)
            raise KeyError

    with pytest.raises(KeyError):
        fail_within()
    assert len(free.spendings) == 1


def test_threads_share_one_budget(tmp_path):
    event = unit.gaussian(40.0)
    for found in (budget(), budget().save(tmp_path / "budget")):
        most = found.affordable(event)
        spent = []

        def spend(found=found, spent=spent):
            try:
                while True:
                    found.spend(event)
                    spent.append(1)
            except rdpkit.BudgetExceededError:
                return

        threads = [threading.Thread(target=spend) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(spent) == len(found.spendings) == most
