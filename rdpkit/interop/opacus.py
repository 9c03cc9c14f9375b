"""An accountant for Opacus; importing this module registers it as ``"rdpkit"``.

.. code-block:: python

    import rdpkit.interop.opacus
    engine = opacus.PrivacyEngine(accountant="rdpkit")

As in Opacus, every step is a Poisson sample of rate q and Gaussian noise of z times the clipping
norm, under add-or-remove-one. If the accountant sees that batches are drawn in another way, it
raises an error. Opacus accepts ``poisson_sampling=False``, and its own accountants then return the
epsilon that would hold for Poisson samples.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from types import FrameType
from typing import Any

try:
    from opacus.accountants import IAccountant, register_accountant
    from opacus.utils.uniform_sampler import (
        DistributedUniformWithReplacementSampler,
        UniformWithReplacementSampler,
    )
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"rdpkit.interop.opacus needs Opacus (pip install opacus): {error}", name=error.name
    ) from error

from rdpkit import _validate, analysis
from rdpkit.accountants.loss_distributions import UPPER_ID
from rdpkit.adjacency import Adjacency
from rdpkit.events import Event, PoissonSampledGaussian
from rdpkit.events.composition import composed_of
from rdpkit.guarantee import Guarantee

NAME = "rdpkit"
"""The accountant's name in Opacus' registry."""

ADJACENCY = Adjacency.ADD_OR_REMOVE_ONE
"""What Opacus accounts for: the clipping norm is the sensitivity."""

_BOUNDS = (analysis.BEST, analysis.BEST_RDP, UPPER_ID)
# Arguments of Opacus' own accountants that have no meaning, or another meaning, here.
_FOREIGN = ("alphas", "eps_error", "delta_error", "poisson")
_POISSON = (UniformWithReplacementSampler, DistributedUniformWithReplacementSampler)
_DEEPEST_CALLER = 12  # Frames up to Opacus's own, at most
# The accountants of Opacus whose history has the form of ours.
_OF_OPACUS = ("rdp", "gdp", "prv")


class SamplingNotSeenWarning(UserWarning):
    """A step hook was made where the accountant cannot see how batches are drawn."""


class OpacusAccountant(IAccountant):  # type: ignore[misc]
    """rdpkit's bounds behind Opacus' interface.

    Guarantee
    ---------
    Training is (epsilon, delta)-DP under add-or-remove-one with the epsilon that
    :meth:`get_epsilon` returns: an upper bound.

    Assumes
    -------
    Every batch is a Poisson sample, drawn afresh at ``sample_rate``, and noise of
    ``noise_multiplier`` times the clipping norm is added to the sum of clipped gradients. The rate
    and the expected batch size, which Opacus computes from the number of records, are the same for
    two neighbours.

    Raises
    ------
    ValueError
        Every method raises it for an argument outside of its range.

    Source
    ------
    Opacus 1.6.0, ``opacus/accountants``.

    Examples
    --------
    >>> from rdpkit.interop.opacus import OpacusAccountant
    >>> accountant = OpacusAccountant()
    >>> for _ in range(1000):
    ...     accountant.step(noise_multiplier=1.1, sample_rate=0.01)
    >>> f"{accountant.get_epsilon(1e-5):.3f}"
    '1.516'
    """

    def __init__(self) -> None:
        # Equal steps share one entry, even if others come between them.
        self._counts: dict[tuple[float, float], int] = {}
        super().__init__()

    @property
    def history(self) -> list[tuple[float, float, int]]:
        """A copy of (noise_multiplier, sample_rate, number of steps), each kind of step once."""
        return [(noise, rate, count) for (noise, rate), count in self._counts.items()]

    @history.setter
    def history(self, value: Iterable[tuple[float, float, int]]) -> None:
        condition = "to be a sequence of (noise_multiplier, sample_rate, number of steps)"
        if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
            raise _validate.fail("history", condition, value)
        counts: dict[tuple[float, float], int] = {}
        for entry in value:
            if not isinstance(entry, (tuple, list)) or len(entry) != 3:
                raise _validate.fail("history", condition, value)
            key = _checked(entry[0], entry[1])
            count = _validate.integer("number of steps", _plain(entry[2]))
            counts[key] = counts.get(key, 0) + count
        self._counts = counts

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Count one step.

        Parameters
        ----------
        noise_multiplier : float
            Noise over clipping norm; 0 is allowed, but then there is no guarantee.
        sample_rate : float
            Probability, in [0, 1], with which a record is in the batch.
        """
        key = _checked(noise_multiplier, sample_rate)
        self._counts[key] = self._counts.get(key, 0) + 1

    @property
    def event(self) -> Event | None:
        """All steps with noise, as one event of rdpkit; None if there are none."""
        return composed_of(
            {
                PoissonSampledGaussian(
                    noise_std=noise, record_norm=1.0, sampling_probability=rate
                ): count
                for (noise, rate), count in self._counts.items()
                if noise > 0.0 and rate > 0.0
            }
        )

    def guarantee(self, delta: float, *, bound: str = analysis.BEST) -> Guarantee | None:
        """Epsilon at ``delta`` with its bound, enclosure and notes; None if nothing was released.

        Raises
        ------
        ArithmeticError
            If a step had no noise: there is no guarantee to describe.
        """
        target = _validate.open_probability("delta", delta)
        _validate.choice("bound", bound, _BOUNDS)
        if self._has_bare_step():
            raise ArithmeticError("A step without noise leaves no guarantee.")
        event = self.event
        if event is None:
            return None
        return analysis.epsilon(event, delta=target, adjacency=ADJACENCY, bound=bound)

    def get_epsilon(self, delta: float, *, bound: str = analysis.BEST, **kwargs: Any) -> float:
        """Upper bound on epsilon at ``delta``, for all steps so far.

        Parameters
        ----------
        delta : float
            In (0, 1).
        bound : {"best", "best-rdp", "pld-upper"}
            As for :func:`rdpkit.epsilon`.
        **kwargs
            Opacus passes on arguments of its optimizers, which are ignored. The arguments of its
            own accountants (``alphas``, ``eps_error``, ``delta_error``, ``poisson``) raise an
            error.
        """
        for name in _FOREIGN:
            if name in kwargs:
                raise ValueError(
                    f"Unknown argument {name!r}: the accountant {NAME!r} finds the best order and "
                    "its accuracy itself, and is for Poisson samples."
                )
        if self._has_bare_step():
            _validate.open_probability("delta", delta)
            return math.inf
        found = self.guarantee(delta, bound=bound)
        return 0.0 if found is None else found.epsilon

    def _has_bare_step(self) -> bool:
        return any(noise == 0.0 and rate > 0.0 for noise, rate in self._counts)

    def __len__(self) -> int:
        """Number of steps so far."""
        return sum(self._counts.values())

    @classmethod
    def mechanism(cls) -> str:
        """The name in Opacus' registry and in checkpoints."""
        return NAME

    def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[Any], None]:
        """The hook that counts an optimizer's steps.

        If it is called by ``make_private``, it checks the data loader that will be used.

        Parameters
        ----------
        sample_rate : float
            Probability with which a record is in a batch.

        Raises
        ------
        ValueError
            If batches are not Poisson samples (``poisson_sampling=False``), are drawn at a higher
            rate, or random records take the place of empty batches (``rand_on_empty=True``).

        Warns
        -----
        SamplingNotSeenWarning
            If it is called from elsewhere. It then takes the batches to be Poisson samples.
        """
        _, rate = _checked(1.0, sample_rate)
        loader = _loader_of_the_caller(sys._getframe(1))
        if loader is None:
            warnings.warn(
                "How batches are drawn cannot be seen from here: they are accounted as Poisson "
                f"samples of rate {rate:g}, each drawn afresh.",
                SamplingNotSeenWarning,
                stacklevel=2,
            )
        else:
            _check_loader(loader, rate)

        def hook(optimizer: Any) -> None:
            batches = optimizer.accumulated_iterations
            if batches != 1:
                raise ValueError(
                    f"Expected one batch for each step, got {batches}: a record may be in several "
                    "of the batches over which gradients are accumulated, so they are not one "
                    "Poisson sample. Use opacus.utils.batch_memory_manager to split a batch that "
                    "does not fit into memory."
                )
            self.step(noise_multiplier=optimizer.noise_multiplier, sample_rate=rate)

        return hook

    def state_dict(self, destination: Any = None) -> Any:
        """A checkpoint's entry: ``history``, ``mechanism`` and ``adjacency``, in plain values."""
        found = super().state_dict(destination)
        found["adjacency"] = ADJACENCY.value
        return found

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` has returned; an error leaves the accountant unchanged.

        What Opacus' own accountants have stored is accepted as well: they keep the same history.

        Raises
        ------
        ValueError
            If ``state_dict`` is empty, incomplete, or was made by an accountant that is not known.
        """
        if state_dict and state_dict.get("adjacency", ADJACENCY.value) != ADJACENCY.value:
            raise _validate.fail("adjacency", f"to be {ADJACENCY.value!r}", state_dict["adjacency"])
        foreign = bool(state_dict) and state_dict.get("mechanism") in _OF_OPACUS
        if foreign and self.mechanism() == NAME:
            state_dict = {**state_dict, "mechanism": NAME}
        super().load_state_dict(state_dict)


def _plain(value: Any) -> Any:
    """The number in an array or a tensor of one element; anything else unchanged."""
    item = getattr(value, "item", None)
    return item() if callable(item) and getattr(value, "ndim", 0) == 0 else value


def _checked(noise_multiplier: Any, sample_rate: Any) -> tuple[float, float]:
    noise = _validate.non_negative("noise_multiplier", _plain(noise_multiplier))
    if noise > 0.0:
        _validate.noise_multiplier("noise_multiplier", noise)
    return noise, _validate.probability("sample_rate", _plain(sample_rate))


def _loader_of_the_caller(frame: FrameType | None) -> Any:
    """The data loader that the calling ``make_private`` is about to return, if there is one.

    Opacus tells an accountant nothing but the rate, so this is the only way to recognise a loader
    that does not draw Poisson samples.
    """
    for _ in range(_DEEPEST_CALLER):
        if frame is None:
            return None
        if frame.f_code.co_name == "make_private" and "data_loader" in frame.f_locals:
            return frame.f_locals["data_loader"]
        frame = frame.f_back
    return None


def _check_loader(loader: Any, rate: float) -> None:
    sampler = getattr(loader, "batch_sampler", None)
    if not isinstance(sampler, _POISSON):
        raise ValueError(
            f"Expected batches to be Poisson samples, got a data loader with {sampler!r} "
            "(poisson_sampling=False?). The epsilon of shuffled or fixed batches is different, and "
            "often larger; none of Opacus' accountants computes it."
        )
    if not sampler.sample_rate <= rate * (1.0 + 1e-9):
        raise ValueError(
            f"Expected batches to be drawn at the rate {rate!r} that is accounted for, got "
            f"{sampler.sample_rate!r}."
        )
    if getattr(getattr(loader, "collate_fn", None), "rand_on_empty", False):
        raise ValueError(
            "Expected rand_on_empty to be False, got True: if a batch would be empty, a random "
            "record is put into it, and adding a record then moves the sum by up to twice the "
            "clipping norm."
        )


def register() -> None:
    """Make ``PrivacyEngine(accountant="rdpkit")`` known to Opacus; importing the module does it."""
    register_accountant(NAME, OpacusAccountant, force=True)


register()
