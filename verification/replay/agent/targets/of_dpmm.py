"""Pipelines and models of dpmm: the generated table is what is released.

Its documentation says that a domain is either given or extracted with differential privacy; the
targets ``..._from_data`` give none. That a model on its own takes the domain from the data where
none is given is dpmm's issue 18 (closed); that categories are, its issue 24.

The fit of a distribution to noisy marginals is post-processing: its iterations are few here.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import pandas
from dpmm.models.base.mbi import FactoredInference
from dpmm.models.mst import MSTGM
from dpmm.models.priv_bayes import PrivBayesGM
from dpmm.pipelines import AIMPipeline, MSTPipeline, PrivBayesPipeline

from . import CLAIMED, REMOVE, counted, target

_TABLE = {"colour": ["red", "green", "blue"], "size": ["small", "large"]}
_DOMAIN = {name: {"categories": list(one)} for name, one in _TABLE.items()}
_MIXED = {"x": [0.0, 1.0], "size": ["small", "large"]}
_OF_MIXED = {"x": {"lower": 0.0, "upper": 1.0}, "size": {"categories": ["small", "large"]}}
_CODES = {"a": [0, 1, 2], "b": [0, 1, 2, 3]}
_ISSUES = "https://github.com/sassoftware/dpmm/issues/"
_OF_DOMAINS, _OF_CATEGORIES = (_ISSUES + "18",), (_ISSUES + "24",)
_DELTA = 1e-5
_SAMPLED = 200
_ITERATIONS = 5


def _few_iterations(estimate: Any) -> Any:
    def estimated(self: Any, *args: Any, **given: Any) -> Any:
        self.iters = _ITERATIONS
        return estimate(self, *args, **given)

    return estimated


# It searches for the noise of a budget in seconds, and finds the same each time.
_budget = functools.lru_cache(maxsize=None)(sys.modules["dpmm.models.mst"].cdp_rho)
for _name, _module in list(sys.modules.items()):
    if _name.startswith("dpmm.") and hasattr(_module, "cdp_rho"):
        setattr(_module, "cdp_rho", _budget)  # noqa: B010 - a module of which nothing is known
FactoredInference.estimate = _few_iterations(FactoredInference.estimate)


def _generated(kind: Any, data: Any, domain: Any = None, bins: float = 0.0, **given: Any) -> Any:
    """Rows that a pipeline generates; ``bins`` is its epsilon for bins, a part of the claim."""
    return _of_frame(kind, data.frame, domain, bins, **given)


def _of_frame(kind: Any, frame: Any, domain: Any, bins: float = 0.0, **given: Any) -> Any:
    settings = {"n_iters": _ITERATIONS, **given}
    pipeline = kind(
        epsilon=CLAIMED - bins,
        delta=_DELTA,
        proc_epsilon=bins or None,
        n_jobs=1,
        n_bins="auto" if bins else 4,
        gen_kwargs=settings,
    )
    pipeline.fit(frame, domain=domain)
    return pipeline.generate(n_records=_SAMPLED)


def _with_public_records(data: Any) -> Any:
    """The records, after some with each category."""
    public = pandas.DataFrame({"colour": _TABLE["colour"] * 2, "size": _TABLE["size"] * 3})
    return pandas.concat([public, data.frame], ignore_index=True)


def _of_model(kind: Any, data: Any, domain: Any) -> Any:
    """Rows that a model generates by itself."""
    model = kind(epsilon=CLAIMED, delta=_DELTA, n_iters=_ITERATIONS, n_jobs=1, domain=domain)
    model.fit(data.frame)
    return model.generate(n_records=_SAMPLED)


@target(REMOVE, _TABLE, delta=_DELTA, summary=counted)
def priv_bayes(data: Any, rng: Any) -> Any:
    return _generated(PrivBayesPipeline, data, _DOMAIN)


@target(REMOVE, _TABLE, delta=_DELTA, summary=counted, reported=_OF_CATEGORIES)
def priv_bayes_from_data(data: Any, rng: Any) -> Any:
    return _generated(PrivBayesPipeline, data)


@target(REMOVE, _TABLE, delta=_DELTA, summary=counted)
def priv_bayes_with_public_records(data: Any, rng: Any) -> Any:
    return _of_frame(PrivBayesPipeline, _with_public_records(data), _DOMAIN)


@target(REMOVE, _TABLE, delta=_DELTA, summary=counted)
def mst(data: Any, rng: Any) -> Any:
    return _generated(MSTPipeline, data, _DOMAIN)


@target(REMOVE, _TABLE, delta=_DELTA, summary=counted, reported=_OF_CATEGORIES)
def mst_from_data(data: Any, rng: Any) -> Any:
    return _generated(MSTPipeline, data)


@target(REMOVE, _TABLE, delta=_DELTA, summary=counted)
def mst_with_public_records(data: Any, rng: Any) -> Any:
    return _of_frame(MSTPipeline, _with_public_records(data), _DOMAIN)


@target(REMOVE, _TABLE, delta=_DELTA, summary=counted)
def aim(data: Any, rng: Any) -> Any:
    return _generated(AIMPipeline, data, _DOMAIN)


@target(REMOVE, _TABLE, delta=_DELTA, summary=counted, reported=_OF_CATEGORIES)
def aim_from_data(data: Any, rng: Any) -> Any:
    return _generated(AIMPipeline, data)


@target(REMOVE, _TABLE, delta=_DELTA, summary=counted)
def aim_with_public_records(data: Any, rng: Any) -> Any:
    return _of_frame(AIMPipeline, _with_public_records(data), _DOMAIN)


@target(REMOVE, _MIXED, delta=_DELTA, summary=counted)
def mst_of_uniform_bins(data: Any, rng: Any) -> Any:
    return _generated(MSTPipeline, data, _OF_MIXED)


@target(REMOVE, _MIXED, delta=_DELTA, summary=counted)
def mst_of_private_bins(data: Any, rng: Any) -> Any:
    return _generated(MSTPipeline, data, _OF_MIXED, bins=0.2)


@target(REMOVE, _CODES, delta=_DELTA, summary=counted, reported=_OF_DOMAINS)
def mst_model_without_domain(data: Any, rng: Any) -> Any:
    return _of_model(MSTGM, data, None)


@target(REMOVE, _CODES, delta=_DELTA, summary=counted, reported=_OF_DOMAINS)
def priv_bayes_model_without_domain(data: Any, rng: Any) -> Any:
    return _of_model(PrivBayesGM, data, None)


@target(REMOVE, _CODES, delta=_DELTA, summary=counted)
def mst_model(data: Any, rng: Any) -> Any:
    return _of_model(MSTGM, data, {"a": 3, "b": 4})
