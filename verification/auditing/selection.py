"""Some of the claims of an audit, or of its findings: by kind, by year and by verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rdpkit.formats.records import refused
from rdpkit.verification.auditing.findings import ClaimVerdict, Finding, Reproduction, number_of
from rdpkit.verification.claims.claim import Claim

VERDICTS = tuple(member.value for kind in (ClaimVerdict, Reproduction) for member in kind)
"""The verdicts by which findings can be chosen: what became of them, and of reproduction."""


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

    def claims(self, claims: Iterable[Claim]) -> list[Claim]:
        """The claims of these kinds and years, and the other readings of their numbers.

        A claim whose kind or year is not said is of none.
        """
        claims = list(claims)
        numbers = {
            number_of(one) for one in claims if self._is_of_kind(one) and self._is_of_years(one)
        }
        found = [claim for claim in claims if number_of(claim) in numbers]
        if not found:
            raise ValueError("no claim is of this kind and these years.")
        return found

    def _is_of_kind(self, claim: Claim) -> bool:
        return not self.kinds or claim.kind in self.kinds

    def _is_of_years(self, claim: Claim) -> bool:
        if not self.years:
            return True
        year = None if claim.work is None else claim.work.year
        return year is not None and any(year in span for span in self.years)

    def findings(self, findings: Iterable[Finding]) -> list[Finding]:
        """The findings with one of these verdicts."""
        return [one for one in findings if not self.verdicts or self._has_verdict(one)]

    def _has_verdict(self, finding: Finding) -> bool:
        return not {finding.verdict.value, finding.reproduction.value}.isdisjoint(self.verdicts)
