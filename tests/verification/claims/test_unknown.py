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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (sgd("from = 1\n"), "expected search"),
        (sgd('none = "x"\nsearch = "steps"\n'), "expected no other key beside none"),
        (sgd('search = "steps"\nfrom = 5\nto = 4\n'), "expected to to be at least from"),
        (sgd('search = "steps"\nmechanism = "dpsgd"\n'), "for a claim that is unmodelled"),
        (sgd('search = "epsilon"\n'), "expected search to be epsilon where none is printed"),
        (sgd('search = "delta"\n'), "expected search to be something that the claim does not"),
        (sgd('search = "steps"\nmeets = "x"\n'), "expected calibrated beside meets"),
        (sgd('search = "steps"\ncalibrated = "x"\n'), "expected calibrated beside meets"),
        (
            sgd('search = "noise"\n', parameters={**SGD, "noise_multiplier": "1.0", "steps": "5"}),
            "Expected parameter to be one of 'noise_multiplier', 'steps'",
        ),
        (
            sgd('search = "noise_multiplier"\n[claim.unknown.values]\nstep = 5\n'),
            "unknown parameter 'step' in unknown.values; dpsgd takes .* Did you mean 'steps'",
        ),
        (
            sgd('search = "steps"\n[claim.unknown.values]\nsteps = 5\n'),
            "expected steps to be searched, calibrated or listed",
        ),
        (
            sgd('search = "noise_multiplier"\n[claim.unknown.values]\nsteps = [5, 0]\n'),
            "Expected steps to be an integer",
        ),
        (
            sgd('search = "noise_multiplier"\n[claim.unknown.values]\nsteps = 5\ndelta = 2\n'),
            r"expected delta in \(0, 1\)",
        ),
        (
            sgd(
                'search = "noise_multiplier"\n[claim.unknown.values]\n'
                f"steps = {list(range(1, MOST_CASES + 2))}\n"
            ),
            "at most 64 combinations",
        ),
        (
            sgd('search = "steps"\n', missing=None, parameters={**SGD, "noise_multiplier": "1.0",
                                                                "steps": "5"}),
            "expected missing beside unknown",
        ),
        (sgd('search = "steps"\n', order="4", delta=None), "expected no order beside unknown"),
        (
            sgd('search = "steps"\n', epsilon=None, mu="1.0"),
            "expected no unknown beside mu",
        ),
        (
            text(mechanism='"unmodelled"', parameters=None, missing='["x"]',
                 after='[claim.unknown]\nsearch = "noise_std"\nmechanism = "gausian"\n'),
            "Did you mean 'gaussian'",
        ),
        (
            text(mechanism='"unmodelled"', parameters=None, missing='["x"]',
                 after='[claim.unknown]\nsearch = "noise_std"\n'),
            "expected mechanism in unknown for a claim that is unmodelled",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(content, message):
    with pytest.raises(ValueError, match=message) as caught:
        loads(content, origin="f.toml")
    assert re.match(r"f.toml:\d+: claim 'a': ", str(caught.value))
    assert "\n" not in str(caught.value)


def test_every_underspecified_claim_of_the_papers_says_what_is_looked_at():
    claims = [claim for claim in load_files(shipped_files()) if claim.missing]
    assert len(claims) == 131
    assert [claim.id for claim in claims if claim.unknown is None] == []
    assert all(claim.unknown.because for claim in claims)
