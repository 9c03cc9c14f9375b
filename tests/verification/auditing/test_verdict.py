"""Verdicts: reproduction at the printed precision, soundness, slack, and what the notes say.

Among them those about mu, the advantage, a true positive rate and rho.
"""

from __future__ import annotations

import dataclasses
import json
import math
from decimal import Decimal

import pytest
from scipy.stats import norm

import rdpkit
from rdpkit import Adjacency
from rdpkit.verification.auditing.audit import audit
from rdpkit.verification.auditing.cache import AuditCache
from rdpkit.verification.auditing.findings import Reproduction, Soundness
from rdpkit.verification.auditing.rules import DEFAULT, Rule, broken_rules, failures
from rdpkit.verification.auditing.verdict import audit_one
from rdpkit.verification.claims.reading import loads
from rdpkit.verification.outputs.terminal import explanation
from rdpkit.verification.outputs.words import headline, statement
from tests.verification.claim_files import text

KEYS = {
    "id", "source", "mechanism", "adjacency", "delta", "claimed_epsilon", "published", "upper",
    "lower", "reproduction", "soundness", "slack", "notes",
}  # fmt: skip
ABOUT = "delta = 1e-5\nbound = 'gaussian'"


def toml(
    about,
    *,
    mechanism="gaussian",
    adjacency="add_or_remove_one",
    parameters="noise_std = 2.0\nrecord_norm = 1.0",
):
    keys = {"mechanism": f'"{mechanism}"', "adjacency": f'"{adjacency}"', "parameters": None}
    after = f"{about}\n[claim.parameters]\n{parameters}\n"
    return text(**keys, epsilon=None, delta=None, after=after)


def claim(epsilon="0.80", *, about=ABOUT, parameters="noise_std = 5.0\nrecord_norm = 1.0", **given):
    (found,) = loads(toml(f"epsilon = {epsilon}\n{about}", parameters=parameters, **given))
    return found


def best(**options):
    """What the library says of the claims made above."""
    return rdpkit.epsilon(
        claim().event, delta=1e-5, adjacency="add_or_remove_one", **options
    ).epsilon


def verdicts(*args, **options):
    found = audit_one(claim(*args, **options))
    return found.reproduction.value, found.soundness.value


def test_the_dictionary_has_the_keys_that_programs_read():
    data = audit_one(claim()).as_dict()
    assert data.keys() >= KEYS
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data["claimed_epsilon"] == 0.8
    assert (data["reproduction"], data["soundness"]) == ("exact", "sound")
    assert data["published"].keys() >= {"bound", "epsilon", "order"}
    assert data["upper"].keys() >= {"bound", "epsilon"}
    assert data["upper"]["epsilon"] <= data["published"]["epsilon"]
    assert isinstance(data["notes"], list)


def test_a_number_that_the_formula_does_not_give_is_said_with_the_one_it_gives():
    found = audit_one(claim("0.9"))
    given_ = best(bound="gaussian")
    assert found.reproduction is Reproduction.DIFFERS
    assert f"the published formula gives {given_:.8g}, not 0.9" in found.notes
    assert found.published.epsilon == given_


def test_reproduction_is_judged_only_where_a_formula_is_named():
    """A generous claim is sound with slack; it differs from no formula, because it names none."""
    unnamed = audit_one(claim("8", about="delta = 1e-5"))
    assert (unnamed.reproduction, unnamed.soundness) == (Reproduction.UNNAMED, Soundness.SOUND)
    assert unnamed.slack == 8.0 / unnamed.upper.epsilon
    assert not any("formula" in note for note in unnamed.notes)
    assert broken_rules(unnamed) == ()
    assert failures(unnamed, DEFAULT) == ()
    assert broken_rules(unnamed, slack_above=4.0) == (Rule.SLACK,)
    for named in ("bound = 'gaussian'", "conversion = 'balle2020'", "order = 20"):
        assert verdicts("8", about=f"delta = 1e-5\n{named}") == ("differs", "sound")


