"""The register of implementations: which libraries were examined, and what came of it.

It is data beside the code, written by ``scripts/examine-libraries``. A difference that nobody has
reported in public is not in it: maintainers are told first, and the row is left out until then.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rdpkit.formats.files import write_whole
from rdpkit.verification.replay.findings import ReplayResult, ReplayVerdict

REGISTER = Path(__file__).parent / "register.json"
"""The file that is shipped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImplementationRecord:
    """What came of replaying one mechanism of one release of a library."""

    library: str
    version: str
    target: str
    claim: str
    verdict: str
    finding: str  # The gravest difference; empty where there is none
    reported: tuple[str, ...]  # Where the difference was reported in public
    because: str  # Why it may be all that can be said
    pairs: int
    seconds: float
    examined: str  # The date
    command: str

    @classmethod
    def of(
        cls, result: ReplayResult, *, library: str, version: str, date: str
    ) -> ImplementationRecord:
        """The entry that a result makes."""
        shown = result.shown
        return cls(
            library=library,
            version=version,
            target=result.target.split()[-1],
            claim=result.claim,
            verdict=result.verdict.value,
            finding="" if shown is None else result.summary,
            reported=result.reported,
            because=result.because,
            pairs=result.pairs,
            seconds=round(result.seconds, 1),
            examined=date,
            command=result.command,
        )

    @property
    def is_public(self) -> bool:
        """Whether it may be published: nothing was found, or it is known, or explained."""
        if self.verdict == ReplayVerdict.REFUTED.value:
            return bool(self.reported)
        return not self.finding or bool(self.reported or self.because)


def read_register(path: Path = REGISTER) -> list[ImplementationRecord]:
    """All entries, in the order of the file."""
    if not path.exists():
        return []
    rows = json.loads(path.read_text(encoding="utf-8"))
    return [ImplementationRecord(**{**row, "reported": tuple(row["reported"])}) for row in rows]


def write_register(entries: Iterable[ImplementationRecord], path: Path = REGISTER) -> None:
    """Write what may be published, a line for each entry."""
    rows = [json.dumps(asdict(one), ensure_ascii=False) for one in entries if one.is_public]
    write_whole(path, "[\n" + ",\n".join(rows) + "\n]\n")


def on_record(entries: Sequence[ImplementationRecord], library: str) -> str:
    """What is on record of a library, in a few words; empty if nothing is."""
    own = [one for one in entries if one.library == library]
    if not own:
        return ""
    counts = Counter(one.verdict for one in own)
    found = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    return f"{own[0].version}, {max(one.examined for one in own)}: {found}"
