"""Mistakes planted in a small library: each is found, and the line that was changed is named."""

from __future__ import annotations

import importlib.util

import pytest

from rdpkit.verification import verify_by_replay

LIBRARY = """
import numpy as np


class Laplace:
    def __init__(self, epsilon, sensitivity, rng):
        self.scale = sensitivity / epsilon
        self.rng = rng

    def add(self, value):
        return value + self.rng.laplace(scale=self.scale)


def split_budget(epsilon, parts):
    budgets = []
    for _ in range(parts):
        budgets.append(epsilon / parts)
    return budgets


def clipped(values, low, high):
    values = np.nan_to_num(values)
    return np.clip(values, low, high)


def noisy_sum(values, low, high, epsilon, rng):
    values = clipped(values, low, high)
    sensitivity = max(abs(low), abs(high))
    return Laplace(epsilon, sensitivity, rng).add(values.sum())


def noisy_count(values, epsilon, rng):
    sensitivity = 1.0
    return Laplace(epsilon, sensitivity, rng).add(float(len(values)))


def histogram(labels, epsilon, rng):
    found = {}
    for name in (0, 1, 2):
        count = sum(one == name for one in labels)
        found[name] = Laplace(epsilon, 1.0, rng).add(count)
    return found


def report(data, rng):
    values, labels = data.features[:, 0], data.labels.tolist()
    of_sum, of_count, of_groups = split_budget(1.0, 3)
    total = noisy_sum(values, 0.0, 1.0, of_sum, rng)
    count = noisy_count(values, of_count, rng)
    groups = histogram(labels, of_groups, rng)
    return total, count, groups
"""
REFUTED, NOTHING = "refuted", "nothing found"
# What a few runs do not refute on every machine in fifteen seconds, a replay names all the same.
FOUND = "refuted or unaccounted"
# The verdict, what is replaced, by what, and the line that has to be named.
ROWS = {
    "as it is": (NOTHING, "", "", ""),
    "noisy threshold": (
        NOTHING,
        "    return total, count, groups",
        "    return total if count > 5.0 else 0.0, count, groups",
        "",
    ),
    "larger sensitivity": (NOTHING, "sensitivity = 1.0", "sensitivity = 2.0", ""),
    "sorted groups": (NOTHING, "in (0, 1, 2):", "in sorted({2, 0, 1}):", ""),
    "sensitivity of data": (
        FOUND,
        "sensitivity = max(abs(low), abs(high))",
        "sensitivity = max(np.ptp(values) if len(values) else 0.0, 1e-3)",
        "sensitivity = max(np.ptp(values)",
    ),
    "budget thrice": (FOUND, "= split_budget(1.0, 3)", "= [1.0] * 3", "= [1.0] * 3"),
    "wrong split": (FOUND, "(epsilon / parts)", "(epsilon * 4.0 / parts)", "epsilon * 4.0"),
    "clipping forgotten": (
        REFUTED,
        "return np.clip(values, low, high)",
        "return np.minimum(values, high)",
        "return np.minimum(values",
    ),
    "missing values pass": (
        REFUTED, "values = np.nan_to_num(values)", "values = np.array(values)", "np.array(values)"
    ),
    "count without noise": (REFUTED, "count, groups\n", "len(values), groups\n", "len(values), gr"),
    "order of rows": (REFUTED, "in (0, 1, 2):", "in dict.fromkeys(labels):", "dict.fromkeys"),
    "fixed seed": (REFUTED, "self.rng = rng", "self.rng = np.random.default_rng(7)", "_rng(7)"),
}  # fmt: skip

# Where the line that causes a difference is known, it comes before the one that shows it.
LEADING = ("budget thrice", "fixed seed")


@pytest.mark.thorough
@pytest.mark.parametrize("name", ROWS)
def test_what_is_planted_is_found_and_its_line_is_named(name, tmp_path):
    verdict, old, new, line = ROWS[name]
    assert old in LIBRARY
    file = tmp_path / "small_library.py"
    file.write_text(LIBRARY.replace(old, new, 1))
    spec = importlib.util.spec_from_file_location("small_library", file)
    library = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(library)
    result = verify_by_replay(
        library.report, adjacency="add_or_remove_one", epsilon=1.0, delta=0.0, seed=3,
        columns={"x": [0.0, 1.0], "label": [0, 1, 2]}, any_values=True,
        false_alarm_rate=1e-6 if verdict == NOTHING else 0.05,
    )  # fmt: skip
    assert result.verdict in verdict, result.rows()
    said = [text for head, text in result.rows() if head in ("difference", "computed of")]
    assert line in " ".join(said), result.rows()
    if name in LEADING:
        assert line in result.summary.partition("; at ")[0]
