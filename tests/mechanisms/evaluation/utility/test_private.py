"""The noise of a private report: its sensitivity and its guarantee."""

import numpy as np
import pyarrow as pa
import pytest

import rdpkit
from rdpkit.formats.tables import event_from_table
from rdpkit.mechanisms.evaluation.utility import Budget, evaluate, evaluate_release
from rdpkit.mechanisms.evaluation.utility.columns import marginal_errors
from rdpkit.mechanisms.evaluation.utility.outputs import utility_markdown
from rdpkit.mechanisms.evaluation.utility.private import noisy_averages
from rdpkit.mechanisms.evaluation.utility.samples import kinds_of, of_table
from rdpkit.mechanisms.evaluation.utility.trained import TrainingPlan, target_scores
from rdpkit.mechanisms.parts.noise import NoiseSource
from tests.mechanisms.evaluation.utility.small_tables import people

BUDGET = Budget(epsilon=1.0, delta=1e-6, adjacency="replace_one")


def test_the_guarantee_is_that_of_its_event():
    values = np.linspace(0.0, 1.0, 50)
    noisy, event, guarantee = noisy_averages(
        values, records=1000, budget=BUDGET, noise=NoiseSource.seeded(1)
    )
    moved = np.sqrt(50) / 1000
    assert event.record_diameter >= moved
    again = rdpkit.epsilon(event, delta=1e-6, adjacency="replace_one")
    assert guarantee.epsilon == again.epsilon <= 1.0
    error = noisy[1:-1] - values[1:-1]
    # The values at the ends are clipped; the others have the noise that is stated.
    assert 0.5 * event.noise_std < error.std() < 2.0 * event.noise_std


def test_no_record_moves_a_number_by_more_than_its_share():
    made, true = people(200, 0), people(150, 1)
    kinds = kinds_of(made)
    synthetic = of_table(made, kinds, where="the release")
    plan = TrainingPlan(models=("logistic",))

    def numbers(table):
        real = of_table(table, kinds, where="real")
        errors = marginal_errors(synthetic, real, rng=None)
        scores = target_scores(
            synthetic, None, real, target="income", plan=plan, missing_is_wrong=True
        )
        found = [one.error for one in (*errors.single, *errors.pairs)]
        return np.array([*found, scores.floor, scores.models[0].synthetic])

    before = numbers(true)
    worst = pa.table(
        {"age": [10**6], "school": ["unknown"], "hours": [-1e9], "income": pa.nulls(1, pa.string())}
    )
    for row in (worst, people(1, 7)):
        changed = pa.concat_tables([true.slice(0, 149), row.cast(true.schema)])
        moved = np.abs(numbers(changed) - before)
        # Rounding of sums of shares apart.
        assert moved.max() <= 1 / 150 + 1e-12
        assert moved.max() > 0.0


def test_a_private_report_has_nothing_but_noisy_numbers():
    report = evaluate_release(
        people(400, 0), real=people(600, 1), target=["income"], models=["logistic"], budget=BUDGET
    )
    assert report.cost.kind == "accounted"
    assert report.cost.guarantee.epsilon <= 1.0
    stated = event_from_table(report.as_dict()["cost"]["event"])
    assert rdpkit.epsilon(stated, delta=1e-6, adjacency="replace_one") == report.cost.guarantee
    assert (report.columns, report.correlations, report.histograms) == ((), (), ())
    assert report.membership is None
    assert report.pictures is None
    assert all(one.real is None and one.synthetic <= 1.0 for one in report.targets[0].models)
    assert all(one.floor is None for one in report.marginals.pairs)
    exact = evaluate_release(people(400, 0), real=people(600, 1), models=["logistic"])
    both = zip(report.marginals.single, exact.marginals.single)
    assert all(one.error != other.error for one, other in both)
    assert "costs epsilon" in utility_markdown(report)


def test_noise_goes_to_the_number_that_it_is_of(monkeypatch):
    """Without noise, every number of a private report is what it says."""

    def exact(values, **given):
        return values, *noisy_averages(values, **given)[1:]

    monkeypatch.setattr(evaluate, "noisy_averages", exact)
    made, true = people(200, 0), people(150, 1)
    true = true.set_column(3, "income", pa.array([None, *true["income"].to_pylist()[1:]]))
    asked = {"target": ["income", "school"], "models": ["logistic", "nearest"]}
    report = evaluate_release(made, real=true, budget=BUDGET, **asked)
    kinds = kinds_of(made)
    ours, theirs = (of_table(one, kinds, where="") for one in (made, true))
    assert report.marginals == marginal_errors(ours, theirs, rng=None)
    plan = TrainingPlan(models=("logistic", "nearest"))
    assert report.targets == tuple(
        target_scores(ours, None, theirs, target=name, plan=plan, missing_is_wrong=True)
        for name in asked["target"]
    )


def test_what_has_no_private_version_is_refused():
    made, true = people(100, 0), people(100, 1)
    with pytest.raises(ValueError, match="membership test has no private version"):
        evaluate_release(made, real=true, holdout=true, budget=BUDGET)
    with pytest.raises(ValueError, match="got a column of numbers"):
        evaluate_release(made, real=true, target=["age"], budget=BUDGET)
    with pytest.raises(ValueError, match="to be 'replace_one' for a private report"):
        Budget(epsilon=1.0, delta=1e-6, adjacency="add_or_remove_one")
    with pytest.raises(ValueError, match=r"Expected delta in \(0, 1\)"):
        Budget(epsilon=1.0, delta=0.0, adjacency="replace_one")
