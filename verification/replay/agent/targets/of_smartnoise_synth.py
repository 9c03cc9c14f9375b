"""Synthesizers of SmartNoise, on a table of categories whose values the data alone name."""

from __future__ import annotations

from typing import Any

from snsynth import Synthesizer

from . import CLAIMED, REMOVE, target

_TABLE = {"colour": ["red", "green", "blue"], "size": ["small", "large"]}
_DELTA = 1e-5


def _fitted(name: str, data: Any, **given: Any) -> Any:
    model = Synthesizer.create(name, epsilon=CLAIMED, **given)
    model.fit(data.frame, categorical_columns=["colour", "size"], preprocessor_eps=0.0)
    return model.sample(20)


@target(REMOVE, _TABLE)
def mwem(data: Any, rng: Any) -> Any:
    return _fitted("mwem", data, split_factor=2)


@target(REMOVE, _TABLE, delta=_DELTA)
def mst(data: Any, rng: Any) -> Any:
    return _fitted("mst", data, delta=_DELTA)


@target(REMOVE, _TABLE, delta=_DELTA)
def aim(data: Any, rng: Any) -> Any:
    return _fitted("aim", data, delta=_DELTA)
