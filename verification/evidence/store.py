"""Evidence from tests of code, in a file that is kept from one pull request to the next.

The file has one JSON object a line. Lines are only ever added, each with one write and under a
lock, so two jobs may use a file at once, and a job that is killed leaves it whole. What the
evidence says is computed from the lines, whatever their order. So two files that went different
ways are merged by keeping the lines of both, which ``merge=union`` in ``.gitattributes`` does:

* The numbers of claims and of versions of their code follow the dates at which they first appeared.
  Where two branches gave one number twice, the later claim gets the next one. Dates come before the
  evidence, so the weights still do not depend on it.
* A test is known by its claim, its code and its seed, and counts once, however often it is
  repeated or merged.

Assumes: every test that is begun is written down in the end, or else its loss does not depend on
what it showed; and the clocks of the machines agree.
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from rdpkit.formats import records
from rdpkit.formats.files import locked_file
from rdpkit.formats.numbers import how_many
from rdpkit.formats.records import Key, read_table
from rdpkit.verification.evidence.error_control import (
    ErrorControl,
    Evidence,
    Standing,
    log_needed,
    log_weight,
    rejections_beside,
    standings,
)

FORMAT = 1
USUAL_RATE = 0.05
# A test is never asked to reach a capital beyond e to the power of this.
_MOST_NEEDED = 600.0
_NUMBER = records.number(maximum=math.inf)
_CHECK = "check"
_HEADER = {
    "line": Key(records.choice(["evidence"]), needed=True),
    "format": Key(records.integer(FORMAT, FORMAT), needed=True),
    "false_alarm_rate": Key(records.number("in (0, 1)", above=0.0, below=1.0), needed=True),
    "error_control": Key(records.choice(list(ErrorControl), ErrorControl), needed=True),
}
_APPEARANCE = {
    "line": Key(records.choice(["code"]), needed=True),
    "claim": Key(records.table(), needed=True),
    "code": Key(records.text(), needed=True),
    "date": Key(records.text(), needed=True),
}
_TEST = {
    "line": Key(records.choice(["test"]), needed=True),
    "claim": Key(records.table(), needed=True),
    "code": Key(records.text(), needed=True),
    "seed": Key(records.integer(0, 2**63 - 1), needed=True),
    "runs": Key(records.integer(1), needed=True),
    "log_e_value": Key(_NUMBER, needed=True),
    "highest_log_e_value": Key(_NUMBER, needed=True),
    "rejections": Key(records.integer(0), needed=True),
    "verdict": Key(records.string(), needed=True),
    "date": Key(records.text(), needed=True),
}
_LINES: Mapping[str, Mapping[str, Key]] = {"evidence": _HEADER, "code": _APPEARANCE, "test": _TEST}
_Table = dict[str, Any]
# A claim and a digest of its code: what a hypothesis is about.
_Hypothesis = tuple[str, str]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Where a hypothesis stands before a test, or after it."""

    # The number of the claim, and of the version of its code, by when they first appeared.
    claim: int
    version: int
    tests: int  #: How many tests of this code are on record
    log_e_value: float
    """The evidence of all of them, in nats: the logarithm of the product of their e-values."""
    needed: float  #: The claim is rejected once the evidence reaches this
    rejected: bool  #: Whether it has been
    false_alarm_rate: float  #: The rate over all claims, all versions and all time
    error_control: ErrorControl  #: What it is a rate of
    on_record: bool  #: Whether the test with this seed was on record already
    rejections: int  #: How many other hypotheses are rejected

    @property
    def rate_of_next_test(self) -> float:
        """The false-alarm rate of one more test, with which it rejects the claim if that is due.

        It is at most the rate of the file, also where less than that is missing: bounds and
        mistakes that a test reports hold at its own rate. A claim that is rejected already is
        tested again by itself.
        """
        missing = self.needed if self.rejected else self.needed - self.log_e_value
        # A little is left for rounding.
        due = math.exp(-min(max(missing, 0.0), _MOST_NEEDED)) * (1.0 - 1e-9)
        return min(due, self.false_alarm_rate)

    @property
    def rate(self) -> str:
        """The rate in words: what it is one of, and how large it is."""
        return f"{self.error_control.value} {self.false_alarm_rate:g}"

    def describe(self) -> str:
        """The evidence in words."""
        return (
            f"{self.log_e_value:+.3f} nats in {how_many(self.tests, 'test')} of this code; "
            f"rejecting takes {self.needed:.3f} (claim {self.claim}, "
            f"version {self.version} of its code)"
        )

    def as_dict(self) -> _Table:
        """Plain values for JSON."""
        return {
            "verdict": "rejected" if self.rejected else "not rejected",
            **records.plain_of(self, _SHOWN.split()),
        }


_SHOWN = "claim version tests log_e_value needed false_alarm_rate error_control"


