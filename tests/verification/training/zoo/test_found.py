"""What the checks say of broken trainings, of their repairs, and of correct ones.

A training that is correct is rejected with a probability of at most 0.01 by all checks together;
seeds are fixed, so that a test that passes once passes always on one machine.
"""

import math

import pytest

pytest.importorskip("opacus")

from rdpkit.verification.training import zoo
from rdpkit.verification.training.options import TrainingOptions
from rdpkit.verification.training.verify_training import checks, training_maker, verify_training
from tests.verification.training import correct_batches, correct_loops, correct_updates
from tests.verification.training.broken_variants import BROKEN
from tests.verification.training.correct_trainings import CORRECT

# torch says so of the hooks with which Opacus computes gradients of records.
pytestmark = pytest.mark.filterwarnings("ignore:Full backward hook:UserWarning")
CHECKED = [name for name in ("step", "sampler", "accountant") if name in checks()]
# A training for each mistake that a check names.
ONE_OF_EACH = {(one.check, one.kinds[0]): name for name, one in zoo.ENTRIES.items()}.values()


def _mark(is_likely):
    return pytest.mark.thorough if is_likely else pytest.mark.slow


def kinds(maker, check):
    result = checks()[check](maker, TrainingOptions(seed=7))
    assert not result.skipped
    return {mistake.kind for mistake in result.mistakes}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", [name for name, entry in zoo.ENTRIES.items() if entry.check in CHECKED]
)
def test_a_broken_training_is_named(name):
    entry = zoo.ENTRIES[name]
    assert kinds(zoo.maker(name), entry.check) & set(entry.kinds)


@pytest.mark.parametrize(
    ("name", "check"),
    [
        # The check that names the mistake is the likeliest to reject the repair.
        pytest.param(name, check, marks=_mark(check == entry.check and name in ONE_OF_EACH))
        for name, entry in zoo.ENTRIES.items()
        for check in CHECKED
    ],
)
def test_a_repaired_training_is_not_rejected(name, check):
    assert kinds(zoo.maker(name + zoo.FIXED), check) == set()


@pytest.mark.parametrize(
    ("name", "check"),
    [
        # Together they take minutes: every third one, of each way of training, runs in CI.
        pytest.param(name, check, marks=_mark(check == "step" and place % 3 == 0))
        for place, name in enumerate(CORRECT)
        for check in CHECKED
    ],
)
def test_a_correct_training_is_not_rejected(name, check):
    assert kinds(training_maker(CORRECT[name]), check) == set()


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", CORRECT)
def test_whole_verdicts_of_correct_trainings(name, seed):
    options = TrainingOptions(seed=seed, seconds=15.0, checks=tuple(CHECKED))
    found = verify_training(CORRECT[name], options=options)
    assert not found.mistakes, found
    for check in found.checks:
        assert math.fsum(check.spent.values()) <= check.false_alarm_rate * (1.0 + 1e-9)


def test_the_table_of_correct_trainings_is_long():
    # Each of these modules adds its rows when it is imported.
    for module in (correct_loops, correct_updates, correct_batches):
        assert module.CORRECT is CORRECT
    assert len(CORRECT) >= 88


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", [name for name, (_, check, _) in BROKEN.items() if check in CHECKED]
)
def test_a_training_that_is_broken_in_another_style_is_named(name):
    make, check, right = BROKEN[name]
    assert kinds(training_maker(make), check) & set(right)
