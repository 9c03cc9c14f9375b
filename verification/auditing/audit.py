"""One audit of claims, for the command line, the report and the pytest plugin.

Every claim is recomputed, the release that it points at is compared with its manifest, and the code
that it points at is tested where the user allows it. Several processes share the work, and every
finding is kept as it is computed. Findings come one by one. What runs code is imported only when a
claim points at code that may be run.
"""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rdpkit import _validate, supervisor
from rdpkit.analysis import NoSuchBoundError
from rdpkit.extensions import install_line
from rdpkit.formats.numbers import how_many
from rdpkit.verification.auditing.findings import (
    Bounds,
    Finding,
    Findings,
    Soundness,
    refuted_by,
    with_notes,
    with_readings,
    without_numbers,
)
from rdpkit.verification.auditing.verdict import audit_one
from rdpkit.verification.claims.claim import Claim, named
from rdpkit.verification.claims.ledgers import LEDGER, dataset_of
from rdpkit.verification.claims.reading import claim_of_release, load_files, shipped_files

if TYPE_CHECKING:
    from rdpkit.mechanisms.releases.ledger import Ledger
    from rdpkit.verification.auditing.cache import AuditCache
    from rdpkit.verification.auditing.tested_code import TestedOutcome, TrainingOutcome
    from rdpkit.verification.blackbox.betting.search import VerificationStep
    from rdpkit.verification.evidence.accumulation import EvidenceOptions

# Up to this many claims are computed in this process: starting others would take longer.
_FEW = 12


def audit(
    claims: Iterable[Claim],
    *,
    workers: int | None = 1,
    bounds: str = Bounds.ALL,
    cache: AuditCache | str | Path | None = None,
    backend: str | None = None,
) -> Iterator[Finding]:
    """Audit claims, in their order.

    Parameters
    ----------
    claims : iterable of Claim
        What to audit.
    workers : int or None
        Processes to share the work between, as in joblib: -1 for all cores, 1 for this process
        alone. None for what ``joblib.parallel_config`` says, with which a Dask or Ray cluster
        takes over, and otherwise this process alone.
    bounds : {"all", "needed", "rdp"}
        Which bounds to compute, see :class:`rdpkit.verification.auditing.findings.Bounds`.
    cache : AuditCache, str or Path, optional
        Where each finding is kept as soon as it is computed, and looked up before anything is
        computed, so that an audit that was killed goes on where it was. If a path is given, damaged
        entries of the file are named in a ``DamagedCacheWarning``; an :class:`AuditCache` lists
        them.
    backend : str, optional
        A joblib backend: "loky", "threading", or one that is registered, like "dask".

    Raises
    ------
    ValueError
        If an argument is not among what is accepted, a claim names a bound that does not apply
        to its event, or ``cache`` is a file that no audit wrote.
    ArithmeticError
        If a number cannot be computed; it is never replaced by a guess.
    """
    # Arguments are checked at once, not when the first finding is asked for.
    which = Bounds(_validate.choice("bounds", str(bounds), [str(b) for b in Bounds]))
    if workers is not None and (isinstance(workers, bool) or workers == 0):
        raise _validate.fail("workers", "to be an integer other than 0, or None", workers)
    if isinstance(cache, str | Path):
        # Imported here because an audit without a cache needs none of it.
        from rdpkit.verification.auditing.cache import (  # noqa: PLC0415
            AuditCache,
            DamagedCacheWarning,
        )

        cache = AuditCache(cache)
        if cache.damaged:
            warnings.warn(
                "; ".join(cache.damaged) + ": computed again.", DamagedCacheWarning, stacklevel=2
            )
    return _audit(list(claims), cache, workers=workers, bounds=which, backend=backend)


def _audit(
    claims: list[Claim],
    cache: AuditCache | None,
    *,
    workers: int | None,
    bounds: Bounds,
    backend: str | None,
) -> Iterator[Finding]:
    known = [cache is not None and cache.has(claim, bounds=bounds) for claim in claims]
    missing = [claim for claim, found in zip(claims, known, strict=True) if not found]
    if backend is None and workers is not None and len(missing) <= _FEW:
        workers = 1
    one = functools.partial(_finding_about, bounds=bounds)
    finished = supervisor.as_finished(one, missing, jobs=workers, backend=backend)
    computed = supervisor.ordered(_kept(finished, cache, bounds))
    for claim, found in zip(claims, known, strict=True):
        if not found:
            yield next(computed)
            continue
        assert cache is not None
        remembered = cache.get(claim, bounds=bounds)
        # The file may have changed since it was opened.
        yield _finding_about(claim, bounds) if remembered is None else remembered


