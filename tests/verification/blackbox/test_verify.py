"""Verification from Python: verdicts, errors, and what results depend on."""

import dataclasses
import json
import math
import re

import numpy as np
import pytest

import rdpkit
from rdpkit.verification.blackbox import verify as module
from rdpkit.verification.blackbox.candidate_pairs import of_pair
from rdpkit.verification.blackbox.mistakes import MistakeKind
from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours
from rdpkit.verification.blackbox.options import VerificationOptions
from rdpkit.verification.blackbox.release_parts import MechanismError
from rdpkit.verification.blackbox.targets import dp_claim, event_claim
from rdpkit.verification.blackbox.verify import verify
from rdpkit.verification.estimators.base import DiagnosticKind, Stop

EVENT = rdpkit.Gaussian(noise_std=2.0, record_norm=1.0)
ADD = "add_or_remove_one"
PAIR = of_pair(rdpkit.worst_pair(EVENT, adjacency=ADD, delta=1e-3), dimension=2, records=4)
CLAIM = event_claim(EVENT, adjacency=ADD)


def gaussian(std):
    def mechanism(dataset, rng):
        return dataset.features.sum(axis=0) + rng.normal(0.0, std, dataset.dimension)

    return mechanism


class Vectorised:
    def __init__(self, std):
        self.std = std

    def __call__(self, dataset, rng):
        return self.many(dataset, rng, 1)[0]

    def many(self, dataset, rng, count):
        noise = rng.normal(0.0, self.std, (count, dataset.dimension))
        return dataset.features.sum(axis=0) + noise


def run(mechanism, **options):
    """Verify with options and other arguments by their names."""
    fields = {field.name for field in dataclasses.fields(VerificationOptions)} - {"neighbours"}
    chosen = {"seed": 7, "samples": 20_000, "scores": ("linear",)}
    chosen |= {name: options.pop(name) for name in fields & options.keys()}
    defaults = {"claim": CLAIM, "neighbours": PAIR, "jobs": 1}
    return verify(mechanism, options=VerificationOptions(**chosen), **(defaults | options))


def test_a_mechanism_with_a_third_of_the_noise_is_rejected():
    result = run(Vectorised(0.7))
    assert result.rejected
    assert result.failed
    assert result.outcome.stop is Stop.REJECTED
    assert result.outcome.log_e_value >= np.log(20.0)
    assert result.runs < 20_000
    assert result.mistakes == ()


def test_one_run_at_a_time():
    assert run(gaussian(0.5), samples=4000).rejected


@pytest.mark.thorough
def test_a_true_claim_passes():
    result = run(Vectorised(2.0))
    assert not result.failed
    assert result.verdict == "not rejected"
    assert result.runs == 20_000


@pytest.mark.thorough
def test_room_is_noticed():
    # The sets differ by 0.4 at most where 0.5 is claimed, and the test can say so.
    claim = dp_claim(epsilon=0.5, delta=0.5, adjacency=ADD)
    result = run(Vectorised(2.0), claim=claim, samples=200_000)
    assert result.outcome.stop is Stop.CLEARED
    assert result.runs < 200_000
    assert result.outcome.diagnostics == ()


def test_the_result_depends_on_the_seed_alone():
    first, again, other = (run(Vectorised(1.2), seed=seed, samples=6000) for seed in (3, 3, 4))
    assert first.as_dict() == again.as_dict()
    assert first.as_dict() != other.as_dict()


def test_a_seed_is_drawn_and_kept():
    found = run(Vectorised(0.7), seed=None, samples=3000)
    again = run(Vectorised(0.7), seed=found.seed, samples=3000)
    assert found.as_dict() == again.as_dict()
    assert run(Vectorised(0.7), seed=None, samples=1000).seed != found.seed


@pytest.mark.thorough
@pytest.mark.parametrize("std", [0.7, 1.2, 40.0])
def test_asking_for_the_runs_that_were_made_replays_it(std):
    first = run(Vectorised(std), samples=60_000)
    again = run(Vectorised(std), samples=first.runs, training=first.training)
    assert again.as_dict() == first.as_dict()


@pytest.mark.thorough
def test_a_time_budget_makes_fewer_runs():
    result = run(gaussian(2.0), samples=10_000_000, time_budget=0.5)
    assert result.runs < 1_000_000
    again = run(gaussian(2.0), samples=result.runs, training=result.training)
    assert again.as_dict() == result.as_dict()


