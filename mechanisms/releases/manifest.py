"""The manifest of a release: what was released, how, and what it guarantees, as plain JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from rdpkit import Adjacency, Event, Guarantee, _validate
from rdpkit.formats.files import write_whole
from rdpkit.formats.tables import (
    check_keys,
    event_from_table,
    event_to_table,
    guarantee_from_table,
    strings,
)
from rdpkit.mechanisms.parts.checks import PrivacyCheck, Status
from rdpkit.mechanisms.releases.verdict import (
    complete,
    computed_checks,
    failures,
    is_private,
)

FORMAT = 3
"""The version of the format that is written."""

_WITHOUT_CHECKS = 1
"""The version before manifests had checks; it is still read."""

_OLD_NOTES = (
    "class sizes are the data's exact counts",
    "the number of records is the data's exact one",
)
"""How notes of that version begin that say what is a check today."""

_ADDED = {2: ("checks", "accept_epsilon"), 3: ("dataset", "schema", "files")}
"""Keys by the version that had them first."""

_LARGEST_FILE = 64 * 2**20  # In bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The description of a release: what it is, how it was made and what it guarantees."""

    mechanism: str  #: What produced it; the event's name unless several mechanisms share an event
    parameters: Mapping[str, Any]
    """Everything that produced it, as plain JSON values, including what is not in the event."""
    event: Event | None  #: What was released; None for a baseline without any privacy
    guarantee: Guarantee | None
    """What ``rdpkit.epsilon`` says of the event; None where there is none."""
    reproducible_noise: bool
    """Whether the noise came from a seed. Whoever knows the seed can subtract the noise."""
    private: bool
    """The verdict: no check fails, and none is unknown. A manifest of an older version, which had
    no checks, may say true where checks are unknown, but not where one fails.
    """
    checks: tuple[PrivacyCheck, ...] = ()
    """The reasons of the verdict. Checks that follow from the other values, such as that of delta,
    are added where they are missing, and the others are added as unknown.
    """
    accept_epsilon: float | None = None
    """The largest epsilon that whoever made the release has accepted; see
    :class:`rdpkit.mechanisms.parts.privacy.Privacy`.
    """
    notes: tuple[str, ...] = ()
    """What a reader has to know, such as a use of private statistics that no account covers."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Versions of the program and of the libraries that it used."""
    arrays: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """``shape``, ``dtype`` and ``sha256`` of every array; the hash is of its bytes in C order."""
    dataset: str | None = None
    """The user's name for the private data, by which a ledger knows what they have spent. It is
    never computed from the data: their hash would show whether a guess at all records is right.
    """
    schema: Mapping[str, Any] | None = None
    """For a table: the public description of its columns, with which codes become values again."""
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """``format``, ``rows`` and ``sha256`` of every file beside the manifest that is no file of
    arrays, by its name, such as ``synth.csv``.
    """

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, str) or not self.mechanism:
            raise _validate.fail("mechanism", "to be a non-empty string", self.mechanism)
        _validate.one_of_a_kind("event", self.event, (Event, type(None)))
        _validate.one_of_a_kind("guarantee", self.guarantee, (Guarantee, type(None)))
        for name in ("reproducible_noise", "private"):
            _validate.one_of_a_kind(name, getattr(self, name), bool)
        if not isinstance(self.notes, tuple) or not all(isinstance(n, str) for n in self.notes):
            raise _validate.fail("notes", "to be a tuple of strings", self.notes)
        for name, array in self.arrays.items():
            _check_array_entry(name, array)
        for name, file in self.files.items():
            _check_file_entry(name, file)
        if self.dataset is not None and (not isinstance(self.dataset, str) or not self.dataset):
            raise _validate.fail("dataset", "to be a non-empty string or None", self.dataset)
        if (self.event is None) != (self.guarantee is None):
            raise ValueError("Expected an event together with its guarantee, or neither.")
        if self.accept_epsilon is not None:
            _validate.positive("accept_epsilon", self.accept_epsilon)
        self._set_checks()
        # What JSON cannot hold would be lost or raise when the release is saved.
        object.__setattr__(self, "parameters", _plain_json("parameters", self.parameters))
        if self.schema is not None:
            object.__setattr__(self, "schema", _plain_json("schema", self.schema))

    def _set_checks(self) -> None:
        """Complete the checks, and compare them with the verdict and with the other values."""
        if not isinstance(self.checks, tuple) or not all(
            isinstance(check, PrivacyCheck) for check in self.checks
        ):
            raise _validate.fail("checks", "to be a tuple of PrivacyCheck", self.checks)
        computed = computed_checks(
            event=self.event,
            guarantee=self.guarantee,
            reproducible_noise=self.reproducible_noise,
            accept_epsilon=self.accept_epsilon,
            public=self.parameters.get("public", {}),
        )
        stated = {check.name for check in self.checks}
        stated -= {check.name for check in failures(self.checks)}
        for hidden in failures(computed):
            if hidden.name in stated:
                raise ValueError(f"Expected the check {hidden.name!r} to fail: {hidden.sentence}.")
        found = complete(self.checks, computed)
        failing = failures(found)
        if self.private and failing:
            raise ValueError(
                f"Expected private to be false: the check {failing[0].name!r} fails: "
                f"{failing[0].sentence}."
            )
        if not self.private and is_private(found):
            raise ValueError("Expected private to be true where no check fails or is unknown.")
        object.__setattr__(self, "checks", found)

    @property
    def has_noisy_counts(self) -> bool:
        """Whether noisy counts of records are part of the release, and of its guarantee."""
        counts = self.parameters.get("counts")
        return isinstance(counts, Mapping) and counts.get("origin") == "noisy"

    @property
    def epsilon(self) -> float:
        """The guarantee's epsilon, an upper bound; inf where there is none."""
        return math.inf if self.guarantee is None else self.guarantee.epsilon

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; infinite numbers are the strings "inf" and "-inf"."""
        return {
            "format": FORMAT,
            "mechanism": self.mechanism,
            "private": self.private,
            "checks": [check.as_dict() for check in self.checks],
            "accept_epsilon": self.accept_epsilon,
            "reproducible_noise": self.reproducible_noise,
            "guarantee": None if self.guarantee is None else self.guarantee.as_dict(),
            "event": None if self.event is None else event_to_table(self.event),
            "parameters": dict(self.parameters),
            "notes": list(self.notes),
            "versions": dict(self.versions),
            "arrays": {name: dict(entry) for name, entry in self.arrays.items()},
            "dataset": self.dataset,
            "schema": None if self.schema is None else dict(self.schema),
            "files": {name: dict(entry) for name, entry in self.files.items()},
        }

    def write(self, path: Path) -> None:
        """Write it as JSON, under a temporary name, and move it."""
        text = json.dumps(self.as_dict(), indent=1, allow_nan=False) + "\n"
        write_whole(path, text.encode())

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Manifest:
        """The manifest from a table that :meth:`as_dict` has made.

        Raises
        ------
        ValueError
            If a key is unknown or missing, or its value is not accepted.
        """
        if not isinstance(table, Mapping):
            raise _validate.fail("the manifest", "to be a table", table)
        version = table.get("format")
        if not isinstance(version, int) or isinstance(version, bool) or not 1 <= version <= FORMAT:
            raise _validate.fail("format", f"to be 1, 2 or {FORMAT}", version)
        later = {key for first, keys in _ADDED.items() if first > version for key in keys}
        names = [one.name for one in fields(cls) if one.name not in later]
        check_keys("the manifest", table, required=("format", *names))
        for name in ("parameters", "versions", "arrays", "files"):
            if name in later:
                continue
            if not isinstance(table[name], Mapping):
                raise _validate.fail(name, "to be a table", table[name])
        values: dict[str, Any] = {name: table[name] for name in names}
        if table["event"] is not None:
            try:
                values["event"] = event_from_table(table["event"])
            except ValueError as error:
                raise ValueError(f"In event: {error}") from None
        if table["guarantee"] is not None:
            values["guarantee"] = guarantee_from_table(table["guarantee"])
        values["notes"] = strings("notes", table["notes"])
        if version == _WITHOUT_CHECKS:
            return _of_old_values(cls, values)
        if not isinstance(table["checks"], list):
            raise _validate.fail("checks", "to be a list of tables", table["checks"])
        values["checks"] = tuple(PrivacyCheck.from_dict(check) for check in table["checks"])
        return cls(**values)


def _of_old_notes(notes: tuple[str, ...], adjacency: Adjacency) -> Iterator[PrivacyCheck]:
    """The checks that notes of the format without checks stand for.

    Its version wrote two sentences where exact counts were released that no account covers. Under
    replace-one they hold if the counts were public before; otherwise neighbours differ in them.
    """
    status: Status = "fails"
    why = "one record more or less changes them"
    if adjacency is Adjacency.REPLACE_ONE:
        status, why = "depends", "it holds if they were public before"
    for note in notes:
        if note.startswith(_OLD_NOTES):
            yield PrivacyCheck("public_parameters", status, f"{note}; {why}")


def _of_old_values(cls: type[Manifest], values: dict[str, Any]) -> Manifest:
    """A manifest of the format without checks: never more private than it says of itself."""
    guarantee = values["guarantee"]
    if values["private"] is True and values["reproducible_noise"] is True:
        raise ValueError("Expected private to be false where the noise is reproducible.")
    checks: tuple[PrivacyCheck, ...] = ()
    if guarantee is not None:
        checks = tuple(_of_old_notes(values["notes"], guarantee.adjacency))
    stated = values.pop("private")
    _validate.one_of_a_kind("private", stated, bool)
    found = cls(**values, private=False, checks=checks)
    if not stated or failures(found.checks):
        return found
    return cls(**values, private=True, checks=checks)


def load_manifest(path: str | Path) -> Manifest:
    """Read a manifest from its JSON file, without reading the arrays.

    Parameters
    ----------
    path : str or Path
        The JSON file.

    Returns
    -------
    Manifest
        What the file says. :func:`rdpkit.mechanisms.releases.release.check_arrays` tells whether
        the arrays are those that it describes.

    Raises
    ------
    ValueError
        If the file is not a manifest; the message names the file and what is wrong.
    OSError
        If it cannot be read.
    """
    try:
        if Path(path).stat().st_size > _LARGEST_FILE:
            raise ValueError(f"it has more than {_LARGEST_FILE} bytes.")
        table = json.loads(Path(path).read_bytes(), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not a manifest in JSON: {error}") from None
    try:
        return Manifest.from_dict(table)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"{path}: {error}") from None


def _check_array_entry(name: str, entry: Any) -> None:
    where = f"arrays[{name!r}]"
    _check_entry(where, entry, ("shape", "dtype", "sha256"), texts=("dtype", "sha256"))
    if not isinstance(entry["shape"], list) or not all(
        isinstance(size, int) and not isinstance(size, bool) and size >= 0
        for size in entry["shape"]
    ):
        raise _validate.fail(f"{where}'s shape", "to be a list of integers >= 0", entry["shape"])


def _check_file_entry(name: str, entry: Any) -> None:
    where = f"files[{name!r}]"
    # A name with a folder could make a check read, and show the hash of, any other file.
    if not name or name in (".", "..") or set(name) & set("/\\\0"):
        raise _validate.fail(where, "to be the name of a file without a folder", name)
    _check_entry(where, entry, ("format", "rows", "sha256"), texts=("format", "sha256"))
    _validate.integer(f"{where}'s rows", entry["rows"], minimum=0)


def _check_entry(where: str, entry: Any, keys: tuple[str, ...], *, texts: tuple[str, ...]) -> None:
    if not isinstance(entry, Mapping) or set(entry) != set(keys):
        named = f"{', '.join(keys[:-1])} and {keys[-1]}"
        raise _validate.fail(where, f"to be a table of {named}", entry)
    for key in texts:
        if not isinstance(entry[key], str):
            raise _validate.fail(f"{where}'s {key}", "to be a string", entry[key])


def _plain_json(name: str, given: Any) -> dict[str, Any]:
    """The same values as JSON gives them back."""
    try:
        plain: dict[str, Any] = json.loads(json.dumps(dict(given), allow_nan=False))
    except (TypeError, ValueError):
        raise _validate.fail(name, "to be plain JSON values, none NaN or infinite", given) from None
    return plain


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not JSON")
