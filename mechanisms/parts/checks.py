"""The reasons of a privacy verdict: one check a sentence, with a name and a status."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from rdpkit import _validate
from rdpkit.mechanisms.data.dataset import Source

Status = Literal["holds", "depends", "unknown", "fails"]
STATUSES: tuple[Status, ...] = get_args(Status)
"""From the best to the worst. A release with a check that fails is not private."""

CHECK_NAMES = (
    "secret_noise",
    "public_parameters",
    "preconditions",
    "delta",
    "epsilon",
    "code_path",
)
"""What a verdict is made of. Each name has at least one check, and may have several."""

_OF_SOURCES: Mapping[Source, tuple[Status, str]] = {
    "read": ("fails", "read from the private records, and nobody said that it was public before"),
    "confirmed": (
        "depends",
        "drafted from the private records and confirmed, each with a reason; it holds if the "
        "reasons are true",
    ),
    "stated": (
        "depends",
        "stated by whoever made the release; it holds if none was read from the private records",
    ),
    "paid": ("holds", "found with noise, which the guarantee pays for"),
}


@dataclass(frozen=True, slots=True)
class PrivacyCheck:
    """One reason of a verdict on a release."""

    name: str  #: One of :data:`CHECK_NAMES`
    status: Status
    """"holds": shown by what is known here. "depends": it holds if a statement is true that nobody
    can check here; the sentence names the statement. "unknown": nothing was said about it. "fails":
    the release is not private.
    """
    sentence: str  #: Why, in words for the reader of the manifest

    def __post_init__(self) -> None:
        _validate.choice("name", self.name, CHECK_NAMES)
        _validate.choice("status", self.status, STATUSES)
        if not isinstance(self.sentence, str) or not self.sentence.strip():
            raise _validate.fail("sentence", "to be a non-empty string", self.sentence)

    def as_dict(self) -> dict[str, str]:
        """Plain values for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, table: Any) -> PrivacyCheck:
        """The check from a table that :meth:`as_dict` has made."""
        keys = {"name", "status", "sentence"}
        if not isinstance(table, Mapping) or set(table) != keys:
            raise _validate.fail("a check", "to be a table of name, status and sentence", table)
        return cls(**table)


def source_checks(
    # "stated" by a person, "confirmed" by one, each after a draft, "paid" for by the guarantee, or
    # "read" from the private records. A release with a parameter that was only read is not private.
    sources: Any,
) -> tuple[PrivacyCheck, ...]:
    """What the sources of public parameters mean for the verdict on a release."""
    if not isinstance(sources, Mapping) or not set(sources.values()) <= set(_OF_SOURCES):
        known = ", ".join(_OF_SOURCES)
        raise _validate.fail("public", f"to be a table of parameters with {known}", sources)
    found = []
    for source, (status, words) in _OF_SOURCES.items():
        names = ", ".join(str(name) for name, one in sources.items() if one == source)
        if names:
            found.append(PrivacyCheck("public_parameters", status, f"{names}: {words}"))
    return tuple(found)
