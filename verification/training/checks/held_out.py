"""Records that are kept for evaluation, and records that are there more than once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from rdpkit.formats.numbers import how_many
from rdpkit.verification.blackbox.mistakes import Mistake, MistakeKind, mistake_of
from rdpkit.verification.training.checks.records import (
    Key,
    keys_of_batch,
    keys_of_records,
    parts_of,
    repeated_records,
)
from rdpkit.verification.training.trainer import PrivateTraining

_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What is known of the content of records."""

    mistakes: tuple[Mistake, ...] = ()  # Held-out records that are trained on
    measured: tuple[tuple[str, str], ...] = ()  # What was compared
    notes: tuple[str, ...] = ()  # What could not be compared, and records that are there twice


def look_at_contents(
    training: PrivateTraining,  # Its ``records``, ``held_out`` and ``loader`` are read
    *,
    until: float,  # When to stop, by the clock of ``time.perf_counter``
) -> Contents:
    """Compare held-out records with training records and with the batches, by their bytes."""
    if training.records is None:
        trained: list[Key] | None = None
        parts = None
    else:
        parts = parts_of(training.records)
        if training.held_out is not None:
            parts = min(filter(None, (parts, parts_of(training.held_out))), default=None)
        trained = keys_of_records(training.records, parts=parts, until=until)
    notes = []
    again = 0 if trained is None else repeated_records(trained)
    if trained is not None and again:
        notes.append(
            f"{how_many(again, 'record')} of {len(trained)} have the same content as an earlier "
            "one: who is there several times is protected less, as a group is"
        )
    if training.held_out is None:
        return Contents(notes=tuple(notes))
    kept = keys_of_records(training.held_out, parts=parts, until=until)
    if kept is None:
        notes.append("held-out records could not be read, or not in the time there is")
        return Contents(notes=tuple(notes))
    if trained is None and training.records is not None:
        notes.append("training records could not all be read in the time there is")
    among = set(kept)
    places = [place for place, key in enumerate(trained or ()) if key in among]
    drawn = set(_drawn(training, parts, until))
    both = among & (set(trained or ()) | drawn)
    measured = (("held-out records", f"{len(both)} of {len(kept)} are trained on"),)
    found = tuple(_mistake(len(both), kept, places, trained)) if both else ()
    return Contents(mistakes=found, measured=measured, notes=tuple(notes))


def _drawn(training: PrivateTraining, parts: int | None, until: float) -> Iterator[Key]:
    """The records of an epoch's batches, as far as there is time."""
    for batch in training.loader:
        yield from keys_of_batch(batch, parts=parts)
        if time.perf_counter() > until:
            return


def _mistake(
    both: int, kept: list[Key], places: list[int], trained: list[Key] | None
) -> Iterator[Mistake]:
    where = "in the batches of the loader"
    if places:
        shown = ", ".join(map(str, places[:_SHOWN])) + (", ..." if len(places) > _SHOWN else "")
        where = f"among the {len(trained or ())} training records, at position {shown}"
    count = how_many(len(kept), "held-out record")
    yield mistake_of(MistakeKind.HELD_OUT_IN_TRAINING, both=both, kept=count, where=where)