def _kept(
    finished: Iterator[tuple[int, Finding]], cache: AuditCache | None, bounds: Bounds
) -> Iterator[tuple[int, Finding]]:
    """The same findings, each of which is put into the cache as soon as it is computed."""
    if cache is None:
        yield from finished
        return
    try:
        for place, finding in finished:
            cache.put(finding, bounds=bounds)
            yield place, finding
    finally:
        cache.sync()


def _finding_about(claim: Claim, bounds: Bounds) -> Finding:
    """Audit one claim.

    If a number cannot be computed, a note in the finding says so, and the audit goes on. If a
    number comes out wrong, the audit ends with an error that names the claim.
    """
    with named(claim):
        try:
            return audit_one(claim, bounds=bounds)
        except NoSuchBoundError:
            # The claim names it, which is a mistake in the file.
            raise
        except ValueError as error:
            notes = (*claim.notes, f"not computed: {error}")
            return without_numbers(claim, notes, failure=notes[-1])


NOT_RUN = "the code {!r} was not run: allow it with --allow-code"
TRAINING_NOT_RUN = "the training {!r} was not run: allow it with --allow-code"
ALONE = "the checks of the training are no part of the evidence on record: they have their own rate"


def findings_about(
    claims: Iterable[Claim],
    *,
    bounds: str = Bounds.ALL,
    jobs: int | None = 1,
    cache: AuditCache | str | Path | None = None,
    allow_code: bool = False,
    evidence: EvidenceOptions | None = None,
    on_step: Callable[[Claim, VerificationStep], None] | None = None,
    regions: bool = False,
) -> Iterator[Finding]:
    """Audit claims together with the releases and the code that they point at, in their order.

    Parameters
    ----------
    claims : iterable of Claim
        What to audit.
    bounds : {"all", "needed", "rdp"}
        Which bounds to compute, see :class:`rdpkit.verification.auditing.findings.Bounds`.
    jobs : int or None
        Processes to share the work between, as in joblib.
    cache : AuditCache, str or Path, optional
        Where computed findings are kept. What releases and code show is checked every time.
    allow_code : bool
        Whether the code that claims point at may be imported and run. If not, a note says that it
        was not.
    evidence : EvidenceOptions, optional
        Where the evidence of tests of code is kept. By default each test stands alone, at the rate
        that its claim states.
    on_step : callable, optional
        Called with a claim and with the progress of the test of its code.
    regions : bool
        Whether to compute for which values of what its source leaves out each claim would be true.
        Regions of shipped claims are kept, and are there in any case.

    Raises
    ------
    ValueError
        If an argument is not accepted, a manifest cannot be read, or code cannot be run; the
        message names the file and the claim.
    ArithmeticError
        If a number cannot be computed; it is never replaced by a guess.
    """
    claims = list(claims)
    computed: Iterable[Finding] = audit(claims, workers=jobs, bounds=bounds, cache=cache)
    if allow_code and any(claim.code or claim.training for claim in claims):
        # Tests of code take long, so all claims are recomputed and cached before the first test.
        computed = list(computed)
    if any(claim.unknown is not None for claim in claims):
        computed = _with_regions(computed, claims, compute=regions, cache=cache, jobs=jobs)
    for finding in computed:
        with named(finding.claim):
            found = with_release(finding)
            if finding.claim.certificate is not None:
                # Imported here because most claims carry no certificate.
                from rdpkit.verification.auditing.certified import (  # noqa: PLC0415
                    with_certificate,
                )

                found = with_certificate(found)
        if finding.claim.code is not None:
            found = _with_code(
                found, allow_code=allow_code, jobs=jobs, evidence=evidence, on_step=on_step
            )
        if finding.claim.training is not None:
            found = _with_training(found, allow_code=allow_code, evidence=evidence)
        yield found


