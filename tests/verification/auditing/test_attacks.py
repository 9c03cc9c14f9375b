"""Claims about mu, the advantage, a true positive rate, and rho: read, judged, and shown."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from scipy.stats import norm

from rdpkit import Adjacency
from rdpkit.verification.auditing.cache import AuditCache
from rdpkit.verification.auditing.findings import Reproduction, Soundness
from rdpkit.verification.auditing.rules import Rule
from rdpkit.verification.auditing.verdict import audit_one
from rdpkit.verification.claims.reading import loads
from rdpkit.verification.outputs.terminal import explanation
from rdpkit.verification.outputs.words import headline, statement

EVENT = """
[claim.parameters]
noise_std = 2.0
record_norm = 1.0
"""


def text(numbers: str, parameters: str = EVENT, mechanism: str = "gaussian") -> str:
    return (
        f'[[claim]]\nid = "a"\nsource = "s"\nmechanism = "{mechanism}"\n'
        f'adjacency = "add_or_remove_one"\n{numbers}\n{parameters}'
    )


def verdict(numbers: str, **options):
    (claim,) = loads(text(numbers, **options))
    return audit_one(claim)


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
    profile = """
[claim.parameters]
epsilons = [1.0]
deltas = [0.001]
adjacency = "add_or_remove_one"
"""
    options = {"parameters": profile, "mechanism": "custom_profile"}
    assert verdict(numbers, **options).soundness is Soundness.UNPROVEN
    assert verdict("mu = inf", **options).soundness is Soundness.SOUND


def test_it_is_read_with_its_digits():
    (claim,) = loads(text("tpr = 0.050\nfpr = 0.01"))
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
        loads(text(numbers))
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
    (mu,), (rho,) = loads(text("mu = 0.5")), loads(text("rho = 0.5"))
    cache.put(audit_one(mu), bounds="all")
    assert cache.get(rho, bounds="all") is None
    assert cache.get(mu, bounds="all").soundness is Soundness.SOUND
