"""Conversion of dp-accounting's ``DpEvent`` to events."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from rdpkit import _validate, events
from rdpkit.adjacency import Adjacency
from rdpkit.events import Event
from rdpkit.interop import profiles
from rdpkit.interop.noise_reading import (
    NoiseReading,
    UnconvertibleEventError,
    dp_events,
    only_under,
)

if TYPE_CHECKING:
    from dp_accounting.dp_event import DpEvent

Converter = Callable[[Any, NoiseReading], Event]
T = TypeVar("T", float, int)


def from_dp_event(
    dp_event: DpEvent, *, adjacency: Adjacency | str, noise_relative_to: str | None = None
) -> Event:
    """The event that a ``DpEvent`` describes, in units in which a record's norm (or distance) is 1.

    Guarantee
    ---------
    Under ``adjacency`` the event returned describes the same release, or one that leaks at least as
    much. Smooth profiles (Laplace) are given at many points with chords between them.

    Assumes
    -------
    Noise multipliers mean what ``noise_relative_to`` says. The event is for questions under
    ``adjacency`` only, because a ``"swap_distance"`` does not determine a record's norm, which is
    set to 1.

    Parameters
    ----------
    dp_event : dp_accounting.DpEvent
        What was released.
    adjacency : Adjacency or str
        The neighbouring relation.
    noise_relative_to : {"record_norm", "swap_distance"}, optional
        What noise multipliers are relative to. Under replace-one it has no default, because
        dp-accounting's two accountants disagree. Under add-or-remove-one it is "record_norm".

    Returns
    -------
    Event
        ``NoOpDpEvent`` becomes the profile 0, and ``NonPrivateDpEvent`` the profile 1.

    Raises
    ------
    UnconvertibleEventError
        A ``ValueError``, for an event that no theorem here is about, a parameter outside of its
        range, or a noise multiplier whose meaning is not clear.
    ValueError
        If ``adjacency`` or ``noise_relative_to`` is not one of the accepted values.
    TypeError
        If ``dp_event`` is not a ``DpEvent``.

    Source
    ------
    dp_accounting 0.6.0, ``dp_event.py``; its two readings: ``rdp_privacy_accountant.py`` and
    ``pld_privacy_accountant.py``.

    Examples
    --------
    >>> import dp_accounting as dpa
    >>> from rdpkit.interop import from_dp_event
    >>> step = dpa.PoissonSampledDpEvent(0.01, dpa.GaussianDpEvent(1.1))
    >>> event = from_dp_event(dpa.SelfComposedDpEvent(step, 1000), adjacency="add_or_remove_one")
    >>> event.count, event.event.noise_std, event.event.sampling_probability
    (1000, 1.1, 0.01)
    """
    reading = NoiseReading.parse(adjacency, noise_relative_to)
    module = dp_events()
    if not isinstance(dp_event, module.DpEvent):
        raise TypeError(f"Expected dp_event to be a DpEvent, got {dp_event!r}.")
    return _from(dp_event, reading)


def _from(dp_event: Any, reading: NoiseReading) -> Event:
    convert = _from_table().get(type(dp_event))
    if convert is None:
        raise UnconvertibleEventError(
            dp_event, _WHY_NOT.get(type(dp_event).__name__, "no theorem here is about it.")
        )
    try:
        return convert(dp_event, reading)
    except UnconvertibleEventError:
        raise
    except ValueError as error:
        raise UnconvertibleEventError(dp_event, str(error), invalid=True) from None


_WHY_NOT = {
    "UnsupportedDpEvent": "it stands for an operation without a description.",
    "SampledWithReplacementDpEvent": "no theorem here is about samples with replacement, in which "
    "a record may occur more than once.",
}


@lru_cache(maxsize=1)
def _from_table() -> dict[type[Any], Converter]:
    """Converters by exact type, because a subclass may mean something else."""
    dpe = dp_events()
    # Events that the installed version does not have are left out.
    newer = {
        getattr(dpe, name): convert
        for name, convert in (
            ("EpsilonDeltaDpEvent", _from_epsilon_delta),
            ("DiscreteGaussianDpEvent", _from_discrete_gaussian),
            ("ExponentialMechanismDpEvent", _from_selection(events.Exponential)),
            ("PermuteAndFlipDpEvent", _from_selection(events.PermuteAndFlip)),
            ("TruncatedSubsampledGaussianDpEvent", _from_truncated_poisson),
        )
        if hasattr(dpe, name)
    }
    return {
        **newer,
        dpe.NoOpDpEvent: lambda event, reading: profiles.nothing(reading.adjacency),
        dpe.NonPrivateDpEvent: lambda event, reading: profiles.everything(reading.adjacency),
        dpe.GaussianDpEvent: _from_gaussian,
        dpe.PoissonSampledDpEvent: _from_poisson,
        dpe.SampledWithoutReplacementDpEvent: _from_fixed_size,
        dpe.SelfComposedDpEvent: _from_self_composed,
        dpe.ComposedDpEvent: _from_composed,
        dpe.LaplaceDpEvent: _from_laplace,
        dpe.DiscreteLaplaceDpEvent: _from_discrete_laplace,
        dpe.RandomizedResponseDpEvent: _from_randomized_response,
        dpe.ZCDpEvent: _from_zcdp,
        dpe.SingleEpochTreeAggregationDpEvent: _from_trees,
        dpe.RepeatAndSelectDpEvent: _from_repeat_and_select,
        dpe.MixtureOfGaussiansDpEvent: _from_mixture,
    }


def _diameter(moved: T, dp_event: Any, reading: NoiseReading) -> T | None:
    """The distance of two records, if noise is relative to it; None if it is to their norm."""
    return moved if reading.of(dp_event, presence=False) == "swap_distance" else None


def _from_gaussian(dp_event: Any, reading: NoiseReading) -> Event:
    z = _validate.non_negative("noise_multiplier", dp_event.noise_multiplier)
    if z == 0.0:
        return profiles.everything(reading.adjacency)
    diameter = _diameter(1.0, dp_event, reading)
    return events.Gaussian(noise_std=z, record_norm=1.0, record_diameter=diameter)


def _from_self_composed(dp_event: Any, reading: NoiseReading) -> Event:
    # The counts of nested repetitions are multiplied, so that a long chain needs no recursion.
    inner, count = dp_event, 1
    while type(inner) is type(dp_event):
        count *= _validate.integer("count", inner.count)
        inner = inner.event
    return events.Repeated(event=_from(inner, reading), count=count)


def _from_composed(dp_event: Any, reading: NoiseReading) -> Event:
    found = tuple(_from(part, reading) for part in dp_event.events)
    return events.Composed(events=found) if found else profiles.nothing(reading.adjacency)


def _gaussian_parts(dp_event: Any, count: int = 1) -> list[tuple[float, int]] | None:
    """Noise multipliers and counts if an event consists of Gaussian events only; else None."""
    dpe = dp_events()
    if type(dp_event) is dpe.GaussianDpEvent:
        z = _validate.non_negative("noise_multiplier", dp_event.noise_multiplier)
        return [(z, count)]
    if type(dp_event) is dpe.NoOpDpEvent:
        return []
    if type(dp_event) is dpe.SelfComposedDpEvent:
        times = _validate.integer("count", dp_event.count)
        return _gaussian_parts(dp_event.event, count * times)
    if type(dp_event) is dpe.ComposedDpEvent:
        found = [_gaussian_parts(part, count) for part in dp_event.events]
        if all(part is not None for part in found):
            return [item for part in found if part is not None for item in part]
    return None


def _one_gaussian(dp_event: Any, parts: list[tuple[float, int]], *, adaptive: bool) -> float:
    """One noise multiplier for Gaussian releases from the same sample; inf if there are none.

    Releases with noises z_i, one after the other, leak at most as much as one release with
    1/z^2 = sum 1/z_i^2 (Dong, Roth and Su 2022, Corollary 3.3). If a record is added to a Poisson
    sample or removed from it, or replaced by the special one, which adds zero, two distributions
    are compared, and the corollary carries over to their mixtures, even if later releases depend on
    earlier ones. ``adaptive`` says that this is the case. If a record is swapped, three
    distributions take part, nothing is proven here about several releases, and they are refused.
    """
    if len(parts) == 1 and parts[0][1] == 1:
        return parts[0][0]
    total = math.fsum(count / z**2 if z > 0.0 else math.inf for z, count in parts)
    if 0.0 < total < math.inf and not adaptive:
        raise UnconvertibleEventError(
            dp_event,
            "several Gaussian releases from one sample, of which later ones may depend on earlier "
            "ones, are supported for Poisson samples under add_or_remove_one only. Releases that "
            "do not depend on each other can be given as one GaussianDpEvent, whose "
            "1/noise_multiplier^2 is the sum of theirs.",
        )
    return 1.0 / math.sqrt(total) if total > 0.0 else math.inf


def _from_poisson(dp_event: Any, reading: NoiseReading) -> Event:
    probability = _validate.probability("sampling_probability", dp_event.sampling_probability)
    inner = dp_event.event
    while type(inner) is type(dp_event):
        # A Poisson sample of a Poisson sample is a Poisson sample.
        probability *= _validate.probability("sampling_probability", inner.sampling_probability)
        inner = inner.event
    if probability == 0.0 and type(inner) is not dp_events().NonPrivateDpEvent:
        return profiles.nothing(reading.adjacency)
    parts = _gaussian_parts(inner)
    if parts is None:
        if reading.adjacency is Adjacency.REPLACE_ONE:
            raise only_under(
                dp_event,
                Adjacency.ADD_OR_REMOVE_ONE,
                Adjacency.ZERO_OUT,
                because="under replace_one Poisson samples are known for Gaussian noise only.",
            )
        return _sampled_profile(dp_event, inner, probability, reading)
    two = reading.adjacency is not Adjacency.REPLACE_ONE
    z = _one_gaussian(dp_event, parts, adaptive=two)
    if z == 0.0:
        return profiles.everything(reading.adjacency)
    if math.isinf(z):
        return profiles.nothing(reading.adjacency)
    reading.of(dp_event)
    return events.PoissonSampledGaussian(
        noise_std=z, record_norm=1.0, sampling_probability=probability
    )


def _from_fixed_size(dp_event: Any, reading: NoiseReading) -> Event:
    population = _validate.integer("source_dataset_size", dp_event.source_dataset_size)
    size = _validate.integer("sample_size", dp_event.sample_size, minimum=0, maximum=population)
    if size == 0:
        return profiles.nothing(reading.adjacency)
    parts = _gaussian_parts(dp_event.event)
    if isinstance(dp_event.event, dp_events().ZCDpEvent) and dp_event.event.xi == 0.0:
        inner = _from_zcdp(dp_event.event, reading)
        return events.FixedSizeSampled(event=inner, sample_size=size, population_size=population)
    if parts is None:
        if reading.adjacency is not Adjacency.REPLACE_ONE:
            raise UnconvertibleEventError(
                dp_event,
                f"under {reading.adjacency} samples of a fixed size are known for Gaussian noise "
                "only.",
            )
        return _sampled_profile(dp_event, dp_event.event, size / population, reading)
    z = _one_gaussian(dp_event, parts, adaptive=False)
    if z == 0.0:
        return profiles.everything(reading.adjacency)
    if math.isinf(z):
        return profiles.nothing(reading.adjacency)
    return events.FixedSizeSampledGaussian(
        noise_std=z,
        record_norm=1.0,
        sample_size=size,
        population_size=population,
        release="sum",
        record_diameter=1.0 if reading.of(dp_event, swaps=True) == "swap_distance" else None,
    )


def _sampled_profile(outer: Any, inner: Any, probability: float, reading: NoiseReading) -> Event:
    found = _from(inner, reading)
    if (
        not isinstance(found, events.CustomProfile)
        and type(outer) is dp_events().PoissonSampledDpEvent
    ):
        return events.PoissonSampled(event=found, sampling_probability=probability)
    profile = _profile(found, reading)
    if profile is None:
        raise UnconvertibleEventError(
            outer, f"no theorem here is about a sample that {type(inner).__name__} is applied to."
        )
    if profile == profiles.everything(reading.adjacency):
        return profile
    if probability == 0.0:
        return profiles.nothing(reading.adjacency)
    return profiles.sampled(profile, probability)


def _profile(event: Event, reading: NoiseReading) -> events.CustomProfile | None:
    """The privacy profile of one release under replace-one, for a sample of a fixed size."""
    match event:
        case events.CustomProfile():
            return event
        case events.Laplace():
            moved = event.sensitivity(reading.adjacency)
            return profiles.laplace(moved / event.noise_scale, reading.adjacency)
        case events.DiscreteLaplace():
            moved = event.sensitivity(reading.adjacency)
            return profiles.discrete_laplace(1.0 / event.noise_scale, moved, reading.adjacency)
        case events.RandomizedResponse():
            noise, buckets = event.noise_parameter, event.num_buckets
            return profiles.randomized_response(noise, buckets, reading.adjacency)
    return None


def _from_laplace(dp_event: Any, reading: NoiseReading) -> Event:
    z = _validate.non_negative("noise_multiplier", dp_event.noise_multiplier)
    if z == 0.0:
        return profiles.everything(reading.adjacency)
    diameter = _diameter(1.0, dp_event, reading)
    return events.Laplace(noise_scale=z, record_norm=1.0, record_diameter=diameter)


def _from_discrete_laplace(dp_event: Any, reading: NoiseReading) -> Event:
    rate = _validate.non_negative("noise_parameter", dp_event.noise_parameter)
    sensitivity = _validate.integer("sensitivity", dp_event.sensitivity)
    if rate == 0.0:  # There is no such distribution.
        return profiles.everything(reading.adjacency)
    diameter = _diameter(sensitivity, dp_event, reading)
    return events.DiscreteLaplace(
        noise_scale=1.0 / rate, record_norm=sensitivity, record_diameter=diameter
    )


def _from_discrete_gaussian(dp_event: Any, reading: NoiseReading) -> Event:
    sigma = _validate.non_negative("sigma", dp_event.sigma)
    if sigma == 0.0:
        return profiles.everything(reading.adjacency)
    moved = _validate.positive("sensitivity", dp_event.sensitivity)
    return events.DiscreteGaussian(
        sigma=sigma,
        record_norm=moved,
        record_diameter=_diameter(moved, dp_event, reading),
        # Where the dimension is not known, what holds for every number of coordinates is used.
        dimension=2 if dp_event.dimension is None else dp_event.dimension,
    )


def _from_epsilon_delta(dp_event: Any, reading: NoiseReading) -> Event:
    epsilon = _validate.non_negative("epsilon", dp_event.epsilon, finite=False)
    delta = _validate.probability("delta", dp_event.delta)
    if epsilon == 0.0 and delta == 0.0:
        return profiles.nothing(reading.adjacency)
    if math.isinf(epsilon) or delta == 1.0:
        return profiles.everything(reading.adjacency)
    return events.EpsilonDelta(epsilon=epsilon, delta=delta, adjacency=reading.adjacency)


def _from_selection(kind: type[events.Exponential | events.PermuteAndFlip]) -> Converter:
    """A converter to an event of one parameter.

    As of the mechanisms here, epsilon is for the sensitivity that the scores have under the
    adjacency that is asked about; every answer lists that as an assumption.
    """

    def convert(dp_event: Any, reading: NoiseReading) -> Event:
        epsilon = _validate.non_negative("epsilon", dp_event.epsilon)
        return kind(epsilon=epsilon) if epsilon else profiles.nothing(reading.adjacency)

    return convert


def _from_truncated_poisson(dp_event: Any, reading: NoiseReading) -> Event:
    z = _validate.non_negative("noise_multiplier", dp_event.noise_multiplier)
    probability = _validate.probability("sampling_probability", dp_event.sampling_probability)
    size = _validate.integer("truncated_batch_size", dp_event.truncated_batch_size, minimum=0)
    if probability == 0.0 or size == 0:
        return profiles.nothing(reading.adjacency)
    if z == 0.0:
        return profiles.everything(reading.adjacency)
    reading.of(dp_event)
    return events.TruncatedPoissonGaussian(
        noise_std=z,
        record_norm=1.0,
        sampling_probability=probability,
        max_batch_size=size,
        population_size=_validate.integer("dataset_size", dp_event.dataset_size),
    )


def _from_randomized_response(dp_event: Any, reading: NoiseReading) -> Event:
    if reading.adjacency is Adjacency.ADD_OR_REMOVE_ONE:
        raise only_under(
            dp_event,
            Adjacency.REPLACE_ONE,
            Adjacency.ZERO_OUT,
            because="every record answers, so no answer can be added or removed.",
        )
    noise = _validate.probability("noise_parameter", dp_event.noise_parameter)
    buckets = _validate.integer("num_buckets", dp_event.num_buckets)
    if buckets == 1 or noise == 1.0:
        return profiles.nothing(reading.adjacency)
    if noise == 0.0:
        return profiles.everything(reading.adjacency)
    if reading.adjacency is Adjacency.ZERO_OUT:
        return profiles.randomized_response_of_none(noise, buckets)
    return events.RandomizedResponse(noise_parameter=noise, num_buckets=buckets)


def _from_zcdp(dp_event: Any, reading: NoiseReading) -> Event:
    rho = _validate.non_negative("rho", dp_event.rho, finite=False)
    xi = _validate.non_negative("xi", dp_event.xi)
    if math.isinf(rho):
        return profiles.everything(reading.adjacency)
    if rho == 0.0 and xi == 0.0:
        return profiles.nothing(reading.adjacency)
    return events.ZeroConcentrated(rho=rho, xi=xi, adjacency=reading.adjacency)


def _from_trees(dp_event: Any, reading: NoiseReading) -> Event:
    if reading.adjacency is Adjacency.ADD_OR_REMOVE_ONE:
        raise only_under(
            dp_event,
            Adjacency.REPLACE_ONE,
            Adjacency.ZERO_OUT,
            because="a record that comes or goes may move others to another step of the tree.",
        )
    z = _validate.non_negative("noise_multiplier", dp_event.noise_multiplier)
    steps = dp_event.step_counts
    counts = tuple(steps) if isinstance(steps, Iterable) else (steps,)
    lengths = [_validate.integer("step_counts", count, minimum=0) for count in counts]
    lengths = [count for count in lengths if count > 0]
    if not lengths:
        return profiles.nothing(reading.adjacency)
    if z == 0.0:
        return profiles.everything(reading.adjacency)
    diameter = _diameter(1.0, dp_event, reading)
    return events.TreeAggregation(
        noise_std=z, record_norm=1.0, steps=tuple(lengths), record_diameter=diameter
    )


def _from_repeat_and_select(dp_event: Any, reading: NoiseReading) -> Event:
    mean = _validate.positive("mean", dp_event.mean)
    shape = _validate.above("shape", dp_event.shape, -1.0)
    inner = _from(dp_event.event, reading)
    if inner in (profiles.nothing(reading.adjacency), profiles.everything(reading.adjacency)):
        # The best of some runs that say nothing, or everything.
        return inner
    return events.RepeatAndSelect(event=inner, mean=mean, shape=shape)


def _from_mixture(dp_event: Any, reading: NoiseReading) -> Event:
    if reading.adjacency is Adjacency.REPLACE_ONE:
        raise only_under(
            dp_event,
            Adjacency.ADD_OR_REMOVE_ONE,
            Adjacency.ZERO_OUT,
            because="it is stated for a record that comes, goes or contributes nothing.",
        )
    std = _validate.non_negative("standard_deviation", dp_event.standard_deviation)
    condition = "to be a non-empty sequence of finite numbers"
    moves = np.abs(_validate.real_array("sensitivities", dp_event.sensitivities, condition))
    weights = _validate.real_array("sampling_probs", dp_event.sampling_probs, condition)
    matching = f"to be probabilities of sum 1, of shape {moves.shape} as sensitivities has"
    if moves.ndim != 1 or moves.size == 0 or not np.isfinite(moves).all():
        raise _validate.fail("sensitivities", condition, dp_event.sensitivities)
    if weights.shape != moves.shape or (weights < 0.0).any() or abs(weights.sum() - 1.0) > 1e-9:
        raise _validate.fail("sampling_probs", matching, dp_event.sampling_probs)
    nonzero = (moves > 0.0) & (weights > 0.0)
    if not nonzero.any():
        return profiles.nothing(reading.adjacency)
    if std == 0.0:
        return profiles.everything(reading.adjacency)
    distances = np.unique(moves[nonzero])
    if distances.size > 1:
        return events.MixtureOfGaussians(
            noise_std=std,
            sensitivities=tuple(moves[weights > 0.0].tolist()),
            probabilities=tuple(weights[weights > 0.0].tolist()),
        )
    probability = min(math.fsum(weights[nonzero]), 1.0)
    if nonzero.all():
        return events.Gaussian(noise_std=std, record_norm=float(distances[0]))
    return events.PoissonSampledGaussian(
        noise_std=std, record_norm=float(distances[0]), sampling_probability=probability
    )
