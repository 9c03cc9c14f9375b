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

from . import CLAIMED, ITERATIONS, REMOVE, counted, few_iterations, target

_TABLE = {"colour": ["red", "green", "blue"], "size": ["small", "large"]}
_DOMAIN = {name: {"categories": list(one)} for name, one in _TABLE.items()}
_MIXED = {"x": [0.0, 1.0], "size": ["small", "large"]}
_OF_MIXED = {"x": {"lower": 0.0, "upper": 1.0}, "size": {"categories": ["small", "large"]}}
_CODES = {"a": [0, 1, 2], "b": [0, 1, 2, 3]}
_ISSUES = "https://github.com/sassoftware/dpmm/issues/"
_OF_DOMAINS, _OF_CATEGORIES = (_ISSUES + "18",), (_ISSUES + "24",)
_DELTA = 1e-5
_SAMPLED = 200


# It searches for the noise of a budget in seconds, and finds the same each time.
_budget = functools.lru_cache(maxsize=None)(sys.modules["dpmm.models.mst"].cdp_rho)
for _name, _module in list(sys.modules.items()):
    if _name.startswith("dpmm.") and hasattr(_module, "cdp_rho"):
        setattr(_module, "cdp_rho", _budget)  # noqa: B010 - a module of which nothing is known
FactoredInference.estimate = few_iterations(FactoredInference.estimate)


def _generated(kind: Any, domain: Any = _DOMAIN, *, bins: float = 0.0, public: bool = False) -> Any:
    """A target: rows that a pipeline generates.

    ``bins`` is its epsilon for bins, a part of the claim, and ``public`` whether the private
    records come after some with each category.
    """

    def generated(data: Any, rng: Any) -> Any:
        frame = data.frame
        if public:
            known = pandas.DataFrame({"colour": _TABLE["colour"] * 2, "size": _TABLE["size"] * 3})
            frame = pandas.concat([known, frame], ignore_index=True)
        pipeline = kind(
            epsilon=CLAIMED - bins,
            delta=_DELTA,
            proc_epsilon=bins or None,
            n_jobs=1,
            n_bins="auto" if bins else 4,
            gen_kwargs={"n_iters": ITERATIONS},
        )
        pipeline.fit(frame, domain=domain)
        return pipeline.generate(n_records=_SAMPLED)

    return generated


def _of_model(kind: Any, domain: Any = None) -> Any:
    """A target: rows that a model generates by itself."""

    def generated(data: Any, rng: Any) -> Any:
        model = kind(epsilon=CLAIMED, delta=_DELTA, n_iters=ITERATIONS, n_jobs=1, domain=domain)
        model.fit(data.frame)
        return model.generate(n_records=_SAMPLED)

    return generated


_tables = target(REMOVE, _TABLE, delta=_DELTA, summary=counted)
_tables_alone = target(REMOVE, _TABLE, delta=_DELTA, summary=counted, reported=_OF_CATEGORIES)
_mixed = target(REMOVE, _MIXED, delta=_DELTA, summary=counted)
_codes = target(REMOVE, _CODES, delta=_DELTA, summary=counted, reported=_OF_DOMAINS)

priv_bayes = _tables(_generated(PrivBayesPipeline))
priv_bayes_from_data = _tables_alone(_generated(PrivBayesPipeline, None))
priv_bayes_with_public_records = _tables(_generated(PrivBayesPipeline, public=True))
mst = _tables(_generated(MSTPipeline))
mst_from_data = _tables_alone(_generated(MSTPipeline, None))
mst_with_public_records = _tables(_generated(MSTPipeline, public=True))
aim = _tables(_generated(AIMPipeline))
aim_from_data = _tables_alone(_generated(AIMPipeline, None))
aim_with_public_records = _tables(_generated(AIMPipeline, public=True))
mst_of_uniform_bins = _mixed(_generated(MSTPipeline, _OF_MIXED))
mst_of_private_bins = _mixed(_generated(MSTPipeline, _OF_MIXED, bins=0.2))
mst_model_without_domain = _codes(_of_model(MSTGM))
priv_bayes_model_without_domain = _codes(_of_model(PrivBayesGM))
mst_model = target(REMOVE, _CODES, delta=_DELTA, summary=counted)(
    _of_model(MSTGM, {"a": 3, "b": 4})
)
