"""Points of a privacy profile as an event: what is accepted, and what is kept."""

import re

import numpy as np
import pytest

import rdpkit
from rdpkit.events import CustomProfile

GOOD = {"epsilons": (0.5, 1.0), "deltas": (1e-3, 0.0), "adjacency": "replace_one"}


def test_any_sequence_is_kept_as_a_tuple_of_floats():
    event = CustomProfile(epsilons=np.array([0, 1]), deltas=[1, 0], adjacency="replace_one")
    assert event.epsilons == (0.0, 1.0)
    assert event.deltas == (1.0, 0.0)
    assert all(type(v) is float for v in (*event.epsilons, *event.deltas))
    assert event.adjacency is rdpkit.Adjacency.REPLACE_ONE


def test_one_point_may_be_given_as_numbers():
    event = CustomProfile(epsilons=1.0, deltas=1e-5, adjacency="replace_one")
    assert (event.epsilons, event.deltas) == ((1.0,), (1e-5,))


def test_equal_events_look_equal():
    event = CustomProfile(epsilons=(-0.0,), deltas=(-0.0,), adjacency="replace_one")
    assert repr(event) == repr(CustomProfile(**{**GOOD, "epsilons": (0.0,), "deltas": (0.0,)}))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("epsilons", (1.0, 0.5), "epsilons to be strictly increasing"),
        ("epsilons", (1.0, 1.0), "epsilons to be strictly increasing"),
        ("deltas", (1e-3,), "deltas to be numbers in [0, 1], of shape (2,) as epsilons has"),
        ("deltas", (1e-3, 0.0, 0.0), "deltas to be numbers in [0, 1], of shape (2,)"),
        ("deltas", (0.0, 1e-3), "deltas not to increase with epsilons, got (0.0, 0.001)"),
    ],
)
def test_bad_values_are_named(name, value, message):
    with pytest.raises(ValueError, match=re.escape(f"Expected {message}")):
        CustomProfile(**{**GOOD, name: value})


def test_from_a_file_inside_of_other_events():
    part = {"mechanism": "custom_profile", "epsilons": [1.0], "deltas": [1e-6]}
    event = rdpkit.event_from_parameters(
        "repeated", {"event": {**part, "adjacency": "replace_one"}, "count": 3}
    )
    point = CustomProfile(epsilons=(1.0,), deltas=(1e-6,), adjacency="replace_one")
    assert event == point * 3
    with pytest.raises(ValueError, match=r"In event: .*needs the parameter 'adjacency'"):
        rdpkit.event_from_parameters("repeated", {"event": part, "count": 3})
