"""The file of evidence: what counts once, what adds up, merging, damage, and two jobs at once."""

import datetime
import json
import math
import multiprocessing

import pytest

from rdpkit.verification.evidence.error_control import ErrorControl
from rdpkit.verification.evidence.store import EvidenceStore

CLAIM = {"target": "a:b", "adjacency": "replace_one", "epsilon": 1.0, "delta": 0.01}
OTHER = {**CLAIM, "target": "c:d"}
FIRST = -math.log(0.05) - 2 * math.log(6 / math.pi**2)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "evidence.jsonl"


def add(path, log_e_value, *, claim=CLAIM, code="v1", seed=1, highest=None):
    store = EvidenceStore(path)
    before = store.begin(claim, code, seed=seed)
    return store.record(
        claim,
        code,
        seed=seed,
        runs=100,
        log_e_value=log_e_value,
        highest=max(log_e_value, 0.0) if highest is None else highest,
        rejections=before.rejections,
    )


def begin(path, *, claim=CLAIM, code="v1", seed=99):
    return EvidenceStore(path).begin(claim, code, seed=seed)


def test_a_new_file_says_its_rate_before_anything_else(path):
    store = EvidenceStore(path, rate=0.01, control="fdr")
    assert not path.exists()
    position = store.begin(CLAIM, "v1", seed=1)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["line"] for line in lines] == ["evidence", "code"]
    assert (lines[0]["false_alarm_rate"], lines[0]["error_control"]) == (0.01, "fdr")
    assert (position.claim, position.version, position.tests) == (1, 1, 0)
    assert position.error_control is ErrorControl.FALSE_DISCOVERY
    assert EvidenceStore(path).begin(CLAIM, "v1", seed=2).false_alarm_rate == 0.01


def test_e_values_of_the_same_code_multiply(path):
    assert add(path, 1.0, seed=1).log_e_value == 1.0
    position = add(path, -0.25, seed=2)
    assert (position.tests, position.log_e_value, position.rejected) == (2, 0.75, False)
    assert position.needed == pytest.approx(FIRST)


def test_a_test_stops_where_all_of_the_evidence_is_enough(path):
    """The rate of a test is 1 / (what its capital still has to reach)."""
    add(path, 0.75, seed=1)
    rate = begin(path).rate_of_next_test
    assert rate == pytest.approx(math.exp(0.75 - FIRST), rel=1e-8)
    assert rate < math.exp(0.75 - FIRST)
    position = add(path, -math.log(rate), seed=2)
    assert position.rejected
    assert position.rate_of_next_test == pytest.approx(math.exp(-FIRST), rel=1e-8)


def test_no_test_is_less_strict_than_the_file(path):
    """What one test reports by itself holds at its own rate, so that is at most the file's."""
    add(path, FIRST - 0.1, seed=1)
    assert begin(path).rate_of_next_test == 0.05
    assert add(path, -1.0, seed=2, highest=0.2).rejected


def test_a_seed_counts_once(path):
    add(path, 2.0, seed=7)
    content = path.read_bytes()
    again = add(path, 2.0, seed=7)
    assert (again.tests, again.log_e_value, again.on_record) == (1, 2.0, True)
    assert path.read_bytes() == content
    add(path, 1.0, seed=8)
    replay = begin(path, seed=7)
    assert (replay.tests, replay.log_e_value, replay.on_record) == (0, 0.0, True)
    replay = begin(path, seed=8)
    assert (replay.tests, replay.log_e_value, replay.on_record) == (1, 2.0, True)


def test_the_same_seed_counts_for_another_code_and_another_claim(path):
    add(path, 1.0, seed=7)
    assert add(path, 1.0, seed=7, code="v2").tests == 1
    assert add(path, 1.0, seed=7, claim=OTHER).tests == 1


def test_changed_code_begins_at_one_with_a_share_of_its_own(path):
    add(path, 3.0)
    changed = begin(path, code="v2")
    assert (changed.claim, changed.version, changed.log_e_value) == (1, 2, 0.0)
    assert changed.needed == pytest.approx(FIRST + 2 * math.log(2))
    back = begin(path, code="v1")
    assert (back.version, back.log_e_value) == (1, 3.0)
    other = begin(path, claim=OTHER)
    assert (other.claim, other.version) == (2, 1)


def test_a_share_is_fixed_when_a_claim_first_appears(path):
    first = begin(path)
    for number in range(5):
        begin(path, claim={**CLAIM, "epsilon": 2.0 + number})
    assert begin(path).needed == first.needed


def test_any_difference_in_what_is_claimed_is_another_claim(path):
    begin(path)
    for change in ({"epsilon": 1.0000001}, {"adjacency": "add_or_remove_one"}, {"view": "rdp"}):
        assert begin(path, claim={**CLAIM, **change}).claim > 1
    assert begin(path, claim=dict(reversed(CLAIM.items()))).claim == 1


def test_a_rejection_is_remembered(path):
    assert add(path, FIRST + 0.1, seed=1).rejected
    assert begin(path).rejected
    assert not begin(path, code="v2").rejected
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["verdict"] for line in lines if line["line"] == "test"] == ["rejected"]


def test_the_largest_capital_is_not_carried_on(path):
    position = add(path, -1.0, highest=3.0)
    assert (position.log_e_value, position.rejected) == (-1.0, False)
    assert add(path, -2.0, seed=2, highest=FIRST + 1.1).rejected


