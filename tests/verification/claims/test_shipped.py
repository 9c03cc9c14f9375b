"""The shipped claims: what can be recomputed comes out as printed, the rest is as in the tables.

A digit or a parameter that was copied wrongly changes what a claim is recomputed to. Claims that
leave something open are compared with the papers' tables. Of the register, every work is complete,
every claim is placed, and the verdicts are as stored.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from decimal import Decimal

import pytest

from rdpkit import Adjacency, Gaussian
from rdpkit.verification.auditing.audit import audit, audit_files
from rdpkit.verification.auditing.findings import Reproduction, Soundness
from rdpkit.verification.claims.format import KINDS
from rdpkit.verification.claims.reading import UNMODELLED, load_files, register_files, shipped_files
from tests.events import of_papers
from tests.oracles.register_page import PAGE, between_the_marks, made

ADD, REPLACE = Adjacency.ADD_OR_REMOVE_ONE, Adjacency.REPLACE_ONE
BY_FILE = {path.stem: load_files([path]) for path in shipped_files()}
CLAIMS = {claim.id: claim for claims in BY_FILE.values() for claim in claims}

# Training records of each class: MNIST as the DPMix thesis prints them in Figure 4.2, Fashion-MNIST
# and CIFAR-10 by their descriptions.
SIZES = {
    "mnist": (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949),
    "fmnist": (6000,) * 10,
    "cifar10": (5000,) * 10,
}


def printed(claim, text):
    """Whether the claim's epsilon is ``text``, digit by digit."""
    return claim.epsilon.as_tuple() == Decimal(text).as_tuple()


def test_every_paper_has_its_number_of_claims():
    assert {name: len(claims) for name, claims in BY_FILE.items()} == {
        "dataset-condensation": 54,
        "dp-cda": 84,
        "dpmix-thesis": 37,
        "statistics-based-synthesis": 128,
    }


def test_no_cell_of_the_synthesis_tables_is_there_twice():
    cells = {
        (c.event, c.adjacency, c.order, c.delta) for c in BY_FILE["statistics-based-synthesis"]
    }
    assert len(cells) == 8 + 120


def test_a_dash_in_the_synthesis_table_is_explained():
    claim = CLAIMS["synthesis-table1-bounded-n1e4"]
    assert claim.epsilon == Decimal("inf")
    assert any("'-'" in note for note in claim.notes)


def of_table(file, table, **wanted):
    return [
        claim
        for claim in BY_FILE[file]
        if f"Table {table}" in claim.source.replace("Tables", "Table")
        and all(getattr(claim, k) == v for k, v in wanted.items())
    ]


def test_the_baselines_of_condensation():
    # A mean embedding of unit vectors moves by 2 under replace-one: sigma is noise over that.
    for table, noise, number in (("1 ", 10.0, "1"), ("2", 10.0, "1"), ("9", 1.0, "11.60")):
        found = of_table("dataset-condensation", table, mechanism="gaussian")
        assert len(found) == 4
        for claim in found:
            assert claim.event == Gaussian(noise_std=noise, record_norm=1.0)
            assert (claim.adjacency, claim.delta) == (REPLACE, 1e-5)
            assert claim.conversion == "mironov2017"
            assert printed(claim, number)
    for table, number, count, delta in (
        ("1", "10", 4, 1e-5),
        ("2", "1", 4, None),
        ("10", "1", 2, 1e-5),
    ):
        found = [
            claim
            for claim in of_table("dataset-condensation", table, mechanism=UNMODELLED)
            if claim.source.endswith(f"Table {table}")
        ]
        assert len(found) == count
        assert all(printed(claim, number) and claim.delta == delta for claim in found)


def test_condensation_at_epsilon_one_does_not_say_how():
    for mechanism in ("ldpdc", "ndpdc"):
        found = of_table("dataset-condensation", 2, mechanism=mechanism)
        assert len(found) == 4
        for claim in found:
            assert printed(claim, "1")
            assert any("sigma" in item for item in claim.missing)
            assert any("delta" in item for item in claim.missing)


