"""Doing a work: every case, all libraries side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks import timing
from benchmarks.judge import FAILED, judge
from benchmarks.libraries import LIBRARIES, Library, cached_functions, quiet
from benchmarks.model import OURS, Adapter, Case, Prepared, Row, Work
from benchmarks.timing import Effort

# Above this many seconds a call is not measured again with empty caches.
_LONG = 1.0
_MEMORY_TIMEOUT = 600.0
# More values than this are judged and not kept.
_FEW = 20


def cases_of(work: Work, *, quick: bool) -> list[Case]:
    """The cases that a run measures."""
    if quick:
        return [case.quickly() for case in work.cases if case.quick is not None]
    return list(work.cases)


def adapters_of(work: Work, *, quick: bool) -> list[Adapter]:
    """The adapters that a run measures."""
    return [adapter for adapter in work.adapters if not (quick and adapter.slow)]


def measure(
    work: Work,
    case: Case,
    effort: Effort,
    *,
    quick: bool = False,  # Leave out slow adapters, and calls with empty caches
    with_memory: bool = False,  # Whether to measure memory, which takes a process for every row
    on_step: Callable[[], None] = lambda: None,
) -> list[Row]:
    """One row for every adapter; what fails becomes a row that says so."""
    rows: dict[str, Row] = {}
    ready: dict[str, Prepared] = {}
    adapters = adapters_of(work, quick=quick)
    for adapter in adapters:
        row = rows[adapter.id] = Row(
            work=work.id,
            case=case.id,
            library=adapter.id,
            version=LIBRARIES[adapter.library].version,
        )
        try:
            with quiet():
                ready[adapter.id] = adapter.prepare(case)
        except Exception as error:
            _fail(row, timing.reason(error))
        else:
            row.note, row.scale = ready[adapter.id].note, ready[adapter.id].scale
    timed = timing.side_by_side(
        {name: prepared.call for name, prepared in ready.items()}, effort, on_round=on_step
    )
    ours = timed.get(OURS)
    for adapter in adapters:
        if adapter.id in ready:
            row, prepared = rows[adapter.id], ready[adapter.id]
            _fill(row, prepared, timed[adapter.id], ours)
            if not row.failure:
                _check(row, prepared, work, case)
                if not quick:
                    _first(row, prepared, LIBRARIES[adapter.library])
            if with_memory and not row.failure:
                _memory(row, adapter, work, case)
            on_step()
    return list(rows.values())


def _fail(row: Row, why: str) -> None:
    row.failure, row.verdict = why, FAILED


def _fill(row: Row, prepared: Prepared, timed: timing.Timing, ours: timing.Timing | None) -> None:
    if timed.failure or timed.median is None:
        _fail(row, timed.failure or "not measured")
        return
    scale = prepared.scale
    row.seconds = scale * timed.median
    row.fastest, row.slowest = scale * min(timed.measured), scale * max(timed.measured)
    row.rounds, row.inner = len(timed.measured), timed.inner
    if ours is not None and not ours.failure:
        found = timing.ratios(timed, ours, scale)
        if found:
            row.ratio_low, row.ratio, row.ratio_high = timing.quartiles(found)


def _check(row: Row, prepared: Prepared, work: Work, case: Case) -> None:
    if work.reference is None:
        return
    try:
        with quiet():
            row.values = prepared.checked()
        judged = judge(row.values, work.reference(case))
    except Exception as error:
        _fail(row, timing.reason(error))
        return
    row.below, row.above, row.off = judged.below, judged.above, judged.off
    row.checked, row.verdict = len(row.values), judged.verdict
    if len(row.values) > _FEW:
        row.values = []


def _first(row: Row, prepared: Prepared, library: Library) -> None:
    if row.seconds is None or row.seconds / prepared.scale > _LONG:
        return
    found = cached_functions(library)

    def clear() -> None:
        for function in found:
            function.cache_clear()

    repeats = 5 if row.seconds / prepared.scale < _LONG / 5.0 else 1
    row.first = prepared.scale * timing.cold(prepared.call, clear, repeats=repeats)


def _memory(row: Row, adapter: Adapter, work: Work, case: Case) -> None:
    arguments = ["--peak-memory", work.id, case.id, adapter.id]
    try:
        row.peak_bytes = timing.in_fresh_process(arguments, timeout=_MEMORY_TIMEOUT)["peak_bytes"]
    except Exception as error:
        row.note = f"{row.note}; memory not measured: {timing.reason(error)}".strip("; ")


def peak_memory(works: Sequence[Work], names: Sequence[str]) -> dict[str, Any]:
    """What the fresh process of :func:`_memory` does: names are a work, a case and an adapter."""
    work = next(work for work in works if work.id == names[0])
    case = next(case for case in work.cases if case.id == names[1])
    adapter = next(adapter for adapter in work.adapters if adapter.id == names[2])
    with quiet():
        prepared = adapter.prepare(case)
        if adapter.library == OURS:
            _load_all()
    return {"peak_bytes": timing.peak_memory(prepared.call)}


def _load_all() -> None:
    """Import what ``import rdpkit`` leaves for later: an import is no part of a call."""
    import rdpkit  # noqa: PLC0415

    for name in rdpkit.__all__:
        getattr(rdpkit, name)
