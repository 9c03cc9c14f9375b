"""Which claims ``rdpkit audit`` is about, and how they are audited: options, and progress."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from rdpkit.cli.option_types import FILE, FOLDER, NameType
from rdpkit.cli.output import with_options
from rdpkit.cli.progress import jobs_option, threads_option, work_shown
from rdpkit.extensions import install_line
from rdpkit.formats.records import refused
from rdpkit.formats.text import how_many, printable
from rdpkit.verification.auditing.findings import (
    Bounds,
    ClaimVerdict,
    Finding,
    Reproduction,
    number_of,
    with_readings,
)
from rdpkit.verification.claims.claim import Claim
from rdpkit.verification.claims.discovery import claims_here
from rdpkit.verification.claims.format import KINDS
from rdpkit.verification.claims.reading import register_files, shipped_files
from rdpkit.verification.cli.code_options import evidence_options, read_evidence_options

if TYPE_CHECKING:
    from rdpkit.verification.auditing.cache import AuditCache
    from rdpkit.verification.blackbox.betting.search import VerificationStep

# The verdicts by which findings can be chosen: what became of them, and of reproduction.
VERDICTS = tuple(member.value for kind in (ClaimVerdict, Reproduction) for member in kind)


@dataclass(frozen=True, slots=True)
class Years:
    """The years from ``first`` to ``last``, both included; None is open."""

    first: int | None = None
    last: int | None = None

    @classmethod
    def parse(cls, text: str) -> Years:
        """The years of ``2016``, ``2016:2020``, ``2016:`` or ``:2020``."""
        first, colon, last = (part.strip() for part in text.partition(":"))
        parts = [first, last] if colon else [first]
        if not any(parts) or not all(p == "" or (p.isascii() and p.isdigit()) for p in parts):
            raise refused("year", "to be like 2016, 2016:2020, 2016: or :2020", text)
        begin, end = (int(part) if part else None for part in (first, last if colon else first))
        if begin is not None and end is not None and end < begin:
            raise refused("year", "to end no earlier than it begins", text)
        return cls(begin, end)

    def __contains__(self, year: int) -> bool:
        return (self.first is None or self.first <= year) and (
            self.last is None or year <= self.last
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which claims are audited, and which findings are shown."""

    kinds: tuple[str, ...] = ()  # Claims of one of these kinds; all if it is empty
    years: tuple[Years, ...] = ()  # Claims of works of one of these spans; all if it is empty
    verdicts: tuple[str, ...] = ()  # Findings with one of these verdicts; all if it is empty

    @classmethod
    def read(cls, options: dict[str, Any]) -> Selection:
        """What the options say; they are taken out of the others."""
        return cls(**{name: tuple(options.pop(name, ())) for name in cls.__slots__})

    def claims(self, claims: Iterable[Claim]) -> list[Claim]:
        """The claims of these kinds and years, and the other readings of their numbers.

        A claim whose kind or year is not said is of none.
        """

        def is_wanted(claim: Claim) -> bool:
            year = None if claim.work is None else claim.work.year
            of_years = year is not None and any(year in span for span in self.years)
            return (not self.kinds or claim.kind in self.kinds) and (not self.years or of_years)

        claims = list(claims)
        numbers = {number_of(claim) for claim in claims if is_wanted(claim)}
        found = [claim for claim in claims if number_of(claim) in numbers]
        if not found:
            raise ValueError("no claim is of this kind and these years.")
        return found

    def findings(self, findings: Iterable[Finding]) -> list[Finding]:
        """The findings with one of these verdicts."""
        wanted = set(self.verdicts or VERDICTS)
        return [one for one in findings if wanted & {one.verdict.value, one.reproduction.value}]


def parsed(read: Callable[[tuple[str, ...]], Any]) -> Callable[..., Any]:
    """A callback of an option that reads its words; what is wrong with them names the option."""

    def callback(ctx: click.Context, option: click.Parameter, words: tuple[str, ...]) -> Any:
        try:
            return read(words)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return callback