# DP-CDA, Tables 2 and 3: l, and the target budgets.
MIXTURES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
TABLE_3 = {  # (data set, epsilon) with an accuracy in the row of the method
    "Random Projection": (("mnist", 20), ("mnist", 10), ("cifar10", 20)),
    "Local Perturbation": (("mnist", 20), ("mnist", 10), ("cifar10", 20)),
    "DP-Mix": (("mnist", 20), ("mnist", 10), ("cifar10", 20), ("cifar10", 10)),
    "DP-MERF": (("mnist", 10), ("fmnist", 10)),
    "DPCDA": tuple((name, e) for name in ("mnist", "fmnist", "cifar10") for e in (20, 10)),
}


@pytest.mark.parametrize("name", ["mnist", "fmnist", "cifar10"])
@pytest.mark.parametrize("epsilon", ["20", "10"])
def test_table_2_of_dp_cda(name, epsilon):
    for subset in MIXTURES:
        claim = CLAIMS[f"dpcda-table2-{name}-l{subset}-epsilon{epsilon}"]
        assert printed(claim, epsilon)
        assert (claim.mechanism, claim.adjacency) == ("dpcda", REPLACE)
        assert claim.source.endswith("Table 2")
        for scenario in claim.scenarios:
            assert scenario.event.class_sizes == SIZES[name]
            assert scenario.event.order_of_mixture == subset
            assert scenario.event.preprocessing == "exact-z-score"
            # As many synthetic records as there are real ones.
            total = sum(scenario.event.samples)
            assert total == {"cifar10": 50000}.get(name, 60000)
            assert f"T = {total}" in scenario.description
            assert f"sigma_y = {scenario.event.feature_noise:g}" in scenario.description
        for symbol in ("T,", "delta", "c,", "sigma_x"):
            assert any(item.startswith(symbol) for item in claim.missing)


def test_table_3_of_dp_cda():
    found = of_table("dp-cda", 3)
    assert len(found) == sum(len(cells) for cells in TABLE_3.values()) == 18
    for method, cells in TABLE_3.items():
        slug = method.lower().replace(" ", "-")
        for name, epsilon in cells:
            claim = CLAIMS[f"{slug}-table3-{name}-epsilon{epsilon}"]
            assert printed(claim, str(epsilon))
            assert claim.mechanism == ("dpcda" if method == "DPCDA" else UNMODELLED)
            assert any("delta" in item for item in claim.missing)


def thesis(subset, sigma, samples):
    return of_papers.class_wise_dpmix(
        (6000,) * 10, samples, subset, noise=sigma, label_noise=sigma, shape=(784, 10)
    )


