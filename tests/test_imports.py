"""What ``import rdpkit`` costs: nothing that accounting does not need."""

import pytest

import rdpkit
from tests.processes import loaded

HEAVY = {
    "torch",
    "sklearn",
    "matplotlib",
    "pytest",
    "hypothesis",
    "mpmath",
    "dp_accounting",
    "click",
    "rich",
    "tomlkit",
    "rdpkit.mechanisms",
    "rdpkit.verification",
}


def test_importing_the_package_loads_next_to_nothing():
    modules = loaded("import rdpkit")
    assert "rdpkit" in modules
    assert modules & (HEAVY | {"numpy", "scipy", "flint"}) == set()


def test_all_names_together_load_neither_learning_nor_testing_nor_printing():
    modules = loaded("from rdpkit import *")
    assert {"rdpkit", "numpy"} <= modules
    assert modules & HEAVY == set()


def test_every_public_name_has_one_home():
    homes = [name for names in rdpkit._MODULES.values() for name in names]
    assert len(homes) == len(set(homes))
    assert all(hasattr(rdpkit, name) for name in homes)
    assert set(rdpkit.__all__) - set(homes) - {"__version__"} <= set(rdpkit.events.__all__)


def test_names_are_found_listed_and_refused():
    assert rdpkit.bounds.BOUNDS is rdpkit.BOUNDS
    assert set(rdpkit.__all__) <= set(dir(rdpkit))
    with pytest.raises(AttributeError, match="module 'rdpkit' has no attribute 'no_such_name'"):
        _ = rdpkit.no_such_name


def test_a_question_loads_no_more():
    modules = loaded(
        "import rdpkit\n"
        "event = rdpkit.Gaussian(noise_std=5.0, record_norm=1.0)\n"
        "rdpkit.epsilon(event, delta=1e-5, adjacency='add_or_remove_one')"
    )
    assert modules & (HEAVY - {"dp_accounting"}) == set()


def test_an_audit_loads_neither_learning_nor_testing():
    modules = loaded("import rdpkit.verification.cli.audit")
    assert "click" in modules
    assert modules & {"torch", "sklearn", "matplotlib", "pytest", "hypothesis"} == set()


def command(*arguments: str) -> str:
    """A statement that runs a command and goes on."""
    return f"from rdpkit.cli import main\nmain({list(arguments)!r}, standalone_mode=False)"


def test_the_version_is_printed_without_any_other_library():
    modules = loaded(command("--version"))
    assert "click" in modules
    assert modules & (HEAVY - {"click"} | {"numpy", "scipy", "flint"}) == set()


def test_a_closed_form_loads_no_special_functions_and_nothing_that_draws_tables():
    question = ["epsilon", "gaussian", "--noise-std", "5", "--record-norm", "1", "--delta", "1e-5"]
    modules = loaded(command(*question, "--adjacency", "replace-one"))
    assert {"click", "numpy", "flint"} <= modules
    assert modules & (HEAVY - {"click"} | {"scipy"}) == set()