def test_a_claim_without_a_formula_is_judged_all_the_same():
    printed = f"{best(bound='gaussian'):.6f}"
    assert verdicts(printed, about="delta = 1e-5") == ("exact", "sound")
    assert verdicts("0.1", about="delta = 1e-5") == ("unnamed", "refuted")
    assert verdicts("5.0", about="delta = 0") == ("unnamed", "refuted")


def test_soundness_is_judged_by_the_claim_as_printed():
    assert verdicts(f"{best() * 1.001:.10f}")[1] == "sound"
    assert verdicts(f"{best() * 0.999:.10f}")[1] in ("unproven", "refuted")
    assert verdicts(str(Decimal(best())))[1] == "sound"
    assert verdicts(str(Decimal(best(bound="gaussian")))) == ("exact", "sound")


def test_a_claim_below_what_a_pair_attains_is_refuted_with_the_pair():
    found = audit_one(claim(f"{best() / 2:.6f}"))
    assert found.soundness is Soundness.REFUTED
    assert found.lower.epsilon > found.claim.epsilon
    assert found.lower.epsilon <= found.upper.epsilon
    assert any("delta at the claimed epsilon" in text for text in found.refutation)
    data = found.as_dict()
    assert data["soundness"] == "refuted"
    assert data["lower"].keys() >= {"bound", "epsilon"}


def test_a_claim_rounded_down_is_exact_and_noted():
    published = audit_one(claim()).published.epsilon
    down = f"{math.floor(published * 10) / 10:.1f}"
    found = audit_one(claim(down))
    assert found.reproduction is Reproduction.EXACT
    rounded_off = published - float(down) > 0.05
    assert any("rounded down" in note for note in found.notes) is rounded_off


def test_one_digit_that_agrees_with_a_formula_that_nobody_named_is_no_reproduction():
    # 0.7 may be a target for which another accountant chose the noise, and is none of 0.794's.
    found = audit_one(claim("0.7", about="delta = 1e-5"))
    assert found.reproduction is Reproduction.UNNAMED
    assert not any("rounded down" in note for note in found.notes)
    assert verdicts("0.79", about="delta = 1e-5")[0] == "exact"


def test_a_claim_about_one_order():
    # 2 / (2 * 16), a number that floats hold exactly.
    about = {"about": "order = 2", "parameters": "noise_std = 4.0\nrecord_norm = 1.0"}
    found = audit_one(claim("0.0625", **about))
    assert (found.reproduction, found.soundness) == (Reproduction.EXACT, Soundness.SOUND)
    assert found.published.epsilon == 0.0625
    # Enclosed at parameters that are rounded by eight units in the last place.
    assert 0.0625 <= found.upper.epsilon <= 0.0625 * (1.0 + 1e-14)
    assert found.upper.rigorous
    assert found.published.order == found.upper.order == 2.0
    assert found.as_dict()["delta"] is None
    assert verdicts("0.05", **about) == ("unnamed", "unproven")
    named = {**about, "about": "order = 2\nbound = 'gaussian'"}
    assert verdicts("0.05", **named) == ("differs", "unproven")


def test_a_claim_about_one_order_and_a_delta_is_converted_there_and_bounded_anywhere():
    found = audit_one(claim("11.553", about="order = 2\ndelta = 1e-5"))
    # 2 / (2 * 25) + log(1e5), by Mironov's conversion.
    assert found.published.epsilon == pytest.approx(0.04 + math.log(1e5), rel=1e-15)
    assert found.published.order == 2.0
    assert found.reproduction is Reproduction.EXACT
    assert found.upper.epsilon < 1.0
    assert found.soundness is Soundness.SOUND


def test_a_conversion_that_is_named_is_used():
    mironov, balle = (
        audit_one(claim(about=f"{ABOUT}\nconversion = '{name}'")).published.epsilon
        for name in ("mironov2017", "balle2020")
    )
    assert mironov > balle * 1.1


