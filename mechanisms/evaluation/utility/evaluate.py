"""Evaluate a release: from files, frames, arrays and data sets by name to a report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.mechanisms.data.published import DATASETS, load_dataset
from rdpkit.mechanisms.data.tables.files import FORMATS, read
from rdpkit.mechanisms.data.tables.schema import Schema, load_schema
from rdpkit.mechanisms.evaluation.utility.columns import (
    column_summaries,
    correlations,
    histograms,
    marginal_errors,
)
from rdpkit.mechanisms.evaluation.utility.membership import MembershipTest, membership_test
from rdpkit.mechanisms.evaluation.utility.private import Budget, noisy_averages
from rdpkit.mechanisms.evaluation.utility.report import Cost, ReleaseFacts, UtilityReport, pictures
from rdpkit.mechanisms.evaluation.utility.samples import (
    Image,
    Sample,
    kinds_of,
    of_arrays,
    of_schema,
    of_table,
    same_columns,
    some_rows,
)
from rdpkit.mechanisms.evaluation.utility.trained import (
    ROWS,
    TrainingPlan,
    chosen_targets,
    target_scores,
)
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.releases.files import FileRelease
from rdpkit.mechanisms.releases.manifest import Manifest, load_manifest
from rdpkit.mechanisms.releases.release import Release, check_arrays, load_release

TABLES = tuple(FORMATS)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Opened:
    """Records as they were found."""

    name: str  # What they are called in the report: the name of a file or of a data set
    table: Any = None  # The records, if they are a table
    arrays: tuple[NDArray[Any], NDArray[Any]] | None = None
    """Features and labels, if they are arrays."""
    image: Image | None = None  # Channels, height and width of the features
    test: Opened | None = None  # Test records that a data set has of its own
    manifest: Manifest | None = None  # Of a release


def open_release(
    # ``X.npz``, ``X.safetensors`` or ``X.json`` of a release with arrays; a table in a file, with
    # the manifest beside it; a :class:`rdpkit.mechanisms.Release`; or a frame.
    source: Any,
    schema: Schema | None = None,
) -> Opened:
    """The records of a release and its manifest, if it has one."""
    if isinstance(source, Release):
        return _of_release(source, "the release")
    if isinstance(source, FileRelease):
        source = source.path
    if not isinstance(source, str | Path):
        return Opened(name="the release", table=_frame(source, schema))
    path = Path(source)
    beside = path.with_suffix(".json")
    if not beside.exists():
        if path.suffix == ".json":
            raise FileNotFoundError(f"Expected {path} to be a manifest: there is no such file.")
        return open_records(path, schema=schema)
    manifest = load_manifest(beside)
    if manifest.arrays:
        return _of_release(load_release(path), path.name)
    return _of_file(path, manifest, schema)


def _of_file(path: Path, manifest: Manifest, schema: Schema | None) -> Opened:
    """A table and the manifest beside it, which has to describe it."""
    beside = path.with_suffix(".json")
    if path == beside:
        if len(manifest.files) != 1:
            raise ValueError(f"{path}: expected a manifest that describes one file of records.")
        path = path.with_name(next(iter(manifest.files)))
    if path.name not in manifest.files:
        raise ValueError(
            f"{beside} is no manifest of {path.name}: it describes "
            f"{', '.join(manifest.files) or 'no file'}."
        )
    found = check_arrays(beside)
    if found:
        raise ValueError(f"{path}: " + "; ".join(found))
    opened = open_records(path, schema=schema or schema_of(manifest))
    return Opened(name=path.name, table=opened.table, manifest=manifest)


def schema_of(manifest: Manifest | None) -> Schema | None:
    """The schema of a table that a manifest holds, if it does."""
    if manifest is None or manifest.schema is None:
        return None
    return Schema.from_table(manifest.schema, where="the manifest's schema")


def open_records(
    # A table or arrays in a file, a folder of images, the name of a data set (:data:`DATASETS`), or
    # a frame.
    source: Any,
    directory: str | Path | None = None,  # The data directory, for data sets by name
    *,
    # What is known of the columns; then cells of CSV files are read as it says.
    schema: Schema | None = None,
    # Of a release of images, whose classes, in their order, and whose size images are read with.
    like: Manifest | None = None,
) -> Opened:
    """Real records."""
    if not isinstance(source, (str, Path)):
        return Opened(name="a table", table=_frame(source, schema))
    if str(source) in DATASETS:
        return _of_dataset(str(source), directory)
    path = Path(source)
    if path.is_dir():
        return _of_folder(path, like)
    if path.suffix in TABLES:
        return Opened(name=path.name, table=read(path, schema=schema))
    if path.suffix == ".npz":
        return _of_npz(path)
    accepted = ", ".join((*TABLES, ".npz", "a folder of images", *DATASETS))
    raise _validate.fail("records", f"to be a file or a data set, one of {accepted}", str(source))


def _frame(source: Any, schema: Schema | None) -> Any:
    """A frame as an arrow table."""
    try:
        return read(source, schema=schema)
    except ValueError:
        raise _validate.fail("records", "to be a file, a frame or an arrow table", source) from None


def _of_release(made: Release, name: str) -> Opened:
    features = np.asarray(made.features)
    stated = made.manifest.parameters.get("image_shape")
    image = tuple(stated) if isinstance(stated, list) and len(stated) == 3 else None
    return Opened(
        name=name,
        arrays=(features, np.asarray(made.labels)),
        image=image if fits(image, features) else image_shape(features),
        manifest=made.manifest,
    )


def _of_dataset(name: str, directory: str | Path | None) -> Opened:
    data = load_dataset(name, directory)

    def part(which: str, features: NDArray[Any], labels: NDArray[Any], **more: Any) -> Opened:
        return Opened(
            name=f"{name} ({which})", arrays=(features, labels), image=data.image_shape, **more
        )

    test = part("test", data.test_features, data.test_labels)
    return part("train", data.train_features, data.train_labels, test=test)


def _of_folder(path: Path, like: Manifest | None) -> Opened:
    """Images of a folder, with a folder for each class or files as MNIST has them."""
    from rdpkit.mechanisms.data.images import ImageSet, load_images  # noqa: PLC0415

    def part(name: str, found: ImageSet, test: Opened | None = None) -> Opened:
        arrays = found.features, found.labels
        return Opened(name=name, arrays=arrays, image=found.image_shape, test=test)

    stated = {} if like is None else like.parameters
    channels, *size = stated.get("image_shape") or (None,)
    train = load_images(
        path, classes=stated.get("class_names"), channels=channels, image_size=tuple(size) or None
    )
    test = None
    if (path / "test").is_dir():
        channels, *size = train.image_shape
        found = load_images(
            path, part="test", classes=train.classes, image_size=tuple(size), channels=channels
        )
        test = part(f"{path.name} (test)", found)
    return part(path.name, train, test)


def _of_npz(path: Path) -> Opened:
    try:
        with np.load(path, allow_pickle=False) as file:
            lacking = {"features", "labels"} - set(file.files)
            if lacking:
                raise ValueError(f"it has no array {min(lacking)!r}.")
            features, labels = file["features"], file["labels"]
    except MemoryError:
        raise ValueError(f"{path}: its arrays claim to be larger than memory.") from None
    except ValueError as error:
        raise ValueError(f"{path}: expected the arrays features and labels: {error}") from None
    if len(features) != len(labels) or not len(features):
        raise ValueError(f"{path}: expected as many labels as features, and at least one.")
    return Opened(name=path.name, arrays=(features, labels), image=image_shape(features))


def image_shape(features: NDArray[Any]) -> Image | None:
    """Channels, height and width, if the axes of an array say so."""
    if features.ndim == 4:
        channels, height, width = features.shape[1:]
        return int(channels), int(height), int(width)
    if features.ndim == 3:
        return 1, int(features.shape[1]), int(features.shape[2])
    return None


def fits(image: Image | None, features: NDArray[Any]) -> bool:
    """Whether records have as many numbers as an image."""
    return image is not None and math.prod(image) == math.prod(features.shape[1:])


_TEST_SHARE = 0.3  # Of the real records, where no test records are given


# What the parts are called, in errors, too.
_RELEASE, _REAL, _TEST, _HOLDOUT = (
    "the release",
    "the real records",
    "the test records",
    "the holdout",
)


def evaluate_release(
    release: Any,
    *,
    real: Any,
    test: Any = None,
    holdout: Any = None,
    target: Sequence[str] = (),
    models: Sequence[str] = (),
    schema: str | Path | Schema | None = None,
    public: bool = False,
    budget: Budget | None = None,
    seed: int = 0,
    rows: int = ROWS,
    directory: str | Path | None = None,
) -> UtilityReport:
    """How good a release is, beside what the real records themselves would give.

    Guarantee
    ---------
    With a ``budget``, everything in the report that depends on real records is covered by the
    guarantee that it states. Without one nothing is: the report is as private as the records that
    it was made from.

    Assumes
    -------
    For the lower bound of the membership test: chance decided which of the records of ``real`` and
    ``holdout`` the release was made from. For a ``budget``: which columns there are is public, and
    files of real records can be read.

    Parameters
    ----------
    release : str, Path, Release, or a table
        ``synth.csv``, ``.parquet``, ``.arrow``, ``.npz``, ``.safetensors`` or the manifest of a
        release; or a frame.
    real : str, Path, or a table
        The records that the release was made from: a file, a frame, or the name of a data set.
    test : the same, optional
        Real records to test models on that are not among ``real``. By default 30 % of ``real``,
        on which the real-data ceilings are then not trained.
    holdout : the same, optional
        Real records that the release was not made from, for the membership test.
    target, models : sequence of str
        Columns to predict, and models to train; by default a choice by the release.
    schema : str, Path or Schema, optional
        What is publicly known of the columns of tables, by default the schema of the manifest.
        Without one, the types of the release decide what is a number and what is a category.
    public : bool
        Whether all real records are public, so that the report costs nothing.
    budget : Budget, optional
        Make a private report: accuracies and errors with noise, and nothing else of the records.
    seed : int
        Of splits and models. The noise of a private report comes from the system.
    rows : int
        Models are trained and tested on at most so many records, chosen at random.
    directory : str or Path, optional
        The data directory, for data sets by name.

    Returns
    -------
    UtilityReport

    Raises
    ------
    ValueError
        If records cannot be read or do not fit the release, or an argument is not accepted.
    OSError
        If a file cannot be read.
    """
    _validate.integer("seed", seed, minimum=0)
    _validate.integer("rows", rows, minimum=10)
    stated = load_schema(schema) if isinstance(schema, str | Path) else schema
    made = open_release(release, stated)
    stated = stated or schema_of(made.manifest)
    opened = open_records(real, directory, schema=stated, like=made.manifest)
    asked, others = (
        None if one is None else open_records(one, directory, schema=stated, like=made.manifest)
        for one in (test, holdout)
    )
    asked = opened.test if asked is None else asked
    if budget is not None and (public or others is not None):
        raise ValueError(
            "Expected a budget alone: public records cost nothing, and the membership test has no "
            "private version."
        )
    samples = _samples(
        {_RELEASE: made, _REAL: opened, _TEST: asked, _HOLDOUT: others}, schema=stated
    )
    synthetic, real = samples[_RELEASE], samples[_REAL]
    plan = TrainingPlan(
        targets=chosen_targets(synthetic, target), models=tuple(models), seed=seed, rows=rows
    )
    about = {
        "release": ReleaseFacts(
            name=made.name,
            rows=synthetic.rows,
            **{
                name: getattr(made.manifest, name, None)
                for name in ("mechanism", "private", "guarantee")
            },
        ),
        "real": opened.name,
        "real_records": real.rows,
        "seed": seed,
        "notes": _notes(made, synthetic),
    }
    if budget is not None:
        return UtilityReport(
            test="all real records", **about, **_private(synthetic, real, plan, budget)
        )
    return UtilityReport(
        cost=Cost(kind="public" if public else "unaccounted"),
        test="30 % of the real records" if asked is None else asked.name,
        columns=column_summaries(synthetic, real, None if made.table is None else stated),
        correlations=correlations(synthetic, real),
        histograms=histograms(synthetic, real),
        pictures=pictures(synthetic, real),
        **about,
        **_open(made, samples, plan),
    )


def _open(made: Opened, samples: Mapping[str, Sample], plan: TrainingPlan) -> dict[str, Any]:
    """What chance takes part in, of a report of public records, or one not to be published."""
    rng = np.random.default_rng(plan.seed)
    guarantee = None if made.manifest is None else made.manifest.guarantee
    synthetic, real = samples[_RELEASE], samples[_REAL]
    train, test = real, samples.get(_TEST)
    if test is None:
        order = rng.permutation(real.rows)
        cut = max(1, round(_TEST_SHARE * real.rows))
        test, train = real.taken(np.sort(order[:cut])), real.taken(np.sort(order[cut:]))
    learned, known, judged = (some_rows(one, plan.rows, rng) for one in (synthetic, train, test))
    targets = tuple(
        target_scores(
            learned,
            known,
            judged,
            target=name,
            plan=plan,
            guarantee=guarantee,
            everybody=train,
        )
        for name in plan.targets
    )
    membership: MembershipTest | None = None
    if _HOLDOUT in samples:
        membership = membership_test(
            synthetic,
            real,
            samples[_HOLDOUT],
            guarantee=guarantee,
            rng=rng,
            within=None if made.arrays is None else synthetic.columns[-1].name,
        )
    marginals = marginal_errors(synthetic, real, rng=rng)
    return {"targets": targets, "membership": membership, "marginals": marginals}


def _private(synthetic: Sample, real: Sample, plan: TrainingPlan, budget: Budget) -> dict[str, Any]:
    """The numbers of a report that depend on real records, each with noise, and their cost."""
    learned = some_rows(synthetic, plan.rows, np.random.default_rng(plan.seed))
    if any(synthetic.column(name).kind == "number" for name in plan.targets):
        raise ValueError(
            "Expected categories as targets of a private report, got a column of numbers: an R2 "
            "has no bounded sensitivity."
        )
    # All real records are tested on: what a random part of them says would cost more.
    scores = [
        target_scores(learned, None, real, target=name, plan=plan, missing_is_wrong=True)
        for name in plan.targets
    ]
    marginals = marginal_errors(synthetic, real, rng=None)
    exact = [value for s in scores for value in (s.floor, *(m.synthetic for m in s.models))]
    exact += [one.error for one in (*marginals.single, *marginals.pairs)]
    noisy, event, guarantee = noisy_averages(
        np.array(exact), records=real.rows, budget=budget, noise=NoiseSource.system()
    )
    given = iter(noisy.tolist())
    targets = tuple(
        replace(
            one,
            floor=next(given),
            models=tuple(replace(model, synthetic=next(given)) for model in one.models),
        )
        for one in scores
    )
    single, pairs = (
        tuple(replace(one, error=next(given)) for one in distances)
        for distances in (marginals.single, marginals.pairs)
    )
    cost = Cost(kind="accounted", guarantee=guarantee, noise_std=event.noise_std, event=event)
    marginals = replace(marginals, single=single, pairs=pairs)
    return {"targets": targets, "marginals": marginals, "cost": cost}


def _samples(given: dict[str, Opened | None], *, schema: Schema | None) -> dict[str, Sample]:
    """Everything that there is in one form, which the release decides."""
    parts = {where: opened for where, opened in given.items() if opened is not None}
    made = parts[_RELEASE]
    if made.table is None:
        found = _of_arrays(parts)
        same_columns(list(found.items()))
        return found
    for where, opened in parts.items():
        if opened.table is None:
            raise ValueError(f"Expected {where} to be a table as the release is, got arrays.")
    if schema is not None:
        return {w: of_schema(opened.table, schema, where=w) for w, opened in parts.items()}
    kinds = kinds_of(made.table)
    return {w: of_table(opened.table, kinds, where=w) for w, opened in parts.items()}


def _of_arrays(parts: dict[str, Opened]) -> dict[str, Sample]:
    """Arrays as samples. Images are standardised one by one, because their units may differ."""
    made = parts[_RELEASE].arrays
    assert made is not None
    image = next((one.image for one in parts.values() if fits(one.image, made[0])), None)
    image = image if image is not None else image_shape(made[0])

    def sample(where: str, opened: Opened) -> Sample:
        if opened.arrays is None:
            raise ValueError(f"Expected {where} to be arrays as the release is, got a table.")
        rows = np.asarray(opened.arrays[0], np.float64).reshape(len(opened.arrays[0]), -1)
        if image is not None:
            rows = rows - rows.mean(axis=1, keepdims=True)
            rows /= np.maximum(rows.std(axis=1, keepdims=True), 1e-12)
        return of_arrays(rows, np.asarray(opened.arrays[1]), image=image)

    return {where: sample(where, opened) for where, opened in parts.items()}


def _notes(made: Opened, synthetic: Sample) -> tuple[str, ...]:
    notes = []
    if made.manifest is None:
        notes.append(
            "The release has no manifest, so nothing is known of its guarantee: there is no "
            "private ceiling, and the membership test has nothing to compare its bound with."
        )
    elif not made.manifest.private:
        notes.append("By its manifest the release is not private.")
    if synthetic.image is not None:
        notes.append(
            "Each image was centred and divided by its own standard deviation, so that images in "
            "other units can be compared."
        )
    return tuple(notes)
