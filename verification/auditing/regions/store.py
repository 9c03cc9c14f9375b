"""Regions of many claims: those that were computed before, and the others by several processes.

What is kept of a region are the ends of its bands. Everything else follows from the claim. The
regions of the shipped claims take minutes, so they are kept in a file beside this module, which a
slow test computes anew:

    python -m rdpkit.verification.auditing.regions.store FILES
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from rdpkit import supervisor
from rdpkit.formats.files import write_whole
from rdpkit.formats.records import as_plain
from rdpkit.verification.auditing.regions.compute import region_of, region_with
from rdpkit.verification.auditing.regions.region import Band, Region, RegionVerdict
from rdpkit.verification.claims.claim import Claim, named
from rdpkit.verification.claims.reading import load_files, register_files, shipped_files

FORMAT = 1
_NAME = "stored.json"


class _Cache(Protocol):
    def get_region(self, claim: Claim) -> Region | None: ...

    def put_region(self, claim: Claim, region: Region) -> None: ...


def key_of(claim: Claim) -> str:
    """A name for all that the bands of a claim's region depend on, besides the code."""
    assert claim.unknown is not None
    asked = dataclasses.replace(claim.unknown, because="")
    about = (asked, claim.epsilon, claim.delta, claim.adjacency)
    return hashlib.sha256(repr(about).encode()).hexdigest()[:24]


def as_stored(region: Region) -> list[list[list[Any]]]:
    """The bands of a region as JSON holds them."""
    return [
        [[band.verdict.value, as_plain(band.low), as_plain(band.high)] for band in row.bands]
        for row in region.rows
    ]


def restored(claim: Claim, stored: Any) -> Region:
    """A region from its bands.

    Raises ValueError, TypeError, KeyError or ArithmeticError if what was stored is not about this
    claim.
    """
    rows = [
        tuple(
            Band(verdict=RegionVerdict(verdict), low=_number(low), high=_number(high))
            for verdict, low, high in row
        )
        for row in stored
    ]
    return region_with(claim, rows)


def _number(value: Any) -> float:
    return math.inf if value == "inf" else float(value)


@functools.cache
def _stored() -> dict[str, Any]:
    return _read(Path(__file__).with_name(_NAME))


def _read(path: Path) -> dict[str, Any]:
    content = json.loads(path.read_text(encoding="utf-8"))
    if content["format"] != FORMAT:
        raise ValueError(f"Expected {path} to have the format {FORMAT}.")
    found: dict[str, Any] = content["regions"]
    return found


def known_region(claim: Claim) -> Region | None:
    """The region of a claim if it takes no time: it is stored, or none can be given."""
    if claim.unknown is None:
        return None
    if not claim.unknown.search:
        return region_of(claim)
    stored = _stored().get(key_of(claim))
    return None if stored is None else restored(claim, stored)


def regions_of(
    claims: Sequence[Claim],  # Any claims
    *,
    # Whether to compute the regions that are neither stored nor in the cache; otherwise they are
    # None.
    compute: bool,
    cache: _Cache | None = None,  # Where computed regions are kept
    jobs: int | None = 1,  # Processes to share the work between, as in joblib
) -> Iterator[Region | None]:
    """The region of each claim, in their order.

    Raises ValueError or ArithmeticError as :func:`region_of`, with the claim named.
    """
    pairs = [(claim, _known(claim, cache)) for claim in claims]
    missing = [claim for claim, region in pairs if region is None and claim.unknown is not None]
    if not compute or not missing:
        yield from (region for _, region in pairs)
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


def _known(claim: Claim, cache: _Cache | None) -> Region | None:
    with named(claim):
        region = known_region(claim)
    if region is None and cache is not None and claim.unknown is not None:
        region = cache.get_region(claim)
    return region


def _computed(claim: Claim) -> Region:
    with named(claim):
        found = region_of(claim)
    assert found is not None
    return found


def store(claims: Sequence[Claim], path: Path) -> None:
    """Compute the regions of claims that are not stored yet, and write all of theirs."""
    known = _read(path) if path.exists() else {}
    found: dict[str, Any] = {}
    for claim in claims:
        if claim.unknown is None or not claim.unknown.search:
            continue
        key = key_of(claim)
        if key not in found:
            print(claim.id, "stored" if key in known else "computed", flush=True)
            region = None if key in known else region_of(claim)
            found[key] = known[key] if region is None else as_stored(region)
            write_store(path, {**known, **found})
    write_store(path, found)


def write_store(path: Path, regions: dict[str, Any]) -> None:
    """Write the file, one region a line."""
    lines = (f"{json.dumps(key)}: {json.dumps(rows)}" for key, rows in sorted(regions.items()))
    text = f'{{"format": {FORMAT}, "regions": {{\n' + ",\n".join(lines) + "\n}}\n"
    write_whole(path, text.encode())


if __name__ == "__main__":
    files = [Path(name) for name in sys.argv[1:]] or [*shipped_files(), *register_files()]
    store(load_files(files), Path(__file__).with_name(_NAME))
