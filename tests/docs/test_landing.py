"""What the landing page and the README say of the refuted claim is what an audit finds."""

import importlib.util
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

import rdpkit
from rdpkit.verification.auditing.audit import audit
from rdpkit.verification.auditing.findings import Soundness
from rdpkit.verification.auditing.rules import slack
from rdpkit.verification.claims.reading import load_files, shipped_files

ROOT = Path(__file__).parents[2]


def text_of(name: str) -> str:
    """A page in one line, without its marks of emphasis."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.sub(r"\s+", " ", text.replace("**", ""))


@pytest.fixture(scope="module")
def picture():
    path = ROOT / "docs" / "_ext" / "refuted_claim.py"
    specification = importlib.util.spec_from_file_location("refuted_claim", path)
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def finding(picture):
    return picture.finding_of(picture.CLAIM)


@pytest.mark.thorough
def test_the_picture_of_the_readme_is_the_one_that_the_audit_draws(picture, finding):
    drawn = picture.drawing(finding, alone=True)
    assert picture.FILE.read_text(encoding="utf-8") == drawn
    claimed, attained, proven = picture.numbers(finding)
    assert f"Claimed: epsilon {claimed}. True: between {attained} and {proven}." in drawn
    assert picture.caption(finding) in text_of("README.md")


def test_a_picture_of_a_claim_that_is_not_refuted_is_an_error(picture):
    with pytest.raises(ValueError, match="Expected a claim that theorems refute"):
        picture.drawing(picture.finding_of("ndpdc-mnist"), alone=True)


@pytest.mark.thorough
def test_the_numbers_of_the_refuted_claim(picture, finding):
    claimed, attained, proven = picture.numbers(finding)
    delta = float(
        re.search(
            r"delta at the claimed epsilon .* is at least ([0-9.e-]+),",
            " ".join(finding.refutation),
        )[1]
    )
    event = finding.claim.event
    page, readme = text_of("docs/index.md"), text_of("README.md")
    assert f"keep epsilon = {claimed}." in page
    assert f"leaks at least {attained}." in page
    assert f"keeps epsilon = {proven}: that is proven" in page
    assert f"not 1 in 100,000 but at least {int(delta * 1e5)}." in page
    assert f"noise {event.feature_noise} on every number" in page
    assert f"{event.order_of_mixture} in {event.class_sizes[0]:,}." in page
    assert f"{event.order_of_mixture} in {sum(event.class_sizes):,}," in page
    releases = event.samples_per_class * len(event.class_sizes)
    assert f"{releases:,} averages of {event.order_of_mixture} records each" in page
    assert f"it proves epsilon = {claimed} at delta = 0.00001." in readme
    assert f"leak at least {attained}. What is true instead: epsilon = {proven} is proven" in readme


@pytest.mark.thorough
def test_the_noise_that_the_claim_needs(finding):
    claim = finding.claim
    found = rdpkit.calibrate(
        claim.event,
        target_epsilon=float(claim.epsilon),
        delta=claim.delta,
        adjacency=claim.adjacency,
        parameter="feature_noise",
    )
    page, readme = text_of("docs/index.md"), text_of("README.md")
    said = float(re.search(r"the noise must be ([0-9.]+), which is (\d+) % more", page)[1])
    more = int(re.search(r"which is (\d+) % more", page)[1])
    assert found.value <= said <= 1.002 * found.value
    assert found.value <= (1 + more / 100) * claim.event.feature_noise
    assert more - 1 < 100 * (found.value / claim.event.feature_noise - 1)
    assert f"needs {more} % more noise" in readme


@pytest.mark.slow
def test_the_counts_of_the_audit():
    budgets = [
        one
        for one in audit(load_files(shipped_files()))
        if not one.claim.id.startswith("dpcda-theorem1")
    ]
    verdicts = Counter(one.soundness for one in budgets)
    proven = [one for one in budgets if one.soundness is Soundness.SOUND]
    assert verdicts[Soundness.REFUTED] == 0
    page, readme = text_of("docs/index.md"), text_of("README.md")
    assert f"Of the {len(budgets)} budgets that they print, none is refuted" in page
    assert f"none is refuted: {len(proven)} are proven" in page
    assert f"The other {verdicts[Soundness.UNPROVEN]} cannot be recomputed" in page
    assert all(one.claim.missing for one in budgets if one.soundness is Soundness.UNPROVEN)
    halved = int(re.search(r"more than (\d+) of these could be halved", page)[1])
    assert sum(1 for one in proven if slack(one) >= 2) > halved
    assert (
        f"Of the {len(budgets)} budgets that four papers print, none is refuted, {len(proven)} "
        f"are proven, and {verdicts[Soundness.UNPROVEN]} cannot be recomputed" in readme
    )
