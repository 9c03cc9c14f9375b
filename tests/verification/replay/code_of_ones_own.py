"""Correct code, and code with one mistake each, as an ordinary person would write it."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from rdpkit.verification import verify_by_replay

REMOVE, REPLACE = "add_or_remove_one", "replace_one"
COLUMNS = {"x": [0.0, 1.0], "label": [0, 1, 2]}
CORRECT: dict[str, Callable[..., Any]] = {}
BROKEN: dict[str, tuple[Callable[..., Any], str, str]] = {}
"""The code, the kind of difference that shows it, and a part of the line that is at fault."""


def _stated(function, adjacency, epsilon, delta):
    function.columns, function.adjacency = COLUMNS, adjacency
    function.epsilon, function.delta = epsilon, delta
    return function


def correct(adjacency=REMOVE, epsilon=1.0, delta=0.0):
    def decorate(function):
        CORRECT[function.__name__] = _stated(function, adjacency, epsilon, delta)
        return function

    return decorate


def broken(kind, line="", adjacency=REMOVE, epsilon=1.0, delta=0.0):
    def decorate(function):
        BROKEN[function.__name__] = (_stated(function, adjacency, epsilon, delta), kind, line)
        return function

    return decorate


# On a busy machine what usually takes 15 seconds takes more: verdicts must not depend on that.
SECONDS = 90.0


def replay_of(name):
    """A replay of one of these, as they are replayed in all tests."""
    if name in CORRECT:
        return verify_by_replay(CORRECT[name], seed=5, false_alarm_rate=1e-6, seconds=SECONDS)
    return verify_by_replay(BROKEN[name][0], seed=5, seconds=SECONDS)


replayed = functools.cache(replay_of)
"""The same, once in a process."""


def clipped(data):
    return np.clip(np.nan_to_num(data.features[:, 0]), 0.0, 1.0)


def counts(data):
    return np.array([(data.labels == one).sum() for one in (0, 1, 2)], dtype=float)


@correct()
def noisy_sum(data, rng):
    return clipped(data).sum() + rng.laplace(scale=1.0)


@correct()
def noisy_histogram(data, rng):
    return counts(data) + rng.laplace(0.0, 1.0, size=3)


@correct()
def noise_added_in_place(data, rng):
    found = counts(data)
    found += rng.laplace(0.0, 1.0, size=3)
    return {"counts": found.round(2)}


@correct()
def noisy_maximum(data, rng):
    return int(np.argmax(counts(data) + 2.0 * rng.gumbel(size=3)))


@correct()
def exponential_mechanism(data, rng):
    weights = np.exp((counts(data) - counts(data).max()) / 2.0)
    return int(rng.choice(3, p=weights / weights.sum()))


@correct()
def sparse_vector(data, rng):
    threshold = 5.0 + rng.laplace(scale=2.0)
    for place, count in enumerate(counts(data)):
        if count + rng.laplace(scale=4.0) >= threshold:
            return place
    return -1


@correct()
def private_median(data, rng):
    values = np.concatenate([[0.0], np.sort(clipped(data)), [1.0]])
    ranks = np.arange(len(values) - 1)
    weights = np.exp(-0.5 * np.abs(ranks - (len(values) - 2) / 2.0)) * np.diff(values)
    weights = weights if weights.sum() > 0.0 else np.ones(len(weights))
    chosen = rng.choice(len(weights), p=weights / weights.sum())
    return rng.uniform(values[chosen], values[chosen + 1])


@correct(REPLACE)
def mean_of_known_size(data, rng):
    return clipped(data).mean() + rng.laplace(scale=1.0 / len(data))


@correct(REPLACE)
def randomized_response(data, rng):
    honest = math.e / (1.0 + math.e)
    return [int(one == 1) if rng.random() < honest else int(one != 1) for one in data.labels]


@correct(delta=1e-3)
def stability_histogram(data, rng):
    found = {}
    for one in sorted(set(data.labels.tolist())):
        count = (data.labels == one).sum() + rng.laplace(scale=1.0)
        if count > 1.0 + math.log(1.0 / (2.0 * 1e-3)):
            found[int(one)] = count
    return found


@correct(delta=1e-6)
def gaussian_of_python(data, rng):
    return random.gauss(0.0, math.sqrt(2.0 * math.log(1.25 / 1e-6))) + clipped(data).sum()


@correct()
def mean_of_two_noisy_numbers(data, rng):
    total = clipped(data).sum() + rng.laplace(scale=2.0)
    return total / max(1.0, len(data) + rng.laplace(scale=2.0))


@correct()
def geometric_noise(data, rng):
    return len(data) + rng.geometric(1.0 - math.exp(-1.0)) - rng.geometric(1.0 - math.exp(-1.0))


@correct()
def value_as_location(data, rng):
    return rng.laplace(float(len(data)), 1.0)


@correct()
def global_value_as_location(data, rng):
    return np.random.laplace(len(data.features), 1.0)  # noqa: NPY002 - people do


@correct(REPLACE)
def quantile_among_intervals(data, rng):
    ends = np.concatenate([[0.0], np.sort(clipped(data)), [1.0]])
    far = np.abs(np.arange(len(ends) - 1) - len(data) / 2.0)
    weights = np.diff(ends) * np.exp(-far / 2.0)
    if not weights.sum() > 0.0:
        return rng.random()
    place = rng.choice(len(weights), p=weights / weights.sum())
    return ends[place] + rng.random() * (ends[place + 1] - ends[place])


@broken("value", "len(data)")
def number_of_records(data, rng):
    size = len(data)
    return {"n": size, "sum": clipped(data).sum() + rng.laplace(scale=1.0)}


@broken("parameter", "scale=1.0 / len(data)")
def mean_of_private_size(data, rng):
    size = max(1, len(data))
    return clipped(data).sum() / size + rng.laplace(scale=1.0 / len(data) if len(data) else 1.0)


@broken("spent", "len(data) + rng")
def whole_budget_twice(data, rng):
    total = clipped(data).sum() + rng.laplace(scale=1.0)
    return total, len(data) + rng.laplace(scale=1.0)


@broken("seed", "own.laplace")
def fixed_generator(data, rng):
    own = np.random.default_rng(0)
    return clipped(data).sum() + own.laplace(scale=1.0)


@broken("seed", "np.random.laplace")
def fixed_global_seed(data, rng):
    np.random.seed(3)  # noqa: NPY002 - people do
    return clipped(data).sum() + np.random.laplace(scale=1.0)  # noqa: NPY002 - as above


@broken("reused noise", "len(data) + drawn")
def noise_used_twice(data, rng):
    drawn = rng.laplace(scale=2.0)
    return clipped(data).sum() + drawn, len(data) + drawn


@broken("structure", "np.unique")
def classes_of_the_data(data, rng):
    names, found = np.unique(data.labels, return_counts=True)
    found = found + rng.laplace(scale=1.0, size=len(names))
    return dict(zip(names.tolist(), found.tolist(), strict=True))


@broken("structure", "np.argsort")
def order_of_the_data(data, rng):
    order = np.argsort(-counts(data), kind="stable").tolist()
    return {one: counts(data)[one] + rng.laplace(scale=1.0) for one in order}


@broken("structure", "if count == 0")
def early_stop(data, rng):
    found = []
    for count in counts(data):
        if count == 0:
            break
        found.append(count + rng.laplace(scale=1.0))
    return found


@broken("parameter", "largest = ")
def scale_of_the_data(data, rng):
    largest = max(float(clipped(data).max(initial=0.0)), 1e-3)
    return clipped(data).sum() + rng.laplace(scale=largest)


@broken("spent", "(2.0 * clipped(data) - 1.0)", REPLACE)
def noise_for_another_relation(data, rng):
    return (2.0 * clipped(data) - 1.0).sum() + rng.laplace(scale=1.0)


@broken("value", "len(data)")
def cut_off_at_the_size(data, rng):
    found = clipped(data).sum() + rng.laplace(scale=1.0)
    return found if found < len(data) else float(len(data))


@broken("value", "if count >= 5")
def bare_comparison(data, rng):
    for count in counts(data):
        found = count + rng.laplace(scale=1.0)
        if count >= 5:
            return found
    return -1.0


@broken("spent", "scale=0.2")
def queries_that_are_drawn(data, rng):
    # What is drawn alone, and samples no record, makes nobody more private.
    above = rng.random()
    return above, (clipped(data) > above).sum() + rng.laplace(scale=0.2)


@broken("parameter", "np.random.seed(len")
def seed_of_the_data(data, rng):
    np.random.seed(len(data))  # noqa: NPY002 - people do
    return clipped(data).sum() + np.random.laplace(scale=1.0)  # noqa: NPY002 - as above


class Report:
    """What is released, whose parts are set from outside."""


@broken("value", "found.rows = ")
def number_of_rows(data, rng):
    found = Report()
    found.total = clipped(data).sum() + rng.laplace(scale=1.0)
    found.rows = len(data)
    return found


@broken("value", "if len(data) < 5")
def early_return(data, rng):
    if len(data) < 5:
        return 0.0
    return clipped(data).sum() + rng.laplace(scale=1.0)
