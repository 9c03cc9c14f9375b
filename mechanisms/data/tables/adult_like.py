"""A table of people who do not exist, like census records, whose true distribution is known.

Age, education and sex are drawn first; all other columns are independent of each other once these
three are known, and depend on each other through them. So the exact distribution of any few columns
is a sum of 240 products, and the error of a synthetic table can be told from the chance in its
source. All numbers here are made up.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.mechanisms.data.tables.encoding import decode
from rdpkit.mechanisms.data.tables.schema import Column, Schema

Floats = NDArray[np.float64]

_EDUCATION = (
    "none", "primary", "secondary", "vocational", "college", "bachelor", "master", "doctorate",
)  # fmt: skip
_OCCUPATION = (
    "farming", "cleaning", "transport", "machines", "crafts", "service", "sales", "clerical",
    "technical", "management",
)  # fmt: skip

ADULT_LIKE = Schema(
    columns=(
        Column(name="age", kind="integer", range=(16, 90), bins=15, type="int16"),
        Column(name="education", kind="category", values=_EDUCATION),
        Column(name="sex", kind="category", values=("female", "male")),
        Column(
            name="workclass",
            kind="category",
            values=("private", "self-employed", "local", "state", "federal"),
            other="another",
            missing=True,
        ),
        Column(name="education_years", kind="integer", range=(1, 20), type="int8"),
        Column(
            name="marital",
            kind="category",
            values=("never", "married", "separated", "divorced", "widowed"),
        ),
        Column(name="occupation", kind="category", values=_OCCUPATION, missing=True),
        Column(name="hours_per_week", kind="integer", range=(1, 99), bins=20, type="int16"),
        Column(
            name="income",
            kind="number",
            range=(0.0, 500_000.0),
            edges=(
                1.0, 5e3, 1e4, 1.5e4, 2e4, 2.5e4, 3e4, 4e4, 5e4, 6e4, 8e4, 1e5, 1.5e5, 2e5,
            ),
            decimals=2,
        ),
        Column(name="owns_home", kind="boolean", missing=True),
        Column(name="children", kind="integer", range=(0, 6), type="int8"),
        Column(name="hired", kind="date", range=("1980-01-01", "2024-12-31"), bins=30),
        Column(
            name="last_seen",
            kind="datetime",
            range=("2024-01-01T00:00:00", "2024-12-31T23:59:59"),
            bins=12,
            missing=True,
        ),
        Column(name="height_cm", kind="number", range=(140.0, 215.0), bins=25, type="float"),
        Column(name="capital_gain", kind="number", range=(0.0, 1e5), bins=20, decimals=0),
    )
)  # fmt: skip
"""The schema of the table: 15 columns of all kinds, four of which may be missing."""

_CORE = ("age", "education", "sex")


def adult_like(rows: int, *, seed: int) -> pa.Table:
    """Records of people who do not exist.

    Parameters
    ----------
    rows : int
        How many.
    seed : int
        The same seed gives the same records.

    Returns
    -------
    pyarrow.Table
        With the columns and types of :data:`ADULT_LIKE`.
    """
    n = _validate.integer("rows", rows, minimum=0, maximum=10**8)
    rng = np.random.default_rng(_validate.integer("seed", seed, minimum=0))
    core = _core()
    people = rng.choice(core.size, size=n, p=core.ravel())
    place = dict(zip(_CORE, np.unravel_index(people, core.shape), strict=True))
    codes = np.empty((n, len(ADULT_LIKE.columns)), dtype=np.int32)
    for index, name in enumerate(ADULT_LIKE.names):
        if name in place:
            codes[:, index] = place[name]
            continue
        ends = np.cumsum(_given_core()[name], axis=1)
        ends[:, -1] = 1.0
        # The first code whose cumulative probability is above a uniform number.
        found = (ends[people] <= rng.random(n)[:, None]).sum(axis=1)
        codes[:, index] = found
    return decode(codes, ADULT_LIKE, draws=rng)


def true_marginal(names: Sequence[str]) -> Floats:
    """The exact distribution of a few columns' codes, one axis a column.

    Parameters
    ----------
    names : sequence of str
        One to four different columns of :data:`ADULT_LIKE`.

    Raises
    ------
    ValueError
        If a name is unknown, or there are too many.
    """
    if not 1 <= len(set(names)) == len(names) <= 4:
        raise _validate.fail("names", "to be one to four different columns", list(names))
    axes = "abcd"[: len(names)]
    rule = ",".join(["z", *(f"z{axis}" for axis in axes)]) + "->" + axes
    tables = [_given_core()[ADULT_LIKE[name].name] for name in names]
    found: Floats = np.einsum(rule, _core().ravel(), *tables, optimize=True)
    return found


@lru_cache(maxsize=1)
def _core() -> Floats:
    """Probabilities of age, education and sex, shape (15, 8, 2)."""
    age, education, sex = _places()
    logits = -(((age - 5.0) / 4.5) ** 2) / 2.0 - (((education - 3.4 + age / 15.0) / 1.9) ** 2) / 2.0
    logits = logits + 0.04 * sex * education - 0.05 * sex * np.maximum(age - 10.0, 0.0)
    weights = np.exp(logits)
    found: Floats = weights / weights.sum()
    return found


@lru_cache(maxsize=1)
def _given_core() -> dict[str, Floats]:
    """For each column the probabilities of its codes given the core, shape (240, codes)."""
    age, education, sex = _places()
    shape = _core().shape
    found = {
        name: np.eye(size)[np.broadcast_to(own, shape).ravel().astype(int)]
        for name, own, size in zip(_CORE, (age, education, sex), shape, strict=True)
    }
    skill = education + 1.5 * np.exp(-(((age - 7.0) / 5.0) ** 2)) + 0.4 * sex
    married = 1.0 / (1.0 + np.exp(-(age - 3.0) * 0.9))
    old = 1.0 / (1.0 + np.exp(-(age - 10.5) * 1.4))
    one = np.ones(shape)
    found["workclass"] = _shares(
        [6.0 * one, 0.5 + 0.12 * age, 0.8 + 0.1 * education, 0.5 * one, 0.3 + 0.05 * education,
         0.2 * one, 0.3 + 3.0 * old],
    )  # fmt: skip
    found["education_years"] = _bell(2.0 + 2.35 * education, 1.1 * one, 20)
    found["marital"] = _shares(
        [(1.0 - married) * 4.0 + 0.1, 4.0 * married, 0.25 * married, 0.25 + 0.9 * married,
         0.02 + 1.6 * old * (1.4 - sex)],
    )  # fmt: skip
    found["occupation"] = _bell(
        0.6 + 0.95 * education + 0.5 * (1.0 - sex), 2.0 * one, 10, missing=0.03 + 0.3 * old
    )
    found["hours_per_week"] = _bell(7.6 + 0.25 * skill - 4.0 * old, 2.2 + 1.2 * old, 20)
    found["income"] = _bell(1.5 + 1.15 * skill - 1.5 * old, 2.1 * one, 15)
    found["owns_home"] = _shares([1.3 - married, 0.1 + 0.9 * married * one, 0.08 * one])
    found["children"] = _bell(2.6 * married - 0.12 * education, 0.9 * one, 7)
    found["hired"] = _bell(27.0 - 1.5 * age + 0.3 * education, 4.0 * one, 30)
    found["last_seen"] = _bell(6.0 + 0.1 * age, 5.0 * one, 12, missing=0.1 * one)
    found["height_cm"] = _bell(7.5 + 4.2 * sex - 0.08 * age, 2.2 * one, 25)
    found["capital_gain"] = _shares(
        [12.0 * one, *((0.02 + 0.05 * skill) / k for k in range(1, 20))]
    )
    return found


def _places() -> tuple[Floats, Floats, Floats]:
    age, education, sex = np.ogrid[0:15, 0:8, 0:2]
    return age.astype(float), education.astype(float), sex.astype(float)


def _shares(weights: Sequence[Floats]) -> Floats:
    """Probabilities in proportion to weights of shape (15, 8, 2), one for each code."""
    shape = _core().shape
    table = np.stack([np.broadcast_to(weight, shape).ravel() for weight in weights], axis=1)
    found: Floats = table / table.sum(axis=1, keepdims=True)
    return found


def _bell(centre: Floats, width: Floats, codes: int, *, missing: Floats | float = 0.0) -> Floats:
    """Probabilities that fall off like a normal curve around a centre, by the codes' numbers."""
    at = np.arange(codes)
    weights = [np.exp(-(((k - centre) / width) ** 2) / 2.0) + 1e-4 for k in at]
    found = _shares(weights)
    if np.ndim(missing) == 0:
        return found
    share = np.broadcast_to(np.asarray(missing), _core().shape).reshape(-1, 1)
    return np.concatenate([found * (1.0 - share), share], axis=1)
