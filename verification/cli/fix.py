"""``rdpkit claims fix``: write what mends claims into their files, and audit them again."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from rdpkit.cli.option_types import FILE, NameType, names_of
from rdpkit.cli.output import asked_format, format_option, print_answer
from rdpkit.cli.progress import jobs_option, threads_option
from rdpkit.formats.files import write_whole
from rdpkit.formats.records import did_you_mean
from rdpkit.formats.text import how_many, printable
from rdpkit.verification.auditing.findings import Bounds, Finding, Remedy, Soundness
from rdpkit.verification.auditing.remedies import obstacles, remedies
from rdpkit.verification.auditing.rules import DEFAULT, broken_rules, failures
from rdpkit.verification.claims.claim import Claim
from rdpkit.verification.claims.editing import ClaimsText, unified_diff
from rdpkit.verification.claims.ledgers import LEDGER
from rdpkit.verification.claims.reading import load_files
from rdpkit.verification.cli.audit_options import audited

_KEEPING = ("sampling", "clipping", "accountant", "relation", "delta", "unit")
_OF_CODE = ("sampling", "clipping", "count", "noise")
_CHEAPEST = "cheapest"
_WAYS = (_CHEAPEST, "claim", "noise", *_KEEPING, "count")
# Of claims that cannot be mended for the same reason, so many are named.
_NAMED = 3
_CHANGE_THE_CODE = (
    "The code has to do so as well: a claims file only says what the code does. Change "
    "the code, and make the release again."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRepair:
    """What is to be done about one claim."""

    finding: Finding  # What the audit found before
    remedy: Remedy | None = None  # What is written; None if nothing is
    reason: str = ""  # Why nothing is; empty if something is, or nothing needs to be


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    """A file, as it was read and as it is to be."""

    path: Path
    old: str
    new: str

    @property
    def diff(self) -> str:
        """The difference, as a patch."""
        return unified_diff(self.path.as_posix().lstrip("/"), self.old, self.new)

    def write(self) -> None:
        """Write the file, if it still is what was read."""
        # What a link points at is replaced, and not the link.
        path = self.path.resolve()
        if path.read_bytes().decode() != self.old:
            raise ValueError(f"{self.path} was changed meanwhile: run the command again.")
        mode = path.stat().st_mode
        write_whole(path, self.new)
        path.chmod(mode)


def _ids(ctx: click.Context) -> list[str]:
    """The claims of the files that were named."""
    files = ctx.params.get("files") or [Path(word) for word in ctx.args]
    return [claim.id for claim in load_files(files)]


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--by",
    type=NameType.of("by", _WAYS),
    default=_CHEAPEST,
    show_default=True,
    help="What is changed. cheapest: what keeps number and noise and proves the claim, if anything "
    "does, and else the number. claim: the number that is claimed, to the smallest one that is "
    "proven. "
    "noise: the noise, so that the number is proven as it is printed. The others keep number and "
    "noise, where one of these proves the number: sampling, to Poisson; clipping, of each example; "
    "the accountant that is named; the relation of neighbours; delta; the unit of the noise.",
)
@click.option("--tighten", is_flag=True, help="Also state true claims as tightly as is proven.")
@click.option(
    "--id",
    "identifiers",
    multiple=True,
    metavar="ID",
    shell_complete=names_of(_ids),
    help="Only this claim; may be repeated.  [default: all]",
)
@click.option("--yes", "-y", is_flag=True, help="Write without asking.")
@click.option("--dry-run", is_flag=True, help="Show what would be changed, and write nothing.")
@jobs_option("the audit between")
@threads_option
@click.option("--cache", type=FILE, help="Keep findings in this file, as rdpkit audit does.")
@format_option
def fix(
    *,
    files: tuple[Path, ...],
    by: str,
    tighten: bool,
    identifiers: tuple[str, ...],
    yes: bool,
    dry_run: bool,
    jobs: int,
    cache: Path | None,
    **others: Any,
) -> None:
    """Mend the claims of FILES that do not hold: show the difference, ask, write, audit again.

    Comments and layout of the files stay as they are. Code is never run.

    Exit status: 0 no claim is refuted or differs any more, 1 one still does, because it cannot be
    mended or nothing was written, 2 bad usage or bad input.
    """
    if asked_format() == "json" and not (yes or dry_run):
        raise ValueError("Expected --yes or --dry-run with --format json, which cannot ask.")
    if yes and dry_run:
        raise ValueError("Expected --yes or --dry-run, got both.")
    claims = _chosen(load_files(files), identifiers)
    claims_files = [path for path in files if path.suffix not in (".json", LEDGER)]
    texts = {path: path.read_bytes().decode() for path in claims_files}

    audit_of = partial(audited, bounds=Bounds.ALL, jobs=jobs, cache=cache, allow_code=False)

    plan = [_planned(finding, by=by, tighten=tighten) for finding in audit_of(claims)]
    changed, plan = _changed(texts, plan)
    if asked_format() == "text":
        _show(changed, plan)
    written = bool(changed) and not dry_run and (yes or _agreed(len(changed)))
    after: dict[str, Finding] = {}
    if written:
        for one in changed:
            one.write()
        mended = {one.finding.claim.id for one in plan if one.remedy is not None}
        again = [one for one in load_files([file.path for file in changed]) if one.id in mended]
        after = {finding.claim.id: finding for finding in audit_of(again)}
    lines = ["Nothing was written." if changed else "Nothing to write."]
    if written:
        now = [after.get(one.finding.claim.id) for one in plan]
        lines = [*(f"wrote {file.path}" for file in changed), *(str(one) for one in now if one)]
    print_answer(_as_dict(changed, plan, after, written=written), lines)
    final = [after.get(one.finding.claim.id, one.finding) for one in plan]
    if any(failures(finding, DEFAULT) for finding in final):
        sys.exit(1)


def _chosen(claims: list[Claim], identifiers: tuple[str, ...]) -> list[Claim]:
    known = [claim.id for claim in claims]
    for name in identifiers:
        if name not in known:
            near = did_you_mean(name, known)
            raise ValueError(f"Expected --id to be the id of a claim, got {name!r}.{near}")
    return [claim for claim in claims if not identifiers or claim.id in identifiers]


def _planned(finding: Finding, *, by: str, tighten: bool) -> PlannedRepair:
    """What to do about a claim, or why nothing can be done."""
    broken = broken_rules(finding)
    ways = {*_KEEPING, "claim"} if by == _CHEAPEST else {by}
    kinds = ways if broken else {"tighter"} if tighten else set()
    if not kinds:
        return PlannedRepair(finding=finding)
    every = remedies(finding, noise=by != "claim")
    if finding.readings:
        # Another number in one reading alone would no longer be the same printed number.
        every = tuple(one for one in every if one.kind not in ("claim", "tighter"))
    for remedy in every:
        if remedy.kind in kinds:
            return PlannedRepair(finding=finding, remedy=remedy)
    if not broken:
        return PlannedRepair(finding=finding)
    reasons = list(obstacles(finding, noise=by != "claim"))
    if not reasons:
        reasons = [f"--by {one.kind} mends it: {one.sentence}" for one in every]
    if not reasons:
        reasons = [f"--by {'claim' if by == 'noise' else 'noise'} may mend it"]
    return PlannedRepair(finding=finding, reason="; ".join(reasons))


def _changed(
    texts: dict[Path, str], plan: list[PlannedRepair]
) -> tuple[list[ChangedFile], list[PlannedRepair]]:
    """The files with all changes; what cannot be changed is left out of the plan."""
    files = []
    done = {id(one): one for one in plan}
    for path, text in texts.items():
        current = text
        for one in plan:
            if one.remedy is None or Path(one.finding.claim.origin) != path:
                continue
            try:
                current = ClaimsText(current).edited(one.finding.claim.id, one.remedy.edits)
            except ValueError as error:
                done[id(one)] = PlannedRepair(finding=one.finding, reason=str(error))
        if current != text:
            files.append(ChangedFile(path=path, old=text, new=current))
    return files, list(done.values())


def _agreed(count: int) -> bool:
    try:
        return click.confirm(f"Write this to {how_many(count, 'file')}?", default=False)
    except click.Abort:
        raise ValueError("nobody answered: say --yes to write, or --dry-run to look.") from None


def _show(changed: Sequence[ChangedFile], plan: Sequence[PlannedRepair]) -> None:
    """The difference, then what is done about each claim."""
    for file in changed:
        click.echo("\n".join(map(printable, file.diff.split("\n"))))
    not_mended: dict[str, list[str]] = {}
    for one in plan:
        if one.remedy is not None:
            click.echo(printable(f"{one.finding.claim.id}: {one.remedy.sentence}"))
        elif one.reason:
            finding = one.finding
            sound = finding.soundness is Soundness.SOUND
            verdict = finding.reproduction.value if sound else finding.verdict.value
            reason = f"{verdict}, and not mended: {one.reason}"
            not_mended.setdefault(reason, []).append(finding.claim.id)
    for reason, names in not_mended.items():
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        click.echo(printable(f"{', '.join(names[:_NAMED])}{more}: {reason}"))
    if any(one.remedy is not None and one.remedy.kind in _OF_CODE for one in plan):
        click.echo(_CHANGE_THE_CODE)


def _as_dict(
    changed: Sequence[ChangedFile],
    plan: Sequence[PlannedRepair],
    after: dict[str, Finding],
    *,
    written: bool,
) -> dict[str, Any]:
    """Plain values for JSON."""
    return {
        "written": written,
        "files": [{"file": str(file.path), "diff": file.diff} for file in changed],
        "claims": [
            {
                "id": one.finding.claim.id,
                "file": one.finding.claim.origin,
                "line": one.finding.claim.line,
                "before": _verdict(one.finding),
                "remedy": None if one.remedy is None else one.remedy.as_dict(),
                "reason": one.reason or None,
                "after": _verdict(after.get(one.finding.claim.id)),
            }
            for one in plan
        ],
    }


def _verdict(finding: Finding | None) -> dict[str, Any] | None:
    if finding is None:
        return None
    return {
        "claimed": None if finding.claim.epsilon is None else str(finding.claim.epsilon),
        "soundness": finding.soundness.value,
        "verdict": finding.verdict.value,
        "reproduction": finding.reproduction.value,
        "slack": finding.slack,
    }
