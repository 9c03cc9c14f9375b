"""The region of a claim: for which values of what its source leaves out it is true, or false.

Everything here is a record of numbers that were computed. The words are in
:mod:`rdpkit.verification.auditing.regions.sentences`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rdpkit.formats.records import as_plain


class RegionVerdict(StrEnum):
    """What a claim would be at a value of what is missing.

    ``TRUE``: a certified upper bound is at most the claim. ``REFUTED``: two neighbouring data sets
    attain more. ``OPEN``: neither was shown.
    """

    TRUE = "true"
    OPEN = "open"
    REFUTED = "refuted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """All values from ``low`` to ``high``, for which the claim has one verdict.

    Both ends belong to a band that is true or refuted. An open band lies between its neighbours;
    of whole numbers it holds its ends as well.
    """

    verdict: RegionVerdict  # What the claim would be
    # The ends; equal for a single value.
    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ArithmeticError(
                f"A band from {self.low!r} to {self.high!r} was about to be made."
            )

    def holds(self, value: float) -> bool:
        """Whether a value is in the band."""
        return self.low <= value <= self.high

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "verdict": self.verdict.value,
            "from": as_plain(self.low),
            "to": as_plain(self.high),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionRow:
    """The bands of what is searched, for one combination of the other values."""

    values: tuple[tuple[str, Any], ...]
    """The other values that the source does not give, by name, in the order of the claims file."""
    bands: tuple[Band, ...]
    """From small values to large ones, without gaps from end to end of what was looked at."""
    notes: tuple[str, ...] = ()
    """What a reader should know: assumptions of the bound, or why nothing could be shown."""

    def _first(self, verdict: RegionVerdict) -> Band | None:
        return next((band for band in self.bands if band.verdict is verdict), None)

    @property
    def true(self) -> Band | None:
        """The first band in which the claim is true."""
        return self._first(RegionVerdict.TRUE)

    @property
    def refuted(self) -> Band | None:
        """The first band in which the claim is false."""
        return self._first(RegionVerdict.REFUTED)

    def at(self, value: float) -> RegionVerdict | None:
        """The verdict at a value of what is searched; None outside of what was looked at.

        Ends belong to the band that is true or refuted.
        """
        found = [band.verdict for band in self.bands if band.holds(value)]
        shown = [verdict for verdict in found if verdict is not RegionVerdict.OPEN]
        return (shown or found or [None])[0]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "values": {name: as_plain(value) for name, value in self.values},
            "bands": [band.as_dict() for band in self.bands],
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """For which values of what its source leaves out a claim is true, refuted, or open."""

    mechanism: str  # What is taken to be released
    search: tuple[str, ...]
    """What the bands are about: a parameter, or several that are equal; epsilon or delta."""
    whole: bool  # Whether it is a whole number
    rows: tuple[RegionRow, ...]
    """One for each combination of the other values; empty where no region can be given."""
    because: str = ""  # Why this is looked at, or why no region can be given
    monotone: str = ""  # Why the verdict at one value decides others
    meets: str | None = None
    """The formula by which the other parameters ``calibrated`` are set at each value."""
    calibrated: tuple[str, ...] = ()  # Those parameters
    limits: tuple[float | None, float | None] = (None, None)
    """The range that was looked at, where the claims file gives one."""
    sentences: tuple[str, ...] = ()  # The region in words: one for each row

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "mechanism": self.mechanism,
            "search": list(self.search),
            "rows": [
                {**row.as_dict(), "sentence": sentence}
                for row, sentence in zip(self.rows, self.sentences, strict=True)
            ],
            "because": self.because,
            "monotone": self.monotone,
            "meets": self.meets,
            "calibrated": list(self.calibrated),
        }


def joined(bands: list[Band]) -> tuple[Band, ...]:
    """Bands from small to large, of which neighbours with one verdict are one."""
    found: list[Band] = []
    for band in bands:
        if found and found[-1].verdict is band.verdict:
            found[-1] = Band(verdict=band.verdict, low=found[-1].low, high=band.high)
        else:
            found.append(band)
    return tuple(found)
