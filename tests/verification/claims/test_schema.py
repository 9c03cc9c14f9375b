"""The JSON Schemas: they accept what is accepted in reading, and refuse the usual mistakes."""

from __future__ import annotations

import json
import tomllib
from functools import partial

import jsonschema
import pytest
from hypothesis import given

import rdpkit
from rdpkit.events import MECHANISMS, parameters_of
from rdpkit.interop.certificates import certificate
from rdpkit.kernel import releases
from rdpkit.verification.claims.format import CLAIM_KEYS, FORMAT
from rdpkit.verification.claims.reading import loads, shipped_files
from rdpkit.verification.claims.schema import certificate_schema, claims_schema
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


OF_CERTIFICATES = certificate_schema()
COMMON = {"kind", "count", "rate"}
OF_CERTIFICATE = jsonschema.Draft7Validator(OF_CERTIFICATES)
ADD = "add_or_remove_one"
GAUSSIAN = rdpkit.Gaussian(noise_std=2.0, record_norm=1.0)
RHO = rdpkit.ZeroConcentrated(rho=0.1, adjacency=ADD)
STATED = rdpkit.EpsilonDelta(epsilon=0.25, delta=0.0, adjacency=ADD)
MIXTURE = rdpkit.MixtureOfGaussians(
    noise_std=3.0, sensitivities=(0.0, 1.0), probabilities=(0.5, 0.5)
)
LAPLACE = rdpkit.Laplace(noise_scale=1 / 3, record_norm=1.0)
PARTS = rdpkit.Parallel(events=(GAUSSIAN, GAUSSIAN), fixed_partition=True)
SAMPLED = rdpkit.PoissonSampled(event=LAPLACE, sampling_probability=0.5)
CERTIFICATES = {
    "at most": partial(certificate, GAUSSIAN, claimed="5", adjacency=ADD, delta=1e-5),
    "exceeded": partial(
        certificate, GAUSSIAN, claimed="1", adjacency=ADD, delta=1e-5, refuted=True
    ),
    "order": partial(certificate, GAUSSIAN * 3, claimed="2", adjacency=ADD, order=2.0),
    "rho": partial(certificate, GAUSSIAN + RHO, claimed="0.225", adjacency=ADD),
    "pure": partial(certificate, STATED * 2 + LAPLACE, claimed="3.5", adjacency=ADD, delta=0.0),
    "mixture": partial(certificate, MIXTURE, claimed="3", adjacency=ADD, delta=1e-5),
    "parallel": partial(certificate, PARTS, claimed="5", adjacency="replace_one", delta=1e-5),
    "sampled": partial(certificate, SAMPLED, claimed="3", adjacency=ADD, delta=0.0),
}


@pytest.mark.parametrize("name", CERTIFICATES)
def test_certificates_follow_it(name):
    OF_CERTIFICATE.validate(json.loads(CERTIFICATES[name]()))


def test_it_has_every_kind_of_the_checker():
    jsonschema.Draft7Validator.check_schema(OF_CERTIFICATES)
    shapes = OF_CERTIFICATES["definitions"]["release"]["oneOf"]
    fields = {one["properties"]["kind"]["const"]: set(one["required"]) - COMMON for one in shapes}
    assert fields == {kind: set(names.split()) for kind, (names, *_) in releases.KINDS.items()}


@pytest.mark.parametrize(
    "change",
    [
        lambda found: found.pop("sha256"),
        lambda found: found.update(other=1),
        lambda found: found.update(format="rdpkit-certificate-1"),
        lambda found: found["claim"].update(epsilon=5.0),
        lambda found: found["claim"].update(epsilon="-5"),
        lambda found: found["claim"].update(order="2"),
        lambda found: found["claim"].update(says="proven"),
        lambda found: found["claim"].update(relation="swap"),
        lambda found: found["claim"]["release"][0][0].pop("distance"),
        lambda found: found["claim"]["release"][0][0].update(count=0),
        lambda found: found["claim"]["release"][0][0].update(kind="cauchy"),
    ],
)
def test_what_the_checker_does_not_understand_does_not_follow_it(change):
    found = json.loads(CERTIFICATES["at most"]())
    change(found)
    assert not OF_CERTIFICATE.is_valid(found)