@pytest.mark.thorough
@pytest.mark.parametrize("pays_for", [60, 500, 1500])
def test_a_time_budget_that_ends_earlier_than_expected_can_be_replayed(monkeypatch, pays_for):
    # A busy machine: what seems affordable shrinks while the runs are made.
    monkeypatch.setattr(
        module.MechanismRunner, "affordable", lambda self, seconds: pays_for - self.runs // 2
    )
    result = run(gaussian(2.0), time_budget=5.0)
    assert pays_for < result.runs <= 2 * pays_for
    monkeypatch.undo()
    again = run(gaussian(2.0), samples=result.runs, training=result.training, pairs=result.pairs)
    assert again.as_dict() == result.as_dict()


def test_a_time_budget_that_pays_for_nothing():
    with pytest.raises(ValueError, match="or what the time budget pays for"):
        run(gaussian(2.0), time_budget=1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize(("epsilon", "delta", "rejected"), [(0.1, 0.01, True), (1.5, 0.01, False)])
def test_an_epsilon_and_a_delta(epsilon, delta, rejected):
    # N(0, 2^2) and distance 1: delta(0.1) is 0.155, and epsilon at 0.01 is 0.975.
    claim = dp_claim(epsilon=epsilon, delta=delta, adjacency=ADD)
    assert run(Vectorised(2.0), claim=claim).rejected is rejected


@pytest.mark.thorough
def test_an_rdp_curve():
    claim = event_claim(EVENT, adjacency=ADD, view="rdp")
    assert claim.part.describe().startswith("RDP")
    assert run(Vectorised(0.5), claim=claim, samples=4000, training=300).rejected


def test_an_event_at_a_delta_or_an_epsilon():
    at_delta = event_claim(EVENT, adjacency=ADD, delta=1e-2)
    expected = rdpkit.epsilon(EVENT, delta=1e-2, adjacency=ADD).epsilon
    assert at_delta.part.epsilon == expected
    at_epsilon = event_claim(EVENT, adjacency=ADD, epsilon=1.0)
    assert at_epsilon.part.delta == rdpkit.delta(EVENT, epsilon=1.0, adjacency=ADD).delta
    with pytest.raises(ValueError, match="at most one of delta and epsilon"):
        event_claim(EVENT, adjacency=ADD, delta=1e-2, epsilon=1.0)


@pytest.mark.thorough
def test_an_event_without_a_loss_distribution():
    event = rdpkit.CustomRdp(orders=(2.0, 8.0), values=(0.25, 1.0), adjacency=ADD)
    epsilons, deltas = event_claim(event, adjacency=ADD).part.supporting_lines()
    assert len(epsilons) > 1
    assert (np.diff(deltas) < 0.0).all()
    with pytest.raises(ValueError, match="claims nothing"):
        event_claim(event, adjacency="replace_one")


@pytest.mark.thorough
def test_the_clearest_of_several_pairs_is_taken():
    nothing = Neighbours(
        first=LabelledData(features=np.zeros((3, 2))),
        second=LabelledData(features=np.zeros((2, 2))),
        adjacency=ADD,
        description=("all at the origin",),
    )
    result = run(Vectorised(0.7), neighbours=[nothing, PAIR, nothing])
    assert result.rejected
    assert result.pair == PAIR.describe()
    assert run(Vectorised(0.7), neighbours=nothing).rejected is False


def test_no_separation_is_a_diagnostic():
    nothing = Neighbours(
        first=LabelledData(features=np.zeros((3, 2))),
        second=LabelledData(features=np.zeros((2, 2))),
        adjacency=ADD,
    )
    result = run(Vectorised(0.7), neighbours=nothing, samples=2000)
    assert not result.rejected
    assert DiagnosticKind.NO_SEPARATION in {one.kind for one in result.outcome.diagnostics}


def test_too_few_runs_are_a_diagnostic():
    result = run(Vectorised(2.0), samples=84, training=20)
    kinds = {one.kind for one in result.outcome.diagnostics}
    assert kinds & {DiagnosticKind.TOO_FEW_SAMPLES, DiagnosticKind.UNDERPOWERED}
    assert not result.rejected


def test_a_score_of_ones_own():
    # Along the second axis there is nothing to see; the linear score is tested too.
    blind = run(Vectorised(0.7), score=lambda outputs: outputs[:, 1])
    assert blind.scores[:2] == ("given", "linear")
    assert blind.score == "linear"
    assert blind.rejected


def test_a_score_that_sees_more_than_a_linear_one():
    # At 3 or -3 with the record, at 0 without it: the means are the same.
    def mechanism(dataset, rng):
        size = 3.0 * dataset.features.sum()
        return rng.choice([-size, size]) + rng.normal(0.0, 0.5, 1)

    seeing = run(mechanism, samples=4000, score=lambda outputs: np.abs(outputs[:, 0]))
    assert (seeing.rejected, seeing.score) == (True, "given")


def test_randomness_that_is_not_handed_in_is_noted():
    own = np.random.default_rng(1)

    def mechanism(dataset, rng):
        return dataset.features.sum(axis=0) + own.normal(0.0, 2.0, 2)

    (note,) = run(mechanism, samples=2000).notes
    assert "does not come from rng" in note


@pytest.mark.thorough
def test_releases_of_a_rare_structure_are_noted_and_tested():
    # One release in fifty holds the exact sum besides.
    def mechanism(dataset, rng):
        total = dataset.features.sum(axis=0)
        noisy = total + rng.normal(0.0, 8.0, 2)
        return (noisy, total) if rng.random() < 0.02 else (noisy,)

    result = run(mechanism, samples=20_000)
    assert result.rejected
    assert re.search(r"\d+ releases? had another structure than the first ones", result.notes[-1])


def test_a_fixed_seed_is_named():
    def mechanism(dataset, rng):
        return dataset.features.sum(axis=0) + np.random.default_rng(3).normal(0.0, 2.0, 2)

    result = run(mechanism, samples=4000)
    assert [mistake.kind for mistake in result.mistakes] == [MistakeKind.FIXED_SEED]
    assert result.rejected


@pytest.mark.thorough
def test_a_constant_mechanism_is_private():
    result = run(lambda dataset, rng: np.array([1.5, 2.5]), samples=4000)
    assert not result.failed
    assert DiagnosticKind.NO_SEPARATION in {one.kind for one in result.outcome.diagnostics}


@pytest.mark.thorough
def test_data_sets_that_nobody_hands_in():
    """They are those of ``rdpkit verify``: adversarial ones here, which show a missing clip."""
    result = run(Vectorised(2.0), neighbours=None)
    assert result.rejected
    assert any("of norm 1000" in line for line in result.pair)
    assert not run(Vectorised(2.0), neighbours=None, record_norm=1.0).rejected


@pytest.mark.thorough
def test_of_equally_clear_pairs_one_within_the_norm_is_preferred():
    """A clipped sum with too little noise: a record beyond the norm shows nothing more."""

    class Clipped(Vectorised):
        def many(self, dataset, rng, count):
            norms = np.linalg.norm(dataset.features, axis=1, keepdims=True)
            clipped = LabelledData(features=dataset.features / np.maximum(1.0, norms))
            return super().many(clipped, rng, count)

    within, beyond = (
        Neighbours(
            first=LabelledData(features=[[length, 0.0]]),
            second=LabelledData(features=np.zeros((0, 2))),
            adjacency=ADD,
            description=(f"length {length:g}",),
            beyond_norm=length > 1.0,
        )
        for length in (1.0, 100.0)
    )
    found = [run(Clipped(0.8), neighbours=[beyond, within], seed=seed) for seed in range(20)]
    assert all(result.rejected for result in found)
    # Without a preference 15 or more of 20 have a probability of 0.02; the seeds are fixed.
    assert sum("length 1" in result.pair for result in found) >= 15


def test_nan_is_never_not_rejected():
    with pytest.raises(MechanismError, match="such a release has no"):
        run(lambda dataset, rng: dataset.features.sum(axis=0) * np.nan)


@pytest.mark.thorough
def test_a_rare_nan_is_found_in_the_test():
    class Rare(Vectorised):
        def many(self, dataset, rng, count):
            found = super().many(dataset, rng, count)
            found[rng.random(count) < 1e-3] = np.nan
            return found

    # It is as frequent on both sides, so it tells nothing; and it is said.
    found = run(Rare(2.0), training=20)
    assert any("had another structure" in note for note in found.notes)


class OnOneSide:
    """Something that is no number for data sets of an even size alone."""

    def __init__(self, release):
        self.release = release

    def __call__(self, dataset, rng):
        usual = rng.laplace(0.0, 3.0)
        return usual if len(dataset) % 2 else self.release(usual, rng)


def fails(usual, rng):
    raise ZeroDivisionError


@pytest.mark.thorough
@pytest.mark.parametrize(
    "release",
    [
        lambda usual, rng: math.nan,
        lambda usual, rng: math.inf if rng.random() < 0.3 else usual,
        lambda usual, rng: [usual, 0.0],
        lambda usual, rng: {"a": usual},
        fails,
    ],
    ids=["nan", "sometimes infinite", "shape", "key", "error"],
)
def test_what_is_no_number_on_one_side_is_found_soon(release):
    claim = dp_claim(epsilon=1.0, delta=1e-5, adjacency="add_or_remove_one")
    found = verify(
        OnOneSide(release), claim=claim, options=VerificationOptions(seed=1, samples=4000)
    )
    assert found.rejected
    assert found.runs <= 2000
    assert [one.kind for one in found.mistakes] == [MistakeKind.KIND_OF_RELEASE]


def test_errors_that_say_nothing_of_the_data_are_no_mistake():
    def sometimes(dataset, rng):
        if rng.random() < 0.1:
            raise ZeroDivisionError
        return rng.laplace(0.0, 3.0)

    claim = dp_claim(epsilon=1.0, delta=1e-5, adjacency="add_or_remove_one")
    found = verify(sometimes, claim=claim, options=VerificationOptions(seed=1, samples=2000))
    assert not found.rejected
    assert any("raised an error" in note for note in found.notes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"claim": None}, "Expected a claim: the target has none of its own"),
        ({"neighbours": []}, "Expected neighbours to be at least one pair"),
        ({"neighbours": "pair"}, "Expected neighbours to be Neighbours"),
        ({"samples": 10}, r"Expected samples to be an integer in \[42, "),
        ({"samples": 100, "training": 60}, "Expected at least 120 runs"),
        (
            {"claim": dp_claim(epsilon=1.0, delta=0.1, adjacency="replace_one")},
            "Expected neighbours under replace_one",
        ),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        run(Vectorised(2.0), **options)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("nonsense", "Expected TARGET to be module:callable, or one of subset-once"),
        ("no_such_module_here:f", "could not be imported: ModuleNotFoundError"),
        ("json:nothing", "the module 'json' has no 'nothing'"),
        ("json:__name__", "expected a callable"),
        ("json:", "Expected TARGET"),
        (3, "Expected target to be a name or a callable"),
    ],
)
def test_bad_targets(what, message):
    with pytest.raises(ValueError, match=message):
        run(what)


