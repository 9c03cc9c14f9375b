"""Every event is what its own parameters, as a file would hold them, build."""

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit.events import MECHANISMS, parameters_of
from tests.events.examples import example, plain


def changed(parameter, value):
    """Values of the kind of a parameter; not all of them fit beside the other parameters."""
    match parameter.kind:
        case "number":
            return st.floats(0.0, 1e6) if value is None else st.floats(0.3, 3.0).map(value.__mul__)
        case "integer":
            return st.integers(1, 10**6) if value is None else st.integers(0, 9).map(value.__add__)
        case "flag":
            return st.booleans()
        case "choice":
            return st.sampled_from(parameter.choices)
        case "event":
            return st.sampled_from([example(rdpkit.Laplace), example(rdpkit.Gaussian) * 3])
        case "events":
            return st.lists(st.sampled_from([example(rdpkit.Laplace), value[0]]), min_size=1)
    if isinstance(value, tuple) and parameter.kind == "numbers":
        return st.floats(0.5, 1.0).map(lambda factor: [factor * one for one in value])
    lists = [st.lists(st.integers(1, 10**5), min_size=2, max_size=2)]
    return st.one_of(lists + [st.integers(1, 10**5)] * parameter.one_for_all)


@pytest.mark.thorough
@pytest.mark.parametrize("mechanism", sorted(MECHANISMS))
@settings(max_examples=50, suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data())
def test_an_event_is_rebuilt_from_its_own_parameters(mechanism, data):
    kind = MECHANISMS[mechanism]
    values = {one.name: getattr(example(kind), one.name) for one in parameters_of(kind)}
    for one in data.draw(st.sets(st.sampled_from(parameters_of(kind)), max_size=3)):
        values[one.name] = data.draw(changed(one, values[one.name]))
    try:
        event = kind(**values)
    except ValueError:
        reject()
    again = rdpkit.event_from_parameters(mechanism, plain(event))
    assert again == event
    assert hash(again) == hash(event)