class EvidenceStore:
    """Evidence from tests of code in a file.

    Guarantee
    ---------
    Over all claims, all versions of their code and all tests that the file ever holds, the
    probability that any true claim is ever rejected is at most the file's rate; with
    ``FALSE_DISCOVERY`` the expected part of true claims among the rejected ones is.

    Assumes
    -------
    As the module says; and that tests of one claim and code have independent seeds.

    Parameters
    ----------
    path : str or Path
        The file; it is made, with its folder, when the first claim appears.
    rate : float, optional
        The rate of the file. By default that of the file, and 0.05 for a new one.
    control : ErrorControl, optional
        What it is a rate of. By default that of the file, and ``FAMILY_WISE`` for a new one.

    Raises
    ------
    ValueError
        If the file is something else or damaged, or was begun with another rate or error control.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        rate: float | None = None,
        control: ErrorControl | str | None = None,
    ) -> None:
        self.path = Path(path)
        self._wanted_rate = rate
        self._wanted_control = None if control is None else ErrorControl(control)
        if self.path.exists():
            with locked_file(self.path) as file:
                self._read(file)

    def begin(self, claim: Mapping[str, Any], code: str, *, seed: int) -> Position:
        """Write down that a claim about this code exists, before it is tested, and where it stands.

        Parameters
        ----------
        claim : mapping
            What is claimed of which target, as plain values.
        code : str
            The digest of the code.
        seed : int
            Of the test that is about to be made. If it is on record, the position is the one in
            which that test was made.

        Raises
        ------
        ValueError
            If the file is damaged.
        OSError
            If it cannot be written.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with locked_file(self.path) as file:
            ledger = self._read(file)
            if not ledger.has_header:
                _append(file, ledger.header())
            if (_name(claim), code) not in ledger.appeared:
                line = {"line": "code", "claim": dict(claim), "code": code}
                _append(file, {**line, "date": ledger.next_date()})
                ledger = self._read(file)
            return ledger.position(claim, code, before=seed)

    def record(
        self,
        claim: Mapping[str, Any],
        code: str,
        *,
        seed: int,
        runs: int,
        log_e_value: float,
        highest: float,
        rejections: int,
    ) -> Position:
        """Write down what a test showed, unless it is on record, and say where the claim stands.

        Parameters
        ----------
        claim, code, seed
            As for :meth:`begin`, which comes first.
        runs : int
            How many runs of the code there were.
        log_e_value : float
            The logarithm of the final capital.
        highest : float
            The logarithm of the largest capital.
        rejections : int
            Those of the position in which the test began.

        Raises
        ------
        ArithmeticError
            If an e-value is no number.
        ValueError
            If the file is damaged.
        OSError
            If it cannot be written.
        """
        if math.isnan(log_e_value) or math.isnan(highest):
            raise ArithmeticError("The e-value of a test came out as nan.")
        with locked_file(self.path) as file:
            ledger = self._read(file)
            about = (_name(claim), code)
            known = any((_about(one), one["seed"]) == (about, seed) for one in ledger.tests)
            if not known:
                line = {
                    "line": "test",
                    "claim": dict(claim),
                    "code": code,
                    "seed": seed,
                    "runs": runs,
                    "log_e_value": records.as_plain(float(log_e_value)),
                    "highest_log_e_value": records.as_plain(float(highest)),
                    "rejections": rejections,
                    "date": ledger.next_date(),
                }
                after = ledger.with_test({**line, "verdict": ""}).position(claim, code)
                verdict = "rejected" if after.rejected else "not rejected"
                _append(file, {**line, "verdict": verdict})
                ledger = self._read(file)
            return dataclasses.replace(ledger.position(claim, code), on_record=known)

    def _read(self, file: IO[bytes]) -> _Ledger:
        """What the file holds."""
        file.seek(0)
        lines = []
        for number, content in enumerate(file.read().splitlines(keepends=True), start=1):
            if content.strip():
                try:
                    lines.append(_line(content))
                except (ValueError, KeyError, TypeError) as error:
                    raise ValueError(
                        f"{self.path}, line {number}: not a line of evidence as rdpkit wrote it: "
                        f"{error} Take the file of an earlier commit or job, or delete the line."
                    ) from None
        return _Ledger(self.path, lines, rate=self._wanted_rate, control=self._wanted_control)