@pytest.mark.thorough
def test_progress_is_reported():
    steps = []
    result = run(Vectorised(2.0), progress=steps.append, neighbours=[PAIR, PAIR.scaled(0.5)])
    stages = list(dict.fromkeys(step.stage for step in steps))
    assert stages == ["probing", "searching", "testing"]
    assert steps[-1].runs == result.runs == steps[-1].of
    assert steps[-1].needed == pytest.approx(np.log(20.0))
    assert [step.runs for step in steps] == sorted(step.runs for step in steps)


def test_the_result_is_plain_json():
    found = run(Vectorised(0.7))
    text = json.dumps(found.as_dict(), allow_nan=False)
    assert json.loads(text)["verdict"] == "rejected"
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.seed = 1


def test_the_stage_of_a_run_is_part_of_its_seed():
    # Runs that are bet on must not be those of the probe: a run would be seen before it is bet on.
    seen = {}

    class Recording(Vectorised):
        def many(self, dataset, rng, count):
            found = super().many(dataset, rng, count)
            for value in found[:, 1]:
                seen[value] = seen.get(value, 0) + 1
            return found

    result = run(Recording(2.0), samples=3000)
    # The probe's 256 runs on both sides are made twice; all others are made once.
    assert sum(count == 1 for count in seen.values()) >= result.runs
    assert sum(count > 1 for count in seen.values()) <= 512 + 8


