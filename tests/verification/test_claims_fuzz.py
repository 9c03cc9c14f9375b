"""Whatever a file holds, reading it gives claims or one error that names the file."""

from __future__ import annotations

import math

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.verification.claim_files import PARAMETERS, SCENARIO, text
from verification.claims import loads

SCALARS = (
    "0 1 -1 2 1.0 -0.0 0.5 1e-5 1e400 1e-400 inf -inf nan true false '' 'x' 'gaussian' 'repeated'"
    " 'unmodelled' 'replace_one' '\\u0000' 1979-05-27 07:32:00 1979-05-27T07:32:00Z 0x10 [] {}"
    " [1] [''] ['x'] [[1]] [{}] {a=1} [1,2.5] [nan] [true]"
)
NAMES = (
    "id source mechanism adjacency epsilon delta order bound conversion missing notes scenario"
    " parameters events event count orders values class_sizes group_size noise_std x"
)
scalars = st.sampled_from(SCALARS.split()) | st.integers(-(10**30), 10**30).map(str)
values = scalars | st.sampled_from(
    [
        "{mechanism='gaussian', noise_std=5.0, record_norm=1.0}",
        "[{mechanism='gaussian', noise_std=5.0, record_norm=1.0}]",
        "{mechanism='repeated', count=1, event={mechanism='gaussian'}}",
        "[5421, 6000]",
    ]
)
names = st.sampled_from(NAMES.split())
claims = st.builds(
    lambda changes, parameters, after: text(parameters=parameters, after=after, **changes),
    st.dictionaries(names.filter(lambda n: n != "parameters"), st.none() | values, max_size=4),
    st.none() | scalars | st.dictionaries(names, values, max_size=4).map(lambda d: PARAMETERS | d),
    st.sampled_from(["", SCENARIO, SCENARIO + "[claim.scenario.parameters]\nnoise_std = 3.0\n"]),
)


@st.composite
def damaged(draw):
    """A claims file with a few characters or lines put in, taken away or said twice."""
    content = draw(claims | st.just(text()))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.integers(0, 12)))
        inserted = draw(st.text(max_size=4) | st.just(content[start:end] * 2) | st.just("[claim."))
        content = content[:start] + inserted + content[end:]
    return content


def read(content):
    """Nothing but claims or a ValueError of one line that names the file."""
    found, message = [], ""
    try:
        found = loads(content, origin="f.toml")
    except ValueError as problem:
        message = str(problem)
    assert bool(found) is not message.startswith("f.toml: ")
    assert "\n" not in message
    for claim in found:
        assert claim.id.strip()
        assert claim.delta is None or 0.0 < claim.delta < 1.0
        assert claim.order is None or 1.0 < claim.order < math.inf
        assert claim.epsilon is None or claim.epsilon >= 0
        assert claim.missing or None not in (claim.event, claim.epsilon)


def fuzz(examples):
    return settings(max_examples=examples, suppress_health_check=[HealthCheck.too_slow])


any_file = claims | damaged() | st.text() | st.binary()


@fuzz(400)
@given(any_file)
@example(text())
def test_any_file_is_claims_or_a_value_error(content):
    read(content)


@pytest.mark.slow
@fuzz(20_000)
@given(any_file)
def test_any_file_at_length(content):
    read(content)
