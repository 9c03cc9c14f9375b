"""A remedy as data: a few changed lines of a claims file after which a claim is proven."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal, NamedTuple

RemedyKind = Literal[
    "sampling", "clipping", "accountant", "relation", "delta", "unit", "count", "noise", "claim",
    "tighter"
]  # fmt: skip


class Edit(NamedTuple):
    """One changed key of a claim."""

    key: str  # Its path in the claim's table: "epsilon", "parameters.events[0].noise_std"
    old: str  # Its value now, as TOML; empty if the claim does not have it
    new: str  # Its value then, as TOML; empty if the line is to be removed

    @property
    def line(self) -> str:
        """The line of the claims file, without the name of its table; empty if it is removed."""
        return f"{self.name} = {self.new}" if self.new else ""

    @property
    def name(self) -> str:
        """The key without the name of its table."""
        return self.key.removeprefix("parameters.")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """Changes of a claims file after which the claim is proven."""

    kind: RemedyKind
    """What changes. With the first seven number and noise stay. "sampling": batches are drawn by
    Poisson sampling. "clipping": each gradient is clipped on its own. "accountant": another
    accountant is named. "relation": other data sets are neighbours. "delta": another delta is
    claimed. "unit": the noise was that of a mean. "count": the release is made less often.
    "noise": the release has more noise. "claim": another number is claimed. "tighter": the claim
    is true, and so is a smaller number.
    """
    sentence: str  # What to do, in words, with the exact lines
    edits: tuple[Edit, ...]  # The changes

    @property
    def lines(self) -> tuple[str, ...]:
        """The changed lines, without those that are removed."""
        return tuple(edit.line for edit in self.edits if edit.new)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "kind": self.kind,
            "sentence": self.sentence,
            "edits": [edit._asdict() for edit in self.edits],
        }
