"""The schema of certificates has the checker's kinds, and accepts what the checker accepts."""

import json
from functools import partial

import jsonschema
import pytest

import rdpkit
from rdpkit.interop.certificates import certificate
from rdpkit.kernel import releases
from rdpkit.verification.claims.schema import certificate_schema

SCHEMA = certificate_schema()
COMMON = {"kind", "count", "rate"}
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)
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
    VALIDATOR.validate(json.loads(CERTIFICATES[name]()))


def test_it_has_every_kind_of_the_checker():
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    shapes = SCHEMA["definitions"]["release"]["oneOf"]
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
    assert not VALIDATOR.is_valid(found)
