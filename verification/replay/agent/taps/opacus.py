"""Taps of Opacus: the noise that its optimizers add to sums of clipped gradients."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import Any, Callable, List

import numpy as np

from ..tape import tap_method


def tap(stack: ExitStack) -> None:
    """Tap the noise of its optimizers."""
    import opacus.optimizers.optimizer  # noqa: PLC0415 - only where it is installed
    import torch.utils.data.dataloader  # noqa: PLC0415

    kind = sys.modules["opacus.optimizers.optimizer"].DPOptimizer
    tap_method(stack, kind, "add_noise", _noise)
    # A loader draws a seed for its workers, which nothing here depends on.
    loading = sys.modules["torch.utils.data.dataloader"]._BaseDataLoaderIter
    tap_method(stack, loading, "__init__", _quiet)


def _noise(tape: Any, draw: Callable[..., None], self: Any) -> None:
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
        value=_flat([one.summed_grad for one in self.params]),
        sensitivity=float(self.max_grad_norm),
        family="normal",
        scale=scale,
    )
    torch, start = sys.modules["torch"], 0
    for one in self.params:
        part = noisy[start : start + one.numel()].reshape(tuple(one.shape))
        one.grad = torch.as_tensor(part, dtype=one.dtype, device=one.device)
        start += one.numel()


def _flat(tensors: List[Any]) -> np.ndarray:
    """All numbers of some tensors."""
    return np.concatenate([one.detach().cpu().double().numpy().ravel() for one in tensors])


def _quiet(tape: Any, function: Callable[..., None], *args: Any, **given: Any) -> None:
    with tape.quiet():
        function(*args, **given)
