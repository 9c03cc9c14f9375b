"""The accountant for Opacus 1.6.0, in real training of a small model."""

import io
import math
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import rdpkit
from tests.events import unit

pytest.importorskip("opacus", reason="Opacus is not installed")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import opacus
    import torch
    from opacus.accountants import create_accountant
    from opacus.accountants.utils import get_noise_multiplier
    from opacus.data_loader import DPDataLoader
    from opacus.schedulers import ExponentialNoise
    from opacus.utils.batch_memory_manager import BatchMemoryManager
    from torch.utils.data import DataLoader, TensorDataset

    import rdpkit.interop.opacus as bridge

# Opacus says that its noise is not cryptographically secure, torch that hooks see no gradients.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Secure RNG turned off"),
    pytest.mark.filterwarnings("ignore:Full backward hook is firing"),
    pytest.mark.filterwarnings("ignore:Using a non-full backward hook"),
]

RECORDS, BATCH = 200, 20
DELTA = 1e-5


def data(records=RECORDS):
    """Two Gaussian clouds, as scikit-learn's make_classification makes them."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, records)
    features = random.normal(size=(records, 8)) + 1.5 * labels[:, None]
    return TensorDataset(
        torch.tensor(features, dtype=torch.float32), torch.tensor(labels, dtype=torch.long)
    )


def objects(records=RECORDS, batch=BATCH):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(data(records), batch_size=batch)
    return {"module": model, "optimizer": optimizer, "data_loader": loader}


def private(accountant="rdpkit", noise_multiplier=1.0, **options):
    engine = opacus.PrivacyEngine(accountant=accountant)
    found = engine.make_private(
        **objects(), noise_multiplier=noise_multiplier, max_grad_norm=1.0, **options
    )
    return engine, *found


def train(model, optimizer, loader, epochs=1, after=None):
    loss = torch.nn.CrossEntropyLoss()
    for _ in range(epochs):
        for features, labels in loader:
            optimizer.zero_grad()
            loss(model(features), labels).backward()
            optimizer.step()
            if after is not None:
                after()


def ours(*steps):
    """Epsilon of (noise, rate, count) by rdpkit itself."""
    events = tuple(unit.poisson(noise, rate) * count for noise, rate, count in steps)
    event = events[0] if len(events) == 1 else rdpkit.Composed(events=events)
    return rdpkit.epsilon(event, delta=DELTA, adjacency="add_or_remove_one").epsilon


def accountant(*history):
    found = bridge.OpacusAccountant()
    found.history = history
    return found


class TestTraining:
    @pytest.mark.thorough
    def test_the_engine_knows_it_and_counts_every_step(self):
        engine, *training = private()
        assert isinstance(engine.accountant, bridge.OpacusAccountant)
        train(*training, epochs=2)
        assert engine.accountant.history == [(1.0, BATCH / RECORDS, 20)]
        assert len(engine.accountant) == 20
        assert engine.get_epsilon(DELTA) == ours((1.0, BATCH / RECORDS, 20))

    @pytest.mark.thorough
    def test_beside_their_accountants(self):
        """At most their RDP accountant's; their PRV accountant's is 0.01 above its estimate."""
        found = {}
        for name in ("rdpkit", "rdp", "prv"):
            engine, *training = private(name)
            train(*training, epochs=2)
            found[name] = engine.get_epsilon(DELTA)
        assert found["rdpkit"] < 0.9 * found["rdp"]
        assert found["prv"] - 0.02 <= found["rdpkit"] <= found["prv"]

    @pytest.mark.thorough
    def test_noise_that_changes_during_training(self):
        engine, model, optimizer, loader = private()
        scheduler = ExponentialNoise(optimizer, gamma=0.99)
        train(model, optimizer, loader, after=scheduler.step)
        expected = [(0.99**k, 0.1, 1) for k in range(10)]
        assert_allclose(engine.accountant.history, expected, rtol=1e-12)
        assert_allclose(engine.get_epsilon(DELTA), ours(*expected), rtol=2e-3)

    @pytest.mark.thorough
    def test_batches_split_to_fit_into_memory_are_one_step(self):
        engine, model, optimizer, loader = private()
        with BatchMemoryManager(
            data_loader=loader, max_physical_batch_size=4, optimizer=optimizer
        ) as small:
            train(model, optimizer, small)
        assert len(engine.accountant) == 10

    def test_no_noise_leaves_no_guarantee(self):
        engine, *training = private(noise_multiplier=0.0)
        train(*training)
        assert engine.get_epsilon(DELTA) == math.inf
        with pytest.raises(ArithmeticError, match="without noise"):
            engine.accountant.guarantee(DELTA)

    @pytest.mark.thorough
    @pytest.mark.parametrize("target", [1.0, 8.0])
    def test_noise_for_a_target(self, target):
        engine = opacus.PrivacyEngine(accountant="rdpkit")
        model, optimizer, loader = engine.make_private_with_epsilon(
            **objects(),
            target_epsilon=target,
            target_delta=DELTA,
            epochs=3,
            max_grad_norm=1.0,
        )
        train(model, optimizer, loader, epochs=3)
        # Opacus stops within 0.01 below the target.
        assert target - 0.02 <= engine.get_epsilon(DELTA) <= target

    @pytest.mark.thorough
    def test_defect_an_epoch_may_lack_a_step(self):
        """int(3 / (1/75)) is 224: Opacus finds the noise for one step fewer than are taken."""
        assert int(3 / (1 / 75)) == 224
        question = {"target_epsilon": 2.0, "target_delta": DELTA, "sample_rate": 1 / 75}
        by_epochs = get_noise_multiplier(**question, epochs=3, accountant="rdpkit")
        assert by_epochs == get_noise_multiplier(**question, steps=224, accountant="rdpkit")


class TestSampling:
    def test_batches_that_are_not_poisson_samples_are_refused(self):
        with pytest.raises(ValueError, match=r"Expected batches to be Poisson samples.*BatchSamp"):
            private(poisson_sampling=False)

    def test_a_poisson_loader_of_one_s_own_is_accepted(self):
        """Then poisson_sampling=False only keeps Opacus from wrapping it once more."""
        engine = opacus.PrivacyEngine(accountant="rdpkit")
        given = objects()
        given["data_loader"] = DPDataLoader.from_data_loader(given["data_loader"])
        training = engine.make_private(
            **given, noise_multiplier=1.0, max_grad_norm=1.0, poisson_sampling=False
        )
        train(*training)
        assert engine.accountant.history == [(1.0, 0.1, 10)]

    def test_a_loader_that_draws_more_than_is_accounted_for(self):
        """A loader of 0.3 has int(1/0.3) = 3 batches, and Opacus accounts 1/3."""
        loader = DPDataLoader(data(), sample_rate=0.3)
        bridge._check_loader(loader, 1 / len(loader))
        with pytest.raises(ValueError, match=r"at the rate 0\.1 .*got 0\.3"):
            bridge._check_loader(loader, 0.1)

    def test_random_records_in_empty_batches_are_refused(self):
        with pytest.raises(ValueError, match="Expected rand_on_empty to be False"):
            private(rand_on_empty=True)

    def test_defect_an_empty_batch_becomes_a_random_record(self):
        """And its clipped gradient is in the sum, so that one record more moves it by up to 2."""
        torch.manual_seed(0)
        model = torch.nn.Linear(4, 1)
        engine = opacus.PrivacyEngine(accountant="rdp")
        model, optimizer, loader = engine.make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
            data_loader=DataLoader(TensorDataset(torch.full((3, 4), 5.0)), batch_size=1),
            noise_multiplier=0.0,
            max_grad_norm=1.0,
            rand_on_empty=True,
        )
        norms = []
        for _ in range(10):
            for (features,) in loader:
                optimizer.zero_grad()
                model(features).sum().backward()
                optimizer.step()
                if len(features) and float(features.max()) < 5.0:
                    norms.append(sum(float(p.summed_grad.norm()) ** 2 for p in model.parameters()))
        assert norms
        assert max(norms) == pytest.approx(1.0, abs=1e-4)

    def test_gradients_accumulated_over_several_samples_are_refused(self):
        class Optimizer:
            accumulated_iterations = 2
            noise_multiplier = 1.0

        found = bridge.OpacusAccountant()
        with pytest.warns(bridge.SamplingNotSeenWarning):
            hook = found.get_optimizer_hook_fn(0.1)
        with pytest.raises(ValueError, match="Expected one batch for each step, got 2"):
            hook(Optimizer())
        assert len(found) == 0

    def test_a_hook_made_by_hand_says_what_it_cannot_see(self):
        _, model, optimizer, loader = private()
        found = bridge.OpacusAccountant()
        with pytest.warns(bridge.SamplingNotSeenWarning, match=r"Poisson samples of rate 0\.1"):
            optimizer.attach_step_hook(found.get_optimizer_hook_fn(sample_rate=0.1))
        train(model, optimizer, loader)
        assert len(found) == 10


class TestHistory:
    @pytest.mark.thorough
    def test_steps_that_are_alike_are_one_entry(self):
        found = bridge.OpacusAccountant()
        for k in range(1000):
            found.step(noise_multiplier=1.0 + k % 2, sample_rate=0.01)
        assert found.history == [(1.0, 0.01, 500), (2.0, 0.01, 500)]
        assert len(found) == 1000
        assert found.get_epsilon(DELTA) == ours((1.0, 0.01, 500), (2.0, 0.01, 500))

    def test_it_takes_over_theirs(self):
        theirs = create_accountant("prv")
        for k in range(6):
            theirs.step(noise_multiplier=1.0 + k % 2, sample_rate=0.01)
        found = accountant(*theirs.history)
        assert found.history == [(1.0, 0.01, 3), (2.0, 0.01, 3)]

    def test_it_is_a_copy(self):
        found = accountant((1.0, 0.01, 3))
        found.history.append((1.0, 0.01, 3))
        assert found.history == [(1.0, 0.01, 3)]

    def test_nothing_released(self):
        assert accountant().get_epsilon(DELTA) == 0.0
        assert accountant((1.0, 0.0, 5), (0.0, 0.0, 5)).get_epsilon(DELTA) == 0.0
        assert accountant().guarantee(DELTA) is None

    def test_numbers_out_of_tensors(self):
        found = bridge.OpacusAccountant()
        found.step(noise_multiplier=torch.tensor(1.5), sample_rate=np.float64(0.25))
        assert found.history == [(1.5, 0.25, 1)]

    @pytest.mark.parametrize(
        ("history", "message"),
        [
            ("abc", "Expected history to be a sequence"),
            (5, "Expected history to be a sequence"),
            ([(1.0, 0.1)], "Expected history to be a sequence"),
            ([(-1.0, 0.1, 1)], "Expected noise_multiplier"),
            ([(math.nan, 0.1, 1)], "Expected noise_multiplier"),
            ([(1.0, 1.1, 1)], "Expected sample_rate"),
            ([(1.0, 0.1, 0)], "Expected number of steps"),
            ([(1.0, 0.1, 1.5)], "Expected number of steps"),
        ],
    )
    def test_bad_histories(self, history, message):
        found = accountant((1.0, 0.1, 1))
        with pytest.raises(ValueError, match=message):
            found.history = history
        assert found.history == [(1.0, 0.1, 1)]

    @pytest.mark.parametrize(
        ("step", "name"),
        [
            ({"noise_multiplier": -1.0, "sample_rate": 0.1}, "noise_multiplier"),
            ({"noise_multiplier": math.inf, "sample_rate": 0.1}, "noise_multiplier"),
            ({"noise_multiplier": 1e-200, "sample_rate": 0.1}, "noise_multiplier"),
            ({"noise_multiplier": 1.0, "sample_rate": 2.0}, "sample_rate"),
        ],
    )
    def test_bad_steps(self, step, name):
        found = bridge.OpacusAccountant()
        with pytest.raises(ValueError, match=f"Expected {name}"):
            found.step(**step)
        assert len(found) == 0


class TestQuestions:
    def test_bounds(self):
        found = accountant((1.1, 0.01, 1000))
        best, rdp = found.get_epsilon(DELTA), found.get_epsilon(DELTA, bound="best-rdp")
        assert best < rdp
        assert found.guarantee(DELTA, bound="best-rdp").enclosure.rigorous
        assert found.guarantee(DELTA).adjacency is bridge.ADJACENCY

    @pytest.mark.parametrize("name", ["alphas", "eps_error", "delta_error", "poisson"])
    def test_arguments_of_their_accountants(self, name):
        with pytest.raises(ValueError, match=f"Unknown argument '{name}'"):
            accountant((1.0, 0.1, 1)).get_epsilon(DELTA, **{name: None})

    def test_arguments_of_their_optimizers_pass_through(self):
        found = accountant((1.0, 0.1, 1))
        assert found.get_epsilon(DELTA, max_clipbound=1.0) == found.get_epsilon(DELTA)

    @pytest.mark.parametrize("delta", [0.0, 1.0, -1e-5, math.nan])
    @pytest.mark.parametrize("noise", [0.0, 1.0])
    def test_bad_deltas(self, delta, noise):
        with pytest.raises(ValueError, match=r"Expected delta in \(0, 1\)"):
            accountant((noise, 0.1, 1)).get_epsilon(delta)

    def test_bad_bounds(self):
        with pytest.raises(ValueError, match="Expected bound to be one of"):
            accountant((1.0, 0.1, 1)).get_epsilon(DELTA, bound="pair-lower")


class TestCheckpoints:
    def test_through_the_engine(self):
        engine, model, optimizer, loader = private()
        train(model, optimizer, loader)
        file = io.BytesIO()
        engine.save_checkpoint(path=file, module=model, optimizer=optimizer)
        file.seek(0)
        again, model, optimizer, loader = private()
        again.load_checkpoint(path=file, module=model, optimizer=optimizer)
        assert again.accountant.history == engine.accountant.history
        train(model, optimizer, loader)
        assert again.accountant.history == [(1.0, 0.1, 20)]

    def test_it_is_plain_values(self):
        """So that torch reads it without executing anything."""
        file = io.BytesIO()
        torch.save(accountant((1.0, 0.1, 5), (2.0, 0.1, 7)).state_dict(), file)
        file.seek(0)
        found = bridge.OpacusAccountant()
        found.load_state_dict(torch.load(file, weights_only=True))
        assert found.history == [(1.0, 0.1, 5), (2.0, 0.1, 7)]

    def test_into_a_dictionary_of_one_s_own(self):
        mine = {"epoch": 3}
        assert accountant((1.0, 0.1, 5)).state_dict(mine) is mine
        assert mine["mechanism"] == "rdpkit"
        assert mine["adjacency"] == "add_or_remove_one"
        assert mine["epoch"] == 3

    @pytest.mark.parametrize(
        ("state", "message"),
        [
            (None, "None or empty"),
            ({}, "None or empty"),
            ({"mechanism": "rdpkit"}, "history"),
            ({"history": []}, "mechanism"),
            ({"history": [], "mechanism": "tan"}, "state_dict of tan"),
            ({"history": [(1.0, 2.0, 1)], "mechanism": "rdpkit"}, "Expected sample_rate"),
            ({"history": [], "mechanism": "rdpkit", "adjacency": "replace_one"}, "adjacency"),
        ],
    )
    def test_what_is_refused(self, state, message):
        found = accountant((1.0, 0.1, 5))
        with pytest.raises(ValueError, match=message):
            found.load_state_dict(state)
        assert found.history == [(1.0, 0.1, 5)]


def test_registering_twice_is_harmless():
    bridge.register()
    assert isinstance(create_accountant("rdpkit"), bridge.OpacusAccountant)
