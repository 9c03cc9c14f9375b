"""An experiment: one TOML file that says what is released, how it is judged, and how often."""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rdpkit import Adjacency, _validate
from rdpkit.adjacency import ordinary
from rdpkit.formats.records import (
    Key,
    ValueKind,
    as_plain,
    choice,
    did_you_mean,
    integer,
    number,
    read_table,
    refused,
    shown,
    string,
    table,
)
from rdpkit.mechanisms.algorithms import find_mechanism
from rdpkit.mechanisms.data.published import DATASETS
from rdpkit.mechanisms.models import MODELS
from rdpkit.mechanisms.parts.counts import SHARE_OF_TARGET, NoisyCounts, PublicCounts

if TYPE_CHECKING:
    from rdpkit.mechanisms.evaluation.training import Training

_SHIPPED = Path(__file__).parent / "files"
INPUTS = ("as-released", "standardised")
POSTPROCESSING = ("none", "zero-negatives", "spread")
_BOUNDS = ("best-rdp", "best")
_MOST_CELLS = 10_000
TABLE = "table"
READER = "reader"
"""The model of an experiment that trains none: the mechanism's own reader predicts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyTarget:
    """The guarantee that an experiment asks for, and where its noise comes from."""

    adjacency: Adjacency  # The neighbouring relation
    delta: float  # In (0, 1)
    target_epsilon: float | None
    """The epsilon for which the noise is calibrated; None where the mechanism's options state the
    noise.
    """
    bound: Literal["best-rdp", "best"]
    """The bound by which the noise is calibrated: the best certified one, or the best of all, which
    needs less noise and is not certified. The manifest states the best of all in both cases.
    """
    noise: Literal["seeded", "system"]
    """"seeded": reproducible from the run's seed, so that the release is *not* private; "system":
    from the operating system, private, and another result every time.
    """
    accept_epsilon: float | None = None  # As for :class:`rdpkit.mechanisms.parts.privacy.Privacy`
    counts: str | tuple[int, ...] = "noisy"
    """How the numbers of records become known that a mechanism needs: as for
    :class:`rdpkit.mechanisms.parts.privacy.Privacy`.
    """
    counts_epsilon: float | None = None
    """The most that noisy counts may cost. By default it is a twentieth of the target, or 0.05
    where there is no target.
    """

    def counts_policy(self) -> NoisyCounts | PublicCounts:
        """How counts become known."""
        if self.counts == "noisy":
            whole = 1.0 if self.target_epsilon is None else self.target_epsilon
            share = SHARE_OF_TARGET * whole
            return NoisyCounts(
                epsilon=share if self.counts_epsilon is None else self.counts_epsilon
            )
        return PublicCounts(sizes=None if isinstance(self.counts, str) else self.counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One setting of an experiment. Each of its seeds is a run and gives a row of results."""

    dataset: Mapping[str, Any]  # ``name``, and for a CSV table its own keys
    mechanism: str  # A name of :func:`rdpkit.mechanisms.algorithms.mechanism_names`
    options: Mapping[str, Any]  # Options of the mechanism
    privacy: PrivacyTarget  # The guarantee that is asked for
    model: str  # One of :data:`rdpkit.mechanisms.models.MODELS`, or :data:`READER`
    inputs: str
    """"standardised": every record, released or of the test, is centred and divided by its own
    standard deviation before the model sees it; one of {"as-released", "standardised"}.
    """
    postprocessing: str
    """What happens to released records before training; it costs no privacy; one of {"none",
    "zero-negatives", "spread"}.
    """
    training: Mapping[str, Any]
    """Arguments of :class:`rdpkit.mechanisms.evaluation.training.Training`; none for a reader."""
    varied: Mapping[str, Any]  # The keys that tell this cell from others of its experiment

    def settings(self) -> Training:
        """The training settings, checked."""
        return _training(self.training)

    def key(self, seed: int) -> str:
        """A name for one run that changes with everything that its result depends on."""
        cell = {**as_plain(self), "privacy": self._asked_privacy()}
        return _hashed({"cell": cell, "seed": seed})

    def release_key(self, seed: int) -> str:
        """A name for a run's release, which runs with other models and training share."""
        return _hashed(
            {
                "dataset": as_plain(self.dataset),
                "mechanism": self.mechanism,
                "options": as_plain(self.options),
                "privacy": self._asked_privacy(),
                "seed": seed,
            }
        )

    def _asked_privacy(self) -> dict[str, Any]:
        """The privacy target in a run's name, which is as before where nothing is accepted."""
        found: dict[str, Any] = as_plain(self.privacy)
        for name in ("accept_epsilon", "counts_epsilon"):
            if found[name] is None:
                del found[name]
        # Before there was a choice, the data's own numbers were taken.
        if found["counts"] == "public":
            del found["counts"]
        return found