def test_infinite_claims():
    nothing = {
        "about": "delta = 1e-5",
        "mechanism": "dpcda",
        "adjacency": "replace_one",
        "parameters": "class_sizes = [100]\nsamples_per_class = 1\norder_of_mixture = 10\n"
        "clip_norm = 1.0\nfeature_noise = 1.0\nlabel_noise = 0\npreprocessing = 'exact-z-score'",
    }
    found = audit_one(claim("inf", **nothing))
    assert (found.reproduction, found.soundness) == (Reproduction.EXACT, Soundness.SOUND)
    assert found.slack is None
    found = audit_one(claim("1e300", **nothing))
    assert (found.reproduction, found.soundness) == (Reproduction.UNNAMED, Soundness.UNPROVEN)
    assert verdicts("inf") == ("differs", "sound")
    json.dumps(found.as_dict(), allow_nan=False)


def test_an_underspecified_claim_lists_what_is_missing_and_its_scenarios():
    scenario = (
        "record_norm = 1.0\n[[claim.scenario]]\ndescription = 'as usual'\n"
        "delta = 1e-5\n[claim.scenario.parameters]\nnoise_std = 5.0\n"
    )
    about = "bound = 'gaussian'\nmissing = ['the noise']"
    one = claim("1", about=about, adjacency="replace_one", parameters=scenario)
    found = audit_one(one)
    assert found.reproduction is Reproduction.UNDERSPECIFIED
    assert found.soundness is Soundness.UNPROVEN
    assert found.published is found.upper is found.slack is None
    assert "not given by the source: the noise" in found.notes
    second_hand = dataclasses.replace(one, unread="only a quotation was")
    assert "not in what was read: the noise" in audit_one(second_hand).notes
    ((description, side),) = found.scenarios
    assert description == "as usual"
    assert any(note.startswith("scenario: as usual: gaussian gives") for note in found.notes)
    data = found.as_dict()
    assert data["missing"] == ["the noise"]
    assert data["scenarios"][0]["published"]["epsilon"] == side.epsilon


def test_a_bound_that_is_not_about_the_event_is_an_error_that_names_the_claim():
    wrong = claim(about="delta = 1e-5\nbound = 'dpcda-theorem1'")
    with pytest.raises(ValueError, match="claim 'a': Expected bound to be one of 'best'") as caught:
        list(audit([wrong]))
    assert "got 'dpcda-theorem1'" in str(caught.value)


@pytest.mark.parametrize(
    ("epsilon", "expected"),
    [
        ("0.05", ("exact", "sound")),  # 1/20, which is no float
        ("0.07", ("unnamed", "sound")),
        ("0.04", ("unnamed", "refuted")),
    ],
)
def test_pure_privacy_is_claimed_at_delta_0(epsilon, expected):
    laplace = "noise_scale = 20.0\nrecord_norm = 1.0"
    about = "delta = 0"
    assert verdicts(epsilon, mechanism="laplace", parameters=laplace, about=about) == expected


def test_a_claim_that_is_refuted_by_its_rounding_says_so():
    randomized = "noise_parameter = 0.5\nnum_buckets = 2"  # ln 3 = 1.0986
    found = audit_one(
        claim(
            "1.09",
            mechanism="randomized_response",
            adjacency="replace_one",
            parameters=randomized,
            about="delta = 0",
        )
    )
    assert found.soundness.value == "refuted"
    assert any("less than its last printed digit" in note for note in found.notes)


def verdict(numbers, **given):
    (found,) = loads(toml(numbers, **given))
    return audit_one(found)


