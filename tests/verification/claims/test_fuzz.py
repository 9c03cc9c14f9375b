"""Whatever a file holds, reading it gives claims or one error that names the file."""

import math
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rdpkit.verification.auditing.findings import Soundness
from rdpkit.verification.auditing.verdict import audit_one
from rdpkit.verification.claims.reading import loads, shipped_files
from tests.verification.claim_files import PARAMETERS, SCENARIO, text

SCALARS = (
    "0 1 -1 2 1.0 -0.0 0.5 1e-5 1e400 1e-400 inf -inf nan true false '' 'x' 'gaussian' 'repeated'"
    " 'unmodelled' 'replace_one' '\\u0000' 1979-05-27 07:32:00 1979-05-27T07:32:00Z 0x10 [] {}"
    " [1] [''] ['x'] [[1]] [{}] {a=1} [1,2.5] [nan] [true]"
)
NAMES = (
    "id source mechanism adjacency epsilon delta order bound conversion missing notes scenario"
    " parameters events event count orders values class_sizes group_size noise_std x"
    " release code training kind unread work"
)
scalars = st.sampled_from(SCALARS.split()) | st.integers(-(10**30), 10**30).map(str)
values = scalars | st.sampled_from(
    [
        "{mechanism='gaussian', noise_std=5.0, record_norm=1.0}",
        "[{mechanism='gaussian', noise_std=5.0, record_norm=1.0}]",
        "{mechanism='repeated', count=1, event={mechanism='gaussian'}}",
        "[5421, 6000]",
        "{callable='a:b', dimension=2}",
        "{callable='a:b', dimension=2, neighbours='random', record_norm=1.0, time_budget=1e-3}",
        "'claims.toml'",
        "'../x.json'",
        "'/dev/stdin'",
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
    """Nothing but claims or a ValueError whose lines name the file."""
    found, message = [], ""
    try:
        found = loads(content, origin="f.toml", folder=Path("tests"))
    except ValueError as problem:
        message = str(problem)
    assert bool(found) is not bool(message)
    assert all(line.startswith("f.toml:") for line in message.splitlines())
    for claim in found:
        assert claim.id.strip()
        assert claim.delta is None or 0.0 < claim.delta < 1.0
        assert claim.order is None or 1.0 < claim.order < math.inf
        assert claim.epsilon is None or claim.epsilon >= 0
        assert claim.missing or claim.epsilon is not None
        run = claim.code or claim.training
        assert claim.missing or claim.event is not None or run is not None
        assert run is None or (claim.delta is not None and claim.epsilon is not None)
        assert claim.line >= 1


def fuzz(examples):
    return settings(max_examples=examples, suppress_health_check=[HealthCheck.too_slow])


any_file = claims | damaged() | st.text() | st.binary()


@pytest.mark.parametrize(
    "examples",
    [pytest.param(400, marks=pytest.mark.thorough), pytest.param(20_000, marks=pytest.mark.slow)],
)
def test_any_file_is_claims_or_a_value_error(examples):
    fuzz(examples)(given(any_file)(example(text())(read)))()


# What is put into a file where something breaks, besides any character and pieces of the file.
DAMAGE = (
    *("nan", "inf", "-1", "1e400", "true", "[]", "{}", "''", "\x00", "[[claim]]", "[claim.code]"),
    *("=", "\n", '"""', "'''", "1979-05-27", "\ufeff", "\u00e9", "\\", "9" * 400),
)


def mutated(rng, seeds):
    """One of the seeds with one to four places broken."""
    content = rng.choice(seeds)
    for _ in range(rng.randint(1, 4)):
        place, gone = rng.randrange(len(content) + 1), rng.choice((0, 0, 1, 2, 5, 20))
        kind = rng.random()
        if kind < 0.5:
            inserted = rng.choice(DAMAGE)
        elif kind < 0.75:
            inserted = chr(rng.randrange(1, 0x250))
        else:
            start = rng.randrange(len(content) + 1)
            inserted = content[start : start + rng.randint(0, 30)]
        content = content[:place] + inserted + content[place + gone :]
    return content.encode() if rng.random() < 0.3 else content


def claims_of_papers():
    """The shipped claims, one a file, and ones that point at code."""
    shipped = (path.read_text() for path in shipped_files())
    found = ["[[claim]]" + part for content in shipped for part in content.split("[[claim]]")[1:]]
    return [*found, text(after='[claim.code]\ncallable = "a:b"\ndimension = 2\n'), text()]


@pytest.mark.parametrize("count", [1000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_mutated_files(count):
    rng, seeds = random.Random(count), claims_of_papers()
    for _ in range(count):
        read(mutated(rng, seeds))


def judge(content):
    """Whatever is read is judged, or one error says why not; nonsense is never called sound."""
    try:
        found = loads(content, origin="f.toml")
    except ValueError:
        return
    for claim in found:
        try:
            finding = audit_one(claim, bounds="rdp")
        except (ValueError, ArithmeticError):
            continue
        if finding.soundness is Soundness.SOUND:
            assert finding.upper.epsilon <= float(claim.epsilon)
            assert not claim.missing


@pytest.mark.parametrize("examples", [20, pytest.param(3_000, marks=pytest.mark.slow)])
def test_what_is_read_is_judged(examples):
    fuzz(examples)(given(any_file)(example(text())(judge)))()