class _Ledger:
    """The lines of a file, in the order of their dates."""

    def __init__(
        self, path: Path, lines: list[_Table], *, rate: float | None, control: ErrorControl | None
    ) -> None:
        self._path = path
        self._lines = lines
        headers = {
            (one["false_alarm_rate"], one["error_control"])
            for one in lines
            if one["line"] == "evidence"
        }
        if len(headers) > 1:
            raise ValueError(
                f"Expected {path} to have one error rate, got those of files that were begun "
                "differently: they cannot be merged."
            )
        self.has_header = bool(headers)
        if lines and not headers:
            raise ValueError(f"Expected {path} to begin with its error rate: the line is missing.")
        self.rate: float = USUAL_RATE if rate is None else rate
        self.control: ErrorControl = ErrorControl.FAMILY_WISE if control is None else control
        if headers:
            self.rate, self.control = headers.pop()
        if rate is not None and rate != self.rate:
            raise ValueError(
                f"Expected --alpha to be {self.rate:g}, with which {path} was begun, got {rate:g}: "
                "one file has one error rate."
            )
        if control is not None and control is not self.control:
            raise ValueError(
                f"Expected --error-control to be {self.control.value}, with which {path} was "
                f"begun, got {control.value}."
            )
        # When each claim and code first appeared.
        self.appeared: dict[_Hypothesis, str] = {}
        for line in lines:
            if line["line"] != "evidence":
                about = _about(line)
                self.appeared[about] = min(self.appeared.get(about, line["date"]), line["date"])
        # The number of the claim, and that of the version, of each hypothesis; the oldest first.
        claims: dict[str, list[_Hypothesis]] = {}
        self._numbers: dict[_Hypothesis, tuple[int, int]] = {}
        for about in sorted(self.appeared, key=lambda one: (self.appeared[one], one)):
            versions = claims.setdefault(about[0], [])
            versions.append(about)
            self._numbers[about] = (list(claims).index(about[0]) + 1, len(versions))
        # Every test once, in the order of their dates.
        tests = [line for line in lines if line["line"] == "test"]
        once: dict[tuple[_Hypothesis, int], _Table] = {}
        for test in sorted(tests, key=lambda one: (one["date"], _about(one), one["seed"])):
            once.setdefault((_about(test), test["seed"]), test)
        self.tests = list(once.values())

    def header(self) -> _Table:
        """The first line of a new file."""
        return {
            "line": "evidence",
            "format": FORMAT,
            "false_alarm_rate": self.rate,
            "error_control": self.control.value,
        }

    def next_date(self) -> str:
        """The time, later than that of every line."""
        last = max((line["date"] for line in self._lines if "date" in line), default="")
        now = datetime.datetime.now(datetime.UTC)
        if last:
            least = datetime.datetime.fromisoformat(last) + datetime.timedelta(microseconds=1)
            now = max(now, least)
        return now.isoformat(timespec="microseconds")

    def with_test(self, line: _Table) -> _Ledger:
        """The same with one line more."""
        return _Ledger(
            self._path,
            [*self._lines, read_table(line, _TEST)],
            rate=self.rate,
            control=self.control,
        )

    def position(
        self, claim: Mapping[str, Any], code: str, *, before: int | None = None
    ) -> Position:
        """Where a hypothesis stands; with a seed that is on record, where it stood before."""
        about = (_name(claim), code)
        earlier = [
            place
            for place, one in enumerate(self.tests)
            if _about(one) == about and one["seed"] == before
        ]
        tests = self.tests[: earlier[0]] if earlier else self.tests
        places = {hypothesis: place for place, hypothesis in enumerate(self._numbers)}
        evidence = [
            Evidence(
                hypothesis=places[_about(test)],
                log_e_value=test["log_e_value"],
                highest=test["highest_log_e_value"],
                rejections=test["rejections"],
            )
            for test in tests
        ]
        weights = [log_weight(*numbers) for numbers in self._numbers.values()]
        found = standings(weights, evidence, rate=self.rate, control=self.control)
        place = places[about]
        standing: Standing = found[place]
        number, version = self._numbers[about]
        rejections = rejections_beside(place, found)
        return Position(
            claim=number,
            version=version,
            tests=standing.tests,
            log_e_value=standing.log_product,
            needed=log_needed(standing, rejections, rate=self.rate, control=self.control),
            rejected=standing.rejected,
            false_alarm_rate=self.rate,
            error_control=self.control,
            on_record=bool(earlier),
            rejections=rejections,
        )


def _about(line: _Table) -> _Hypothesis:
    return _name(line["claim"]), line["code"]


def _name(claim: Mapping[str, Any]) -> str:
    return json.dumps(records.as_plain(dict(claim)), sort_keys=True, allow_nan=False)


def _line(content: bytes) -> _Table:
    """A line as it was written; a ValueError if it is not."""
    table = json.loads(content)
    if not isinstance(table, dict) or not content.endswith(b"\n"):
        raise ValueError("it was not written to its end.")
    if table.pop(_CHECK, None) != _checksum(table):
        raise ValueError("its checksum does not match.")
    kind = records.choice(list(_LINES)).read("line", table.get("line"))
    return read_table(table, _LINES[kind])


def _append(file: IO[bytes], table: _Table) -> None:
    content = json.dumps({**table, _CHECK: _checksum(table)}, allow_nan=False).encode() + b"\n"
    if file.write(content) != len(content):
        raise OSError("The disk is full: a line of evidence was not written to its end.")
    os.fsync(file.fileno())


def _checksum(table: Mapping[str, Any]) -> str:
    text = json.dumps(table, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
