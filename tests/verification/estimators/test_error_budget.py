"""Error rates are added up by code, and never more is spent than there is."""

import math

import pytest

from rdpkit.verification.estimators.error_budget import ErrorBudget
from rdpkit.verification.training.checks.accountant import check_accountant
from rdpkit.verification.training.checks.sampler import check_sampler
from rdpkit.verification.training.checks.step import check_step
from rdpkit.verification.training.options import CHECKS, TrainingOptions
from rdpkit.verification.training.verify_training import training_maker


def test_equal_shares_are_the_whole_rate():
    budget = ErrorBudget(0.06)
    assert budget.equally("one", "two", "three") == pytest.approx(0.02)
    assert math.fsum(budget.spent.values()) == pytest.approx(0.06)
    assert budget.left == pytest.approx(0.0, abs=1e-12)


def test_what_is_left_is_shared():
    budget = ErrorBudget(0.05)
    budget.spend("first", 0.01)
    assert budget.equally("second", "third") == pytest.approx(0.02)


def test_no_more_is_spent_than_there_is():
    budget = ErrorBudget(0.05)
    budget.spend("first", 0.04)
    with pytest.raises(ValueError, match=r"'second' would spend 0.02, and 0.01 of 0.05 is left"):
        budget.spend("second", 0.02)
    with pytest.raises(ValueError, match="'first' has spent its error rate already"):
        budget.spend("first", 0.001)


@pytest.mark.thorough
def test_checks_spend_no_more_than_their_rate():
    pytest.importorskip("torch")
    from tests.verification.training import loops

    options = TrainingOptions(seed=1, seconds=10.0, false_alarm_rate=0.04)
    spent = []
    for check in (check_step, check_sampler, check_accountant):
        found = check(training_maker(loops.PlainLoop), options)
        assert found.spent
        assert math.fsum(found.spent.values()) == pytest.approx(options.rate_of_a_check)
        spent += found.spent.values()
    # The run has the rest.
    assert len(CHECKS) == 4
    assert math.fsum(spent) + options.rate_of_a_check == pytest.approx(0.04)
