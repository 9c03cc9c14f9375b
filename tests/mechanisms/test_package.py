"""The package itself: public names, and what importing it costs."""

import subprocess
import sys

import pytest

from rdpkit import mechanisms


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
    code = (
        "import mechanisms, sys\n"
        "assert 'numpy' not in sys.modules\n"
        "from rdpkit.mechanisms.algorithms import dpcda, dpmix, ldpdc, mechanism_names\n"
        "loaded = {'torch', 'sklearn', 'matplotlib', 'numba', 'verification'} & set(sys.modules)\n"
        "assert not loaded, loaded\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