def _with_regions(
    findings: Iterable[Finding],
    claims: list[Claim],
    *,
    compute: bool,
    cache: AuditCache | str | Path | None,
    jobs: int | None,
) -> Iterator[Finding]:
    """The findings with the regions of their claims, as far as they are known or computed."""
    # Imported here because most claims are complete.
    from rdpkit.verification.auditing.cache import AuditCache  # noqa: PLC0415
    from rdpkit.verification.auditing.regions.store import regions_of  # noqa: PLC0415

    if compute:
        # Regions take longer than verdicts, so all claims are audited before the first region.
        findings = list(findings)
    kept = AuditCache(cache) if isinstance(cache, str | Path) else cache
    found = regions_of(claims, compute=compute, cache=kept, jobs=jobs)
    for finding, region in zip(findings, found, strict=True):
        yield finding if region is None else dataclasses.replace(finding, region=region)


def audit_files(
    *files: str | Path,
    bounds: str = Bounds.ALL,
    jobs: int | None = 1,
    cache: AuditCache | str | Path | None = None,
    allow_code: bool = False,
    regions: bool = False,
) -> Findings:
    """Audit files of claims, as ``rdpkit audit`` does.

    Parameters
    ----------
    *files : str or Path
        Claims in TOML, manifests of releases in JSON, or ledgers of releases, whose names end in
        .jsonl; with none, the claims of the papers, which are shipped.
    bounds, jobs, cache, allow_code, regions
        As for :func:`findings_about`.

    Returns
    -------
    Findings
        One finding for each claim, which ``print`` and notebooks show.

    Raises
    ------
    ValueError
        If a file or an argument is not accepted; the message names the file and the claim.
    OSError
        If a file cannot be read.
    ArithmeticError
        If a number cannot be computed; it is never replaced by a guess.
    """
    claims = load_files([Path(file) for file in files] or shipped_files())
    found = findings_about(
        claims, bounds=bounds, jobs=jobs, cache=cache, allow_code=allow_code, regions=regions
    )
    return Findings(with_readings(found))


def code_outcome(
    claim: Claim,
    *,
    jobs: int | None = None,
    evidence: EvidenceOptions | None = None,
    on_step: Callable[[Claim, VerificationStep], None] | None = None,
) -> TestedOutcome:
    """Run the code that a claim points at, as :func:`findings_about` does where it is allowed.

    Guarantee
    ---------
    If the code is what the claim says, there are problems with at most the probability
    ``false_alarm_rate`` of its test; with evidence that is kept, the rate is that of its file.

    Parameters
    ----------
    claim : Claim
        With code.
    jobs : int, optional
        Processes for the runs of the code.
    evidence, on_step : optional
        As for :func:`findings_about`.

    Raises
    ------
    ValueError
        If the code cannot be imported, raises, or there is no worst-case pair; the message names
        the file and the claim.
    """
    # Imported here because it loads estimators, classifiers and everything that runs code.
    from rdpkit.verification.auditing.tested_code import run_code  # noqa: PLC0415

    def progress(step: VerificationStep) -> None:
        if on_step is not None:
            on_step(claim, step)

    with named(claim):
        return run_code(claim, jobs=jobs, evidence=evidence, progress=progress)


def _with_code(
    finding: Finding,
    *,
    allow_code: bool,
    jobs: int | None,
    evidence: EvidenceOptions | None,
    on_step: Callable[[Claim, VerificationStep], None] | None,
) -> Finding:
    """The finding, refuted if the code that the claim points at leaks more than it may."""
    assert finding.claim.code is not None
    if not allow_code:
        return with_notes(finding, NOT_RUN.format(finding.claim.code.callable))
    return _told(
        finding, code_outcome(finding.claim, jobs=jobs, evidence=evidence, on_step=on_step)
    )


def _told(finding: Finding, outcome: TestedOutcome, *notes: str) -> Finding:
    if outcome.problems:
        return with_notes(refuted_by(finding, outcome.problems), *notes, *outcome.repeat)
    return with_notes(finding, outcome.summary, *notes, *outcome.repeat)


def training_outcome(claim: Claim) -> TrainingOutcome:
    """Check the training that a claim points at, as :func:`findings_about` does where it may.

    Guarantee
    ---------
    If the training does what it says of itself, and that is what the claim says, there are problems
    with at most the probability ``false_alarm_rate`` of its checks.
    """
    # Imported here because it loads everything that runs trainings.
    from rdpkit.verification.auditing.tested_code import run_training  # noqa: PLC0415

    with named(claim):
        return run_training(claim)