audit_options = with_options(
    click.argument("files", nargs=-1, type=click.Path(path_type=Path)),
    click.option(
        "--bounds",
        type=NameType.of("bounds", [member.value for member in Bounds]),
        default=Bounds.ALL.value,
        show_default=True,
        help="Which bounds to compute. all: every one. needed: privacy loss distributions only for "
        "claims that certified Renyi bounds do not prove. rdp: certified Renyi bounds only, which "
        "prove claims and refute none.",
    ),
    jobs_option("the work between"),
    threads_option,
    click.option(
        "--cache",
        type=FILE,
        help="Keep findings in this file, and take those from it that are still true.",
    ),
    click.option(
        "--regions",
        is_flag=True,
        help="Compute what claims would need whose source leaves something out: for which values "
        "they would be true. Takes seconds to minutes a claim; those that are shipped are known.",
    ),
    click.option(
        "--allow-code",
        is_flag=True,
        help="Run the code and the trainings that claims point at; they are never run otherwise.",
    ),
    click.option(
        "--papers",
        is_flag=True,
        help="Audit the claims of papers that are shipped: private synthetic data, statistics.",
    ),
    click.option(
        "--register",
        is_flag=True,
        help="Audit the register: claims of the wider literature, which are shipped.",
    ),
    click.option(
        "--recompute",
        is_flag=True,
        help="Prove again what was found about shipped claims, which takes minutes.",
    ),
    click.option(
        "--kind",
        "kinds",
        type=NameType.of("kinds", KINDS),
        multiple=True,
        help="Only claims of this kind; may be repeated.",
    ),
    click.option(
        "--year",
        "years",
        type=click.UNPROCESSED,
        multiple=True,
        callback=parsed(lambda words: tuple(map(Years.parse, words))),
        metavar="YEARS",
        help="Only claims of works of these years: 2016, 2016:2020, 2016: or :2020; may be "
        "repeated.",
    ),
    click.option(
        "--verdict",
        "verdicts",
        type=NameType.of("verdicts", VERDICTS),
        multiple=True,
        help="Show only claims with this verdict; may be repeated. The exit status and the files "
        "that are written are about the others as well.",
    ),
    evidence_options,
)
"""A decorator for the argument and the options of an audit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOptions:
    """The pages that are to be written."""

    report: Path | None
    explorer: Path | None
    curves: bool
    title: str

    @classmethod
    def read(cls, options: dict[str, Any]) -> PageOptions | None:
        """What the options say, which are taken out of the others; None if there are no pages."""
        found = cls(**{name: options.pop(name) for name in cls.__slots__})
        if found.report is None and found.explorer is None:
            return None
        if find_spec("jinja2") is None:
            raise ValueError(f"--report and --explorer need jinja2: {install_line('verification')}")
        if found.report is not None and not found.report.absolute().parent.is_dir():
            given = str(found.report)
            raise ValueError(f"Expected --report in a folder that exists, got {given!r}.")
        if found.explorer is not None:
            # Imported here because the pages are made with a library that not everybody has.
            from rdpkit.verification.outputs.explorer import check_folder  # noqa: PLC0415

            check_folder(found.explorer)
        return found


page_options = with_options(
    click.option("--report", type=FILE, help="Write one page of HTML to this file."),
    click.option(
        "--explorer",
        type=FOLDER,
        metavar="DIR",
        help="Write a page of HTML for each work, and one about all, into this folder. One that "
        "was made before is replaced once all pages are there; any other that is not empty is "
        "refused.",
    ),
    click.option(
        "--curves/--no-curves",
        default=True,
        show_default=True,
        help="Whether claims of --report show a privacy profile and an RDP curve; each takes a "
        "second.",
    ),
    click.option(
        "--title", default="Privacy claims", show_default=True, help="The heading of pages."
    ),
)
"""A decorator for the options of pages."""


class Sources(NamedTuple):
    """The files that an audit is about."""

    files: list[Path]
    shipped: tuple[str, ...]  # The options that name them, if they are shipped
    looked_up: bool  # Whether what was found about them before is enough

    @classmethod
    def read(cls, files: Sequence[Path], options: dict[str, Any]) -> Sources:
        """The files that were named, or are shipped, or are in a folder: this one, if none is.

        Options are taken out of the others.
        """
        kinds = {"papers": shipped_files, "register": register_files}
        asked = [name for name in kinds if options.pop(name, False)]
        recompute = options.pop("recompute", False)
        if files and asked:
            raise ValueError("Expected FILES, or --papers and --register, got both.")
        if asked:
            found = [path for name in asked for path in kinds[name]()]
            looked_up = not recompute and options.get("bounds") == Bounds.ALL
            return cls(found, tuple(f"--{name}" for name in asked), looked_up)
        found = []
        for file in files or [Path()]:
            here, left_out = claims_here(file) if file.is_dir() else ([file], ())
            found += here
            for one in left_out:
                click.echo(printable(f"left out: {one}"), err=True)
        if not found:
            where = ", ".join(map(str, files))
            raise ValueError(f"There are no claims in {where}." if files else _NO_CLAIMS)
        return cls(found, (), looked_up=False)


_NO_CLAIMS = (
    "There are no claims in this folder, and no FILES were named: *.claims.toml, manifests of "
    "releases, ledgers, or what claims in [tool.rdpkit] of pyproject.toml names. 'rdpkit claims "
    "new' writes a first file, 'rdpkit claims init' finds what code claims, and 'rdpkit audit "
    "--papers' shows an audit of four papers."
)


def build_time() -> datetime:
    """Now, or what SOURCE_DATE_EPOCH says, with which equal claims give equal bytes."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(epoch) if epoch.isdecimal() else int(time.time()), tz=UTC)


