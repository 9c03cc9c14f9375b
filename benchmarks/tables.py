"""How near synthetic tables come to real ones: rdpkit beside independent columns, MST and AIM.

    python -m benchmarks.tables rdpkit breast-cancer --epsilon 1
    python -m benchmarks.tables AIM adult.csv --epsilon 1     # in an environment with dpmm 0.1.9

Everybody is told the same ranges and categories, which are taken for public here, and works with
its defaults; dpmm spends an epsilon of 0.1 more than it is told, on its bins. Errors are
total-variation distances of all columns (twentieths of the real records) and all pairs (sixths), so
they are the same measure whatever bins a method has. Tables: 569 x 31 (breast-cancer) and 1,797 x
65 (digits) of scikit-learn, or any CSV file. Results stand in docs/theory/marginals.md.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits

_DELTA = 1e-6


def table(name: str) -> pd.DataFrame:
    """A real table by its name or file."""
    loaders = {"breast-cancer": load_breast_cancer, "digits": load_digits}
    if name not in loaders:
        return pd.read_csv(name).dropna()
    found = loaders[name](as_frame=True)
    return found.data.assign(target=found.target.astype(str))


def is_category(column: pd.Series) -> bool:
    """Whether a column is texts, or has few values."""
    return not pd.api.types.is_numeric_dtype(column) or column.nunique() <= 2


def rdpkit(real: pd.DataFrame, epsilon: float, seed: int, *, singles: bool = False) -> pd.DataFrame:
    """The mechanism `marginals`, by a drafted schema that is taken for public."""
    import pyarrow as pa  # noqa: PLC0415 (peers have an environment of their own)

    from rdpkit.mechanisms import NoiseSource, synthesize_table  # noqa: PLC0415
    from rdpkit.mechanisms.data.tables.drafting import draft_schema  # noqa: PLC0415

    shown = real.assign(**{n: real[n].astype(str) for n in real if is_category(real[n])})
    private = pa.Table.from_pandas(shown, preserve_index=False)
    options = {"one_way": 0.998, "scores": 0.001, "components": 1} if singles else {}
    drafted = draft_schema(private, bins=32 if singles else None).schema
    schema = drafted.confirmed({column.name: "benchmark" for column in drafted.columns})
    made = synthesize_table(
        private, schema=schema, epsilon=epsilon, delta=_DELTA, adjacency="add_or_remove_one",
        noise=NoiseSource.seeded(seed), options=options,
    )  # fmt: skip
    return made.to_pandas()


def independent(real: pd.DataFrame, epsilon: float, seed: int) -> pd.DataFrame:
    """Every column by itself: all of the budget for marginals of 32 equal parts."""
    return rdpkit(real, epsilon, seed, singles=True)


def _of_dpmm(kind: str) -> Callable[[pd.DataFrame, float, int], pd.DataFrame]:
    def made(real: pd.DataFrame, epsilon: float, seed: int) -> pd.DataFrame:
        from dpmm import pipelines  # noqa: PLC0415

        shown, domain = real.copy(), {}
        for name in real:
            if is_category(real[name]):
                shown[name] = real[name].astype(str).astype("category")
                domain[name] = {"categories": sorted(shown[name].cat.categories)}
            else:
                domain[name] = {"lower": float(real[name].min()), "upper": float(real[name].max())}
        pipeline = getattr(pipelines, f"{kind}Pipeline")(epsilon=epsilon, delta=_DELTA, n_jobs=1)
        pipeline.fit(shown, domain, random_state=seed)
        return pipeline.generate(len(real), random_state=seed)

    return made


METHODS: dict[str, Callable[..., pd.DataFrame]] = {
    "rdpkit": rdpkit,
    "independent": independent,
    "MST": _of_dpmm("MST"),
    "AIM": _of_dpmm("AIM"),
}


def _cells(real: pd.Series, made: pd.Series, count: int) -> tuple[Any, Any, int]:
    """Categories, or parts with as many real records each."""
    if is_category(real):
        values = {value: code for code, value in enumerate(sorted(set(real.astype(str))))}
        codes = [one.astype(str).map(values).fillna(len(values)) for one in (real, made)]
        return *(one.to_numpy(dtype=np.int64) for one in codes), len(values) + 1
    edges = np.unique(np.quantile(real, np.linspace(0, 1, count + 1)[1:-1]))
    numbers = (one.to_numpy(dtype=np.float64) for one in (real, made))
    return *(np.searchsorted(edges, one, side="right") for one in numbers), len(edges) + 1


def _distance(real: Any, made: Any, cells: int) -> float:
    shares = [np.bincount(one, minlength=cells) / len(one) for one in (real, made)]
    return 0.5 * float(np.abs(shares[0] - shares[1]).sum())


def errors(real: pd.DataFrame, made: pd.DataFrame) -> tuple[float, float]:
    """Mean error of a column and of a pair of columns."""
    columns = [_distance(*_cells(real[name], made[name], 20)) for name in real]
    coarse = [_cells(real[name], made[name], 6) for name in real]
    pairs = [
        _distance(a * n + c, b * n + d, m * n) for (a, b, m), (c, d, n) in combinations(coarse, 2)
    ]
    return float(np.mean(columns)), float(np.mean(pairs))


def main() -> None:
    """Run one method on one table, and print its errors and its time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("method", choices=METHODS)
    parser.add_argument("table")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    real = table(given.table)
    started = time.perf_counter()
    made = METHODS[given.method](real, given.epsilon, given.seed)
    seconds = time.perf_counter() - started
    column, pair = errors(real, made)
    shown = {"method": given.method, "table": given.table, "rows": len(real)}
    shown |= {"columns": real.shape[1], "epsilon": given.epsilon}
    shown |= {"column": round(column, 4), "pair": round(pair, 4), "seconds": round(seconds, 1)}
    print(json.dumps(shown))


if __name__ == "__main__":
    main()