def _hashed(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:24]


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """All runs that a file describes."""

    name: str  # The file's name without its ending
    # A title; the table or figure of a paper that the experiment redraws, where there is one.
    title: str
    source: str
    seeds: tuple[int, ...]  # Each cell is run with each of them
    cells: tuple[Cell, ...]  # All combinations of the keys under ``[vary]``
    published: Mapping[str, float]
    """Accuracies that the source printed, by the varied values joined by commas."""

    def runs(self) -> Iterator[tuple[Cell, int]]:
        """Every cell with every seed: all cells with the first seed, then with the next one."""
        for seed in self.seeds:
            for cell in self.cells:
                yield cell, seed


def load_experiment(path: str | Path) -> Experiment:
    """Read an experiment from a TOML file."""
    path = Path(path)
    try:
        content = tomllib.loads(path.read_bytes().decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not a TOML file: {error}.") from None
    top = _read(str(path), content, _TOP)
    published = {key: Key(number()) for key in top["published"]}
    return Experiment(
        name=path.stem,
        title=top["title"],
        source=top["source"],
        seeds=top["seeds"],
        cells=tuple(_cells(str(path), content, top["vary"])),
        published=_read(f"{path}: [published]", top["published"], published),
    )


def short(value: Any) -> str:
    """A varied value as tables show it; a whole table of keys is shown by its ``name``."""
    if isinstance(value, Mapping):
        return str(value.get("name", " ".join(str(item) for item in value.values())))
    return f"{value:g}" if isinstance(value, float) else str(value)


def selected(
    experiment: Experiment,  # What to choose from
    # ``KEY=VALUE``: a key that the experiment varies, or its last part, and a value as tables show
    # it.
    conditions: Sequence[str],
) -> Experiment:
    """The same experiment with only those cells that meet every condition."""
    cells = experiment.cells
    for condition in conditions:
        key, equals, wanted = condition.partition("=")
        known = {value for cell in cells for value in _shown(cell, key)}
        if not equals or wanted not in known:
            varied = experiment.cells[0].varied
            keys = {name.split(".")[-1] for name in varied}
            accepted = f"a key among {', '.join(varied) or 'nothing'}"
            if known:
                accepted = f"one of {', '.join(sorted(known))}"
            hint = did_you_mean(wanted, known) if known else did_you_mean(key, keys)
            error = _validate.fail("where", f"to be KEY=VALUE with {accepted}", condition)
            raise ValueError(f"{error}{hint}")
        cells = tuple(cell for cell in cells if wanted in _shown(cell, key))
    return replace(experiment, cells=cells)


def _shown(cell: Cell, key: str) -> list[str]:
    """The values of a varied key, named in full or by its last part."""
    return [short(v) for name, v in cell.varied.items() if key in (name, name.split(".")[-1])]


def _read(where: str, table: Any, keys: Mapping[str, Key]) -> dict[str, Any]:
    """The values of a table of the file; errors begin with the file and the table."""
    if not isinstance(table, dict):
        raise ValueError(f"{where}: expected a table, got {shown(table)}.")
    for name, key in keys.items():
        if key.needed and name not in table:
            raise ValueError(f"{where}: expected the key {name}, which is missing.")
    try:
        return read_table(table, keys)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _seeds(name: str, given: Any) -> tuple[int, ...]:
    if isinstance(given, bool) or not isinstance(given, (int, list)):
        raise refused(name, "to be an integer or a list of integers", given)
    if isinstance(given, int):
        return tuple(range(_validate.integer(name, given, maximum=100_000)))
    seeds = _validate.integers(name, given, minimum=0)
    if len(set(seeds)) != len(seeds):
        raise refused(name, "to be different", given)
    return seeds


def _list(name: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise refused(name, "to be a list", value)
    return value


def _relation(name: str, value: Any) -> Adjacency:
    return ordinary(
        Adjacency.parse(value, name=name), because="mechanisms are given no special records"
    )


def _ranges(name: str, value: Any) -> Any:
    if not isinstance(value, (list, dict)):
        raise refused(name, "to be a list or a table", value)
    return value


def read_counts(name: str, value: Any) -> str | tuple[int, ...]:
    """How counts become known, as files and the command line say it."""
    if value in ("noisy", "public"):
        return str(value)
    if not isinstance(value, list):
        raise refused(name, "to be 'noisy', 'public', or a list of public integers", value)
    return _validate.integers(name, value)


_TOP = {
    "title": Key(string(), default=""),
    "source": Key(string(), default=""),
    "seeds": Key(ValueKind(_seeds, {}), default=(0, 1, 2, 3, 4)),
    "vary": Key(table(), default={}),
    "published": Key(table(), default={}),
    **{name: Key(table()) for name in ("dataset", "mechanism", "privacy", "model", "training")},
}
_CELL = {
    **{name: Key(table(), needed=True) for name in ("dataset", "mechanism", "privacy", "model")},
    "training": Key(table(), default={}),
}
_DATASET = {
    "name": Key(choice((*DATASETS, TABLE)), needed=True),
    "train_records": Key(integer(1)),
}
_OF_TABLE = {
    **{name: Key(string(), needed=True) for name in ("train", "test", "label")},
    "classes": Key(ValueKind(_list, {}), needed=True),
    "ranges": Key(ValueKind(_ranges, {}), needed=True),
    "image_shape": Key(ValueKind(_list, {})),
}
_PRIVACY = {
    "adjacency": Key(ValueKind(_relation, {}), needed=True),
    "delta": Key(number("in (0, 1)", above=0.0, below=1.0), needed=True),
    "target_epsilon": Key(number("to be a finite number > 0", above=0.0)),
    "bound": Key(choice(_BOUNDS), default=_BOUNDS[0]),
    "noise": Key(choice(("seeded", "system")), needed=True),
    "accept_epsilon": Key(number("to be a finite number > 0", above=0.0)),
    "counts": Key(ValueKind(read_counts, {}), default="noisy"),
    "counts_epsilon": Key(number("to be a finite number > 0", above=0.0)),
}
_MODEL = {
    "name": Key(choice((*MODELS, READER)), needed=True),
    "inputs": Key(choice(INPUTS), default=INPUTS[0]),
    "postprocessing": Key(choice(POSTPROCESSING), default=POSTPROCESSING[0]),
}


def _cells(where: str, content: Mapping[str, Any], axes: Mapping[str, Any]) -> Iterator[Cell]:
    vary = f"{where}: [vary]"
    for key, values in axes.items():
        different = isinstance(values, list) and len({repr(v) for v in values}) == len(values) > 0
        if not different:
            raise ValueError(f"{vary}: {refused(key, 'to be a list of different values', values)}")
    count = math.prod(len(values) for values in axes.values())
    if count > _MOST_CELLS:
        raise ValueError(f"{vary}: expected at most {_MOST_CELLS} combinations, got {count}.")
    bare = {name: content[name] for name in _CELL if name in content}
    for combination in itertools.product(*axes.values()):
        values = copy.deepcopy(bare)
        varied = dict(zip(axes, combination, strict=True))
        for key, value in varied.items():
            _set(vary, values, key, value)
        yield _cell(where, values, varied)


def _set(where: str, values: dict[str, Any], key: str, value: Any) -> None:
    *tables, last = key.split(".")
    if not tables and not isinstance(value, dict):
        condition = "to name a table and a key, such as 'privacy.delta'"
        raise ValueError(f"{where}: {refused('every key', condition, key)}")
    for name in (*tables, *((last,) if isinstance(value, dict) else ())):
        values = values.setdefault(name, {})
        if not isinstance(values, dict):
            condition = "to lead to a value, such as 'privacy.delta'"
            raise ValueError(f"{where}: {refused('every key', condition, key)}")
    if isinstance(value, dict):
        values.update(value)  # keys of one table that change together
    else:
        values[last] = value


def _cell(where: str, values: Mapping[str, Any], varied: Mapping[str, Any]) -> Cell:
    tables = _read(where, values, _CELL)
    privacy = PrivacyTarget(**_read(f"{where}: [privacy]", tables["privacy"], _PRIVACY))
    name, options = _mechanism(f"{where}: [mechanism]", tables["mechanism"], privacy)
    model = _read(f"{where}: [model]", tables["model"], _MODEL)
    if model["name"] == READER:
        _check_reader(where, name, model)
        tables["training"] = {}
    elif "training" not in values:
        raise ValueError(f"{where}: expected the key training, which is missing.")
    else:
        try:
            _training(tables["training"])
        except (ValueError, TypeError) as error:
            raise ValueError(f"{where}: [training]: {error}") from None
    return Cell(
        dataset=_dataset(f"{where}: [dataset]", tables["dataset"]),
        mechanism=name,
        options=options,
        privacy=privacy,
        model=model["name"],
        inputs=model["inputs"],
        postprocessing=model["postprocessing"],
        training=tables["training"],
        varied=varied,
    )


def _check_reader(where: str, mechanism: str, model: Mapping[str, Any]) -> None:
    if find_mechanism(mechanism).reader is None:
        raise ValueError(
            f"{where}: [model]: expected a mechanism with a reader of its own for name = "
            f"{READER!r}, got {mechanism!r}; name a model that is trained on its releases."
        )
    # A reader takes releases as they are, and nothing is trained.
    for name, only in (("inputs", INPUTS[0]), ("postprocessing", POSTPROCESSING[0])):
        if model[name] != only:
            raise ValueError(f"{where}: [model]: {refused(name, f'to be {only!r}', model[name])}")


def _dataset(where: str, given: Mapping[str, Any]) -> dict[str, Any]:
    keys = {**_DATASET, **_OF_TABLE} if given.get("name") == TABLE else _DATASET
    return {key: value for key, value in _read(where, given, keys).items() if key in given}


def _mechanism(
    where: str, given: Mapping[str, Any], privacy: PrivacyTarget
) -> tuple[str, dict[str, Any]]:
    if not isinstance(given.get("name"), str):
        raise ValueError(f"{where}: expected the key name to be the name of a mechanism.")
    options = {key: value for key, value in given.items() if key != "name"}
    try:
        mechanism = find_mechanism(given["name"])
        mechanism.check(options, calibrated=privacy.target_epsilon is not None)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{where}: {error}") from None
    return mechanism.name, options


def _training(values: Mapping[str, Any]) -> Training:
    from rdpkit.mechanisms.evaluation.training import Training as Settings  # noqa: PLC0415  (it imports torch)

    known = {field.name for field in fields(Settings)}
    for key in values:
        if key not in known:
            hint = did_you_mean(key, known)
            raise ValueError(f"unknown key {key!r}; accepted are {', '.join(sorted(known))}.{hint}")
    for key in ("epochs", "batch_size"):
        if key not in values:
            raise ValueError(f"expected the key {key}, which is missing.")
    return Settings(**dict(values))


def shipped_names() -> list[str]:
    """Names of the experiments that come with the package."""
    return sorted(path.stem for path in _SHIPPED.glob("*.toml"))


def find_experiment(
    given: str,  # The name of one that comes with the package, or the path of a TOML file
) -> Experiment:
    """An experiment by its name, or from a file."""
    path = Path(given)
    if path.suffix != ".toml" and not path.exists():
        if given not in shipped_names():
            raise ValueError(
                f"Expected EXPERIMENT to be a TOML file or one of {', '.join(shipped_names())}, "
                f"got {given!r}.{did_you_mean(given, shipped_names())}"
            )
        path = _SHIPPED / f"{given}.toml"
    return load_experiment(path)
