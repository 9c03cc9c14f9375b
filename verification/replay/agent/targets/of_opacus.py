"""Training with Opacus, whose accountants hold for records that come or go.

Public reports: issues 571 and 819 of meta-pytorch/opacus (gradients are divided by a batch size
that follows from the number of records).
"""

from __future__ import annotations

import copy
import warnings
from typing import Any

import torch
from opacus import PrivacyEngine
from opacus.accountants import PRVAccountant
from torch.utils.data import DataLoader, TensorDataset

from . import REMOVE, target

_REPORTS = (
    "https://github.com/meta-pytorch/opacus/issues/571",
    "https://github.com/meta-pytorch/opacus/issues/819",
)
_NOISE = 4.0
_DELTA = 1e-5
_EPSILON = 1.1
"""What the accountant of the library says of one step with this noise is less."""

_ACCOUNTANT = PRVAccountant()
_ACCOUNTANT.step(noise_multiplier=_NOISE, sample_rate=1.0)
assert _ACCOUNTANT.get_epsilon(_DELTA) <= _EPSILON

# Made here, because the weights that a new model draws are none of the noise.
_ZEROS = torch.nn.Linear(2, 4)
torch.nn.init.zeros_(_ZEROS.weight)
torch.nn.init.zeros_(_ZEROS.bias)


def _after_a_step(data: Any) -> Any:
    """The weights of a linear model that begins with zeros."""
    rows = torch.tensor(data.features, dtype=torch.float32)
    model = copy.deepcopy(_ZEROS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        engine = PrivacyEngine()
        model, optimizer, loader = engine.make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
            data_loader=DataLoader(TensorDataset(rows), batch_size=len(rows)),
            noise_multiplier=_NOISE,
            max_grad_norm=1.0,
            poisson_sampling=False,
        )
        for (batch,) in loader:
            optimizer.zero_grad()
            loss: Any = torch.square(model(batch) - 1.0).sum(dim=1).mean()
            loss.backward()
            optimizer.step()
    return [one.detach().numpy() for one in model.parameters()]


one_step_on_all_of_two_records = target(
    REMOVE, epsilon=_EPSILON, delta=_DELTA, records=2, reported=_REPORTS
)(lambda data, rng: _after_a_step(data))
one_step_on_all_records = target(
    REMOVE, epsilon=_EPSILON, delta=_DELTA, records=24, reported=_REPORTS
)(lambda data, rng: _after_a_step(data))
