"""Queries of SmartNoise SQL on a data frame whose ranges the metadata name.

What a query costs is what ``get_privacy_cost`` says of it: every column that needs noise has the
epsilon of the reader, and the count by which rare groups are left out has it, too. So the readers
here have a part of what is claimed. It documents that values are clamped to their ranges.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Dict

import snsql
from snsql import Privacy
from snsql.sql._mechanisms.approx_bounds import approx_bounds
from snsql.sql._mechanisms.base import AdditiveNoiseMechanism, Mechanism
from snsql.sql.privacy import Stat

from . import CLAIMED, REMOVE, target

_DELTA = 1e-3
# The odometer's delta of one query of a reader with the delta above.
_SPENT = 1.5e-3
_GROUPS = (
    "noise is drawn for a group that one record alone has, and the group is released with "
    "probability at most delta: its noisy count has to pass a threshold"
)
_NAMED = {"x": [0.0, 1.0], "label": ["a", "b", "c"]}
_COLUMNS = {
    "x": {"type": "float", "lower": 0.0, "upper": 1.0},
    "y": {"type": "float", "lower": 0.0, "upper": 1.0},
    "label": {"type": "string"},
    "who": {"type": "string", "private_id": True},
}
_ROWS = {"row_privacy": True, "censor_dims": False}
_RARE = {"row_privacy": True, "censor_dims": True}
_USERS = {"max_ids": 2, "sample_max_ids": True, "censor_dims": False}


def _remembered(search: Callable[[Any], None]) -> Callable[[Any], None]:
    """The search for a scale, which takes most of the time of a query, once for each question."""
    known: Dict[str, Any] = {}

    @functools.wraps(search)
    def once(self: Any) -> None:
        asked = repr(sorted(vars(self).items(), key=str))
        if asked not in known:
            search(self)
            known[asked] = self.scale
        self.scale = known[asked]

    return once


for _kind in AdditiveNoiseMechanism.__subclasses__():
    if "_compute_noise_scale" in vars(_kind):
        _kind._compute_noise_scale = _remembered(_kind._compute_noise_scale)


def _answer(data: Any, query: str, table: Any, parts: int = 1, mechanism: Any = None) -> Any:
    """The rows of a query that costs ``parts`` times the epsilon of its reader."""
    frame = data.frame
    columns = {name: _COLUMNS[name] for name in frame}
    metadata = {"": {"db": {"t": {"rows": 1_000, **table, **columns}}}}
    privacy = Privacy(epsilon=CLAIMED / parts, delta=_DELTA)
    if mechanism is not None:
        for one in (Stat.count, Stat.sum_int, Stat.sum_float, Stat.threshold):
            privacy.mechanisms.map[one] = mechanism
    return snsql.from_df(frame, privacy=privacy, metadata=metadata).execute(query)


@target(REMOVE, any_values=True)
def count(data: Any, rng: Any) -> Any:
    return _answer(data, "SELECT COUNT(*) AS n FROM db.t", _ROWS)


@target(REMOVE, any_values=True)
def count_of_values(data: Any, rng: Any) -> Any:
    return _answer(data, "SELECT COUNT(x) AS n FROM db.t", _ROWS)


@target(REMOVE, any_values=True)
def count_where(data: Any, rng: Any) -> Any:
    return _answer(data, "SELECT COUNT(*) AS n FROM db.t WHERE x > 0.5", _ROWS)


@target(REMOVE, any_values=True)
def total(data: Any, rng: Any) -> Any:
    return _answer(data, "SELECT SUM(x) AS s FROM db.t", _ROWS)


@target(REMOVE, any_values=True, delta=_SPENT)
def gaussian_total(data: Any, rng: Any) -> Any:
    return _answer(data, "SELECT SUM(x) AS s FROM db.t", _ROWS, mechanism=Mechanism.gaussian)


@target(REMOVE, any_values=True)
def two_totals(data: Any, rng: Any) -> Any:
    return _answer(data, "SELECT SUM(x) AS s, SUM(y) AS t FROM db.t", _ROWS, parts=2)


@target(REMOVE, any_values=True)
def average(data: Any, rng: Any) -> Any:
    return _answer(data, "SELECT AVG(x) AS m FROM db.t", _ROWS, parts=2)


@target(REMOVE, any_values=True)
def variance(data: Any, rng: Any) -> Any:
    return _answer(data, "SELECT VAR(x) AS v FROM db.t", _ROWS, parts=3)


@target(REMOVE, any_values=True)
def standard_deviation(data: Any, rng: Any) -> Any:
    return _answer(data, "SELECT STDDEV(x) AS v FROM db.t", _ROWS, parts=3)


@target(REMOVE, _NAMED, any_values=True, delta=_SPENT, because=_GROUPS)
def count_of_groups(data: Any, rng: Any) -> Any:
    return _answer(data, "SELECT label, COUNT(*) AS n FROM db.t GROUP BY label", _RARE)


@target(REMOVE, _NAMED, any_values=True, delta=_SPENT, because=_GROUPS)
def total_of_groups(data: Any, rng: Any) -> Any:
    return _answer(data, "SELECT label, SUM(x) AS s FROM db.t GROUP BY label", _RARE, parts=2)


@target(REMOVE, {"x": [0.0, 1.0]}, any_values=True, user="who")
def count_of_rows_of_users(data: Any, rng: Any) -> Any:
    return _answer(data, "SELECT COUNT(*) AS n FROM db.t", _USERS)


@target(REMOVE, {"x": [0.0, 1.0]}, any_values=True, user="who")
def count_of_users(data: Any, rng: Any) -> Any:
    return _answer(data, "SELECT COUNT(DISTINCT who) AS n FROM db.t", _USERS)


@target(REMOVE, {"x": [0.0, 1.0]}, any_values=True, user="who")
def total_of_users(data: Any, rng: Any) -> Any:
    return _answer(data, "SELECT SUM(x) AS s FROM db.t", _USERS)


@target(REMOVE, {"x": [0.0, 1.0]}, any_values=True)
def inferred_bounds(data: Any, rng: Any) -> Any:
    return approx_bounds(data.features[:, 0], CLAIMED)
