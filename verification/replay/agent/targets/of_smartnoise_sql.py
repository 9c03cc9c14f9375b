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
_ONE = {"x": [0.0, 1.0]}
_NAMED = {**_ONE, "label": ["a", "b", "c"]}
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


def _asked(query: str, table: Any = _ROWS, *, parts: int = 1, mechanism: Any = None) -> Any:
    """A target: the rows of a query that costs ``parts`` times the epsilon of its reader."""

    def answer(data: Any, rng: Any) -> Any:
        frame = data.frame
        columns = {name: _COLUMNS[name] for name in frame}
        metadata = {"": {"db": {"t": {"rows": 1_000, **table, **columns}}}}
        privacy = Privacy(epsilon=CLAIMED / parts, delta=_DELTA)
        if mechanism is not None:
            for one in (Stat.count, Stat.sum_int, Stat.sum_float, Stat.threshold):
                privacy.mechanisms.map[one] = mechanism
        return snsql.from_df(frame, privacy=privacy, metadata=metadata).execute(query)

    return answer


_rows = target(REMOVE, any_values=True)
_groups = target(REMOVE, _NAMED, any_values=True, delta=_SPENT, because=_GROUPS)
_users = target(REMOVE, _ONE, any_values=True, user="who")

count = _rows(_asked("SELECT COUNT(*) AS n FROM db.t"))
count_of_values = _rows(_asked("SELECT COUNT(x) AS n FROM db.t"))
count_where = _rows(_asked("SELECT COUNT(*) AS n FROM db.t WHERE x > 0.5"))
total = _rows(_asked("SELECT SUM(x) AS s FROM db.t"))
gaussian_total = target(REMOVE, any_values=True, delta=_SPENT)(
    _asked("SELECT SUM(x) AS s FROM db.t", mechanism=Mechanism.gaussian)
)
two_totals = _rows(_asked("SELECT SUM(x) AS s, SUM(y) AS t FROM db.t", parts=2))
average = _rows(_asked("SELECT AVG(x) AS m FROM db.t", parts=2))
variance = _rows(_asked("SELECT VAR(x) AS v FROM db.t", parts=3))
standard_deviation = _rows(_asked("SELECT STDDEV(x) AS v FROM db.t", parts=3))
count_of_groups = _groups(_asked("SELECT label, COUNT(*) AS n FROM db.t GROUP BY label", _RARE))
total_of_groups = _groups(
    _asked("SELECT label, SUM(x) AS s FROM db.t GROUP BY label", _RARE, parts=2)
)
count_of_rows_of_users = _users(_asked("SELECT COUNT(*) AS n FROM db.t", _USERS))
count_of_users = _users(_asked("SELECT COUNT(DISTINCT who) AS n FROM db.t", _USERS))
total_of_users = _users(_asked("SELECT SUM(x) AS s FROM db.t", _USERS))
inferred_bounds = target(REMOVE, _ONE, any_values=True)(
    lambda data, rng: approx_bounds(data.features[:, 0], CLAIMED)
)
