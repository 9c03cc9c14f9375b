"""A ledger: all releases from each of a team's data sets, and what they cost together.

The file is that of :mod:`rdpkit.planning.budgets.ledger`: lines of JSON with numbers and
checksums, each on the disk before anything relies on it; who reads or writes locks the file itself.
A line opens a data set, charges it, or says which release a charge was for.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rdpkit import (
    Adjacency,
    BudgetExceededError,
    Event,
    PrivacyFilter,
    PrivacyOdometer,
    _validate,
)
from rdpkit.formats.tables import event_from_table, event_to_table
from rdpkit.mechanisms.releases.accounts import (
    LedgerAccount,
    LedgerRefusalError,
    LedgerRelease,
    charged_event,
    data_of,
    fixed_guarantee,
    not_private,
    sha256_of_manifest,
)
from rdpkit.mechanisms.releases.manifest import Manifest, load_manifest
from rdpkit.mechanisms.releases.release import check_arrays
from rdpkit.planning.budgets.ledger import LedgerFile

_HEADER = {"kind": "ledger of releases", "version": 1}


@dataclass(slots=True)
class _DataSet:
    """What the lines about one data set say."""

    adjacency: Adjacency
    delta: float
    budget: PrivacyFilter | None
    of_persons: bool = False
    releases: dict[int, LedgerRelease] = field(default_factory=dict)


class Ledger:
    """All releases from each of a team's data sets, in one file.

    Guarantee
    ---------
    Of a data set with a budget, everything that was charged is, together, (epsilon, delta)-DP for
    the budget's numbers, as :class:`rdpkit.PrivacyFilter` says, if nothing is recorded without
    an account.

    Assumes
    -------
    Everything that is released from the data set is in the ledger, under one name. A release whose
    noisy counts are refused has been made all the same; what the refusal tells is not charged.

    Parameters
    ----------
    path : str or Path
        The file, which :meth:`create` makes.

    Raises
    ------
    ValueError
        If the file is no ledger, or is damaged.
    OSError
        If it cannot be read.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise FileNotFoundError(
                f"{self.path}: there is no such ledger; 'rdpkit ledger new' makes one."
            )
        self._mutex = threading.RLock()
        self._forget()
        with self._locked():
            pass

    @classmethod
    def create(cls, path: str | Path) -> Ledger:
        """Make a new file without any data set.

        Raises
        ------
        FileExistsError
            If there is a file of that name.
        OSError
            If it cannot be written.
        """
        LedgerFile.create(Path(path), [_HEADER])
        return cls(path)

    # What there is.

    @property
    def datasets(self) -> tuple[str, ...]:
        """The names of all data sets, in the order in which they were opened."""
        with self._locked():
            return tuple(self._sets)

    def account(self, dataset: str) -> LedgerAccount:
        """What was spent of a data set, and what is left.

        Raises
        ------
        ValueError
            If the ledger does not have it.
        """
        with self._locked():
            found = self._set(dataset)
            releases = tuple(found.releases.values())
            budget = found.budget
            left = None if budget is None else budget.remaining
            adaptive = _adaptive(found, releases)
        return LedgerAccount(
            dataset=dataset,
            adjacency=found.adjacency,
            delta=found.delta,
            of_persons=found.of_persons,
            budget=None if budget is None else budget.epsilon,
            releases=releases,
            fixed=fixed_guarantee(releases, delta=found.delta, adjacency=found.adjacency),
            adaptive=adaptive,
            left=left,
        )

    def problems(self, dataset: str) -> tuple[str, ...]:
        """Whatever keeps the account of a data set from being true, a sentence each.

        Releases without an account, manifests that are missing or have changed, and data that are
        not those of their manifest. Data are hashed piece by piece.
        """
        with self._locked():
            releases = tuple(self._set(dataset).releases.values())
        found = []
        for one in releases:
            if one.reason is not None:
                found.append(f"{one.path} is covered by no account: {one.reason}")
            if one.sha256 is not None:
                found += [f"{one.path}: {problem}" for problem in self._changes(one)]
        return tuple(found)

    def manifest_path(self, release: LedgerRelease) -> Path:
        """Where the manifest of a release is looked for."""
        return self._folder / release.path

    @property
    def _folder(self) -> Path:
        """That of the file itself, not of a link to it."""
        return self.path.resolve().parent

    def _changes(self, release: LedgerRelease) -> list[str]:
        path = self.manifest_path(release)
        try:
            if sha256_of_manifest(path) != release.sha256:
                return ["the manifest has changed since it was recorded"]
            return list(check_arrays(path))
        except (OSError, ValueError) as error:
            return [f"it cannot be checked: {error}"]

    # What is written down.

    def open(
        self,
        dataset: str,
        *,
        adjacency: Adjacency | str,
        delta: float,
        epsilon: float | None = None,
        composition: str = "renyi",
        planned: Event | None = None,
        delta_for_events: float = 0.0,
        of_persons: bool = False,
    ) -> None:
        """Open a data set.

        Parameters
        ----------
        dataset : str
            The user's name for it. It is never computed from the data.
        adjacency : Adjacency or str
            The neighbouring relation of all its releases.
        delta : float
            The delta of the budget, and of all that is said of the data set; in (0, 1).
        epsilon : float, optional
            The budget; without it, releases are recorded and never refused for what they cost.
        composition, planned, delta_for_events
            As for :class:`rdpkit.PrivacyFilter`.
        of_persons : bool
            Whether neighbours differ in all records of one person. Then releases are refused whose
            guarantee is about a single record.

        Raises
        ------
        ValueError
            If a value is not accepted, or there is such a data set already.
        OSError
            If it cannot be written.
        """
        if not isinstance(dataset, str) or not dataset.strip():
            raise _validate.fail("dataset", "to be a name", dataset)
        relation = Adjacency.parse(adjacency)
        settings = None
        if epsilon is not None:
            budget = PrivacyFilter(
                epsilon=epsilon,
                delta=delta,
                adjacency=relation,
                composition=composition,
                planned=planned,
                delta_for_events=delta_for_events,
            )
            settings = budget.entries()[0]
        entry = {
            "kind": "data set",
            "dataset": dataset,
            "adjacency": relation.value,
            "delta": _validate.open_probability("delta", delta),
            "budget": settings,
        }
        if of_persons:
            entry["of_persons"] = True
        with self._locked(writing=True):
            if dataset in self._sets:
                raise ValueError(f"{self.path}: the data set {dataset!r} is there already.")
            self._write(entry)

    def add(
        self, manifest: str | Path, *, dataset: str | None = None, record_anyway: bool = False
    ) -> LedgerRelease:
        """Charge a release that was made, and record its manifest.

        Parameters
        ----------
        manifest : str or Path
            The JSON file.
        dataset : str, optional
            The data set; by default the one that the manifest names.
        record_anyway : bool
            Whether a release that cannot be charged is recorded all the same: because it is not
            private, has another neighbouring relation or exceeds the budget. From then on the data
            set is not private any more. A release that is recorded already is charged again, as
            another draw that came out alike.

        Raises
        ------
        LedgerRefusalError
            If it is recorded already, is not private, or has another neighbouring relation.
        rdpkit.BudgetExceededError
            If it exceeds the budget.
        ValueError
            If the file is no manifest, or it is of another data set.
        OSError
            If a file cannot be read or written.
        """
        path = Path(manifest)
        # Read first, hashed after: a file that changes in between is noticed by 'check'.
        found, content = load_manifest(path), sha256_of_manifest(path)
        name = self._name(found, dataset, path)
        data = data_of(found)
        with self._locked(writing=True):
            state = self._set(name)
            if _is_recorded(state, found, data) and not record_anyway:
                raise LedgerRefusalError(
                    f"{path}: this release from {name!r} is recorded already; nothing was charged. "
                    "If it is another draw that came out alike, charge it with --record-anyway."
                )
            epsilon = None if found.guarantee is None else found.guarantee.epsilon
            stated = self._release(path, found.mechanism, epsilon=epsilon)
            stated |= {"sha256": content, "data": data}
            try:
                charge = _charged(state, found, str(path))
            except (LedgerRefusalError, BudgetExceededError) as error:
                if not record_anyway:
                    raise type(error)(f"{path}: {error}") from None
                charge = {"event": None, "delta": 0.0, "charge": [], "reason": str(error)}
            number = self._write({"kind": "charge", "dataset": name, **charge, "release": stated})
            return self._set(name).releases[number]

    def charge(
        self,
        *,
        dataset: str,
        event: Event,
        adjacency: Adjacency | str,
        delta: float,
        path: str | Path,
        of_persons: bool = False,
    ) -> int:
        """Charge a release before it is made. The charge is on the disk when this returns.

        If the program ends before :meth:`complete`, the charge stays: a crash can only make the
        ledger say that more was spent than was.

        Parameters
        ----------
        dataset : str
            The data set.
        event : Event
            What will be released.
        adjacency : Adjacency or str
            The neighbouring relation of the release.
        delta : float
            With which the event is charged if its divergences are not finite.
        path : str or Path
            Where the release will be.
        of_persons : bool
            Whether the event is about all records of a person.

        Returns
        -------
        int
            The number of the charge, for :meth:`complete`.

        Raises
        ------
        LedgerRefusalError
            If the neighbouring relation is another one.
        rdpkit.BudgetExceededError
            If it exceeds the budget.
        ValueError
            If the ledger does not have the data set, or the event cannot be charged for.
        OSError
            If it cannot be written down. Then nothing may be released.
        """
        _validate.one_of_a_kind("event", event, Event)
        with self._locked(writing=True):
            state = self._set(dataset)
            _check_relation(state, Adjacency.parse(adjacency), of_persons=of_persons)
            charged = _spent(state, event, _validate.target_delta("delta", delta), 0.0, str(path))
            return self._charge(dataset, charged, path, event.mechanism)

    def charge_unsaved(self, manifest: Manifest, *, dataset: str, path: str | Path) -> int:
        """Charge a release that is in memory, before anything of it is saved.

        For mechanisms whose event is known only with the release, because their numbers of records
        are noisy. Parameters, errors and what is returned are those of :meth:`charge`; the charge
        is that of the manifest.
        """
        _validate.one_of_a_kind("manifest", manifest, Manifest)
        with self._locked(writing=True):
            charged = _charged(self._set(dataset), manifest, str(path))
            return self._charge(dataset, charged, path, manifest.mechanism)

    def _charge(
        self, dataset: str, charged: dict[str, Any], path: str | Path, mechanism: str
    ) -> int:
        stated = self._release(Path(path).with_suffix(".json"), mechanism, epsilon=None)
        return self._write({"kind": "charge", "dataset": dataset, **charged, "release": stated})

    def expect(self, dataset: str, adjacency: Adjacency | str) -> None:
        """Say before long work that a release of records could not be charged to a data set.

        Raises
        ------
        LedgerRefusalError
            If the data set has another neighbouring relation.
        ValueError
            If the ledger does not have the data set.
        """
        with self._locked():
            _check_relation(self._set(dataset), Adjacency.parse(adjacency))

    def complete(self, charge: int, manifest: str | Path) -> LedgerRelease:
        """Say which release a charge was for, once it has been made.

        Raises
        ------
        LedgerRefusalError
            If the manifest's event is not what was charged, or the charge has its release.
        ValueError
            If the file is no manifest.
        OSError
            If a file cannot be read or written.
        """
        path = Path(manifest)
        found, content = load_manifest(path), sha256_of_manifest(path)
        with self._locked(writing=True):
            name = next((n for n, one in self._sets.items() if charge in one.releases), None)
            before = None if name is None else self._sets[name].releases[charge]
            if name is None or before is None or before.sha256 is not None:
                raise LedgerRefusalError(f"{path}: no charge {charge} waits for its release.")
            reason = not_private(found)
            if reason is None and self._sets[name].of_persons and not _of_persons(found):
                reason = _OF_RECORDS
            if reason is None and before.event not in (found.event, charged_event(found)[0]):
                reason = "its event is not the one that was charged"
            if reason is not None:
                raise LedgerRefusalError(
                    f"{path}: {reason}. Remove it, or say so in the ledger: rdpkit ledger add "
                    "--record-anyway."
                )
            assert found.guarantee is not None
            stated = self._release(path, found.mechanism, epsilon=found.guarantee.epsilon)
            stated |= {"sha256": content, "data": data_of(found)}
            self._write({"kind": "release", "dataset": name, "of": charge, "release": stated})
            return self._sets[name].releases[charge]

    def _name(self, manifest: Manifest, dataset: str | None, path: Path) -> str:
        if dataset is None and manifest.dataset is None:
            raise ValueError(f"{path} names no data set: expected --dataset.")
        if dataset is not None and manifest.dataset not in (None, dataset):
            raise ValueError(
                f"{path} is a release from the data set {manifest.dataset!r}, not {dataset!r}."
            )
        return dataset or str(manifest.dataset)

    def _release(self, path: Path, mechanism: str, *, epsilon: float | None) -> dict[str, Any]:
        try:
            place = os.path.relpath(path.resolve(), self._folder)
        except ValueError:  # another drive of Windows
            place = str(path.absolute())
        finite = epsilon is not None and epsilon < float("inf")
        return {
            "path": Path(place).as_posix(),
            "mechanism": mechanism,
            "epsilon": epsilon if finite else None,
            "sha256": None,
            "data": None,
        }

    # The file.

    def _forget(self) -> None:
        self._file = LedgerFile(self.path)
        self._lines = 0
        self._sets: dict[str, _DataSet] = {}

    @contextmanager
    def _locked(self, *, writing: bool = False) -> Iterator[None]:
        """With all lines of the file, while no other thread and no other process writes."""
        with self._mutex, self._file.locked(writing=writing):
            try:
                for entry in self._file.new_entries():
                    self._take(entry, spent=False)
            except (KeyError, TypeError, AttributeError) as error:
                self._forget()
                raise ValueError(f"{self.path}: this is no ledger of releases: {error}.") from None
            except ValueError:
                self._forget()
                raise
            if not self._lines:
                raise ValueError(f"{self.path}: this is no ledger of releases: it is empty.")
            yield

    def _write(self, entry: dict[str, Any]) -> int:
        number = self._lines
        try:
            self._file.add(entry)
        except BaseException:
            # What is on the disk is what counts.
            self._forget()
            raise
        self._take(entry, spent=True)
        return number

    def _take(self, entry: Mapping[str, Any], *, spent: bool) -> None:
        """Understand a line; ``spent`` if the filter has counted it already."""
        number = self._lines
        if number == 0:
            if entry != _HEADER:
                raise ValueError(f"{self.path}: this is no ledger of releases of version 1.")
        elif entry["kind"] == "data set":
            budget = entry["budget"]
            self._sets[entry["dataset"]] = _DataSet(
                adjacency=Adjacency.parse(entry["adjacency"]),
                delta=entry["delta"],
                budget=None if budget is None else PrivacyFilter.from_entries([budget]),
                of_persons=entry.get("of_persons", False),
            )
        elif entry["kind"] == "charge":
            state = self._sets[entry["dataset"]]
            if state.budget is not None and not spent and entry["event"] is not None:
                state.budget.take({**entry, "count": 1, "label": entry["release"]["path"]})
            event = entry["event"]
            state.releases[number] = LedgerRelease(
                number=number,
                event=None if event is None else event_from_table(event),
                delta=entry["delta"],
                reason=entry["reason"],
                **entry["release"],
            )
        elif entry["kind"] == "release":
            state = self._sets[entry["dataset"]]
            state.releases[entry["of"]] = replace(state.releases[entry["of"]], **entry["release"])
        else:
            raise ValueError(f"{self.path}, line {number + 1}: unknown kind {entry['kind']!r}.")
        self._lines += 1

    def _set(self, dataset: str) -> _DataSet:
        if dataset not in self._sets:
            near = _validate.did_you_mean(dataset, tuple(self._sets))
            known = ", ".join(map(repr, self._sets)) or "none"
            raise ValueError(
                f"{self.path}: no data set {dataset!r}.{near} There are: {known}. "
                "'rdpkit ledger new' opens one."
            )
        return self._sets[dataset]


