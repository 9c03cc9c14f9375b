"""Events and theorems of other installed packages are seen; bad ones are clear errors."""

import json
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import rdpkit
from rdpkit import bounds, extensions
from rdpkit.events import MECHANISMS, Mechanisms

EVENT = '''
"""One release of a noisy sum, with Laplace noise."""
from dataclasses import dataclass
from typing import ClassVar
from rdpkit import Event
from rdpkit.events.free_parameters import NOISE, NORM

@dataclass(frozen=True, slots=True, kw_only=True)
class Laplace(Event):
    """The sum of the records plus Laplace noise, released once."""

    mechanism: ClassVar[str] = "stairway"
    scale: float
    sensitivity: float

    def free_parameters(self):
        return {"scale": NOISE, "sensitivity": NORM}
'''
THEOREM = '''
"""Mironov 2017, Proposition 6."""
import numpy as np
from rdpkit import Adjacency, Kind, RdpBound
from rdpkit.bounds.base import every_order
from toy.event import Laplace

def _rdp(event, a, adjacency):
    t = event.sensitivity / event.scale
    terms = np.log(a / (2 * a - 1)) + (a - 1) * t, np.log((a - 1) / (2 * a - 1)) - a * t
    return np.maximum(np.logaddexp(*terms) / (a - 1), 0.0)

BOUND = RdpBound(
    id="stairway", title="Laplace", source="Mironov 2017, Proposition 6", kind=Kind.UPPER,
    event_type=Laplace, adjacencies=tuple(Adjacency), rdp=_rdp, order_range=every_order,
)
'''
COMMANDS = """
import json, sys
from click.testing import CliRunner
from rdpkit.cli import main

def answer(command):
    return json.loads(CliRunner().invoke(main, [*command.split(), "--format", "json"]).output)

common = " --sensitivity 1 --adjacency replace_one --delta 1e-5"
found = {
    "epsilon": answer("epsilon stairway --scale 2" + common),
    "calibrate": answer("calibrate stairway --parameter scale --target-epsilon 0.3" + common),
    "missing": CliRunner().invoke(main, ["epsilon", "stairwa"]).output,
}
print(json.dumps(found))
"""


def test_an_event_and_its_theorem_in_a_package_of_their_own(tmp_path):
    package = tmp_path / "toy"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "event.py").write_text(EVENT)
    (package / "theorem.py").write_text(THEOREM)
    installed = tmp_path / "toy-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(
        "[rdpkit.events]\nstairway = toy.event:Laplace\n"
        "[rdpkit.bounds]\nstairway = toy.theorem:BOUND\n"
    )
    root = str(Path(rdpkit.__file__).parents[1])
    code = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {root!r}]\n{COMMANDS}"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = json.loads(ran.stdout)
    # Pure differential privacy with 1/scale is approached at large orders.
    assert 0.49 < found["epsilon"]["epsilon"] <= 0.500001
    assert 3.33 < found["calibrate"]["values"]["scale"] < 3.34
    assert "stairway" in found["missing"]


class _NoEvent:
    mechanism = "misnamed"


class _Misnamed(rdpkit.Event):
    mechanism = "another"


@pytest.fixture
def declare(monkeypatch):
    """Pretend that a package declares entry points: (group, name, value) each."""

    def pretend(*entries):
        found = tuple(EntryPoint(group=g, name=n, value=v) for g, n, v in entries)
        monkeypatch.setattr(extensions, "_declared", lambda: found)

    return pretend


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([("misnamed", "no.such.module:X")], "ModuleNotFoundError: No module named 'no'"),
        ([("misnamed", f"{__name__}:_NoEvent")], "expected a subclass of rdpkit.Event"),
        ([("misnamed", f"{__name__}:_Misnamed")], "the event's 'mechanism' is 'another'"),
        ([("gaussian", "rdpkit:Gaussian")], "rdpkit has a mechanism of that name itself"),
        ([("x", "rdpkit:Event"), ("x", "rdpkit:Event")], "two installed packages use this name"),
    ],
)
def test_events_that_cannot_be_used(declare, entries, message):
    sys.modules.setdefault(__name__, sys.modules[_NoEvent.__module__])
    declare(*((extensions.EVENTS, name, value) for name, value in entries))
    known = Mechanisms()
    assert known["gaussian"] is rdpkit.Gaussian  # rdpkit's own need no package
    with pytest.raises(extensions.ExtensionError, match=message) as caught:
        list(known)
    assert f"The entry point '{entries[0][0]}' of the group 'rdpkit.events'" in str(caught.value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("rdpkit:Gaussian", "expected an RdpBound"),
        ("rdpkit.bounds.gaussian:BOUND", "has the id 'gaussian' already"),
    ],
)
def test_theorems_that_cannot_be_used(declare, value, message):
    declare((extensions.BOUNDS, "mine", value))
    with pytest.raises(extensions.ExtensionError, match=message):
        bounds._with_those_of_packages()


def test_without_packages_there_are_only_our_own():
    assert len(MECHANISMS) == len(list(MECHANISMS)) >= 14
    assert rdpkit.BOUNDS[: len(bounds._OWN)] == bounds._OWN


@pytest.mark.parametrize(
    ("came", "line"),
    [
        (
            {"url": "file:///a%20b", "dir_info": {"editable": True}},
            "pip install -e '/a b[plots]'",
        ),
        ({"url": "file:///src/rdpkit", "dir_info": {}}, "pip install '/src/rdpkit[plots]'"),
        (
            {"url": "https://example.org/r.git", "vcs_info": {"vcs": "git"}},
            "pip install 'rdpkit[plots] @ git+https://example.org/r.git'",
        ),
        ({"url": "file:///rdpkit.whl", "archive_info": {}}, "pip install matplotlib"),
        (None, "pip install matplotlib"),
    ],
)
def test_an_extra_is_installed_as_this_copy_was(monkeypatch, came, line):
    class Distribution:
        requires = ('matplotlib>=3.8; extra == "plots"', 'torch>=2; extra == "mechanisms"', "numpy")

        def read_text(self, name):
            return None if came is None else json.dumps(came)

    monkeypatch.setattr("importlib.metadata.distribution", lambda name: Distribution())
    assert extensions.install_line("plots") == line
