"""An experiment: one TOML file that says what is released, how it is judged, and how often."""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rdpkit.mechanisms.algorithms import find_mechanism
from rdpkit.mechanisms.data.registry import DATASETS
from rdpkit.mechanisms.experiments.toml_table import TomlTable
from rdpkit.mechanisms.models import MODELS

from rdpkit import Adjacency, _validate

if TYPE_CHECKING:
    from rdpkit.mechanisms.evaluation.training import Training

INPUTS = ("as-released", "standardised")
POSTPROCESSING = ("none", "zero-negatives", "spread")
_BOUNDS = ("best-rdp", "best")
_MOST_CELLS = 10_000
TABLE = "table"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyTarget:
    """What is promised, and where noise comes from.

    Parameters
    ----------
    adjacency : Adjacency
        The neighbouring relation.
    delta : float
        In (0, 1).
    target_epsilon : float or None
        The noise is calibrated to it; None where the mechanism's options state the noise.
    bound : {"best-rdp", "best"}
        What the noise is calibrated by: the best certified bound, or the best of all, which takes
        less noise and is not certified. The manifest states the best of all either way.
    noise : {"seeded", "system"}
        "seeded": reproducible from the run's seed, so that the release is *not* private; "system":
        from the operating system, private, and another result every time.
    """

    adjacency: Adjacency
    delta: float
    target_epsilon: float | None
    bound: Literal["best-rdp", "best"]
    noise: Literal["seeded", "system"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One setting of an experiment; each seed of it is a run and a row.

    Parameters
    ----------
    dataset : mapping
        ``name``, and for a CSV table its own keys.
    mechanism : str
        A name of :func:`rdpkit.mechanisms.algorithms.mechanism_names`.
    options : mapping
        The mechanism's.
    privacy : PrivacyTarget
        What is promised.
    model : str
        A key of :data:`rdpkit.mechanisms.models.MODELS`.
    inputs : {"as-released", "standardised"}
        "standardised": every record, released or of the test, is centred and divided by its own
        standard deviation before the model sees it.
    postprocessing : {"none", "zero-negatives", "spread"}
        What happens to released records before training; it costs no privacy.
    training : mapping
        Arguments of :class:`rdpkit.mechanisms.evaluation.training.Training`.
    varied : mapping
        The keys that tell this cell from others of its experiment.
    """

    dataset: Mapping[str, Any]
    mechanism: str
    options: Mapping[str, Any]
    privacy: PrivacyTarget
    model: str
    inputs: str
    postprocessing: str
    training: Mapping[str, Any]
    varied: Mapping[str, Any]

    def settings(self) -> Training:
        """The training settings, checked."""
        return _training(self.training)

    def key(self, seed: int) -> str:
        """A name for one run that changes with everything that its result depends on."""
        return _hashed({"cell": _plain(asdict(self)), "seed": seed})

    def release_key(self, seed: int) -> str:
        """A name for a run's release, which runs with other models and training share."""
        return _hashed(
            {
                "dataset": _plain(self.dataset),
                "mechanism": self.mechanism,
                "options": _plain(self.options),
                "privacy": _plain(asdict(self.privacy)),
                "seed": seed,
            }
        )


def _hashed(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:24]


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """What a file describes.

    Parameters
    ----------
    name : str
        The file's name without its ending.
    title, source : str
        What it shows; the paper's table or figure that it redraws, or nothing.
    seeds : tuple of int
        Each cell is run with each of them.
    cells : tuple of Cell
        All combinations of the keys under ``[vary]``.
    published : mapping of str to float
        Accuracies that the source printed, by the varied values joined by commas.
    """

    name: str
    title: str
    source: str
    seeds: tuple[int, ...]
    cells: tuple[Cell, ...]
    published: Mapping[str, float]

    def runs(self) -> Iterator[tuple[Cell, int]]:
        """Every cell with every seed; all cells once before any a second time."""
        for seed in self.seeds:
            for cell in self.cells:
                yield cell, seed


def load_experiment(path: str | Path) -> Experiment:
    """Read an experiment from a TOML file.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    Experiment

    Raises
    ------
    ValueError
        If the file is not TOML, a key is unknown or missing, or a value is not accepted: one error
        with the file, the key, the value and what is accepted.
    OSError
        If it cannot be read.
    """
    path = Path(path)
    top = TomlTable.of_file(path)
    title = top.take("title", str, "")
    source = top.take("source", str, "")
    seeds = _seeds(top)
    vary = top.table("vary")
    published = top.table("published")
    numbers = {key: published.take(key, float) for key in list(published.values)}
    cells = tuple(_cells(path, top, vary))
    return Experiment(
        name=path.stem, title=title, source=source, seeds=seeds, cells=cells, published=numbers
    )


def short(value: Any) -> str:
    """A varied value in few words: a table of keys by its name."""
    if isinstance(value, Mapping):
        return str(value.get("name", " ".join(str(item) for item in value.values())))
    return f"{value:g}" if isinstance(value, float) else str(value)


def selected(experiment: Experiment, conditions: Sequence[str]) -> Experiment:
    """The experiment with those of its cells alone that meet every condition.

    Parameters
    ----------
    experiment : Experiment
        What to choose from.
    conditions : sequence of str
        ``KEY=VALUE``: a key that the experiment varies, or its last part, and a value as tables
        show it.

    Raises
    ------
    ValueError
        If a condition has another form, or no cell meets them.
    """
    cells = experiment.cells
    for condition in conditions:
        key, equals, wanted = condition.partition("=")
        seen = {
            short(value)
            for cell in cells
            for name, value in cell.varied.items()
            if key in (name, name.split(".")[-1])
        }
        if not equals or wanted not in seen:
            varied = ", ".join(experiment.cells[0].varied) or "nothing"
            accepted = f"one of {', '.join(sorted(seen))}" if seen else f"a key among {varied}"
            raise _validate.fail("where", f"to be KEY=VALUE with {accepted}", condition)
        cells = tuple(
            cell
            for cell in cells
            if any(
                short(value) == wanted
                for name, value in cell.varied.items()
                if key in (name, name.split(".")[-1])
            )
        )
    return replace(experiment, cells=cells)


def _seeds(top: TomlTable) -> tuple[int, ...]:
    given = top.take("seeds", (int, list), 5)
    try:
        if isinstance(given, int):
            return tuple(range(_validate.integer("seeds", given, maximum=100_000)))
        seeds = _validate.integers("seeds", given, minimum=0)
    except ValueError as error:
        raise ValueError(f"{top.where}: {error}") from None
    if len(set(seeds)) != len(seeds):
        raise top.fail("seeds", "to be different", given)
    return seeds


def _cells(path: Path, top: TomlTable, vary: TomlTable) -> Iterator[Cell]:
    axes: dict[str, list[Any]] = {}
    for key in list(vary.values):
        values = vary.take(key, list)
        if not values or len({repr(value) for value in values}) != len(values):
            raise vary.fail(key, "to be a list of different values", values)
        axes[key] = values
    count = math.prod(len(values) for values in axes.values())
    if count > _MOST_CELLS:
        raise vary.fail("combinations", f"to be at most {_MOST_CELLS}", count)
    bare = {k: v for k, v in top.values.items() if k not in ("vary", "published")}
    for combination in itertools.product(*axes.values()):
        values = copy.deepcopy(bare)
        varied = dict(zip(axes, combination, strict=True))
        for key, value in varied.items():
            _set(vary, values, key, value)
        yield _cell(TomlTable(values, str(path)), varied)


def _set(vary: TomlTable, values: dict[str, Any], key: str, value: Any) -> None:
    *tables, last = key.split(".")
    if not tables and not isinstance(value, dict):
        raise vary.fail("every key", "to name a table and a key, such as 'privacy.delta'", key)
    for table in (*tables, *((last,) if isinstance(value, dict) else ())):
        values = values.setdefault(table, {})
        if not isinstance(values, dict):
            raise vary.fail("every key", "to lead to a value, such as 'privacy.delta'", key)
    if isinstance(value, dict):
        values.update(value)  # keys of one table that change together
    else:
        values[last] = value


def _cell(top: TomlTable, varied: Mapping[str, Any]) -> Cell:
    for key in ("title", "source", "seeds"):
        top.take(key, object, None)
    dataset = _dataset(top.table("dataset", required=True))
    privacy = _privacy(top.table("privacy"))
    mechanism_table = top.table("mechanism", required=True)
    model_table = top.table("model", required=True)
    training_table = top.table("training", required=True)
    top.finish()
    name, options = _mechanism(mechanism_table, privacy)
    try:
        model = _validate.choice("name", model_table.take("name", str), MODELS)
        inputs = _validate.choice("inputs", model_table.take("inputs", str, INPUTS[0]), INPUTS)
        postprocessing = _validate.choice(
            "postprocessing", model_table.take("postprocessing", str, "none"), POSTPROCESSING
        )
    except ValueError as error:
        raise _at(model_table, error) from None
    model_table.finish()
    training = training_table.rest()
    try:
        _training(training)
    except (ValueError, TypeError) as error:
        raise _at(training_table, error) from None
    return Cell(
        dataset=dataset,
        mechanism=name,
        options=options,
        privacy=privacy,
        model=model,
        inputs=inputs,
        postprocessing=postprocessing,
        training=training,
        varied=varied,
    )


def _at(table: TomlTable, error: Exception) -> ValueError:
    text = str(error)
    return ValueError(text if text.startswith(table.where) else f"{table.where}: {text}")


def _dataset(table: TomlTable) -> dict[str, Any]:
    name = table.take("name", str)
    if name not in (*DATASETS, TABLE):
        raise table.fail("name", f"to be one of {', '.join((*DATASETS, TABLE))}", name)
    found: dict[str, Any] = {"name": name}
    if name == TABLE:
        found |= {key: table.take(key, str) for key in ("train", "test", "label")}
        found["classes"] = table.take("classes", list)
        found["ranges"] = table.take("ranges", (list, dict))
        shape = table.take("image_shape", list, None)
        if shape is not None:
            found["image_shape"] = shape
    limit = table.take("train_records", int, None)
    if limit is not None:
        if limit < 1:
            raise table.fail("train_records", "to be an integer >= 1", limit)
        found["train_records"] = limit
    table.finish()
    return found


def _privacy(table: TomlTable) -> PrivacyTarget:
    try:
        adjacency = Adjacency.parse(table.take("adjacency", str))
        delta = _validate.open_probability("delta", table.take("delta", float))
        target = table.take("target_epsilon", float, None)
        if target is not None:
            _validate.positive("target_epsilon", target)
        bound = _validate.choice("bound", table.take("bound", str, "best-rdp"), _BOUNDS)
        noise = _validate.choice("noise", table.take("noise", str), ("seeded", "system"))
    except ValueError as error:
        raise _at(table, error) from None
    table.finish()
    return PrivacyTarget(
        adjacency=adjacency,
        delta=delta,
        target_epsilon=target,
        bound="best" if bound == "best" else "best-rdp",
        noise="seeded" if noise == "seeded" else "system",
    )


def _mechanism(table: TomlTable, privacy: PrivacyTarget) -> tuple[str, dict[str, Any]]:
    name = table.take("name", str)
    options = table.rest()
    try:
        mechanism = find_mechanism(name)
        mechanism.check(options, calibrated=privacy.target_epsilon is not None)
    except ValueError as error:
        raise _at(table, error) from None
    return mechanism.name, options


def _training(values: Mapping[str, Any]) -> Training:
    from rdpkit.mechanisms.evaluation.training import Training as Settings  # noqa: PLC0415  (it imports torch)

    known = {field.name for field in fields(Settings)}
    for key in values:
        if key not in known:
            raise ValueError(f"unknown key {key!r}; accepted: {', '.join(sorted(known))}.")
    for key in ("epochs", "batch_size"):
        if key not in values:
            raise ValueError(f"Expected the key {key}, which is missing.")
    return Settings(**dict(values))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
