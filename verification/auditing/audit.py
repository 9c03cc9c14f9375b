"""The audit of many claims: by several processes, with every finding kept as it is computed."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rdpkit import _validate, supervisor
from rdpkit.analysis import NoSuchBoundError
from rdpkit.verification.auditing.findings import Bounds, Finding, without_numbers
from rdpkit.verification.auditing.verdict import audit_one
from rdpkit.verification.claims.claim import Claim, named

if TYPE_CHECKING:
    from rdpkit.verification.auditing.cache import AuditCache

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
