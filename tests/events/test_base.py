"""What every event has in common, and how events are built from plain parameters."""

import copy
import dataclasses
import math
import pickle
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit import Composed, Gaussian, PoissonSampledGaussian, Repeated
from rdpkit.events import MECHANISMS, parameters_of
from tests.events.examples import example, plain

GAUSSIAN = {"mechanism": "gaussian", "noise_std": 5.0, "record_norm": 1.0}
# Parameters that the examples of docstrings leave out.
FURTHER = {
    **{"record_diameter": 1, "record_l1_norm": 1.0, "gamma": 0.25, "participations": 2},
    **{"screening_noise_std": 150.0, "screened": 1000},
}
EXAMPLES = {
    name: {
        **{one.name: FURTHER[one.name] for one in parameters_of(kind) if one.name in FURTHER},
        **plain(example(kind)),
    }
    for name, kind in MECHANISMS.items()
}
EXAMPLES["dpsgd"] |= {"epochs": None, "steps": 100}
EXAMPLES["dpsgd"] |= {"sampling": "truncated-poisson", "max_batch_size": 300}
# Parameters that cannot be left out, or given, without others.
ALTERNATIVES = {
    "dpsgd": {"epochs", "steps", "sampling", "max_batch_size"},
    "matrix_factorization": {"coefficients", "matrix"},
    "thresholded_counts": {"threshold", "delta"},
    "teacher_votes": {"screening_noise_std", "screened"},
}
SIGNED = {"coefficients", "matrix", "minimum"}
BAD = {
    "number": [-1.0, math.nan, math.inf, True, "1", [1.0], 10**400, 1j, Decimal("NaN")],
    "integer": [0, -1, 2.0, True, "1", None, [1], math.nan, Fraction(2)],
    "integers": [[], "12", [0], [-1], [2.0], [True], [[2]], None, 2.0, 0],
    "numbers": [[], "2", ["2"], [math.nan], [-1.0], [[2.0, 4.0]], [None], [1j], [10**400]],
    "choice": ["nope", "", 1, None, ["sum"]],
    "flag": [1, "true", None, 0.0],
    "event": [None, 1, "gaussian", [GAUSSIAN], {}, {"mechanism": 1}, {"noise_std": 1.0}],
    "events": [None, 1, "gaussian", [], GAUSSIAN, [1], [{}]],
}


def build(mechanism, **changes):
    return rdpkit.event_from_parameters(mechanism, {**EXAMPLES[mechanism], **changes})


def test_the_examples_set_every_parameter_that_others_do_not_exclude():
    for name, kind in MECHANISMS.items():
        unset = {p.name for p in parameters_of(kind)} - EXAMPLES[name].keys()
        assert unset <= ALTERNATIVES.get(name, set()) | {"sampling_probability"}


@pytest.mark.parametrize("mechanism", EXAMPLES)
def test_free_parameters_are_parameters_and_hold_the_value_that_the_event_has(mechanism):
    event = build(mechanism)
    known = {parameter.name: parameter.kind for parameter in parameters_of(type(event))}
    for name, free in event.free_parameters().items():
        assert free.kind == known[name]
        assert set(free.scaled) <= set(known)
        assert (free.private == 0) == bool(free.scaled)
        value = getattr(event, name)
        for number in value if isinstance(value, tuple) else (value,):
            assert free.lowest <= number <= free.highest or number == 0.0


@pytest.mark.parametrize("mechanism", EXAMPLES)
def test_what_planning_chooses_are_parameters(mechanism):
    event = build(mechanism)
    if event.mixing is None:
        return
    names = {value for value in dataclasses.asdict(event.mixing).values() if type(value) is str}
    assert names <= {parameter.name for parameter in parameters_of(type(event))}
    assert event.mixing.population_of(event) >= getattr(event, event.mixing.mixed)


@pytest.mark.parametrize("mechanism", EXAMPLES)
def test_events_are_frozen_slotted_hashable_and_keyword_only(mechanism):
    event = build(mechanism)
    field = dataclasses.fields(event)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(event, field, 1)
    assert not hasattr(event, "__dict__")
    assert hash(event) == hash(build(mechanism))
    assert event == build(mechanism)
    with pytest.raises(TypeError, match=r"takes its arguments by name: \w+\("):
        type(event)(1)


@pytest.mark.parametrize("mechanism", EXAMPLES)
def test_every_parameter_is_validated(mechanism):
    for parameter in parameters_of(MECHANISMS[mechanism]):
        alternative = parameter.name in ALTERNATIVES.get(mechanism, ())
        for value in BAD[parameter.kind]:
            if value is None and parameter.nullable and not alternative:
                continue
            if value in (-1.0, [-1.0]) and parameter.name in SIGNED:
                continue
            if (mechanism, parameter.name, value) == ("repeat_and_select", "shape", math.inf):
                continue
            with pytest.raises(ValueError, match=rf"Expected (\w+ )?{parameter.name}\b"):
                build(mechanism, **{parameter.name: value})


