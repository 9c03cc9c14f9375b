"""pytest collects ``*.claims.toml``, and runs mechanisms that ``@verifies`` made into tests.

Each claim of a file is a test, and a claim about code a second one. The fixture ``verifies`` tests
a mechanism against its claim, at a part of one error rate for the whole run. Everything but pytest
is imported when the first claims file is collected, or when the first mechanism is tested, so that
a run without them does not wait for it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from rdpkit.verification.auditing.findings import Finding
    from rdpkit.verification.auditing.rules import FailOn
    from rdpkit.verification.claims.claim import Claim
    from rdpkit.verification.evidence.accumulation import EvidenceOptions
    from rdpkit.verification.pytest_plugin.suite import Suite, Verifier

_Tested = Literal["code", "training"]
SUFFIX = ".claims.toml"
_FAIL_ON = "claims_fail_on"
_EVIDENCE = "claims_evidence"
_ALPHA = "verify_alpha"
_FIXTURE = "verifies"
# What the process that prints tells the workers, and what a worker tells it of a test.
_SEED, _COPIES = "rdpkit_seed", "rdpkit_copies"
_TOLD = "rdpkit_verified"
_TESTS = pytest.StashKey[int]()
_SUITE: pytest.StashKey[Suite] = pytest.StashKey()
_OF_RUN = pytest.StashKey[list[str]]()
_OF_ITEM = pytest.StashKey[list[str]]()
_SHARED_SEED = pytest.StashKey[int]()
_MARKERS = (
    "claim: a privacy claim, from a *.claims.toml file",
    "statistical: a test that fails by chance, at a stated rate",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of claims."""
    group = parser.getgroup("claims", "privacy claims (*.claims.toml)")
    group.addoption(
        "--claims-fail-on",
        action="append",
        metavar="RULE",
        help="what makes a claim fail: refuted, unproven, differs, underspecified, slack>N, or "
        "nothing; may be repeated. By default refuted and differs.",
    )
    group.addoption(
        "--allow-code",
        action="store_true",
        help="run the code and the trainings that claims point at; without it these tests are "
        "skipped.",
    )
    group.addoption("--no-claims", action="store_true", help="do not collect claims files.")
    group.addoption(
        "--claims-evidence",
        "--verify-evidence",
        metavar="FILE",
        help="keep the evidence of tests of code in this file: tests of the same code add up, and "
        "one error rate holds for all claims and all time.",
    )
    parser.addini(_EVIDENCE, "as --claims-evidence, relative to this file", default="")
    parser.addini(_FAIL_ON, "as --claims-fail-on, which overrules it", type="args", default=[])
    _add_options_of_mechanisms(parser)