def audited(
    claims: Sequence[Claim],
    *,
    bounds: str,
    jobs: int,
    cache: Path | None,
    allow_code: bool,
    regions: bool = False,
    shipped: bool = False,
    **others: Any,
) -> list[Finding]:
    """Audit claims with progress on a terminal; what is damaged in the cache is a warning.

    Findings about claims that are ``shipped`` are looked up.
    """
    evidence = read_evidence_options(others, None)
    if evidence is not None and not allow_code:
        raise ValueError("Expected --allow-code with --evidence, which is about tests of code.")
    # Imported here so that --help does not wait for the accountants.
    from rdpkit.verification.auditing.audit import findings_about  # noqa: PLC0415

    kept: AuditCache | None = None
    if shipped:
        from rdpkit.verification.auditing.shipped import ShippedFindings  # noqa: PLC0415

        kept = ShippedFindings()
        if not len(kept):
            click.echo(f"Warning: {kept.path} is missing: all is proven again.", err=True)
    elif cache is not None:
        from rdpkit.verification.auditing.cache import AuditCache  # noqa: PLC0415

        kept = AuditCache(cache)
    if kept is not None:
        for problem in kept.damaged:
            click.echo(printable(f"Warning: {problem}: computed again."), err=True)
    findings: list[Finding] = []
    with work_shown() as work:

        def on_step(claim: Claim, step: VerificationStep) -> None:
            note = f"{claim.id}: {step.stage}, {how_many(step.runs, 'run')} of the code"
            work.show("auditing", len(findings), len(claims), note)

        for finding in findings_about(
            claims,
            bounds=bounds,
            jobs=jobs,
            cache=kept,
            allow_code=allow_code,
            evidence=evidence,
            on_step=on_step,
            regions=regions,
        ):
            findings.append(finding)
            work.show("auditing", len(findings), len(claims), finding.claim.id)
    return with_readings(findings)