TPR = norm.sf(norm.isf(0.01) - 0.5)


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ("mu = 0.5", Soundness.SOUND),
        ("mu = 0.51\ndelta = 1e-6", Soundness.SOUND),
        ("mu = 0.49", Soundness.REFUTED),
        ("advantage = 0.1975", Soundness.SOUND),
        ("advantage = 0.1973", Soundness.REFUTED),
        (f"tpr = {TPR * 1.0001:.6f}\nfpr = 0.01", Soundness.SOUND),
        (f"tpr = {TPR * 0.999:.6f}\nfpr = 0.01", Soundness.REFUTED),
        ("rho = 0.125", Soundness.SOUND),
        ("rho = 0.124", Soundness.REFUTED),
        ("tpr = 1\nfpr = 0", Soundness.SOUND),
    ],
)
def test_a_gaussian(numbers, expected):
    found = verdict(numbers)
    assert found.soundness is expected
    assert found.reproduction is Reproduction.UNNAMED
    assert found.published is None
    assert bool(found.refutation) is (expected is Soundness.REFUTED)


@pytest.mark.parametrize(
    "numbers", ["mu = 3", "rho = 5", "advantage = 0.1", "tpr = 0.02\nfpr = 0.01"]
)
def test_what_nothing_proves_is_unproven(numbers):
    profile = "epsilons = [1.0]\ndeltas = [0.001]\nadjacency = 'add_or_remove_one'"
    options = {"parameters": profile, "mechanism": "custom_profile"}
    assert verdict(numbers, **options).soundness is Soundness.UNPROVEN
    assert verdict("mu = inf", **options).soundness is Soundness.SOUND


def test_it_is_read_with_its_digits():
    (claim,) = loads(toml("tpr = 0.050\nfpr = 0.01"))
    assert (claim.quantity, claim.fpr, claim.delta) == ("tpr", 0.01, None)
    assert claim.epsilon == Decimal("0.050")
    assert claim.adjacency is Adjacency.ADD_OR_REMOVE_ONE


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        (
            "mu = 1\nepsilon = 1",
            "expected one of epsilon, mu, advantage, tpr, rho, got epsilon and",
        ),
        ("tpr = 0.1", "expected fpr, the false positive rate, beside tpr and nowhere else"),
        ("mu = 1\nfpr = 0.1", "expected fpr, the false positive rate, beside tpr"),
        ("advantage = 1.1", "expected advantage in [0, 1], got 1.1"),
        ("advantage = 0.1\ndelta = 1e-5", "expected no delta beside advantage"),
        ("rho = 1\norder = 2", "expected no order beside rho"),
        ("mu = -1", "expected mu to be a number >= 0, got -1"),
        ("tpr = 0.1\nfpr = 1.0", "expected fpr in [0, 1)"),
        ("", "expected epsilon to be a number >= 0, got None"),
    ],
)
def test_what_is_refused(numbers, words):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        loads(toml(numbers))
    assert words in str(caught.value)


def test_words():
    found = verdict("tpr = 0.01\nfpr = 0.01")
    assert statement(found.claim) == "tpr 0.01 at fpr 0.01 (add-or-remove-one)"
    assert "two neighbouring data sets leak at least 0.0338" in headline(found, Rule.REFUTED)
    assert "claimed       tpr 0.01, fpr 0.01" in explanation(found)
    assert "true positive rate of at least" in found.refutation[0]
    mu = verdict("mu = 0.4\ndelta = 1e-6")
    assert statement(mu.claim) == "mu 0.4 for delta >= 1e-06 (add-or-remove-one)"
    assert "mu = 0.4" in str(mu)


def test_json_says_that_the_number_is_no_epsilon():
    found = json.loads(json.dumps(verdict("rho = 0.2").as_dict()))
    assert found["claimed_epsilon"] is None
    assert (found["quantity"], found["claimed"]) == ("rho", 0.2)
    assert found["slack"] == pytest.approx(1.6)


def test_the_cache_tells_quantities_apart(tmp_path):
    cache = AuditCache(tmp_path / "cache")
    (mu,), (rho,) = loads(toml("mu = 0.5")), loads(toml("rho = 0.5"))
    cache.put(audit_one(mu), bounds="all")
    assert cache.get(rho, bounds="all") is None
    assert cache.get(mu, bounds="all").soundness is Soundness.SOUND
