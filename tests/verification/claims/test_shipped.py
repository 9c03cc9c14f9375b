"""The shipped claims against the papers' tables, transcribed here a second time."""

import math
from collections import Counter
from decimal import Decimal

import pytest

from rdpkit import DPCDA, LDPDC, NDPDC, Adjacency, ClassWiseDPMix, DPMix, Gaussian
from rdpkit.events import GaussianSynthesis
from rdpkit.verification.auditing.audit import audit
from rdpkit.verification.auditing.findings import Reproduction, Soundness
from rdpkit.verification.claims.reading import UNMODELLED, load_files, shipped_files

ADD, REPLACE = Adjacency.ADD_OR_REMOVE_ONE, Adjacency.REPLACE_ONE
BY_FILE = {path.stem: load_files([path]) for path in shipped_files()}
CLAIMS = {claim.id: claim for claims in BY_FILE.values() for claim in claims}

# Training records of each class: MNIST as the DPMix thesis prints them in Figure 4.2, Fashion-MNIST
# and CIFAR-10 by their descriptions, CelebA's training split by the attribute Male (male, female).
SIZES = {
    "mnist": (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949),
    "fmnist": (6000,) * 10,
    "cifar10": (5000,) * 10,
    "celeba": (68261, 94509),
}
DIMENSIONS = {"mnist": 28 * 28, "fmnist": 28 * 28, "cifar10": 3 * 32 * 32, "celeba": 3 * 32 * 32}


def pick(**wanted):
    """The one shipped claim with these attributes."""
    found = [c for c in CLAIMS.values() if all(getattr(c, k) == v for k, v in wanted.items())]
    assert len(found) == 1, f"{wanted}: {[claim.id for claim in found]}"
    return found[0]


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


def test_ids_are_unique_over_all_papers():
    assert len(load_files(shipped_files())) == len(CLAIMS) == 303


# Miura et al. 2023, Tables 1 and 2: d = 6, sigma = 0.01, as many outputs as records.
TABLE_1 = (
    (ADD, (10**4, "3535.17"), (10**5, "62.5859"), (10**6, "5.8064"), (10**7, "0.5764")),
    (REPLACE, (10**4, "inf"), (10**5, "266.7349"), (10**6, "23.3577"), (10**7, "2.3071")),
)
DELTAS = (1e-2, 1e-5, 1e-10, 1e-15, 1e-20)
TABLE_2 = {
    (10**6, ADD): (
        (2, "7.499", "14.407", "25.920", "37.433", "48.946"),
        (4, "7.341", "9.644", "13.482", "17.319", "21.157"),
        (7, "10.978", "12.130", "14.048", "15.967", "17.886"),
        (10, "15.170", "15.937", "17.217", "18.496", "19.775"),
        (20, "30.046", "30.410", "31.016", "31.622", "32.228"),
        (30, "45.624", "45.863", "46.260", "46.657", "47.054"),
    ),
    (10**6, REPLACE): (
        (2, "16.209", "23.116", "34.629", "46.142", "57.655"),
        (4, "24.893", "27.195", "31.033", "34.871", "38.708"),
        (7, "42.046", "43.198", "45.116", "47.035", "48.954"),
        (10, "60.070", "60.838", "62.117", "63.396", "64.675"),
        (20, "123.482", "123.846", "124.452", "125.058", "125.663"),
        (30, "191.710", "191.948", "192.345", "192.742", "193.139"),
    ),
    (10**7, ADD): (
        (2, "4.893", "11.801", "23.314", "34.827", "46.340"),
        (4, "2.112", "4.414", "8.252", "12.089", "15.927"),
        (7, "1.777", "2.928", "4.847", "6.766", "8.685"),
        (10, "1.954", "2.722", "4.001", "5.280", "6.559"),
        (20, "3.132", "3.496", "4.102", "4.708", "5.313"),
        (30, "4.500", "4.739", "5.136", "5.533", "5.930"),
    ),
    (10**7, REPLACE): (
        (2, "5.758", "12.666", "24.179", "35.692", "47.205"),
        (4, "3.842", "6.145", "9.982", "13.820", "17.658"),
        (7, "4.809", "5.960", "7.879", "9.798", "11.717"),
        (10, "6.291", "7.058", "8.337", "9.617", "10.896"),
        (20, "11.838", "12.201", "12.807", "13.413", "14.019"),
        (30, "17.608", "17.846", "18.243", "18.640", "19.037"),
    ),
}
CELLS = [
    (adjacency, size, 4.0, None, number) for adjacency, *row in TABLE_1 for size, number in row
] + [
    (adjacency, size, float(order), delta, number)
    for (size, adjacency), rows in TABLE_2.items()
    for order, *numbers in rows
    for delta, number in zip(DELTAS, numbers, strict=True)
]


