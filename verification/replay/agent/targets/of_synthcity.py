"""PrivBayes of synthcity: the sampled table is what is released.

It sets its noise for records that are replaced. That its noise is none for some numbers of parents,
and that a mutual information that is weak is looked at without noise, is reported in arXiv
2602.17454; that its plugins take bounds and categories from the data, in its issue 278.
"""

from __future__ import annotations

from typing import Any

from synthcity.plugins.privacy.plugin_privbayes import PrivBayes

from . import CLAIMED, REPLACE, counted, target

_TABLE = {"colour": ["red", "green", "blue"], "size": ["small", "large"]}
_THREE = {**_TABLE, "form": ["round", "flat"]}
_SAMPLED = 200


def _sampled(data: Any, **given: Any) -> Any:
    return PrivBayes(epsilon=CLAIMED, **given).fit(data.frame).sample(_SAMPLED)


@target(REPLACE, _TABLE, summary=counted)
def priv_bayes(data: Any, rng: Any) -> Any:
    return _sampled(data)


@target(REPLACE, _TABLE, summary=counted)
def priv_bayes_with_one_parent(data: Any, rng: Any) -> Any:
    return _sampled(data, K=1)


@target(REPLACE, _THREE, summary=counted)
def priv_bayes_of_three_columns(data: Any, rng: Any) -> Any:
    return _sampled(data)
