"""The regions of many claims: those that are known, and the others by several processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from rdpkit import supervisor
from rdpkit.verification.auditing.regions.compute import region_of
from rdpkit.verification.auditing.regions.region import Region
from rdpkit.verification.auditing.regions.store import known_region
from rdpkit.verification.claims.claim import Claim, named


class RegionCache(Protocol):
    """Where regions are kept."""

    def get_region(self, claim: Claim) -> Region | None:
        """The region of a claim, if it is there."""
        ...

    def put_region(self, claim: Claim, region: Region) -> None:
        """Keep the region of a claim."""
        ...


def regions_of(
    claims: Sequence[Claim],  # Any claims
    *,
    # Whether to compute the regions that are neither stored nor in the cache; otherwise they are
    # None.
    compute: bool,
    cache: RegionCache | None = None,  # Where computed regions are kept
    jobs: int | None = 1,  # Processes to share the work between, as in joblib
) -> Iterator[Region | None]:
    """The region of each claim, in their order.

    Raises ValueError or ArithmeticError as
    :func:`rdpkit.verification.auditing.regions.compute.region_of`, with the claim named.
    """
    known = [_known(claim, cache) for claim in claims]
    pairs = list(zip(claims, known, strict=True))
    missing = [claim for claim, region in pairs if region is None and claim.unknown is not None]
    if not compute or not missing:
        yield from known
        return
    workers = 1 if len(missing) == 1 else jobs
    computed = supervisor.in_order(_computed, missing, jobs=workers)
    for claim, region in pairs:
        if region is not None or claim.unknown is None:
            yield region
            continue
        found = next(computed)
        if cache is not None:
            cache.put_region(claim, found)
        yield found


def _known(claim: Claim, cache: RegionCache | None) -> Region | None:
    if claim.unknown is None:
        return None
    with named(claim):
        region = known_region(claim)
    if region is None and cache is not None:
        region = cache.get_region(claim)
    return region


def _computed(claim: Claim) -> Region:
    with named(claim):
        found = region_of(claim)
    assert found is not None
    return found
