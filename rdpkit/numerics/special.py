"""Special functions of scipy, imported when one of them is first called.

``scipy.special`` takes longer to import than everything else that a closed form needs.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any


@functools.cache
def _scipy() -> ModuleType:
    from scipy import special  # noqa: PLC0415 - the purpose of this module

    module: ModuleType = special
    return module


def erfcx(x: Any) -> Any:
    """The scaled complementary error function, exp(x^2) erfc(x)."""
    return _scipy().erfcx(x)


def expit(x: Any) -> Any:
    """The logistic function, 1 / (1 + exp(-x))."""
    return _scipy().expit(x)


def gammaln(x: Any) -> Any:
    """The logarithm of the absolute value of the gamma function."""
    return _scipy().gammaln(x)


def log_expit(x: Any) -> Any:
    """The logarithm of the logistic function."""
    return _scipy().log_expit(x)


def log_ndtr(x: Any) -> Any:
    """The logarithm of the standard normal distribution function."""
    return _scipy().log_ndtr(x)


def xlog1py(x: Any, y: Any) -> Any:
    """X log(1 + y), and 0 where x is 0."""
    return _scipy().xlog1py(x, y)


def xlogy(x: Any, y: Any) -> Any:
    """X log(y), and 0 where x is 0."""
    return _scipy().xlogy(x, y)


def logsumexp(a: Any, **options: Any) -> Any:
    """The logarithm of a sum of exponentials, with scipy's options."""
    return _scipy().logsumexp(a, **options)


__all__ = ["erfcx", "expit", "gammaln", "log_expit", "log_ndtr", "logsumexp", "xlog1py", "xlogy"]
