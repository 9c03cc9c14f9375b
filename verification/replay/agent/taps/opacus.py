"""Taps of Opacus: the noise that its optimizers add to sums of clipped gradients."""

from __future__ import annotations

import functools
import sys
from contextlib import ExitStack, contextmanager
from typing import Any, Callable, Iterator, List

import numpy as np

from ..generators import replaced
from ..tape import current


@contextmanager
def tapped() -> Iterator[None]:
    """Calls of its noise go to the current tape."""
    import opacus.optimizers.optimizer  # noqa: PLC0415 - only where it is installed
    import torch.utils.data.dataloader  # noqa: PLC0415

    with ExitStack() as stack:
        kind = sys.modules["opacus.optimizers.optimizer"].DPOptimizer
        replaced(stack, kind, "add_noise", _noise(kind.add_noise))
        # A loader draws a seed for its workers, which nothing here depends on.
        loading = sys.modules["torch.utils.data.dataloader"]._BaseDataLoaderIter
        replaced(stack, loading, "__init__", _quiet(loading.__init__))
        yield


def _noise(draw: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(draw)
    def add_noise(self: Any) -> None:
        tape = current()
        if tape is None or tape.is_quiet:
            return draw(self)
        hidden = _flat([one.summed_grad for one in self.params])

        def added() -> np.ndarray:
            draw(self)
            return _flat([one.grad for one in self.params])

        scale = float(self.noise_multiplier) * float(self.max_grad_norm)
        # By it the sum is divided afterwards.
        divisor = self.expected_batch_size if self.loss_reduction == "mean" else 1
        noisy = tape.call(
            "noise of an optimizer",
            added,
            parameters={"scale": scale, "divisor": divisor},
            value=hidden,
            sensitivity=float(self.max_grad_norm),
            family="normal",
            scale=scale,
        )
        _put(self.params, noisy)
        return None

    return add_noise


def _flat(tensors: List[Any]) -> np.ndarray:
    """All numbers of some tensors."""
    return np.concatenate([one.detach().cpu().double().numpy().ravel() for one in tensors])


def _put(parameters: List[Any], numbers: np.ndarray) -> None:
    """Make numbers the gradients of parameters."""
    torch, start = sys.modules["torch"], 0
    for one in parameters:
        part = numbers[start : start + one.numel()].reshape(tuple(one.shape))
        one.grad = torch.as_tensor(part, dtype=one.dtype, device=one.device)
        start += one.numel()


def _quiet(function: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(function)
    def call(*args: Any, **given: Any) -> None:
        tape = current()
        if tape is None:
            return function(*args, **given)
        with tape.quiet():
            return function(*args, **given)

    return call
