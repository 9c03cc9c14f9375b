"""A run with canaries: what it shows of correct and of broken trainings."""

import collections
import copy
import dataclasses
import warnings

import numpy as np
import pytest

import rdpkit
from rdpkit.verification.blackbox.mistakes import MistakeKind
from rdpkit.verification.training import zoo
from rdpkit.verification.training.checks.run import check_run
from rdpkit.verification.training.events import of_updates, told
from rdpkit.verification.training.opacus import opacus_training
from rdpkit.verification.training.options import TrainingOptions
from rdpkit.verification.training.verify_training import training_maker

torch = pytest.importorskip("torch")
opacus = pytest.importorskip("opacus")

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")

RECORDS, STEPS = 64, 20


def _data():
    made = torch.Generator().manual_seed(0)
    features = torch.randn(RECORDS, 12, generator=made)
    return features, torch.randint(0, 3, (RECORDS,), generator=made)


def _made(*, sigma=1.0, told_sigma=None, poisson=True, secure=False, **more):
    """A maker of small trainings; ``told_sigma`` if the accountant is told another noise."""

    def make():
        data = torch.utils.data.TensorDataset(*_data())
        model = torch.nn.Sequential(
            torch.nn.Linear(12, 24), torch.nn.ReLU(), torch.nn.Linear(24, 3)
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model, optimizer, loader = opacus.PrivacyEngine(secure_mode=secure).make_private(
                module=model,
                optimizer=torch.optim.Adam(model.parameters(), lr=0.01),
                data_loader=torch.utils.data.DataLoader(data, batch_size=16 if poisson else 64),
                noise_multiplier=sigma,
                max_grad_norm=0.7,
                poisson_sampling=poisson,
            )
        event = None
        if told_sigma is not None:
            event = rdpkit.Repeated(
                event=rdpkit.PoissonSampledGaussian(
                    noise_std=told_sigma,
                    record_norm=1.0,
                    record_diameter=2.0,
                    sampling_probability=loader.sample_rate if poisson else 1.0,
                ),
                count=STEPS,
            )
        return opacus_training(
            model=model,
            optimizer=optimizer,
            loader=loader,
            loss=torch.nn.CrossEntropyLoss(),
            delta=1e-5,
            steps=STEPS,
            event=event,
            **more,
        )

    return training_maker(make)


def _options(**more):
    return TrainingOptions(**{"seed": 5, "canaries": 100, **more})


@pytest.mark.thorough
def test_full_batches_of_opacus():
    result = check_run(_made(sigma=4.0, poisson=False), _options())
    assert result.verdict == "not rejected"
    by_family, by_tradeoff, by_guesses = result.bounds
    truth = 20**0.5 / 4.0
    assert 0.5 * truth < by_family.mu <= truth
    assert 0.0 <= by_guesses.epsilon <= by_tradeoff.epsilon <= by_family.epsilon
    assert len(result.scores.inside) + len(result.scores.outside) == 100
    measured = dict(result.measured)
    assert measured["noise multiplier"].startswith("4.0") or measured[
        "noise multiplier"
    ].startswith("3.9")


@pytest.mark.thorough
def test_noise_that_is_half_of_what_was_told():
    result = check_run(_made(sigma=1.0, told_sigma=2.0), _options())
    assert [one.kind for one in result.mistakes] == [MistakeKind.LEAKS_MORE]
    assert result.bounds[0].epsilon > 0.0


@pytest.mark.thorough
def test_same_seed_same_result():
    first, second = (check_run(_made(), _options(steps=4)).as_dict() for _ in range(2))
    assert first == second


def test_canaries_change_nothing_but_their_coordinates():
    """The optimiser is put back, and what is not a canary's is what it would be without them."""
    made = _made(poisson=False)
    training = made.fresh()
    before = copy.copy(vars(training.optimizer))
    check_run(training_maker(training), _options(steps=2))
    after = vars(training.optimizer)
    assert set(before) == set(after)
    assert "clip_and_accumulate" not in after


@pytest.mark.thorough
def test_replace_one_canaries_have_two_signs():
    event = rdpkit.Repeated(
        event=rdpkit.Gaussian(noise_std=8.0, record_norm=1.0, record_diameter=2.0), count=STEPS
    )
    training = _made(sigma=8.0, poisson=False).fresh()
    maker = training_maker(
        lambda: dataclasses.replace(training, event=event, adjacency="replace_one")
    )
    result = check_run(maker, _options())
    truth = 2.0 * 20**0.5 / 8.0
    assert not result.rejected
    assert 0.4 * truth < result.bounds[0].mu <= truth


def test_a_step_that_takes_no_canaries_is_skipped():
    class Loop:
        adjacency, delta = "add_or_remove_one", 1e-5
        event = rdpkit.DPSGD(noise_multiplier=1.0, dataset_size=64, batch_size=16, steps=20)
        loader = (np.zeros((4, 3)),)

        def __init__(self):
            self.values = np.zeros(3)

        def parameters(self):
            return {"values": self.values}

        def step(self, batch):
            self.values += batch.sum(axis=0)

    result = check_run(training_maker(Loop), _options())
    assert result.verdict == "skipped"
    assert "with_records" in result.skipped


def test_events_of_fewer_updates():
    inner = rdpkit.PoissonSampledGaussian(
        noise_std=1.0, record_norm=1.0, record_diameter=2.0, sampling_probability=0.1
    )
    whole = rdpkit.Repeated(event=inner, count=100)
    assert of_updates(whole, told(whole), 7) == rdpkit.Repeated(event=inner, count=7)
    sgd = rdpkit.DPSGD(noise_multiplier=1.0, dataset_size=100, batch_size=10, steps=50)
    assert told(of_updates(sgd, told(sgd), 3)).updates == 3


def test_truncated_samples_say_how_many_records_there_are():
    event = rdpkit.DPSGD(
        noise_multiplier=1.0,
        dataset_size=100,
        batch_size=10,
        steps=5,
        sampling="truncated-poisson",
        max_batch_size=15,
    )
    for one in (event, event.expand()):
        account = told(one)
        assert (account.records, account.largest_batch) == (100, 15)


OPTIONS = TrainingOptions(seed=3, canaries=60, steps=4)


def test_records_with_wrong_labels():
    result = check_run(zoo.maker("batch-clipping-fixed"), OPTIONS)
    assert result.verdict == "not rejected"
    assert dict(result.measured)["canaries"].startswith("60, of which")
    assert len(result.scores.inside) + len(result.scores.outside) == 60
    assert [bound.delta for bound in result.bounds] == [1e-5] * len(result.bounds)


def test_labels_of_batches_with_names_are_changed():
    training = zoo.maker("batch-clipping-fixed").fresh()
    batch = collections.namedtuple("Batch", "features labels")
    named = dataclasses.replace(training, loader=[batch(*one) for one in training.loader])
    result = check_run(training_maker(named), OPTIONS)
    assert "records with wrong labels" in dict(result.measured)["canaries"]


def test_a_training_that_refuses_records_is_skipped():
    training = zoo.maker("batch-clipping-fixed").fresh()

    def refuse(extra):
        raise KeyError("no room")

    refusing = dataclasses.replace(training, with_records=refuse)
    result = check_run(training_maker(refusing), OPTIONS)
    assert result.verdict == "skipped"
    assert "no room" in result.skipped


def test_held_out_records_without_a_length_are_skipped():
    training = zoo.maker("batch-clipping-fixed").fresh()
    loader = [(one[0], one[1].double()) for one in training.loader]
    odd = dataclasses.replace(training, loader=loader, held_out=iter([]))
    result = check_run(training_maker(odd), OPTIONS)
    assert result.verdict == "skipped"
    assert "has no len" in result.skipped