_OF_RECORDS = "its guarantee is about a single record, and the data set's about persons"


def _of_persons(manifest: Manifest) -> bool:
    return manifest.parameters.get("most_per_person") is not None


def _check_relation(state: _DataSet, adjacency: Adjacency, *, of_persons: bool = False) -> None:
    if state.of_persons and not of_persons:
        raise LedgerRefusalError(_OF_RECORDS)
    if adjacency is not state.adjacency:
        raise LedgerRefusalError(
            f"its guarantee is about {adjacency.value}, and the data set's numbers are about "
            f"{state.adjacency.value}"
        )


def _is_recorded(state: _DataSet, manifest: Manifest, data: str) -> bool:
    """Whether there is this release: a few noisy numbers come out alike with other noise, too."""
    return any(
        one.event in (None, manifest.event) or manifest.has_noisy_counts
        for one in state.releases.values()
        if one.data == data
    )


def _charged(state: _DataSet, manifest: Manifest, label: str) -> dict[str, Any]:
    """The charge of a release that was made, or an error that says why there is none."""
    if manifest.guarantee is None:
        raise LedgerRefusalError("its manifest guarantees nothing")
    reason = not_private(manifest)
    if reason is not None:
        raise LedgerRefusalError(reason)
    _check_relation(state, manifest.guarantee.adjacency, of_persons=_of_persons(manifest))
    event, own = charged_event(manifest)
    return _spent(state, event, manifest.guarantee.delta, own, label)