def test_the_figures_of_the_thesis():
    drawn = {
        f"dpmix-figure4.3-sigma{tenths / 10:.1f}": thesis(128, tenths / 10, 1200)
        for tenths in range(2, 31)
    } | {
        f"dpmix-figure4.4-l{subset}": thesis(subset, 0.7, 1200)
        for subset in (32, 64, 128, 256, 512)
    }
    assert {c.id for c in BY_FILE["dpmix-thesis"] if "figure" in c.id} == {
        *drawn,
        "dpmix-figure4.5",
    }
    for identifier, event in drawn.items():
        claim = CLAIMS[identifier]
        (scenario,) = claim.scenarios
        assert scenario.event == event
        assert (claim.epsilon, scenario.delta) == (None, 1 / 6000)
        assert any("epsilon" in item for item in claim.missing)
    last = CLAIMS["dpmix-figure4.5"]
    assert all(s.event == thesis(128, 0.7, sum(s.event.samples) // 10) for s in last.scenarios)
    assert sum(s.event.samples[0] == 1200 for s in last.scenarios) == 1


@pytest.fixture(scope="module", params=["rdp", pytest.param("all", marks=pytest.mark.slow)])
def findings(request):
    """All findings: in the fast suite without bounds from loss distributions."""
    return {finding.claim.id: finding for finding in audit(CLAIMS.values(), bounds=request.param)}


def test_every_claim_that_can_be_recomputed_is_exact(findings):
    verdicts = Counter(finding.reproduction for finding in findings.values())
    assert verdicts == {Reproduction.EXACT: 172, Reproduction.UNDERSPECIFIED: 131}
    for finding in findings.values():
        complete = finding.claim.event is not None
        assert (finding.reproduction is Reproduction.EXACT) is complete


def test_what_cannot_be_recomputed_says_what_is_missing(findings):
    for finding in findings.values():
        if finding.reproduction is Reproduction.UNDERSPECIFIED:
            assert finding.claim.missing
            assert finding.soundness is Soundness.UNPROVEN
            for item in finding.claim.missing:
                assert "not given by the source: " + item in finding.notes
            assert len(finding.scenarios) == len(finding.claim.scenarios)


def test_scenarios_calibrated_to_a_budget_give_it(findings):
    calibrated = [f for f in findings.values() if f.claim.id.startswith("dpcda-table2-")]
    for finding in calibrated:
        for _, side in finding.scenarios:
            assert round(side.epsilon) == finding.claim.epsilon
    assert len(calibrated) == 60


@pytest.mark.thorough
def test_one_claim_of_each_event_with_every_bound():
    """The fast sibling of the audit of all claims with every bound."""
    claims = {type(claim.event): claim for claim in CLAIMS.values() if claim.event is not None}
    assert len(claims) == 6
    for finding in audit(claims.values()):
        assert finding.reproduction is Reproduction.EXACT
        assert finding.soundness is Soundness.SOUND
        assert finding.upper.epsilon <= float(finding.claim.epsilon)
        if finding.lower is not None:
            assert finding.lower.epsilon <= finding.upper.epsilon


WORKS = {path.stem: load_files([path]) for path in register_files()}
REGISTERED = load_files(register_files())


@pytest.mark.parametrize("name", WORKS)
def test_a_file_is_one_work_and_says_what_was_read(name):
    (work,) = {claim.work for claim in WORKS[name]}
    assert work is not None
    given = {f.name: getattr(work, f.name) for f in dataclasses.fields(work)}
    assert all(given.values()), f"{name}: {[key for key, value in given.items() if not value]}"
    assert work.url is not None
    assert work.url.startswith("https://")
    assert work.kind in KINDS


@pytest.mark.parametrize("name", WORKS)
def test_every_claim_says_where_it_is_printed(name):
    for claim in WORKS[name]:
        assert len(claim.source.split()) > 1, claim.id
        assert claim.kind in KINDS
        assert claim.event is not None or claim.missing, claim.id


def test_ids_are_unique_over_all_papers_and_works():
    ids = [claim.id for claim in load_files([*shipped_files(), *register_files()])]
    assert len(ids) == len({*ids}) == len(CLAIMS) + len(REGISTERED)


def test_no_work_is_there_twice():
    titles = Counter(claims[0].work.title for claims in WORKS.values())
    assert set(titles.values()) == {1}


def test_a_claim_of_shuffled_batches_models_shuffled_batches():
    for claim in REGISTERED:
        if claim.kind == "shuffled" and claim.mechanism == "dpsgd" and claim.event is not None:
            assert claim.event.sampling == "shuffle", claim.id


@pytest.mark.slow
def test_the_page_has_the_verdicts_of_an_audit():
    # The script that writes them: python -m tests.oracles.register_page.
    findings = audit_files(*register_files())
    assert between_the_marks(PAGE.read_text()) == made(findings).strip()
    for finding in findings:
        if finding.soundness is Soundness.REFUTED:
            assert finding.lower is not None
            assert finding.claim.epsilon is not None
            assert finding.lower.epsilon > float(finding.claim.epsilon)
            assert finding.refutation