def test_every_cell_of_the_synthesis_tables_is_a_claim():
    assert len(CELLS) == 8 + 120
    for adjacency, size, order, delta, number in CELLS:
        event = GaussianSynthesis(records=size, outputs=size, dimension=6, min_eigenvalue=0.01)
        claim = pick(adjacency=adjacency, event=event, order=order, delta=delta)
        assert printed(claim, number), claim.id


def test_a_dash_in_the_synthesis_table_is_explained():
    claim = CLAIMS["synthesis-table1-bounded-n1e4"]
    assert claim.epsilon == Decimal("inf")
    assert any("'-'" in note for note in claim.notes)


# Differentially private dataset condensation. Defaults of section 4.1: sigma = sqrt(d), b = 1,
# M = 50 and L = 50 for LDPDC; sigma = 1, G = 1, L = 50 and I = 10000 for NDPDC; delta = 1e-5.
CONDENSATION = {
    "ldpdc": {"mnist": "1.10", "fmnist": "1.06", "cifar10": "1.14", "celeba": "0.61"},
    "ndpdc": {"mnist": "6.12", "fmnist": "5.45", "cifar10": "6.72", "celeba": "0.71"},
}
TABLE_8 = {  # at sigma = 2, 3, 4 and 5
    "mnist": ("2.16", "1.32", "0.95", "0.74"),
    "fmnist": ("1.93", "1.19", "0.85", "0.67"),
    "cifar10": ("2.36", "1.44", "1.04", "0.81"),
    "celeba": ("0.17", "0.09", "0.07", "0.05"),
}


def linear(name):
    dimension = DIMENSIONS[name]
    return LDPDC(
        class_sizes=SIZES[name],
        group_size=50,
        samples_per_class=50,
        noise_std=math.sqrt(dimension),
        value_bound=1.0,
        dimension=dimension,
    )


def nonlinear(name, sigma):
    return NDPDC(
        class_sizes=SIZES[name], group_size=50, iterations=10000, noise_std=sigma, clip_norm=1.0
    )


@pytest.mark.parametrize("name", SIZES)
def test_the_condensation_tables(name):
    claim = pick(mechanism="ldpdc", event=linear(name), delta=1e-5, adjacency=ADD)
    assert printed(claim, CONDENSATION["ldpdc"][name])
    rows = zip((1, 2, 3, 4, 5), (CONDENSATION["ndpdc"][name], *TABLE_8[name]), strict=True)
    for sigma, number in rows:
        claim = pick(event=nonlinear(name, sigma), delta=1e-5, adjacency=ADD)
        assert printed(claim, number), claim.id
        assert claim.source.endswith("Table 1" if sigma == 1 else "Table 8")


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


@pytest.mark.parametrize("variant", ["dpcda-theorem1", "dpcda-theorem1-class"])
@pytest.mark.parametrize(("subset", "total"), [(128, 10000), (64, 60000), (4, 60000)])
def test_the_theorem_of_dp_cda_is_tested_where_it_gives_ten(variant, subset, total):
    claim = CLAIMS[f"{variant}-l{subset}-t{total}"]
    assert (claim.epsilon, claim.delta, claim.adjacency) == (10, 1e-5, REPLACE)
    assert claim.bound == variant.replace("-class", "-corrected")
    event = claim.event
    assert isinstance(event, DPCDA)
    assert (event.order_of_mixture, sum(event.samples)) == (subset, total)
    assert (sum(event.class_sizes), len(event.class_sizes), event.clip_norm) == (60000, 10, 1.0)
    assert event.feature_noise == event.label_noise


# The thesis: section 4.1 and listing A.3; Figures 4.3 to 4.5 print settings and draw epsilon.
@pytest.mark.parametrize(("subset", "sigma"), [(256, 0.0711), (128, 0.1132)])
def test_the_budgets_of_the_thesis(subset, sigma):
    event = DPMix(
        population_size=60000,
        releases=10000,
        order_of_mixture=subset,
        feature_dimension=784,
        label_dimension=10,
        feature_noise=sigma,
        label_noise=sigma,
    )
    claim = pick(event=event, adjacency=REPLACE)
    assert printed(claim, "15")
    assert claim.delta == 1 / 60000


def thesis(subset, sigma, samples):
    return ClassWiseDPMix(
        class_sizes=(6000,) * 10,
        samples_per_class=samples,
        order_of_mixture=subset,
        feature_dimension=784,
        label_dimension=10,
        feature_noise=sigma,
        label_noise=sigma,
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


def test_a_sound_claim_is_not_below_what_is_proven(findings):
    for finding in findings.values():
        if finding.soundness is Soundness.SOUND:
            assert finding.upper.epsilon <= float(finding.claim.epsilon)
        if finding.slack is not None:
            assert finding.slack == float(finding.claim.epsilon) / finding.upper.epsilon


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
