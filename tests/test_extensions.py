"""Events and theorems of other installed packages are seen; bad ones are clear errors."""

import json
import sys
from importlib.metadata import EntryPoint

import pytest

import rdpkit
from rdpkit import bounds, extensions
from rdpkit.events import MECHANISMS, Mechanisms


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
