"""The package itself: public names, and what importing it costs."""

import pytest

from rdpkit import mechanisms
from tests.processes import loaded


def test_public_names():
    assert mechanisms.__all__ == [
        "Ledger",
        "LedgerAccount",
        "LedgerRefusalError",
        "LedgerRelease",
        "Manifest",
        "NoiseSource",
        "Privacy",
        "Release",
        "TableRelease",
        "UtilityReport",
        "check_arrays",
        "evaluate_release",
        "load_manifest",
        "load_release",
        "synthesize_table",
    ]
    for name in mechanisms.__all__:
        assert getattr(mechanisms, name).__name__ == name
        assert name in dir(mechanisms)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        mechanisms.nothing  # noqa: B018


def test_the_light_mechanisms_import_no_torch():
    assert "numpy" not in loaded("from rdpkit import mechanisms")
    found = loaded("from rdpkit.mechanisms.algorithms import dpcda, dpmix, ldpdc, mechanism_names")
    assert not found & {"torch", "sklearn", "matplotlib", "numba", "rdpkit.verification"}
