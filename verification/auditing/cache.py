"""Findings on the disk, so that nothing is computed twice, and damage is noticed.

The file is a :class:`rdpkit.formats.journal.Journal` with one entry a finding. A finding is filed
under a hash of all that it depends on: the claim's content (not the file that it is in), the bounds
that were asked for, the versions of the libraries, and the source code itself. Nothing ever has to
be invalidated, and a cache can be deleted at any time.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, get_args

import numpy as np

from rdpkit.formats import records
from rdpkit.formats.journal import Journal
from rdpkit.formats.records import Key, ValueKind, read_table
from rdpkit.verification.auditing.findings import (
    Edit,
    Finding,
    Remedy,
    RemedyKind,
    Reproduction,
    Side,
    Soundness,
)
from rdpkit.verification.auditing.regions.region import Region
from rdpkit.verification.auditing.regions.store import as_stored, key_of, restored
from rdpkit.verification.auditing.versions import versions
from rdpkit.verification.claims.claim import Claim


class DamagedCacheWarning(UserWarning):
    """Something in a cache is not what was written; it is computed again."""


class AuditCache:
    """Findings in a file, by the content of their claims."""

    def __init__(
        self,
        path: str | Path,  # The file; it is made when the first finding is put into it
        *,
        # Whether findings are those of these versions and this source code alone.
        of_this_code: bool = True,
    ) -> None:
        self._made_by = versions() if of_this_code else {}
        self._journal = Journal(path, mark="rdpkit-audit-2", kind="claim")
        self.path = self._journal.path

    def __len__(self) -> int:
        """Findings that can be looked up, of all versions."""
        return len(self._journal)

    @property
    def damaged(self) -> tuple[str, ...]:
        """Every damaged entry: the file, the line, and the claim's name if it can still be read."""
        return self._journal.damaged

    def has(self, claim: Claim, *, bounds: str) -> bool:
        """Whether a finding about this claim is there."""
        return self._key(claim, bounds) in self._journal

    def get(
        self,
        claim: Claim,  # The finding will be about this object
        *,
        bounds: str,  # Which bounds were asked for
    ) -> Finding | None:
        """The finding about this claim, or None if there is none that can be read."""
        key = self._key(claim, bounds)
        if key not in self._journal:
            return None
        try:
            return Finding(claim=claim, **read_table(self._journal.get(key), _FINDING))
        except (ValueError, KeyError, TypeError):
            self._journal.report_damage(claim.id)
            return None

    def put(
        self,
        finding: Finding,  # What to keep
        *,
        bounds: str,  # Which bounds were asked for
    ) -> None:
        """Add a finding; a kill after this call loses nothing of it."""
        claim = finding.claim
        self._journal.add(
            self._key(claim, bounds), records.plain_of(finding, _FINDING), name=claim.id
        )

    def get_region(
        self,
        claim: Claim,  # A claim that says what is missing
    ) -> Region | None:
        """The region of this claim, or None if there is none that can be read."""
        key = self._region_key(claim)
        if key not in self._journal:
            return None
        try:
            return restored(claim, self._journal.get(key)["region"])
        except (ValueError, KeyError, TypeError, ArithmeticError):
            self._journal.report_damage(claim.id)
            return None

    def put_region(
        self,
        claim: Claim,  # A claim that says what is missing
        region: Region,
    ) -> None:
        """Add the region of a claim."""
        self._journal.add(self._region_key(claim), {"region": as_stored(region)}, name=claim.id)

    def sync(self) -> None:
        """Wait until the disk holds all findings, so that not even a power cut loses one."""
        self._journal.sync()

    def _key(self, claim: Claim, bounds: str) -> str:
        return _hash([self._made_by, str(bounds), content(claim)])

    def _region_key(self, claim: Claim) -> str:
        return _hash([self._made_by, "region", key_of(claim)])


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def content(value: Any) -> Any:
    """The content of a value in a form that is the same for equal values."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {
            field.name: content(getattr(value, field.name))
            for field in dataclasses.fields(value)
            if field.compare
        }
        return [f"{type(value).__module__}.{type(value).__qualname__}", fields]
    if isinstance(value, Enum):
        return [type(value).__qualname__, content(value.value)]
    if isinstance(value, tuple | list):
        return [content(item) for item in value]
    if isinstance(value, dict):
        return {str(name): content(item) for name, item in value.items()}
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, Decimal | Path):
        return [type(value).__name__, str(value)]
    if isinstance(value, np.ndarray):
        return [value.dtype.str, list(value.shape), hashlib.sha256(value.tobytes()).hexdigest()]
    if value is None or isinstance(value, bool | int | str):
        return value
    raise TypeError(f"A claim with a {type(value).__name__} in it has no key in a cache.")


_NUMBER = records.number(maximum=math.inf)
_STRINGS = records.many(records.string(), "strings")
_SIDE = records.record(
    {
        "bound": Key(records.string(), needed=True),
        "epsilon": Key(_NUMBER, needed=True),
        "order": Key(records.optional(_NUMBER), needed=True),
        "computed": Key(records.optional(records.row(_NUMBER, _NUMBER)), needed=True),
        "rigorous": Key(records.flag(), needed=True),
        "assumptions": Key(_STRINGS, needed=True),
    },
    Side,
)
_EDIT = records.row(records.string(), records.string(), records.string())
_REMEDY = records.record(
    {
        "kind": Key(records.choice(get_args(RemedyKind)), needed=True),
        "sentence": Key(records.string(), needed=True),
        "edits": Key(records.many(_EDIT, "edits"), needed=True),
    },
    lambda *, edits, **others: Remedy(edits=tuple(Edit(*one) for one in edits), **others),
)


def _read_searched(name: str, value: Any) -> Remedy | str | None:
    return value if value is None or isinstance(value, str) else _REMEDY.read(name, value)


_SEARCHED = ValueKind(_read_searched, _REMEDY.schema)
_FINDING = {
    "published": Key(records.optional(_SIDE), needed=True),
    "upper": Key(records.optional(_SIDE), needed=True),
    "lower": Key(records.optional(_SIDE), needed=True),
    "reproduction": Key(records.choice(list(Reproduction), Reproduction), needed=True),
    "soundness": Key(records.choice(list(Soundness), Soundness), needed=True),
    "slack": Key(records.optional(_NUMBER), needed=True),
    "scenarios": Key(records.many(records.row(records.string(), _SIDE), "scenarios"), needed=True),
    "notes": Key(_STRINGS, needed=True),
    "refutation": Key(_STRINGS, needed=True),
    "pair": Key(_STRINGS, needed=True),
    "failure": Key(records.optional(records.string())),
    "searched": Key(records.optional(records.many(_SEARCHED, "remedies"))),
}