def test_another_rate_for_the_same_file_is_refused(path):
    EvidenceStore(path, rate=0.01).begin(CLAIM, "v1", seed=1)
    with pytest.raises(ValueError, match=r"Expected --alpha to be 0\.01, with which .* got 0\.05"):
        EvidenceStore(path, rate=0.05)
    with pytest.raises(ValueError, match="Expected --error-control to be fwer"):
        EvidenceStore(path, control="fdr")
    EvidenceStore(path, rate=0.01, control="fwer")


@pytest.mark.parametrize(
    "damage",
    [
        lambda lines: [*lines[:-1], lines[-1][:-20]],
        lambda lines: [*lines[:-1], lines[-1].rstrip(b"\n")],
        lambda lines: [
            *lines[:-1],
            lines[-1].replace(b'"log_e_value": 1.0', b'"log_e_value": 0.1'),
        ],
        lambda lines: [*lines, b"<<<<<<< HEAD\n"],
        lambda lines: [b"x" * 40 + b"\n"],
        lambda lines: [*lines, b"[]\n"],
        lambda lines: lines[1:],
    ],
)
def test_damage_is_an_error_and_the_file_stays_as_it_is(path, damage):
    add(path, 1.0)
    damaged = b"".join(damage(path.read_bytes().splitlines(keepends=True)))
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match=r"evidence\.jsonl"):
        begin(path)
    assert path.read_bytes() == damaged


def test_no_e_value_that_is_no_number_is_written(path):
    begin(path)
    content = path.read_bytes()
    with pytest.raises(ArithmeticError, match="nan"):
        add(path, math.nan)
    assert path.read_bytes() == content


def test_a_capital_of_zero_is_kept(path):
    add(path, -math.inf)
    assert begin(path).log_e_value == -math.inf
    assert begin(path).rate_of_next_test > 0.0


def branched(tmp_path, clock):
    """Two files that went different ways from a common beginning."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    add(ours, 1.0, seed=1)
    theirs.write_bytes(ours.read_bytes())
    add(ours, 0.5, seed=2)
    add(ours, 1.0, claim=OTHER, seed=3)
    clock(60)
    add(theirs, 0.25, seed=4)
    add(theirs, 3.0, claim={**CLAIM, "epsilon": 5.0}, seed=5)
    return ours, theirs


@pytest.fixture
def clock(monkeypatch):
    """Moves the clock of the store forwards."""
    shift = [0]

    class Clock(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return super().now(tz) + datetime.timedelta(seconds=shift[0])

    monkeypatch.setattr("rdpkit.verification.evidence.store.datetime.datetime", Clock)

    def move(seconds):
        shift[0] += seconds

    return move


def test_branches_are_merged_by_keeping_the_lines_of_both(tmp_path, clock):
    ours, theirs = branched(tmp_path, clock)
    assert begin(theirs, claim={**CLAIM, "epsilon": 5.0}).claim == 2
    lines = [path.read_bytes().splitlines(keepends=True) for path in (ours, theirs)]
    merged = [tmp_path / "one", tmp_path / "two", tmp_path / "three"]
    merged[0].write_bytes(b"".join(lines[0] + lines[1]))
    merged[1].write_bytes(b"".join(lines[1] + lines[0]))
    merged[2].write_bytes(b"".join(dict.fromkeys(reversed(lines[0] + lines[1]))))
    for path in merged:
        both = begin(path)
        assert (both.claim, both.tests, both.log_e_value) == (1, 3, 1.75)
        assert begin(path, claim=OTHER).claim == 2
        # Its number is taken: the claim that came later has the next one, and a smaller share.
        late = begin(path, claim={**CLAIM, "epsilon": 5.0})
        assert (late.claim, late.log_e_value) == (3, 3.0)


def test_files_with_different_rates_are_not_merged(tmp_path):
    parts = []
    for rate in (0.01, 0.05):
        EvidenceStore(tmp_path / f"{rate}", rate=rate).begin(CLAIM, "v1", seed=1)
        parts.append((tmp_path / f"{rate}").read_bytes())
    (tmp_path / "both").write_bytes(b"".join(parts))
    with pytest.raises(ValueError, match="they cannot be merged"):
        EvidenceStore(tmp_path / "both")


def test_a_clock_that_goes_backwards_takes_no_share_away(path, clock):
    begin(path)
    clock(-3600)
    assert begin(path, claim=OTHER).claim == 2
    assert begin(path).claim == 1


def _job(path, number):
    for seed in range(10):
        add(path, 0.125, seed=100 * number + seed)
        add(path, 0.5, claim={**CLAIM, "epsilon": 10.0 * number + seed}, seed=seed)


@pytest.mark.thorough
def test_two_jobs_at_once_lose_nothing(path):
    context = multiprocessing.get_context("spawn")
    jobs = [context.Process(target=_job, args=(path, number)) for number in (1, 2)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join(60)
        assert job.exitcode == 0
    both = begin(path)
    assert (both.tests, both.log_e_value) == (20, 2.5)
    numbers = {
        begin(path, claim={**CLAIM, "epsilon": 10.0 * n + s}).claim
        for n in (1, 2)
        for s in range(10)
    }
    assert len(numbers) == 20
