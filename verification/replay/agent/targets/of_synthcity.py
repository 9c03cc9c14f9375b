"""Private generators of synthcity: PrivBayes and AIM.

PrivBayes keeps its epsilon for records that are replaced, half of it for the network and half of it
for the conditional distributions, both of which are released here. It is given categories among
records that are nobody's, because it takes them from the data.

Public reports: arXiv 2602.17454 (the scale of PrivBayes's noise is zero where the network may have
as many parents as there are columns; weak dependence decides about parents without noise).

What measures and plots data is left out: it needs many packages, and is no mechanism.
"""

from __future__ import annotations

import os
import sys
import types
from typing import Any, Dict

import pandas

# Progress that it prints holds times.
os.environ.setdefault("TQDM_DISABLE", "1")


def _left_out(name: str, **given: Any) -> None:
    """A module that the library imports and its mechanisms do not use."""
    module = types.ModuleType(name)
    module.__dict__.update(given)
    sys.modules.setdefault(name, module)


_left_out("synthcity.metrics", __path__=[])
_left_out("synthcity.metrics.plots", plot_marginal_comparison=None, plot_tsne=None)
_left_out("torchvision", transforms=None)

from synthcity.plugins.core.models import aim as _aim  # noqa: E402
from synthcity.plugins.core.models.tabular_aim import TabularAIM  # noqa: E402
from synthcity.plugins.privacy.plugin_privbayes import PrivBayes  # noqa: E402

from . import CLAIMED, REMOVE, REPLACE, counted, few_iterations, target  # noqa: E402

_CODES = {"a": [0, 1, 2], "b": [0, 1, 2], "c": [0, 1]}
_FEW_CODES = {"a": [0, 1, 2], "c": [0, 1]}
_MORE_CODES = {**_CODES, "d": [0, 1]}
_PAPER = ("https://arxiv.org/abs/2602.17454",)
_DELTA = 1e-5
_SAMPLED, _ROUNDS = 100, 4


# The fit to noisy marginals is post-processing.
_aim.FactoredInference.estimate = few_iterations(_aim.FactoredInference.estimate)
_RHO = _aim.cdp_rho(CLAIMED, _DELTA)
_aim.cdp_rho = lambda epsilon, delta: _RHO


def _public(columns: Dict[str, Any]) -> Any:
    """Records with all categories, as often as each other."""
    return pandas.DataFrame({name: (list(one) * 6)[:12] for name, one in columns.items()})


def _with_public_records(data: Any, columns: Dict[str, Any]) -> Any:
    return pandas.concat([_public(columns), data.frame], ignore_index=True).astype(int)


class _WithoutScores(PrivBayes):  # type: ignore[misc]
    """Where no score is high enough for parents, and there is one candidate, it decides nothing."""

    def mutual_info_score(self, *args: Any) -> float:
        """A score without the clusters that take most of the time."""
        return 0.0


def _network(data: Any, columns: Dict[str, Any], kind: Any = PrivBayes, **given: Any) -> Any:
    """The edges of the network, and its conditional distributions."""
    model = kind(epsilon=CLAIMED, n_bins=10, **given)
    model.fit(_with_public_records(data, columns))
    found = {one.variable: one.get_values() for one in model.network.cpds}
    return {"edges": [[one.feature, *sorted(one.parents)] for one in model.dag], **found}


def _aim_sample(frame: Any) -> Any:
    model = TabularAIM(frame, epsilon=CLAIMED, delta=_DELTA)
    model.fit(frame)
    model.model.rounds = _ROUNDS
    return model.generate(_SAMPLED)


_codes = target(REMOVE, _CODES, delta=_DELTA, summary=counted)

priv_bayes = target(REPLACE, _CODES, reported=_PAPER)(lambda data, rng: _network(data, _CODES))
# No dependence is strong enough for parents, so that every column is by itself.
priv_bayes_without_parents = target(REPLACE, _FEW_CODES, reported=_PAPER)(
    lambda data, rng: _network(data, _FEW_CODES, _WithoutScores, K=2, mi_thresh=1.0)
)
priv_bayes_of_few_parents = target(REPLACE, _MORE_CODES, reported=_PAPER)(
    lambda data, rng: _network(data, _MORE_CODES, K=1)
)
aim = _codes(lambda data, rng: _aim_sample(_with_public_records(data, _CODES)))
aim_from_data = _codes(lambda data, rng: _aim_sample(data.frame))
