"""What a claim points at: the release on the disk, and the code that makes releases.

Theorems say whether a mechanism with these parameters keeps its promise. Whether arrays or code
*are* that mechanism is another question, which is asked here: hashes are compared, and code is run
only where the user allows it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from rdpkit.verification.auditing.findings import Finding, Soundness
from rdpkit.verification.blackbox.candidate_pairs import pairs_to_test
from rdpkit.verification.blackbox.targets import target
from rdpkit.verification.blackbox.tested_claim import ClaimUnderTest, dp_claim, event_claim
from rdpkit.verification.blackbox.verification_result import VerificationStep
from rdpkit.verification.blackbox.verify import verify
from rdpkit.verification.claims.reading import Claim

NOT_RUN = "the code {} was not run: allow it with --allow-code"


def with_release(finding: Finding) -> Finding:
    """The finding, refuted if the release is not the one that its manifest describes.

    Parameters
    ----------
    finding : Finding
        About a claim; without a release it stays as it is.

    Raises
    ------
    ValueError
        If the manifest cannot be read.
    OSError
        If a file cannot be read.
    """
    path = finding.claim.release
    if path is None:
        return finding
    try:
        # Only where a release is named.
        from rdpkit.mechanisms.releases.manifest import load_manifest  # noqa: PLC0415
        from rdpkit.mechanisms.releases.release import check_arrays  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ValueError(
            f"{path}: the arrays of a release cannot be checked here: {error}; "
            "pip install 'rdpkit[mechanisms]', or the missing library alone."
        ) from None

    manifest = load_manifest(path)
    problems = [f"{Path(path).name}: {problem}" for problem in check_arrays(path)]
    if manifest.event != finding.claim.event:
        problems.append(f"{Path(path).name}: the manifest has changed since the claim was read")
    if not manifest.private:
        why = (
            "its noise comes from a seed, and can be taken off"
            if manifest.reproducible_noise
            else "see its notes"
        )
        problems.append(f"{Path(path).name}: the manifest says that it is not private: {why}")
    if not problems:
        return dataclasses.replace(
            finding, notes=(*finding.notes, "the arrays are those of the manifest")
        )
    return _refuted(finding, problems)


def with_code(
    finding: Finding,
    *,
    allow_code: bool,
    jobs: int | None = None,
    progress: Callable[[VerificationStep], None] | None = None,
) -> Finding:
    """The finding, refuted if the code that the claim points at leaks more than it may.

    Guarantee
    ---------
    If the code is what the claim says, it is refuted with at most the probability
    ``false_alarm_rate`` of its test. Nothing is ever proven by this.

    Parameters
    ----------
    finding : Finding
        About a claim; without code it stays as it is.
    allow_code : bool
        Whether the code may be imported and run. If not, a note says that it was not.
    jobs : int, optional
        Processes, as for :func:`rdpkit.verification.blackbox.verify.verify`.
    progress : callable, optional
        As for :func:`rdpkit.verification.blackbox.verify.verify`.

    Raises
    ------
    ValueError
        If the code cannot be imported, raises, or there is no worst-case pair.
    """
    test = finding.claim.code
    if test is None:
        return finding
    if not allow_code:
        note = NOT_RUN.format(repr(test.callable))
        return dataclasses.replace(finding, notes=(*finding.notes, note))
    outcome = run_code(finding.claim, jobs=jobs, progress=progress)
    if outcome.problems:
        return _refuted(finding, list(outcome.problems))
    return dataclasses.replace(finding, notes=(*finding.notes, outcome.summary))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CodeOutcome:
    """What came out of a test of code.

    Parameters
    ----------
    problems : tuple of str
        What refutes the claim: nothing if it is not rejected.
    summary : str
        What was tested, and how, with the seed that repeats it.
    """

    problems: tuple[str, ...]
    summary: str


def run_code(
    claim: Claim,
    *,
    jobs: int | None = None,
    progress: Callable[[VerificationStep], None] | None = None,
) -> CodeOutcome:
    """Run the code that a claim points at, on neighbouring data sets.

    Guarantee
    ---------
    If the code is what the claim says, there are problems with at most the probability
    ``false_alarm_rate`` of its test.

    Parameters
    ----------
    claim : Claim
        With code.
    jobs : int, optional
        Processes, as for :func:`rdpkit.verification.blackbox.verify.verify`.
    progress : callable, optional
        As for :func:`rdpkit.verification.blackbox.verify.verify`.

    Raises
    ------
    ValueError
        If the code cannot be imported, raises, or there is no such pair of data sets.
    """
    test = claim.code
    assert test is not None
    options = test.options.seeded()
    tested = _tested(claim)
    own = target(test.callable).own
    pairs = pairs_to_test(
        options,
        adjacency=claim.adjacency,
        event=claim.event,
        delta=claim.delta,
        own=own.neighbours if own is not None and options.neighbours == "own" else None,
    )
    result = verify(
        test.callable, claim=tested, neighbours=pairs, options=options, jobs=jobs, progress=progress
    )
    summary = (
        f"code {test.callable}: {result.verdict}, tested as {tested.describe()}, in {result.runs} "
        f"runs with false-alarm rate {options.false_alarm_rate:g} and seed {result.seed}"
    )
    problems = [f"code {test.callable}: {one.kind.value}: {one.message}" for one in result.mistakes]
    if result.rejected:
        problems += [*result.pair, f"score: {result.score}", summary]
    elif not problems:
        summary = "; ".join([f"{summary}, which proves nothing", *result.notes])
    return CodeOutcome(
        problems=tuple(" ".join(text.split()) for text in problems),
        summary=" ".join(summary.split()),
    )


def _refuted(finding: Finding, problems: list[str]) -> Finding:
    return dataclasses.replace(
        finding,
        soundness=Soundness.REFUTED,
        refutation=(*finding.refutation, *problems),
    )


def _tested(claim: Claim) -> ClaimUnderTest:
    """What the code is held against: the event, which says more than one number, if there is one.

    The number itself is a theorem's business.
    """
    if claim.event is not None:
        return event_claim(claim.event, adjacency=claim.adjacency)
    assert claim.epsilon is not None
    assert claim.delta is not None
    return dp_claim(epsilon=float(claim.epsilon), delta=claim.delta, adjacency=claim.adjacency)


__all__ = ["NOT_RUN", "CodeOutcome", "run_code", "with_code", "with_release"]
