"""Lower bounds from one run, ours beside those of jax-privacy, on the same scores.

``python -m benchmarks.one_run [PATH]`` prints a table: the mean lower bound over the true epsilon.
PATH is jax-privacy's ``auditing.py`` (2.0.0), which is loaded by itself, without jax; without it
only ours is shown.
"""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import numpy as np

import rdpkit
from rdpkit.verification.estimators.one_run.guesses import one_run_audit
from rdpkit.verification.estimators.one_run.tradeoff import one_run_tradeoff_audit

DELTA, CONFIDENCE, RUNS = 1e-5, 0.95, 10


def loaded(path: str) -> ModuleType:
    """The module in a file."""
    spec = importlib.util.spec_from_file_location("their_auditing", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["their_auditing"] = module
    spec.loader.exec_module(module)
    return module


def mu_of(epsilon: float) -> float:
    """The mu of a Gaussian with this epsilon."""
    found = rdpkit.calibrate(
        rdpkit.Gaussian(noise_std=1.0, record_norm=1.0),
        target_epsilon=epsilon,
        delta=DELTA,
        adjacency="add_or_remove_one",
        parameter="noise_std",
    )
    return 1.0 / float(found.value)


def main() -> None:
    """Print the table."""
    theirs = loaded(sys.argv[1]) if len(sys.argv) > 1 else None
    print("canaries epsilon   f-DP  counted  theirs (Bonferroni)  theirs (split)")
    for canaries in (200, 1000, 5000):
        for epsilon in (1.0, 4.0, 10.0):
            mu, rng = mu_of(epsilon), np.random.default_rng(0)
            rows = []
            for run in range(RUNS):
                included = rng.random(canaries) < 0.5
                scores = rng.normal(size=canaries) + mu * included
                ours = one_run_tradeoff_audit(
                    scores, included, delta=DELTA, confidence=CONFIDENCE
                ).epsilon
                half = max(1, canaries // 12)
                counted = one_run_audit(
                    scores,
                    included,
                    guess_in=half,
                    guess_out=half,
                    delta=DELTA,
                    confidence=CONFIDENCE,
                ).epsilon
                row = [ours, counted]
                if theirs is not None:
                    auditor = theirs.CanaryScoreAuditor(scores[included], scores[~included])
                    split = theirs.Split(0.5, seed=run)
                    row.append(auditor.epsilon_one_run_fdp(1.0 - CONFIDENCE, DELTA))
                    row.append(
                        auditor.epsilon_one_run_fdp(
                            1.0 - CONFIDENCE, DELTA, threshold_strategy=split
                        )
                    )
                rows.append(row)
            shares = np.mean(rows, axis=0) / epsilon
            print(f"{canaries:8} {epsilon:7g}", *(f"{share:8.3f}" for share in shares))


if __name__ == "__main__":
    main()
