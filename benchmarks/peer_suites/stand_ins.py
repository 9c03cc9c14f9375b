"""What is put in place of accountants, and of packages that are not installed."""

from __future__ import annotations

import importlib
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np


class _Anything:
    """A name of a package that is not there; good for annotations and for nothing else."""

    def __class_getitem__(cls, item: Any) -> type[_Anything]:
        return cls


class _Empty(types.ModuleType):
    """A package that has every name, and is none."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything


def _missing(*names: str) -> None:
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            sys.modules[name] = _Empty(name)
            parent, _, last = name.rpartition(".")
            if parent:
                setattr(sys.modules[parent], last, sys.modules[name])


def _package(name: str, path: Path) -> None:
    """A package without its ``__init__``, which would import all of it."""
    module = types.ModuleType(name)
    module.__path__ = [str(path)]
    sys.modules[name] = module
    parent, _, last = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], last, module)


def for_dp_accounting(folder: Path) -> None:
    """Our accountants in place of dp-accounting's two, in every place that names them."""
    import dp_accounting  # noqa: PLC0415
    from dp_accounting.pld import pld_privacy_accountant  # noqa: PLC0415
    from dp_accounting.rdp import rdp_privacy_accountant  # noqa: PLC0415

    from benchmarks.peer_suites.accountants import THEIRS, PLDAccountant, RdpAccountant  # noqa: PLC0415

    THEIRS.setdefault("rdp", rdp_privacy_accountant.RdpAccountant)
    for place in (rdp_privacy_accountant, dp_accounting.rdp):
        place.RdpAccountant = RdpAccountant
    for place in (pld_privacy_accountant, dp_accounting.pld):
        place.PLDAccountant = PLDAccountant


def for_jax_privacy(folder: Path) -> None:
    """The same, and jax_privacy's accounting without jax."""
    for_dp_accounting(folder)
    _missing("jax", "jax.numpy")
    _package("jax_privacy", folder / "jax_privacy")


def for_tf_privacy(folder: Path) -> None:
    """The same, and TF-privacy's analysis without TensorFlow."""
    for_dp_accounting(folder)
    _missing("tensorflow")
    tensorflow = sys.modules["tensorflow"]
    if isinstance(tensorflow, _Empty):
        # TensorFlow's test case is one of absl's, and so are those that are mixed with it.
        from absl.testing import absltest  # noqa: PLC0415

        case = type("TestCase", (absltest.TestCase,), dict(_ASSERTIONS))
        tensorflow.test = types.SimpleNamespace(TestCase=case, main=absltest.main)
        tensorflow.random = types.SimpleNamespace(
            uniform=lambda shape, **other: _Tensor(np.random.default_rng(0).random(shape))
        )
    inner = folder / "tensorflow_privacy"
    _package("tensorflow_privacy", inner)
    _package("tensorflow_privacy.privacy", inner / "privacy")
    _package("tensorflow_privacy.privacy.analysis", inner / "privacy" / "analysis")


class _Tensor:
    """An array that is asked for by ``numpy()``."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def numpy(self) -> Any:
        """The array."""
        return self.array


def _all_close(case: Any, one: Any, other: Any, rtol: float = 1e-6, atol: float = 1e-6) -> None:
    np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)


def _near(case: Any, one: Any, other: Any, err: float, msg: Any = None) -> None:
    assert abs(one - other) <= err, msg


_ASSERTIONS = {"assertAllClose": _all_close, "assertNear": _near}


def for_opacus(folder: Path) -> None:
    """Our accountant in place of Opacus' two that give upper bounds."""
    from benchmarks.peer_suites import opacus_accountants  # noqa: PLC0415

    opacus_accountants.install()
