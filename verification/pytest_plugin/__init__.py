"""pytest collects ``*.claims.toml``: each claim is a test, and a claim about code a second one.

Everything but pytest is imported when the first claims file is collected, so that a run without
claims does not wait for it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rdpkit.verification.auditing.findings import Finding
    from rdpkit.verification.auditing.rules import FailOn
    from rdpkit.verification.claims.claim import Claim
    from rdpkit.verification.evidence.accumulation import EvidenceOptions

SUFFIX = ".claims.toml"
_FAIL_ON = "claims_fail_on"
_EVIDENCE = "claims_evidence"
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
        help="run the code that claims point at; without it such tests are skipped.",
    )
    group.addoption("--no-claims", action="store_true", help="do not collect claims files.")
    group.addoption(
        "--claims-evidence",
        metavar="FILE",
        help="keep the evidence of tests of code in this file: tests of the same code add up, and "
        "one error rate holds for all claims and all time.",
    )
    parser.addini(_EVIDENCE, "as --claims-evidence, relative to this file", default="")
    parser.addini(_FAIL_ON, "as --claims-fail-on, which overrules it", type="args", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers."""
    for marker in _MARKERS:
        config.addinivalue_line("markers", marker)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ClaimsFile | None:
    """Collect claims files from any folder."""
    if not file_path.name.endswith(SUFFIX) or parent.config.getoption("--no-claims"):
        return None
    return ClaimsFile.from_parent(parent, path=file_path)


class ClaimsFile(pytest.File):
    """One file of claims."""

    def collect(self) -> Iterator[pytest.Item]:
        """A test for each claim, and one for the code that it points at."""
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
            if claim.code is not None:
                yield CodeItem.from_parent(self, name=f"{name}[code]", claim=claim, fail_on=fail_on)


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
        """Audit the claim.

        Raises
        ------
        ClaimFailedError
            If it breaks a rule that makes it fail.
        """
        from rdpkit.verification.auditing.driver import findings_about  # noqa: PLC0415 - as in collect

        # The code has a test of its own.
        claim = dataclasses.replace(self.claim, code=None)
        try:
            (finding,) = findings_about([claim])
        except (ValueError, ArithmeticError, OSError) as error:
            raise ClaimFailedError(str(error)) from None
        self.judge(finding)

    def judge(self, finding: Finding) -> None:
        """Fail with a report if the finding breaks a rule that makes the check fail."""
        from rdpkit.verification.auditing.rules import failures  # noqa: PLC0415 - as in collect
        from rdpkit.verification.outputs.view import report  # noqa: PLC0415 - as in collect

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
    """Whether the code that a claim points at is what the claim says."""

    def __init__(self, *, claim: Claim, fail_on: FailOn, **options: Any) -> None:
        super().__init__(claim=claim, fail_on=fail_on, **options)
        self.add_marker("statistical")

    def runtest(self) -> None:
        """Run the code on neighbouring data sets, if that is allowed.

        Raises
        ------
        ClaimFailedError
            If the claim is rejected, or the code does not run.
        """
        assert self.claim.code is not None
        if not self.config.getoption("--allow-code"):
            pytest.skip(f"{self.claim.code.callable!r} runs only with --allow-code")
        from rdpkit.verification.auditing.driver import code_outcome  # noqa: PLC0415 - as in collect
        from rdpkit.verification.auditing.rules import Rule  # noqa: PLC0415 - as in collect
        from rdpkit.verification.outputs.view import report_of_code  # noqa: PLC0415 - as in collect

        try:
            outcome = code_outcome(self.claim, evidence=self._evidence())
        except (ValueError, ArithmeticError, OSError) as error:
            raise ClaimFailedError(str(error)) from None
        self.user_properties += [("code", outcome.summary), ("replay", outcome.replay)]
        problems = (*outcome.problems, *outcome.repeat)
        if outcome.problems and Rule.REFUTED in self.fail_on.rules:
            raise ClaimFailedError("\n".join(report_of_code(self.claim, problems)))

    def _evidence(self) -> EvidenceOptions | None:
        """The file of evidence that an option or a setting names."""
        from rdpkit.verification.evidence.accumulation import EvidenceOptions  # noqa: PLC0415

        given, setting = self.config.getoption("--claims-evidence"), self.config.getini(_EVIDENCE)
        if given:
            return EvidenceOptions(path=Path(self.config.invocation_params.dir, given))
        if setting:
            folder = (
                self.config.rootpath if self.config.inipath is None else self.config.inipath.parent
            )
            return EvidenceOptions(path=Path(folder, setting))
        return None
