"""Mechanisms by name, their options in one flat mapping, and mechanisms of other packages."""

import sys

import pytest

from rdpkit import extensions
from rdpkit.mechanisms.algorithms import find_mechanism, mechanism_names
from rdpkit.mechanisms.algorithms.specification import options_from
from rdpkit.mechanisms.releases.streaming import as_parameters
from tests.processes import loaded

TOY = """
from dataclasses import dataclass
from rdpkit.mechanisms.algorithms.specification import Mechanism
from rdpkit.mechanisms.releases.release import release_without_guarantee

@dataclass(frozen=True, slots=True, kw_only=True)
class ToyOptions:
    count: int = 3

def synthesize(features, labels, *, options, noise):
    return release_without_guarantee(
        features[:options.count], labels[:options.count], mechanism=SPEC.name,
        parameters={"count": options.count}, notes=("a toy",), noise=noise,
    )

SPEC = Mechanism(name="toy-one", synthesize=synthesize, options=ToyOptions)
"""


@pytest.mark.parametrize("name", mechanism_names())
def test_every_mechanism_is_there_and_its_noises_are_options(name):
    mechanism = find_mechanism(name)
    assert mechanism.name == name
    assert mechanism is find_mechanism(name.replace("-", "_"))
    assert set(mechanism.calibrated) <= set(mechanism.accepted())
    assert (mechanism.event is not None) == bool(mechanism.calibrated)
    assert not set(mechanism.fixed) & set(mechanism.accepted())
    assert len(mechanism.arguments()) <= 12


def test_options_of_options_are_flat_in_files():
    kind = find_mechanism("dp-hp").options
    made = options_from(kind, {"noise_std": 2.0, "products": 3, "iterations": 7})
    assert (made.kernel.products, made.fit.iterations, made.fit.batch_size) == (3, 7, 200)
    assert options_from(kind, as_parameters(made)) == made


def test_names_are_listed_without_importing_anything():
    found = loaded(
        "from rdpkit.mechanisms.algorithms import mechanism_names\n"
        "assert 'dp-hp' in mechanism_names()"
    )
    assert not found & {"numpy", "torch"}


def test_an_unknown_name_is_told_the_nearest():
    with pytest.raises(ValueError, match=r"one of original, .*got 'dp-merv'. Did you mean 'dp-me"):
        find_mechanism("dp-merv")
    with pytest.raises(ValueError, match=r"unknown option 'clip_nrom' .*Did you mean 'clip_norm'"):
        find_mechanism("dpcda").check({"clip_nrom": 1.0}, calibrated=False)


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A package of somebody else with a mechanism in it; returns the text of its entry points."""
    (tmp_path / "toy_package.py").write_text(TOY)
    folder = tmp_path / "toy_package-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-package\nVersion: 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    extensions._declared.cache_clear()
    yield lambda text: (folder / "entry_points.txt").write_text(f"[rdpkit.mechanisms]\n{text}\n")
    sys.modules.pop("toy_package", None)
    extensions._declared.cache_clear()


def test_a_mechanism_of_another_package_is_found(toy):
    toy("toy_one = toy_package:SPEC")
    assert mechanism_names()[-1] == "toy-one"
    assert find_mechanism("toy-one").check({}, calibrated=False) == {"count": 3}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("toy_package:TEXT", "'toy' of another package .* could not be imported: AttributeError"),
        ("toy_package:synthesize", "Expected the entry point 'toy' .* to be a Mechanism"),
    ],
)
def test_an_entry_point_that_leads_to_no_mechanism_is_one_clear_error(toy, value, message):
    toy(f"toy = {value}")
    with pytest.raises(ValueError, match=message):
        find_mechanism("toy")
