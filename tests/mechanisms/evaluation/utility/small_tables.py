"""Small tables with a known truth, for tests of the evaluation of releases."""

import numpy as np
import pyarrow as pa


def people(n, seed, *, wrong=0.1, shift=0):
    """Numbers, categories and missing values; income follows from age and school."""
    rng = np.random.default_rng(seed)
    age = rng.integers(17, 90, n) + shift
    school = rng.choice(["none", "some", "much"], n, p=[0.2, 0.5, 0.3])
    right = rng.random(n) > wrong
    income = np.where(((age - shift > 45) & (school != "none")) == right, "high", "low")
    hours = 40 + 5 * rng.standard_normal(n)
    hours[rng.random(n) < 0.1] = np.nan
    return pa.table(
        {
            "age": age,
            "school": school,
            "hours": pa.array(hours, from_pandas=True),
            "income": income,
        }
    )
