"""Events and guarantees in tables, there and back."""

import json

import pytest

import rdpkit
from rdpkit.events import MECHANISMS
from rdpkit.formats.tables import event_from_table, event_to_table, guarantee_from_table, read_event
from tests.cli.commands import EVENTS
from tests.events import unit


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_comes_back_from_json(name):
    stated = "adjacency" in MECHANISMS[name].__dataclass_fields__
    adjacency = {"adjacency": "replace_one"} if stated else {}
    event = rdpkit.event_from_parameters(name, {**EVENTS[name], **adjacency})
    several = rdpkit.Composed(events=(event, event * 3))
    for one in (event, several):
        table = json.loads(json.dumps(event_to_table(one), allow_nan=False))
        assert event_from_table(table) == one


def test_names_of_mechanisms_may_have_dashes(tmp_path):
    path = tmp_path / "event.toml"
    path.write_text(
        'mechanism = "repeated"\ncount = 2\n[event]\nmechanism = "poisson-sampled-gaussian"\n'
        "noise_std = 1.0\nrecord_norm = 1.0\nsampling_probability = 0.1\n"
    )
    event = read_event(path)
    assert event.event == unit.poisson(1.0, 0.1)


def test_a_guarantee_comes_back_from_json():
    event = unit.gaussian(5.0)
    found = rdpkit.epsilon(event, delta=1e-5, adjacency="replace_one")
    assert guarantee_from_table(json.loads(json.dumps(found.as_dict()))) == found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bond": "x"}, "Unknown key 'bond' in guarantee; .* Did you mean 'bound'?"),
        ({"delta": 0.0}, "guarantee's delta"),
        ({"epsilon": "nan"}, "guarantee's epsilon"),
        ({"notes": "one"}, "to be a list of strings"),
        ({"computed": [1.0]}, "to be a list of two numbers"),
    ],
)
def test_a_guarantee_that_is_none_is_refused(change, message):
    event = unit.gaussian(5.0)
    table = rdpkit.epsilon(event, delta=1e-5, adjacency="replace_one", bound="gaussian").as_dict()
    with pytest.raises(ValueError, match=message):
        guarantee_from_table({**table, **change})