def _with_training(
    finding: Finding, *, allow_code: bool, evidence: EvidenceOptions | None
) -> Finding:
    """The finding, refuted if the training that the claim points at has a mistake."""
    assert finding.claim.training is not None
    if not allow_code:
        return with_notes(finding, TRAINING_NOT_RUN.format(finding.claim.training.target))
    outcome = training_outcome(finding.claim)
    alone = () if evidence is None else (ALONE,)
    return _told(dataclasses.replace(finding, training=outcome.result), outcome, *alone)


def with_release(
    finding: Finding,  # About a claim; without a release it stays as it is
) -> Finding:
    """The finding, refuted if the release is not the one that its manifest describes."""
    path = finding.claim.release
    if path is None:
        return finding
    if Path(path).suffix == LEDGER:
        return _with_ledger(finding, path)
    try:
        # Imported here because most claims name no release.
        from rdpkit.mechanisms.releases.manifest import load_manifest  # noqa: PLC0415
        from rdpkit.mechanisms.releases.release import check_arrays  # noqa: PLC0415
        from rdpkit.mechanisms.releases.verdict import reasons_against  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ValueError(
            f"{path}: the arrays of a release cannot be checked here: {error}; "
            f"{install_line('mechanisms')}, or the missing library alone."
        ) from None

    name = Path(path).name
    manifest = load_manifest(path)
    problems = [f"{name}: {problem}" for problem in check_arrays(path)]
    if manifest.event != finding.claim.event:
        problems.append(f"{name}: the manifest has changed since the claim was read")
    if not manifest.private:
        problems += [
            f"{name}: the manifest says that it is not private: {check.sentence}"
            for check in reasons_against(manifest.checks)
        ]
    elif _guarantee_is_refuted(finding, path):
        problems.append(
            f"{name}: the manifest says that it is private, and its guarantee is refuted"
        )
    if not problems:
        told = [
            f"{check.name.replace('_', ' ')}: {check.sentence}"
            for check in manifest.checks
            if check.status != "holds" or check.name == "epsilon"
        ]
        return with_notes(
            finding,
            "the manifest says that it is private, and of this: " + "; ".join(told),
            "the files are those of the manifest"
            if manifest.files
            else "the arrays are those of the manifest",
        )
    return refuted_by(finding, problems)


def _with_ledger(finding: Finding, path: str) -> Finding:
    """The finding, refuted if a release of the ledger is not what the ledger says."""
    from rdpkit.mechanisms.releases.ledger import Ledger  # noqa: PLC0415 - as above

    ledger, name = Ledger(path), dataset_of(finding.claim)
    problems = ledger_problems(ledger, name)
    if problems:
        return refuted_by(finding, [f"{Path(path).name}: {problem}" for problem in problems])
    releases = ledger.account(name).releases
    seen = sum(one.sha256 is not None for one in releases)
    told = [f"{how_many(seen, 'release')}, as recorded in the ledger"]
    if seen < len(releases):
        told.append(f"{how_many(len(releases) - seen, 'charge')} for which no release was seen")
    return with_notes(finding, *told)


def ledger_problems(ledger: Ledger, dataset: str) -> tuple[str, ...]:
    """Whatever keeps the account of a data set from being true, a sentence each.

    Returns what :meth:`rdpkit.mechanisms.Ledger.problems` finds, and guarantees that are refuted.
    """
    found = list(ledger.problems(dataset))
    audited: dict[object, bool] = {}
    for one in ledger.account(dataset).releases:
        if one.sha256 is None or one.reason is not None:
            continue
        try:
            claim = claim_of_release(ledger.manifest_path(one))
        except (OSError, ValueError):
            continue  # among the problems already
        same = (claim.event, claim.epsilon, claim.delta, claim.adjacency, claim.bound)
        if same not in audited:
            refuted = audit_one(claim, bounds=Bounds.NEEDED).soundness is Soundness.REFUTED
            audited[same] = refuted
        if audited[same]:
            found.append(f"{one.path}: its claim of epsilon {claim.epsilon} is refuted")
    return tuple(found)


def _guarantee_is_refuted(finding: Finding, path: str) -> bool:
    """Whether the guarantee that a manifest states is refuted, which a claim need not repeat."""
    claim, own = finding.claim, claim_of_release(Path(path))
    same = (own.epsilon, own.delta, own.adjacency) == (claim.epsilon, claim.delta, claim.adjacency)
    about_it = finding if same else audit_one(own)
    return about_it.soundness is Soundness.REFUTED