def _spent(state: _DataSet, event: Event, delta: float, own: float, label: str) -> dict[str, Any]:
    """Charge the budget, if there is one, and return the line's values.

    An event without finite divergences is charged with its delta, if some is set aside.
    """
    if state.budget is None:
        return {"event": event_to_table(event), "delta": own, "charge": [], "reason": None}
    try:
        state.budget.spend(event, delta=own, label=label)
    except BudgetExceededError as error:
        raise BudgetExceededError(_advised(str(error), own)) from None
    except ValueError:
        if own > 0.0 or not delta > 0.0:
            raise
        return _spent(state, event, delta, delta, label)
    entry = state.budget.last_entry()
    return {name: entry[name] for name in ("event", "delta", "charge")} | {"reason": None}


def _advised(words: str, own: float) -> str:
    if not own > 0.0:
        return words
    return (
        f"{words} It is charged with a delta of its own, {own:g}, because it has noisy counts or "
        "no finite divergences: a budget sets some aside with delta_for_events."
    )


def _adaptive(state: _DataSet, releases: tuple[LedgerRelease, ...]) -> float | None:
    """Epsilon so far, however releases were chosen; None where no odometer knows it."""
    charged = Counter(one.event for one in releases if one.event is not None)
    if not charged:
        return 0.0
    try:
        if state.budget is not None:
            return min(state.budget.running_epsilon(), state.budget.epsilon)
        if any(one.delta > 0.0 for one in releases):
            return None
        odometer = PrivacyOdometer(delta=state.delta, adjacency=state.adjacency)
        for event, count in charged.items():
            odometer.spend(event, count=count)
    except ValueError:
        return None if state.budget is None else state.budget.epsilon
    return odometer.epsilon
