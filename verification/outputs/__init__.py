"""What an audit writes for other programs: JUnit XML, SARIF, Markdown, badges.

Each output is a function of the result of an audit, in a module of its own, and a line in
:data:`OUTPUTS`, from which the options of ``rdpkit audit`` are made. Another package adds an
output with an entry point in the group ``rdpkit.outputs``, whose name is the option's name and
whose value is the function, ``module:function``. A module is imported when its output is asked for.

Whatever a claims file holds is shown as text: nothing of it is markup, a link or a script.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rdpkit.extensions import declared

if TYPE_CHECKING:
    from rdpkit.verification.auditing.baseline import BaselineComparison
    from rdpkit.verification.auditing.findings import Finding
    from rdpkit.verification.auditing.rules import FailOn

GROUP = "rdpkit.outputs"
"""The group of entry points that other packages add outputs with."""


@dataclass(frozen=True, slots=True)
class AuditResult:
    """What an output is made of."""

    findings: Sequence[Finding]  #: In the order of their claims
    fail_on: FailOn  #: The rules that make the check fail
    comparison: BaselineComparison | None = None  #: What moved since a baseline, if there is one


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """One kind of file that an audit can write."""

    name: str
    """The option of ``rdpkit audit``, without its dashes. Outputs of one name differ in suffix."""
    function: str
    """``module:function``; the function takes an :class:`AuditResult` and returns the text."""
    help: str  #: What ``--help`` says of the option
    suffix: str = ""
    """The end of the file's name, which tells outputs of one name apart; empty for any file."""

    def load(self) -> Callable[[Any], str]:
        """The function that makes the text of the file; of what, the list of outputs says.

        Raises
        ------
        ValueError
            If it cannot be imported.
        """
        try:
            function: Callable[[Any], str] = pkgutil.resolve_name(self.function)
        except (ImportError, AttributeError, ValueError) as error:
            raise ValueError(
                f"The output --{self.name} cannot be loaded from {self.function!r}: {error}. "
                "Repair or uninstall the package that adds it."
            ) from None
        return function


_CI, _SHORT, _CODE = (
    f"rdpkit.verification.outputs.{name}" for name in ("ci_formats", "summaries", "tests_of_code")
)
_JUNIT = "Write JUnit XML to this file."
_SARIF = "Write SARIF 2.1.0 to this file."
_SUMMARY = "Write Markdown to this file."
_BADGE = (
    "Write a badge to this file: a picture if its name ends in .svg, or what shields.io reads if "
    "it ends in .json; may be repeated."
)
_TABLE = "Write a table, a row a claim, to this file: .csv, or .tex for LaTeX; may be repeated."

OUTPUTS = (
    Output(name="junit", function=f"{_CI}:junit_xml", help=_JUNIT),
    Output(name="sarif", function=f"{_CI}:sarif", help=_SARIF),
    Output(name="summary", function=f"{_SHORT}:summary", help=_SUMMARY),
    Output(name="table", suffix=".csv", function=f"{_SHORT}:csv_table", help=_TABLE),
    Output(name="table", suffix=".tex", function=f"{_SHORT}:tex_table", help=_TABLE),
    Output(name="badge", suffix=".svg", function=f"{_SHORT}:badge_svg", help=_BADGE),
    Output(name="badge", suffix=".json", function=f"{_SHORT}:badge_json", help=_BADGE),
)
"""The outputs of this package, in the order in which help lists them."""

CODE_OUTPUTS = {
    "junit": [Output(name="junit", function=f"{_CODE}:junit_of_tests", help=_JUNIT)],
    "sarif": [Output(name="sarif", function=f"{_CODE}:sarif_of_tests", help=_SARIF)],
    "summary": [Output(name="summary", function=f"{_CODE}:summary_of_tests", help=_SUMMARY)],
}
"""The outputs of ``rdpkit verify``, which are made of tests of code instead of an audit."""


def known_outputs() -> dict[str, list[Output]]:
    """All outputs by their names: those of this package, then those of other packages.

    Nothing is imported from other packages. A name that is taken is not given to a second package.
    """
    found: dict[str, list[Output]] = {}
    for output in OUTPUTS:
        found.setdefault(output.name, []).append(output)
    for entry in declared(GROUP):
        maker = entry.dist.name if entry.dist is not None else entry.module
        about = f"Write what {maker} makes of the findings to this file."
        output = Output(name=entry.name, function=entry.value, help=about)
        found.setdefault(entry.name, [output])
    return found


def output_for(name: str, path: Path, accepted: Sequence[Output]) -> Output:
    """Which of the outputs of a name writes files that end as ``path`` does."""
    for output in accepted:
        if path.name.endswith(output.suffix):
            return output
    suffixes = " or ".join(output.suffix for output in accepted)
    raise ValueError(f"Expected --{name} to end in {suffixes}, got {str(path)!r}.")


__all__ = [
    "CODE_OUTPUTS",
    "GROUP",
    "OUTPUTS",
    "AuditResult",
    "Output",
    "known_outputs",
    "output_for",
]