class Autocorrelated:
    """The right noise in every run, nearly that of the run before."""

    def __init__(self, correlation):
        self.correlation = correlation
        self.noise = None

    def __call__(self, dataset, rng):
        fresh = rng.normal(0.0, 2.0, dataset.dimension)
        if self.noise is None:
            self.noise = fresh
        kept = self.correlation * self.noise
        self.noise = kept + math.sqrt(1.0 - self.correlation**2) * fresh
        return dataset.features.sum(axis=0) + self.noise


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_rate_is_stated_where_runs_depend_on_each_other(seed):
    found = run(Autocorrelated(0.999), seed=seed, samples=4000)
    assert found.verdict == "inconclusive"
    assert "no error rate holds" in found.inconclusive
    assert DiagnosticKind.DEPENDENT_RUNS in {one.kind for one in found.diagnostics}
    # Nor is anything handed on to other tests, or bounded.
    assert (found.p_value, found.final_log_e_value, found.mu.mu) == (1.0, 0.0, 0.0)
    assert (found.outcome.bound, found.mistakes) == (None, ())


def test_the_names_of_a_test_share_its_rate(monkeypatch):
    made = []

    class Kept(module.NamingLevels):
        def __init__(self, *given, **options):
            super().__init__(*given, **options)
            made.append(self.budget)

    monkeypatch.setattr(module, "NamingLevels", Kept)

    def constant(dataset, rng):
        return np.array([float(len(dataset)), rng.normal(0.0, 2.0)])

    found = run(constant, scores=())
    assert [one.kind for one in found.mistakes] == [MistakeKind.NO_NOISE]
    (budget,) = made
    assert len(budget.spent) > 1
    assert math.fsum(budget.spent.values()) <= budget.rate == 0.05
    assert found.mistakes[0].log_e_value >= -math.log(max(budget.spent.values()))