@pytest.mark.parametrize("mechanism", EXAMPLES)
def test_the_message_for_a_missing_parameter_says_what_is_accepted(mechanism):
    for parameter in parameters_of(MECHANISMS[mechanism]):
        given_ = {k: v for k, v in EXAMPLES[mechanism].items() if k != parameter.name}
        if parameter.name in ALTERNATIVES.get(mechanism, ()):
            continue
        if not parameter.required:
            rdpkit.event_from_parameters(mechanism, given_)
            continue
        with pytest.raises(ValueError, match=re.escape(parameter.describe())) as caught:
            rdpkit.event_from_parameters(mechanism, given_)
        assert f"'{mechanism}' needs the parameter '{parameter.name}'" in str(caught.value)


@pytest.mark.parametrize("mechanism", EXAMPLES)
def test_an_unknown_parameter_is_named_with_those_that_exist(mechanism):
    with pytest.raises(ValueError, match="Unknown parameter 'sigmoid'") as caught:
        build(mechanism, sigmoid=1.0)
    for parameter in parameters_of(MECHANISMS[mechanism]):
        assert parameter.name in str(caught.value)


@pytest.mark.parametrize("mechanism", ["", "Gaussian", "cauchy", None, 1, ["gaussian"]])
def test_unknown_mechanisms(mechanism):
    with pytest.raises(ValueError, match="Expected mechanism to be one of 'above_threshold'"):
        rdpkit.event_from_parameters(mechanism, {})


@pytest.mark.parametrize(
    ("inner", "message"),
    [
        ({"mechanism": "cauchy"}, "In event: Expected mechanism to be one of"),
        ({**GAUSSIAN, "noise_std": -1}, "In event: Expected noise_std to be a finite number > 0"),
        ({**GAUSSIAN, "sigma": 1}, "In event: Unknown parameter 'sigma'"),
        ({"mechanism": "repeated", "event": {}, "count": 1}, "In event: Expected event to be a"),
    ],
)
def test_errors_in_nested_events_say_where(inner, message):
    with pytest.raises(ValueError, match=message):
        build("repeated", event=inner)
    with pytest.raises(ValueError, match=message.replace("In event:", r"In events\[1\]:")):
        build("composed", events=[GAUSSIAN, inner])


def test_numbers_of_other_types_are_accepted():
    same = {"noise_std": 5.0, "record_norm": 1.0}
    for number in (int, np.float64, np.int32, Decimal, Fraction):
        event = rdpkit.Gaussian(**{name: number(value) for name, value in same.items()})
        assert event == rdpkit.Gaussian(**same)
        assert type(event.noise_std) is float


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Gaussian(1.0, 2.0), r"Gaussian\(noise_std=\.\.\., record_norm=\.\.\.\); optional"),
        (lambda: Gaussian(sigma=1.0), "no argument 'sigma'"),
        (lambda: Gaussian(noise_sd=1.0, record_norm=1.0), "Did you mean 'noise_std'"),
        (lambda: Gaussian(noise_std=1.0), "needs record_norm: it is called as Gaussian"),
    ],
)
def test_parameters_that_are_not_named_are_one_line_that_helps(call, message):
    with pytest.raises(TypeError, match=message) as refused:
        call()
    assert "\n" not in str(refused.value)


def test_events_are_copied_and_kept():
    event = Gaussian(noise_std=1.0, record_norm=1.0) * 3
    assert copy.deepcopy(event) == pickle.loads(pickle.dumps(event)) == event


def test_a_notebook_shows_the_parameters():
    one = Gaussian(noise_std=1.25, record_norm=1.0)
    shown = one + PoissonSampledGaussian(noise_std=2.5, record_norm=1.0, sampling_probability=0.1)
    text = (shown * 7)._repr_html_()
    for word in ("Repeated", "Composed", "events[1]", "sampling_probability", "1.25", "2.5", "7"):
        assert word in text
    many = Composed(events=[one] * 30)._repr_html_()
    assert "and 10 more" in many


def test_fold_looks_at_each_event_once_and_counts_all():
    event, calls = Gaussian(noise_std=1.0, record_norm=1.0), []
    for _ in range(60):
        event = Composed(events=[event, event])

    def size(current, parts):
        calls.append(current)
        return 1 + sum(parts)

    assert event.fold(size) == 2**61 - 1
    assert len(calls) == 61


def test_fold_has_the_parts_in_order_and_goes_deep():
    event = Gaussian(noise_std=1.0, record_norm=1.0)
    for _ in range(5000):
        event = Repeated(event=event, count=2)
    assert event.fold(lambda one, parts: one.count * parts[0] if parts else 1) == 2**5000
    both = Composed(events=[Gaussian(noise_std=s, record_norm=1.0) for s in (1.0, 2.0, 1.0)])
    assert both.fold(lambda one, parts: parts or one.noise_std) == (1.0, 2.0, 1.0)
    assert [path for path, _ in both.parts()] == ["events[0]", "events[1]", "events[2]"]


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