def _add_options_of_mechanisms(parser: pytest.Parser) -> None:
    """Add the options of tests that ask for the fixture ``verifies``."""
    group = parser.getgroup("verifies", "tests of mechanisms (@verifies)")
    group.addoption(
        "--verify-alpha",
        type=float,
        metavar="RATE",
        help="how often a run in which every claim is true may fail, all tests of mechanisms "
        "together; 0.05 by default. With --verify-evidence, the rate of a new file.",
    )
    group.addoption(
        "--verify-seed",
        type=int,
        metavar="SEED",
        help="repeat the tests of mechanisms of an earlier run, whose summary names its seed.",
    )
    group.addoption(
        "--verify-repeat",
        metavar="WORDS",
        help="repeat one test of a mechanism exactly; its failure prints the words.",
    )
    group.addoption(
        "--verify-sarif",
        metavar="FILE",
        help="write rejected mechanisms to this file, as SARIF 2.1.0 for code scanning.",
    )
    group.addoption(
        "--verify-strict",
        action="store_true",
        help="fail also where a test is inconclusive: a wrong claim would not have been noticed.",
    )
    group.addoption(
        "--verify-skip-unchanged",
        action="store_true",
        help="with --verify-evidence, skip mechanisms that were tested and have not changed since.",
    )
    parser.addini(_ALPHA, "as --verify-alpha, which overrules it", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, and what collects the results of all processes."""
    for marker in _MARKERS:
        config.addinivalue_line("markers", marker)
    _alpha(config)
    if not hasattr(config, "workerinput"):
        config.stash[_OF_RUN] = []
        config.pluginmanager.register(_Results(config.stash[_OF_RUN]))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ClaimsFile | None:
    """Collect claims files from any folder."""
    if not file_path.name.endswith(SUFFIX) or parent.config.getoption("--no-claims"):
        return None
    return ClaimsFile.from_parent(parent, path=file_path)


@pytest.fixture
def verifies(request: pytest.FixtureRequest) -> Verifier:
    """Test mechanisms against their claims: ``verifies(mechanism, event, adjacency=...)``.

    The test fails if a claim is rejected; otherwise the call returns the result. All tests of a run
    share one error rate.
    """
    # Imported here so that pytest without such tests starts without waiting for it.
    from rdpkit.verification.pytest_plugin.suite import Suite, Verifier  # noqa: PLC0415

    config, item = request.config, request.node
    if _SUITE not in config.stash:
        told = getattr(config, "workerinput", {})
        config.stash[_SUITE] = Suite.of(
            config,
            tests=config.stash.get(_TESTS, 1) * told.get(_COPIES, 1),
            seed=told.get(_SEED),
            alpha=_alpha(config),
            evidence=_evidence(config),
        )
    return Verifier(config.stash[_SUITE], item, item.stash.setdefault(_OF_ITEM, []))


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark tests of mechanisms: they fail by chance, at a stated rate."""
    if _FIXTURE in getattr(item, "fixturenames", ()):
        item.add_marker("statistical")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Count the tests of mechanisms that will run: they share the error rate."""
    found = [one for one in session.items if _FIXTURE in getattr(one, "fixturenames", ())]
    session.config.stash[_TESTS] = len(found)
    if len(found) > 1 and session.config.getoption("--verify-repeat"):
        raise pytest.UsageError(
            f"Expected one test of a mechanism with --verify-repeat, got {len(found)}: name it."
        )


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of pytest-xdist the seed of the run, and how often each test runs."""
    import secrets  # noqa: PLC0415 - only where there are workers

    config = node.config
    stash, option = config.stash, config.getoption("--verify-seed")
    if _SHARED_SEED not in stash:
        stash[_SHARED_SEED] = secrets.randbits(48) if option is None else option
    node.workerinput[_SEED] = stash[_SHARED_SEED]
    if config.getoption("dist", "no") == "each":
        node.workerinput[_COPIES] = node.workerinput["workercount"]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put the results of mechanisms into the report of their test, which other processes send."""
    report = yield
    if report.when == "call" and item.stash.get(_OF_ITEM, None):
        setattr(report, _TOLD, item.stash[_OF_ITEM])
    return report


class _Results:
    """What all processes tell of tests of mechanisms, in the process that prints."""

    def __init__(self, found: list[str]) -> None:
        self._found = found

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what a report says."""
        self._found += getattr(report, _TOLD, [])


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """A short table of the mechanisms that were tested."""
    told: list[str] = config.stash.get(_OF_RUN, [])
    if told:
        from rdpkit.verification.pytest_plugin.records import write_summary  # noqa: PLC0415

        write_summary(terminalreporter, told)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write SARIF, where it is asked for."""
    config, path = session.config, session.config.getoption("--verify-sarif")
    if path and _OF_RUN in config.stash:
        from rdpkit.verification.pytest_plugin.records import write_sarif  # noqa: PLC0415

        told: list[str] = config.stash[_OF_RUN]
        write_sarif(Path(config.invocation_params.dir, path), told)


def _alpha(config: pytest.Config) -> float | None:
    """The error rate that an option or a setting names."""
    given = config.getoption("--verify-alpha")
    setting = config.getini(_ALPHA)
    try:
        found = float(setting) if given is None and setting else given
    except ValueError:
        raise pytest.UsageError(f"Expected {_ALPHA} to be a number, got {setting!r}.") from None
    if found is not None and not 0.0 < found < 1.0:
        raise pytest.UsageError(f"Expected --verify-alpha to be in (0, 1), got {found:g}.")
    return found


def _evidence(config: pytest.Config) -> EvidenceOptions | None:
    """The file of evidence that an option or a setting names."""
    from rdpkit.verification.evidence.accumulation import EvidenceOptions  # noqa: PLC0415

    given, setting = config.getoption("--claims-evidence"), config.getini(_EVIDENCE)
    if not given and not setting:
        return None
    folder = config.rootpath if config.inipath is None else config.inipath.parent
    path = Path(config.invocation_params.dir, given) if given else Path(folder, setting)
    return EvidenceOptions(path=path, rate=_alpha(config))


class ClaimsFile(pytest.File):
    """One file of claims."""

    def collect(self) -> Iterator[pytest.Item]:
        """A test for each claim, and for the code and the training that it points at."""
        # Imported here so that pytest without claims starts without waiting for it.
        from rdpkit.formats.text import printable  # noqa: PLC0415
        from rdpkit.verification.auditing.rules import DEFAULT, FailOn  # noqa: PLC0415
        from rdpkit.verification.claims.reading import load_files  # noqa: PLC0415

        words = self.config.getoption("--claims-fail-on") or self.config.getini(_FAIL_ON)
        try:
            fail_on = FailOn.parse(words) if words else DEFAULT
        except ValueError as error:
            raise pytest.UsageError(str(error)) from None
        try:
            claims = load_files([self.path])
        except (ValueError, ArithmeticError, OSError) as error:
            raise self.CollectError(str(error)) from None
        for claim in claims:
            name = printable(claim.id)
            yield ClaimItem.from_parent(self, name=name, claim=claim, fail_on=fail_on)
            tested: dict[_Tested, object] = {"code": claim.code, "training": claim.training}
            for what, named in tested.items():
                if named is not None:
                    yield CodeItem.from_parent(
                        self, name=f"{name}[{what}]", claim=claim, fail_on=fail_on, what=what
                    )


class ClaimFailedError(Exception):
    """A claim that does not hold; the message is shown without a traceback."""


class ClaimItem(pytest.Item):
    """Whether a claim holds, by theorems and by the release on the disk."""

    def __init__(self, *, claim: Claim, fail_on: FailOn, **options: Any) -> None:
        super().__init__(**options)
        self.claim = claim
        self.fail_on = fail_on
        self.add_marker("claim")

    def runtest(self) -> None:
        """Audit the claim. Raises ClaimFailedError if it breaks a rule that makes it fail."""
        from rdpkit.verification.auditing.audit import findings_about  # noqa: PLC0415 - as in collect

        # The code and the training have tests of their own.
        claim = dataclasses.replace(self.claim, code=None, training=None)
        try:
            (finding,) = findings_about([claim])
        except (ValueError, ArithmeticError, OSError) as error:
            raise ClaimFailedError(str(error)) from None
        self.judge(finding)

    def judge(self, finding: Finding) -> None:
        """Fail with a report if the finding breaks a rule that makes the check fail."""
        from rdpkit.verification.auditing.rules import failures  # noqa: PLC0415 - as in collect
        from rdpkit.verification.outputs.words import report  # noqa: PLC0415 - as in collect

        self.user_properties += [
            ("reproduction", finding.reproduction.value),
            ("soundness", finding.soundness.value),
        ]
        broken = failures(finding, self.fail_on)
        if broken:
            raise ClaimFailedError("\n".join(report(finding, broken)))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The message alone, because a traceback through this file helps nobody."""
        if isinstance(excinfo.value, ClaimFailedError):
            return self._printable(str(excinfo.value))
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """File, line from 0, and heading."""
        return self.path, self.claim.line - 1, self._printable(f"claim {self.name}")

    def _printable(self, text: str) -> str:
        from rdpkit.formats.text import printable  # noqa: PLC0415 - as in collect

        return "\n".join(printable(line) for line in text.split("\n"))


class CodeItem(ClaimItem):
    """Whether the code, or the training, that a claim points at is what the claim says."""

    def __init__(self, *, claim: Claim, fail_on: FailOn, what: _Tested, **options: Any) -> None:
        super().__init__(claim=claim, fail_on=fail_on, **options)
        self._what = what
        self.add_marker("statistical")

    def runtest(self) -> None:
        """Run the code on neighbouring data sets, or check the training, if that is allowed.

        Raises ClaimFailedError if the claim is rejected, or the code does not run.
        """
        claim = self.claim
        target = claim.code.callable if claim.code is not None else ""
        if self._what == "training" and claim.training is not None:
            target = claim.training.target
        if not self.config.getoption("--allow-code"):
            pytest.skip(f"{target!r} runs only with --allow-code")
        from rdpkit.verification.auditing.audit import code_outcome, training_outcome  # noqa: PLC0415 - as in collect
        from rdpkit.verification.auditing.rules import Rule  # noqa: PLC0415 - as in collect
        from rdpkit.verification.outputs.words import report_of_code  # noqa: PLC0415 - as in collect

        try:
            outcome = (
                training_outcome(claim)
                if self._what == "training"
                else code_outcome(claim, evidence=_evidence(self.config))
            )
        except (ValueError, ArithmeticError, OSError) as error:
            raise ClaimFailedError(str(error)) from None
        self.user_properties += [(self._what, outcome.summary), ("replay", outcome.replay)]
        if outcome.inconclusive:
            from rdpkit.verification.pytest_plugin.suite import InconclusiveWarning  # noqa: PLC0415

            said = self._printable(f"inconclusive: {self.name}: {outcome.inconclusive}")
            self.user_properties.append(("inconclusive", outcome.inconclusive))
            if self.config.getoption("--verify-strict"):
                raise ClaimFailedError(said)
            self.warn(InconclusiveWarning(said))
        problems = (*outcome.problems, *outcome.repeat)
        if outcome.problems and Rule.REFUTED in self.fail_on.rules:
            lines = report_of_code(claim, problems, what=self._what)
            raise ClaimFailedError("\n".join(lines))
