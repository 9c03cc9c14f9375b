"""A table in, a table of synthetic records out: one call, and the files that it can be saved as."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rdpkit import Adjacency, Composed, Event, Group, Guarantee, _validate
from rdpkit.mechanisms.algorithms.marginals import SPEC, codes_like
from rdpkit.mechanisms.data.dataset import Source
from rdpkit.mechanisms.data.tables.encoding import check_columns, decode, encode
from rdpkit.mechanisms.data.tables.files import format_of, read, write
from rdpkit.mechanisms.data.tables.schema import Schema, load_schema
from rdpkit.mechanisms.experiments.table_domains import DomainSearch, with_fine_parts
from rdpkit.mechanisms.parts.checks import PrivacyCheck
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.parts.sampling import some_of_each
from rdpkit.mechanisms.releases.computation import Progress
from rdpkit.mechanisms.releases.files import FileRelease, save_file_release
from rdpkit.mechanisms.releases.release import guaranteed
from rdpkit.mechanisms.releases.verdict import delta_check

_UNSTATED: Mapping[str, Any] = {}
# Share of the noise's budget that counts fine parts, where nobody has stated how ranges are cut.
_OF_PARTS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableRelease:
    """Synthetic records with the columns and types of the private ones, and their guarantee."""

    table: pa.Table  #: The records
    schema: Schema  #: What was publicly known of the columns
    stated: Mapping[str, Any] = field(repr=False)  #: What a manifest says of how they were made

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
    person: tuple[str, int] | None = None,
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

    Parameters
    ----------
    source : Path, pyarrow.Table, or data frame
        The private records: a file that ends in .csv, .parquet, .arrow or .feather, or a frame of
        pandas or polars.
    schema : Schema, Path or mapping
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
    person : (str, int), optional
        The column that says whose a record is, and how many records of each person are used, which
        are chosen at random. Then neighbours differ in all records of one person. Records of
        nobody are left out. The column is not released unless the schema names it.
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
    public = _checked_schema(schema)
    _check_confirmed(public, accept=accept_drafted_schema)
    source_of_noise = NoiseSource.system() if noise is None else noise
    most = None if person is None else _validate.integer("most records of a person", person[1])
    privacy = Privacy(
        delta=delta,
        adjacency=adjacency,
        noise=source_of_noise,
        public=_sources(public),
        most_per_person=most,
    )
    search = _search(public, privacy)
    shares = dict(options)
    # Whoever states shares states all of them.
    if not {"one_way", "scores"} & set(options) and any(with_fine_parts(public)[1]):
        shares.setdefault("parts", _OF_PARTS)
    values = _calibrated({**shares, "rows": rows}, search, privacy, epsilon)
    chosen = SPEC.build(values)
    event = _event(chosen, search)
    table = read(source, schema=public)
    check_columns(table, public)
    if person is not None:
        table = of_each_person(table, *person, source_of_noise)
    if before is not None:
        before(event if most is None else Group(event=event, size=most))
    public = search.found(table, source_of_noise, chosen.noise_std)
    made, records = _synthetic(
        table, public, options=chosen, noise=source_of_noise, progress=progress
    )
    unused = ("noise_std", "bins", "preprocessing")
    parameters = {name: value for name, value in values.items() if name not in unused}
    stated = guaranteed(
        event=event,
        privacy=privacy,
        parameters={**parameters, "noisy_records": round(records)},
        mechanism=SPEC.name,
        tested_as=SPEC.name,
        checks=(delta_check(delta, max(1, round(records))),),
    )
    return TableRelease(table=made, schema=public, stated=stated)


def _synthetic(
    table: pa.Table, schema: Schema, *, options: Any, noise: NoiseSource, progress: Progress | None
) -> tuple[pa.Table, float]:
    """Synthetic records, and the noisy number of private ones."""
    fine, ordered = with_fine_parts(schema) if options.shares.parts else (schema, [])
    made, records = codes_like(
        encode(table, fine), fine.domain, options=options, noise=noise, ordered=ordered,
        progress=progress,
    )  # fmt: skip
    draws = np.random.default_rng(noise.words(4).tolist())
    return decode(made.astype(np.int32), fine, draws=draws), records


def _checked_schema(given: Any) -> Schema:
    if isinstance(given, Schema):
        return given
    if isinstance(given, str | Path):
        return load_schema(given)
    if isinstance(given, Mapping):
        return Schema.from_table(given)
    raise _validate.fail("schema", "to be a Schema, a path or a mapping", given)


def _search(schema: Schema, privacy: Privacy) -> DomainSearch:
    """How domains are found; a hundredth of delta is for names that only one person has."""
    return DomainSearch(
        schema=schema,
        delta_of_names=privacy.delta / 100.0 / (privacy.most_per_person or 1),
        adjacency=Adjacency.parse(privacy.adjacency),
        most_per_person=privacy.most_per_person or 1,
    )


def _event(options: Any, search: DomainSearch) -> Composed:
    """What is released of a person with one record: rounds of counts, and domains."""
    assert SPEC.event is not None
    rounds = (part for _, part in SPEC.event(options, (), 0).parts())
    return Composed(events=(*rounds, *search.events(options.noise_std)))


def _calibrated(
    options: Mapping[str, Any], search: DomainSearch, privacy: Privacy, epsilon: float
) -> dict[str, Any]:
    """Options with the least noise with which rounds and domains together meet the target."""
    _validate.positive("epsilon", epsilon)
    # A name that only one person has is shown with a probability that is taken from delta.
    without_names = replace(search, delta_of_names=0.0)

    def event(chosen: Any, class_sizes: Any, dimension: int) -> Event:
        return _event(chosen, without_names)

    size = privacy.most_per_person or 1
    spec = replace(SPEC, event=event).of_persons(size)
    return spec.calibrate(
        spec.check(options, calibrated=True),
        class_sizes=(),
        dimension=0,
        # With names, the loss distributions of all parts together are rounded once more.
        target_epsilon=epsilon * (1.0 - 1e-3) if search.delta_shown else epsilon,
        delta=privacy.delta - search.delta_shown * size,
        adjacency=Adjacency.parse(privacy.adjacency),
    )


def of_each_person(table: pa.Table, person: str, most: int, noise: NoiseSource) -> pa.Table:
    """Records of each person, so many at most, at random; records of nobody are left out."""
    if person not in table.column_names:
        raise ValueError(f"Expected person to be a column of the table, got {person!r}.")
    who = table[person].combine_chunks().dictionary_encode()
    who = who.combine_chunks() if isinstance(who, pa.ChunkedArray) else who
    codes = np.asarray(who.indices.fill_null(-1), dtype=np.int64)
    return table.take(some_of_each(codes, most, noise))


def _sources(schema: Schema) -> dict[str, Source]:
    """How what is public of each column became known, and how its domain is found."""
    found: dict[str, Source] = {f"column {one.name}": one.source for one in schema.columns}
    for one in schema.columns:
        if one.is_open:
            found[f"parts of {one.name}"] = "paid"
    return {**found, "options": "stated"}


def _check_confirmed(schema: Schema, *, accept: bool) -> None:
    drafted = tuple(schema.unconfirmed)
    if drafted and not accept:
        listed = ", ".join(drafted[:5]) + (", ..." if len(drafted) > 5 else "")
        raise ValueError(
            "Expected a schema that is publicly known. These columns are a draft that was read "
            f"from private records: {listed}. Replace what was read by what everybody may know, "
            'and say why in public = "..."; or accept a drafted schema, and the release is marked '
            "as not private."
        )
