"""A release of every mechanism is saved, audited, added to a ledger, and composed with the others.

That the code of a mechanism is what its manifest claims is shown by ``rdpkit verify`` in the test
of each mechanism.
"""

import math

import numpy as np
import pytest

import rdpkit
from rdpkit.mechanisms import Ledger, LedgerRefusalError
from rdpkit.mechanisms.algorithms import find_mechanism
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.parts.records import public_scaling
from rdpkit.mechanisms.releases.manifest import load_manifest
from rdpkit.mechanisms.releases.release import check_arrays
from rdpkit.verification.auditing.audit import audit_files, ledger_problems
from rdpkit.verification.auditing.findings import Bounds, Soundness
from tests.mechanisms.test_neighbours import BASELINES, CLASSES, OPTIONS, data_of

pytestmark = pytest.mark.filterwarnings("ignore:too few records")

RELATION = rdpkit.Adjacency.REPLACE_ONE
QUICK = ("original", "local-perturbation")


def saved(name, folder):
    """A release of a mechanism from tiny data; Algorithm 1 does without its exact statistics."""
    mechanism = find_mechanism(name)
    features, labels = data_of([0, 1, 2] * 6)
    if name == "noiseless-mixing":
        features = features.reshape(len(features), -1)
    noise = NoiseSource.system()
    given = {
        "classes": CLASSES,
        "options": mechanism.build(OPTIONS[name]),
        "privacy": Privacy(delta=1e-7, adjacency=RELATION, noise=noise, counts=[6] * CLASSES),
        "noise": noise,
        "scaling": public_scaling(),
        "seed": 0,
    }
    made = mechanism.run(features, labels, given)
    made.save(folder / f"{name}.npz")
    return folder / f"{name}.json"


def noisy(folder):
    """A release whose numbers of records are estimated with noise."""
    mechanism = find_mechanism("class-wise-dpmix")
    features, labels = data_of([0, 1, 2] * 40)
    made = mechanism.synthesize(
        features,
        labels,
        classes=CLASSES,
        options=mechanism.build(OPTIONS["class-wise-dpmix"]),
        privacy=Privacy(delta=1e-7, adjacency=RELATION, noise=NoiseSource.system()),
        scaling=public_scaling(),
    )
    made.save(folder / "noisy.npz")
    return folder / "noisy.json"


def composed(names, folder):
    ledger = Ledger.create(folder / "ledger.jsonl")
    ledger.open("tiny", adjacency=RELATION, delta=1e-5, epsilon=300.0, delta_for_events=5e-6)
    audited = []
    for name in names:
        path = noisy(folder) if name == "noisy" else saved(name, folder)
        assert check_arrays(path) == ()
        manifest = load_manifest(path)
        if not manifest.private:
            assert name in BASELINES
            with pytest.raises(LedgerRefusalError, match=r"guarantees nothing|not private"):
                ledger.add(path, dataset="tiny")
            continue
        assert name not in BASELINES
        audited.append(path)
        ledger.add(path, dataset="tiny")
    findings = audit_files(*audited, bounds=Bounds.NEEDED)
    assert {finding.soundness for finding in findings} <= {Soundness.SOUND, Soundness.UNPROVEN}
    unproven = [one.claim.id for one in findings if one.soundness is Soundness.UNPROVEN]
    # What noisy counts cost is added to an epsilon, and no bound gives the sum.
    assert unproven in ([], ["noisy"])
    account = Ledger(ledger.path).account("tiny")
    assert account.private
    assert len(account.releases) == len(audited)
    basic = math.fsum(one.epsilon for one in account.releases)
    largest = max(
        rdpkit.epsilon(one.event, delta=1e-5, adjacency=RELATION).epsilon
        for one in account.releases
    )
    assert largest <= account.fixed.epsilon <= basic
    assert account.fixed.epsilon <= account.adaptive <= 300.0
    assert ledger_problems(ledger, "tiny") == ()
    assert np.isfinite(account.left.epsilon)


def test_a_few_mechanisms(tmp_path):
    composed(QUICK, tmp_path)


@pytest.mark.thorough
def test_every_mechanism(tmp_path):
    composed([*OPTIONS, "noisy"], tmp_path)
