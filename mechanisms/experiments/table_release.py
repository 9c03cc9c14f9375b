"""A table in, a table of synthetic records out: one call, and the files that it can be saved as."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rdpkit import Adjacency, Event, Guarantee, _validate
from rdpkit.mechanisms.parts.checks import PrivacyCheck
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.releases.computation import Progress
from rdpkit.mechanisms.releases.file_release import FileRelease, save_file_release
from rdpkit.mechanisms.releases.release import guaranteed
from rdpkit.mechanisms.releases.verdict import delta_check

if TYPE_CHECKING:
    import pyarrow as pa

    from rdpkit.mechanisms.data.tables.schema import Column, Schema

_UNSTATED: Mapping[str, Any] = {}
_SHARE_OF_EDGES = 0.03


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableRelease:
    """Synthetic records with the columns and types of the private ones, and their guarantee.

    Parameters
    ----------
    table : pyarrow.Table
        The records.
    schema : Schema
        What was publicly known of the columns.
    stated : mapping
        What a manifest says of how they were made.
    """

    table: pa.Table
    schema: Schema
    stated: Mapping[str, Any] = field(repr=False)

    @property
    def guarantee(self) -> Guarantee:
        """The epsilon, an upper bound, at its delta and adjacency."""
        found = self.stated["guarantee"]
        assert isinstance(found, Guarantee)
        return found

    @property
    def private(self) -> bool:
        """The verdict: whether no check fails."""
        return bool(self.stated["private"])

    @property
    def checks(self) -> tuple[PrivacyCheck, ...]:
        """The reasons of the verdict."""
        return tuple(self.stated["checks"])

    def to_pandas(self) -> Any:
        """The records as a data frame of pandas, which has to be installed."""
        return self.table.to_pandas()

    def save(self, path: str | Path, *, dataset: str | None = None) -> FileRelease:
        """Write the records, and the manifest beside them with the suffix ``.json``.

        Parameters
        ----------
        path : str or Path
            Ends in .csv, .parquet, .arrow or .feather.
        dataset : str, optional
            Your name for the private table, by which a ledger knows it.

        Raises
        ------
        ValueError
            If the path is not accepted.
        OSError
            If a file cannot be written.
        """
        from rdpkit.mechanisms.data.tables.reading import format_of  # noqa: PLC0415
        from rdpkit.mechanisms.data.tables.writing import write  # noqa: PLC0415

        return save_file_release(
            path,
            write=lambda target: write(self.table, target),
            rows=self.table.num_rows,
            file_format=format_of(path),
            stated=self.stated,
            schema=self.schema.as_table(),
            dataset=dataset,
        )


def synthesize_table(
    source: Any,
    *,
    schema: Any,
    epsilon: float,
    delta: float,
    adjacency: Adjacency | str,
    rows: int | None = None,
    accept_drafted_schema: bool = False,
    options: Mapping[str, Any] = _UNSTATED,
    noise: NoiseSource | None = None,
    before: Callable[[Event], None] | None = None,
    progress: Progress | None = None,
) -> TableRelease:
    """Release synthetic records of a table, by noisy marginals of one and two columns.

    Guarantee
    ---------
    That of the event in the manifest, at most ``epsilon`` at ``delta``: an upper bound. No table is
    refused because of what one of its records is. The number of records is not assumed to be known.

    Assumes
    -------
    The schema does not depend on the private records: it holds what everybody may know of them.
    Edges that it leaves to be paid for are found with noise, and are a part of the event.

    Parameters
    ----------
    source : path, pyarrow.Table, or data frame
        The private records: a file that ends in .csv, .parquet, .arrow or .feather, or a frame of
        pandas or polars.
    schema : Schema, path or mapping
        What is publicly known of the columns; columns that it does not name are left out.
    epsilon : float
        The largest epsilon that is wanted, in nats; > 0.
    delta : float
        In (0, 1), far below one over the number of records.
    adjacency : Adjacency or str
        When two tables are neighbours.
    rows : int, optional
        Number of synthetic records; by default the noisy number of private ones.
    accept_drafted_schema : bool
        Accept a schema with columns that nobody has confirmed to be public. The release is then
        marked as not private.
    options : mapping
        Further options of the mechanism: see :class:`MarginalsOptions`.
    noise : NoiseSource, optional
        By default system entropy. With a seeded source the release is not private.
    before : callable, optional
        Called with the event before any noise is drawn, such as to charge a ledger.
    progress : callable, optional
        Called with steps done and all of them.

    Returns
    -------
    TableRelease
        Records with the columns of the schema, and their guarantee.

    Raises
    ------
    ValueError
        If an argument is not accepted, the schema is an unconfirmed draft, or a column of the
        schema is not there.
    """
    from rdpkit.mechanisms.algorithms.marginals import SPEC, codes_like  # noqa: PLC0415
    from rdpkit.mechanisms.data.tables.encoding import decode, encode  # noqa: PLC0415
    from rdpkit.mechanisms.data.tables.reading import read  # noqa: PLC0415
    from rdpkit.mechanisms.data.tables.schema import PAID_FOR  # noqa: PLC0415

    public = _checked_schema(schema)
    drafted = _check_confirmed(public, accept=accept_drafted_schema)
    source_of_noise = NoiseSource.system() if noise is None else noise
    privacy = Privacy(delta=delta, adjacency=adjacency, noise=source_of_noise)
    _validate.positive("epsilon", epsilon)
    paying = [column.name for column in public.columns if column.edges == PAID_FOR]
    if paying:
        options = {"edges": _SHARE_OF_EDGES, **options}
    question = {"target_epsilon": epsilon, "delta": delta, "adjacency": privacy.adjacency}
    given = SPEC.check({**options, "rows": rows}, calibrated=True)
    values = SPEC.calibrate(given, class_sizes=(), dimension=0, **question)
    chosen = SPEC.build(values)
    assert SPEC.event is not None
    event = SPEC.event(chosen, (), 0)
    table = read(source, schema=public)
    codes = encode(table, public)
    if before is not None:
        before(event)
    if paying:
        std = chosen.shares.edges_std(chosen.noise_std)
        public = _with_paid_edges(table, public, paying, std=std, noise=source_of_noise)
        codes = encode(table, public)
    made, records = codes_like(
        codes, public.domain, options=chosen, noise=source_of_noise, progress=progress
    )
    draws = np.random.default_rng(source_of_noise.words(4).tolist())
    parameters = {
        name: value
        for name, value in values.items()
        if name not in ("noise_std", "bins", "preprocessing")
    }
    stated = guaranteed(
        event=event,
        privacy=privacy,
        parameters={**parameters, "noisy_records": round(records)},
        mechanism=SPEC.name,
        tested_as=SPEC.name,
        checks=(_schema_check(drafted), delta_check(delta, max(1, round(records)))),
    )
    return TableRelease(
        table=decode(made.astype(np.int32), public, draws=draws), schema=public, stated=stated
    )


def _with_paid_edges(
    table: pa.Table, public: Schema, names: list[str], *, std: float, noise: NoiseSource
) -> Schema:
    """The schema with noisy edges in the place of those that are paid for."""
    from rdpkit.mechanisms.data.tables.encoding import read_values  # noqa: PLC0415
    from rdpkit.mechanisms.parts.marginals.edges import Range, noisy_edges  # noqa: PLC0415

    ranges, values = [], []
    for column in (public[name] for name in names):
        low, high = float(column.cuts[0]), float(column.cuts[-1])
        ranges.append(Range(low=low, high=high, whole=column.is_whole))
        values.append(np.asarray(read_values(table[column.name], column), dtype=np.float64))
    found = dict(zip(names, noisy_edges(values, ranges, std=std, noise=noise), strict=True))
    return replace(public, columns=tuple(_with_edges(c, found.get(c.name)) for c in public.columns))


def _with_edges(column: Column, edges: Any) -> Column:
    if edges is None:
        return column
    inner = tuple(int(edge) if column.is_whole else float(edge) for edge in edges)
    # Too few records for edges: equal parts.
    return replace(column, edges=inner or None)


def _checked_schema(given: Any) -> Schema:
    from rdpkit.mechanisms.data.tables.schema import Schema, load_schema  # noqa: PLC0415

    if isinstance(given, Schema):
        return given
    if isinstance(given, str | Path):
        return load_schema(given)
    if isinstance(given, Mapping):
        return Schema.from_table(given)
    raise _validate.fail("schema", "to be a Schema, a path or a mapping", given)


def _check_confirmed(schema: Schema, *, accept: bool) -> tuple[str, ...]:
    drafted = tuple(schema.unconfirmed)
    if drafted and not accept:
        listed = ", ".join(drafted[:5]) + (", ..." if len(drafted) > 5 else "")
        raise ValueError(
            "Expected a schema that is publicly known. These columns are a draft that was read "
            f"from private records: {listed}. Replace what was read by what everybody may know, "
            "and set public = true; or accept a drafted schema, and the release is marked as not "
            "private."
        )
    return drafted


def _schema_check(drafted: tuple[str, ...]) -> PrivacyCheck:
    if drafted:
        return PrivacyCheck(
            name="public_parameters",
            status="fails",
            sentence="the schema of these columns was read from the private records and is shown "
            f"without noise: {', '.join(drafted)}",
        )
    return PrivacyCheck(
        name="public_parameters",
        status="depends",
        sentence="it holds if the schema (columns, ranges, categories) says only what was public "
        "before; the numbers of records in the manifest are noisy",
    )


__all__ = ["TableRelease", "synthesize_table"]
