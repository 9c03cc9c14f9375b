"""Points of a privacy profile as an event: what is accepted, and what is kept."""

import re

import pytest

import rdpkit
from rdpkit.events import CustomProfile

GOOD = {"epsilons": (0.5, 1.0), "deltas": (1e-3, 0.0), "adjacency": "replace_one"}


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
