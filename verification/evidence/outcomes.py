"""What came of testing one target among several, and where its code is."""

from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path
from typing import Any

from rdpkit.verification.blackbox.targets import Mechanism
from rdpkit.verification.blackbox.verification_result import VerificationResult
from rdpkit.verification.evidence.store import Position


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TargetOutcome:
    """What came of testing one target."""

    target: str  # Its name
    result: VerificationResult | None = None  # The result; None if the test could not be finished
    replay: str = ""  # The command line that gives the identical result again
    error: str = ""  # Why the test could not be finished
    place: tuple[str, int] | None = None
    """The file and the line of the code, if it lies in the current directory."""
    position: Position | None = None
    """Where the claim stands by all the evidence on record, if there is such a record."""
    skipped: str = ""  # Why no test was made; empty if one was

    def failed(self, *, strict: bool) -> bool:
        """Whether the claim was refuted; a strict reader wants no doubts about the test either."""
        if self.position is not None and self.position.rejected:
            return True
        if self.result is None:
            return bool(self.error)
        doubtful = bool(self.result.diagnostics or self.result.inconclusive)
        return self.result.failed or (strict and doubtful)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        found: dict[str, Any] = {"target": self.target}
        if self.error:
            found["error"] = self.error
        if self.skipped:
            found["skipped"] = self.skipped
        if self.result is not None:
            found = {**self.result.as_dict(), "replay": self.replay}
        if self.position is not None:
            found["evidence"] = self.position.as_dict()
        return found


def place_of(mechanism: Mechanism) -> tuple[str, int] | None:
    """The file, relative to the current directory, and the line at which code begins.

    None for code that lies elsewhere, or that has no source.
    """
    unwrapped = inspect.unwrap(mechanism)
    code: Any = unwrapped if inspect.isroutine(unwrapped) else type(unwrapped)
    try:
        source = inspect.getsourcefile(code)
        _, line = inspect.getsourcelines(code)
    except (OSError, TypeError):
        return None
    path, here = Path(source or "").resolve(), Path.cwd()
    if not path.is_relative_to(here):
        return None
    return path.relative_to(here).as_posix(), max(line, 1)
