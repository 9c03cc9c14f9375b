"""The table ``[claim.unknown]``: what is read, and what is refused."""

import re
import tomllib

import jsonschema
import pytest

from rdpkit.verification.claims.reading import load_files, loads, shipped_files
from rdpkit.verification.claims.schema import claims_schema
from rdpkit.verification.claims.unknown import MOST_CASES
from tests.verification.claim_files import text

VALIDATOR = jsonschema.Draft7Validator(claims_schema())
SGD = {"dataset_size": "60000", "batch_size": "256"}


def sgd(unknown, *, parameters=SGD, **changes):
    given = {"mechanism": '"dpsgd"', "missing": '["x"]', **changes}
    return text(parameters=parameters, after="[claim.unknown]\n" + unknown, **given)


def unknown_of(content):
    (claim,) = loads(content)
    VALIDATOR.validate(tomllib.loads(content))
    return claim.unknown


def test_every_combination_of_the_listed_values_is_a_case():
    found = unknown_of(
        sgd(
            'search = "noise_multiplier"\nfrom = 0.5\nto = 8\nbecause = "a test"\n'
            "[claim.unknown.values]\nsteps = [100, 200]\ndelta = [1e-5, 1e-6]\n",
            delta=None,
        )
    )
    assert (found.search, found.low, found.high) == (("noise_multiplier",), 0.5, 8.0)
    assert [(case.event.steps, case.delta) for case in found.cases] == [
        (100, 1e-5),
        (100, 1e-6),
        (200, 1e-5),
        (200, 1e-6),
    ]
    assert found.cases[0].values == (("steps", 100), ("delta", 1e-5))
    assert found.because == "a test"


def test_a_list_that_is_one_value_stays_one():
    found = unknown_of(
        text(
            mechanism='"dpcda"',
            missing='["x"]',
            parameters={"order_of_mixture": "2", "clip_norm": "1.0", "label_noise": "0.0"},
            after='[claim.unknown]\nsearch = "feature_noise"\n[claim.unknown.values]\n'
            "class_sizes = [50, 60]\nsamples_per_class = [1, 2]\n",
        )
    )
    assert [case.event.class_sizes for case in found.cases] == [(50, 60), (50, 60)]
    assert [case.event.samples_per_class for case in found.cases] == [1, 2]


def test_a_mechanism_for_what_is_unmodelled():
    found = unknown_of(
        text(
            mechanism='"unmodelled"',
            parameters=None,
            missing='["all"]',
            after='[claim.unknown]\nmechanism = "gaussian"\nsearch = "noise_std"\n'
            "[claim.unknown.values]\nrecord_norm = 0.5\n",
        )
    )
    assert found.cases[0].event.mechanism == "gaussian"


def test_a_reason_why_there_is_none():
    found = unknown_of(sgd('none = "nothing is known of the release"\n'))
    assert (found.search, found.cases) == ((), ())
    assert found.because == "nothing is known of the release"


def test_its_own_numbers_can_be_searched():
    parameters = {**SGD, "noise_multiplier": "1.0", "steps": "5"}
    assert unknown_of(sgd('search = "epsilon"\n', parameters=parameters, epsilon=None)).cases
    assert unknown_of(sgd('search = "delta"\n', parameters=parameters, delta=None)).cases


VALUES = "[claim.unknown.values]\n"
FULL = {**SGD, "noise_multiplier": "1.0", "steps": "5"}
OTHER = {"mechanism": '"unmodelled"', "parameters": None}


@pytest.mark.parametrize(
    ("unknown", "changes", "message"),
    [
        ("from = 1", {}, "expected search"),
        ('none = "x"\nsearch = "steps"', {}, "expected no other key beside none"),
        ('search = "steps"\nfrom = 5\nto = 4', {}, "expected to to be at least from"),
        ('search = "steps"\nmechanism = "dpsgd"', {}, "for a claim that is unmodelled"),
        ('search = "epsilon"', {}, "expected search to be epsilon where none is printed"),
        ('search = "delta"', {}, "expected search to be something that the claim does not"),
        ('search = "steps"\nmeets = "x"', {}, "expected calibrated beside meets"),
        ('search = "steps"\ncalibrated = "x"', {}, "expected calibrated beside meets"),
        ('search = "noise"', {"parameters": FULL}, "to be one of 'noise_multiplier', 'steps'"),
        (
            f'search = "noise_multiplier"\n{VALUES}step = 5', {},
            "unknown parameter 'step' in unknown.values; dpsgd takes .* Did you mean 'steps'",
        ),
        (f'search = "steps"\n{VALUES}steps = 5', {}, "to be searched, calibrated or listed"),
        (
            f'search = "noise_multiplier"\n{VALUES}steps = [5, 0]', {},
            "Expected steps to be an integer",
        ),
        (
            f'search = "noise_multiplier"\n{VALUES}steps = 5\ndelta = 2', {},
            r"expected delta in \(0, 1\)",
        ),
        (
            f'search = "noise_multiplier"\n{VALUES}steps = {list(range(1, MOST_CASES + 2))}', {},
            "at most 64 combinations",
        ),
        ('search = "steps"', {"missing": None, "parameters": FULL}, "missing beside unknown"),
        ('search = "steps"', {"order": "4", "delta": None}, "expected no order beside unknown"),
        ('search = "steps"', {"epsilon": None, "mu": "1.0"}, "expected no unknown beside mu"),
        ('search = "noise_std"\nmechanism = "gausian"', OTHER, "Did you mean 'gaussian'"),
        ('search = "noise_std"', OTHER, "mechanism in unknown for a claim that is unmodelled"),
    ],
)  # fmt: skip
def test_what_is_refused(unknown, changes, message):
    with pytest.raises(ValueError, match=message) as caught:
        loads(sgd(f"{unknown}\n", **changes), origin="f.toml")
    assert re.match(r"f.toml:\d+: claim 'a': ", str(caught.value))
    assert "\n" not in str(caught.value)


def test_every_underspecified_claim_of_the_papers_says_what_is_looked_at():
    claims = [claim for claim in load_files(shipped_files()) if claim.missing]
    assert len(claims) == 131
    assert [claim.id for claim in claims if claim.unknown is None] == []
    assert all(claim.unknown.because for claim in claims)
