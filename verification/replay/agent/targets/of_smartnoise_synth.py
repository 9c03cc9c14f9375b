"""Synthesizers and models of SmartNoise: the sampled table is what is released.

A synthesizer is given a transformer with the categories and bounds, as its documentation says; the
targets ``..._from_data`` leave that to the library, which then takes the categories from the data.
That metadata taken from the data leaks is shown of synthesizers in arXiv 2405.10994. That releases
up to 1.0.5 compute the covariance of data before clipping is smartnoise-sdk's issue 622.

The distribution that MST and AIM fit to their noisy marginals is post-processing that takes seconds
to compile; here the product of the noisy marginals of single columns stands in for it.
"""

from __future__ import annotations

import functools
import sys
from types import SimpleNamespace
from typing import Any, Dict, List, Optional

import numpy as np
import pandas
import sklearn.linear_model

# Older releases look for scikit-learn's linear models where they were before its release 0.24.
sys.modules.setdefault("sklearn.linear_model.base", sklearn.linear_model._base)

from snsynth import Synthesizer  # noqa: E402
from snsynth.models.dp_covariance import DPcovariance  # noqa: E402
from snsynth.transform import BinTransformer, LabelTransformer  # noqa: E402
from snsynth.transform.table import TableTransformer  # noqa: E402

from . import CLAIMED, REMOVE, REPLACE, counted, target  # noqa: E402

_TABLE = {"colour": ["red", "green", "blue"], "size": ["small", "large"]}
# Of three columns there are pairs to choose among, for more than one round.
_WIDE = {**_TABLE, "shape": ["round", "square"]}
_NUMBERS = {"x": [0.0, 1.0], "y": [0.0, 1.0]}
_OF_COVARIANCE = ("https://github.com/opendp/smartnoise-sdk/issues/622",)
_DELTA = 1e-5
_SAMPLED = 200


class _Product:
    """The product of the noisy marginals of single columns, in the place of what mbi fits."""

    def __init__(self, domain: Any, measurements: Any, known_total: Optional[float]) -> None:
        self.domain = domain
        self.cliques: List[Any] = [tuple(one.clique) for one in measurements]
        self._shares: Dict[str, Any] = {}
        totals = []
        for one in measurements:
            if len(one.clique) == 1:
                noisy = np.clip(np.asarray(one.noisy_measurement, dtype=float), 1e-3, None)
                totals.append(float(noisy.sum()))
                self._shares[one.clique[0]] = noisy / noisy.sum()
        self.total = known_total or max(1.0, float(np.mean(totals or [1.0])))

    def project(self, columns: Any) -> Any:
        shares = functools.reduce(np.multiply.outer, map(self._share, columns), self.total)
        return SimpleNamespace(datavector=lambda: np.ravel(shares))

    def _share(self, column: str) -> Any:
        size = self.domain.size([column])
        return self._shares.get(column, np.full(size, 1.0 / size))

    def synthetic_data(self, rows: Optional[int] = None) -> Any:
        rows = int(self.total) if rows is None else rows
        drawn = {
            column: np.random.choice(len(self._share(column)), rows, p=self._share(column))
            for column in self.domain
        }
        return SimpleNamespace(df=pandas.DataFrame(drawn), domain=self.domain)


def _product(domain: Any, measurements: Any, known_total: Any = None, **given: Any) -> _Product:
    return _Product(domain, measurements, known_total)


try:
    from snsynth.aim import aim as _aim_module
    from snsynth.mst import mst as _mst_module
except ImportError:
    # Older releases need a build of mbi that is on no package index.
    pass
else:
    for _module in (_aim_module, _mst_module):
        if hasattr(_module, "estimation"):
            _module.estimation.mirror_descent = _product
        # It searches for the noise of a budget, and finds the same each time.
        _module.cdp_rho = functools.lru_cache(maxsize=None)(_module.cdp_rho)


def _named_table(table: Dict[str, List[str]] = _TABLE) -> TableTransformer:
    """A transformer that has seen every category in data that are nobody's."""
    public = pandas.DataFrame({name: (one * 2)[:3] for name, one in table.items()})
    found = TableTransformer([LabelTransformer(nullable=False) for _ in table])
    found.fit(public)
    return found


def _bounded_table() -> TableTransformer:
    return TableTransformer([BinTransformer(bins=4, lower=0.0, upper=1.0) for _ in _NUMBERS])


def _fitted(name: str, transformer: Any = None, **given: Any) -> Any:
    """A target: rows that a synthesizer samples."""

    def sampled(data: Any, rng: Any) -> Any:
        model = Synthesizer.create(name, epsilon=CLAIMED, **given)
        asked = {"categorical_columns": list(_TABLE)}
        if transformer is not None:
            asked = {"transformer": transformer()}
        model.fit(data.frame, preprocessor_eps=0.0, **asked)
        return model.sample(_SAMPLED)

    return sampled


_tables = target(REMOVE, _TABLE, delta=_DELTA, summary=counted)
_tables_alone = target(REMOVE, _TABLE, summary=counted)
_wide = target(REMOVE, _WIDE, delta=_DELTA, summary=counted)

mwem = _tables_alone(_fitted("mwem", _named_table, iterations=3))
mwem_from_data = _tables_alone(_fitted("mwem", iterations=3))
mst = _tables(_fitted("mst", _named_table, delta=_DELTA))
mst_from_data = _tables(_fitted("mst", delta=_DELTA))
aim = _wide(_fitted("aim", lambda: _named_table(_WIDE), delta=_DELTA, rounds=6))
aim_from_data = _tables(_fitted("aim", delta=_DELTA, rounds=3))
mst_with_bounds = target(REMOVE, _NUMBERS, delta=_DELTA, summary=counted)(
    _fitted("mst", _bounded_table, delta=_DELTA)
)


@target(REMOVE, _NUMBERS, delta=_DELTA, records=400, summary=counted)
def mst_with_inferred_bounds(data: Any, rng: Any) -> Any:
    model = Synthesizer.create("mst", epsilon=CLAIMED, delta=_DELTA)
    model.fit(data.frame, continuous_columns=list(_NUMBERS), preprocessor_eps=0.5 * CLAIMED)
    return model.sample(_SAMPLED)


@target(REPLACE, any_values=True, reported=_OF_COVARIANCE)
def covariance(data: Any, rng: Any) -> Any:
    ranges = pandas.DataFrame({"x": [0.0, 1.0], "y": [0.0, 1.0]})
    frame = data.frame
    return DPcovariance(len(frame), list(_NUMBERS), ranges, CLAIMED).release(frame)
