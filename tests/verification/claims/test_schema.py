"""The JSON Schema: it accepts what reading accepts, and refuses the usual mistakes."""

import tomllib

import jsonschema
import pytest
from hypothesis import given

from rdpkit.events import MECHANISMS, parameters_of
from rdpkit.verification.claims.format import CLAIM_KEYS, FORMAT
from rdpkit.verification.claims.reading import loads, shipped_files
from rdpkit.verification.claims.schema import claims_schema
from tests.verification.claim_files import PARAMETERS, SCENARIO, text
from tests.verification.claims.test_fuzz import any_file, fuzz

SCHEMA = claims_schema()
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)


def follows(content):
    return VALIDATOR.is_valid(tomllib.loads(content))


def test_it_is_a_schema_and_names_its_version():
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    assert SCHEMA["$id"] == f"urn:rdpkit:claims:{FORMAT}"


def test_it_has_every_key_and_every_parameter():
    claim = SCHEMA["definitions"]["claim"]
    assert set(claim["properties"]) == set(CLAIM_KEYS)
    nested = {
        part["if"]["properties"]["mechanism"]["const"]: part["then"]
        for part in SCHEMA["definitions"]["event"]["allOf"]
    }
    assert set(nested) == set(MECHANISMS)
    for name, event in MECHANISMS.items():
        names = {parameter.name for parameter in parameters_of(event)}
        assert set(nested[name]["properties"]) == names | {"mechanism"}


@pytest.mark.parametrize("path", shipped_files(), ids=lambda path: path.stem)
def test_the_shipped_claims_follow_it(path):
    document = tomllib.loads(path.read_text())
    # One claim after another: each file is long, and they are alike.
    for claim in document["claim"][::7]:
        VALIDATOR.validate({"claim": [claim]})


TRAINING = '[claim.training]\ntarget = "a.b:c.d"\n'
CODE = '[claim.code]\ncallable = "a.b:c.d"\ndimension = 2\n'


@pytest.mark.parametrize(
    "content",
    [
        text(),
        "format = 1\n" + text(),
        text(order="4", delta=None),
        text(missing='["x"]', parameters={}, epsilon=None, after=SCENARIO),
        text(mechanism='"unmodelled"', parameters=None, missing='["x"]'),
        text(after=CODE),
        text(after=CODE + TRAINING),
        text(after=TRAINING + "checks = ['run', 'step']\ncanaries = 2\nsteps = 1\nseconds = 0.5\n"),
        text(mechanism='"unmodelled"', parameters=None, after=TRAINING + "seed = 0\n"),
        text(after=CODE.replace("dimension = 2", "")),
        text(after=CODE.replace("dimension = 2", "neighbours = 'own'")),
        text(after=CODE + "neighbours = 'random'\n"),
        text(after=CODE + "neighbours = 'adversarial'\nclasses = 3\n"),
        text(after=CODE + "time_budget = 5\nseed = 0\nneighbours = 'random'\nrecord_norm = 1.0\n"),
        text(parameters=None, mechanism=None, release='"x.json"'),
        text(
            mechanism="'repeated'",
            parameters="{count=2, event={mechanism='gaussian', noise_std=5.0, record_norm=1.0}}",
        ),
    ],
)
def test_what_it_accepts(content):
    assert follows(content)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "claim = []",
        "format = 2\n" + text(),
        "title = 'x'\n" + text(),
        text(epsilom="1"),
        text(epsilon="-1"),
        text(delta="1"),
        text(delta=None),
        text(adjacency="'bounded'"),
        text(mechanism="'Gaussian'"),
        text(parameters=None),
        text(parameters={"noise_std": "5.0"}),
        text(parameters={**PARAMETERS, "sigma": "1"}),
        text(parameters={**PARAMETERS, "noise_std": "'5'"}),
        text(order="1"),
        text(conversion="'x'"),
        text(release="'x.json'"),
        text(after=CODE + "command = 'x'\n"),
        text(after=TRAINING + "checks = []\n"),
        text(after=TRAINING + "checks = ['stp']\n"),
        text(after=TRAINING + "checks = ['run', 'run']\n"),
        text(after=CODE.replace("a.b:c.d", "a.b")),
        text(after=CODE.replace("dimension = 2", "dimension = 0")),
        text(after=CODE + "neighbours = 'own'\n"),
        text(after=CODE + "neighbours = 'adversary'\n"),
        text(
            mechanism="'repeated'",
            parameters="{count=2, event={mechanism='gaussian', noise_std=5.0}}",
        ),
    ],
)
def test_what_it_refuses_is_refused_in_reading_too(content, tmp_path):
    assert not follows(content)
    with pytest.raises(ValueError, match="<claims>"):
        loads(content, folder=tmp_path)


def check(content):
    """Whatever reading accepts follows the schema."""
    try:
        loads(content)
    except ValueError:
        return
    readable = content.decode("utf-8-sig") if isinstance(content, bytes) else content
    errors = list(VALIDATOR.iter_errors(tomllib.loads(readable)))
    assert not errors, errors[0].message


@pytest.mark.parametrize("examples", [200, pytest.param(10_000, marks=pytest.mark.slow)])
def test_reading_is_never_looser(examples):
    fuzz(examples)(given(any_file)(check))()
