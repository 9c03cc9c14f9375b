"""Conversion of events to dp-accounting's ``DpEvent``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rdpkit import _validate, events
from rdpkit.adjacency import Adjacency
from rdpkit.events import Event
from rdpkit.interop import profiles
from rdpkit.interop.noise_reading import NoiseReading, UnconvertibleEventError, dp_events

if TYPE_CHECKING:
    from dp_accounting.dp_event import DpEvent


def to_dp_event(
    event: Event, *, adjacency: Adjacency | str, noise_relative_to: str | None = None
) -> DpEvent:
    """The ``DpEvent`` that describes an event; a paper's mechanism is expanded first.

    Guarantee
    ---------
    A correct accountant that reads noise multipliers as ``noise_relative_to`` says bounds the event
    under ``adjacency``. A ``DpEvent`` has no record diameter. If the diameter is below twice the
    norm, this is lost with "record_norm", which can only make the bound larger.

    Assumes
    -------
    What the event's ``assumptions()`` say.

    Parameters
    ----------
    event : Event
        What was released.
    adjacency : Adjacency or str
        The neighbouring relation that the accountant will be told.
    noise_relative_to : {"record_norm", "swap_distance"}, optional
        What noise multipliers shall be relative to. Under replace-one it has no default:
        "record_norm" for dp-accounting's PLD accountant, "swap_distance" for its RDP accountant.

    Returns
    -------
    dp_accounting.DpEvent
        Made of Gaussian, sampled and composed events.

    Raises
    ------
    UnconvertibleEventError
        A ``ValueError``, for events without a counterpart in dp-accounting: curves and profiles
        given by the user, disjoint parts that differ, and mechanisms without Gaussian noise.
    ValueError
        If an argument is not one of the accepted values.

    Source
    ------
    dp_accounting 0.6.0, ``dp_event.py``.

    Examples
    --------
    >>> import rdpkit
    >>> from rdpkit.interop import to_dp_event
    >>> event = rdpkit.Gaussian(noise_std=6.0, record_norm=3.0)
    >>> to_dp_event(event, adjacency="add_or_remove_one")
    GaussianDpEvent(noise_multiplier=2.0)
    >>> to_dp_event(event, adjacency="replace_one", noise_relative_to="swap_distance")
    GaussianDpEvent(noise_multiplier=1.0)
    """
    _validate.one_of_a_kind("event", event, Event)
    return _to(event, NoiseReading.parse(adjacency, noise_relative_to))


def _to(event: Event, reading: NoiseReading) -> Any:
    convert = _TO_TABLE.get(type(event))
    if convert is not None:
        return convert(event, reading)
    expanded = event.expand()
    if expanded is None:
        raise UnconvertibleEventError(event, "dp-accounting has no event that describes it.")
    return _to(expanded, reading)


def _to_gaussian(event: events.Gaussian, reading: NoiseReading) -> Any:
    return dp_events().GaussianDpEvent(event.noise_multiplier(_swap(event, reading)))


def _to_poisson(event: events.PoissonSampledGaussian, reading: NoiseReading) -> Any:
    reading.of(event)
    dpe = dp_events()
    z = event.noise_multiplier(Adjacency.ADD_OR_REMOVE_ONE)
    return dpe.PoissonSampledDpEvent(event.sampling_probability, dpe.GaussianDpEvent(z))


def _to_fixed_size(event: events.FixedSizeSampledGaussian, reading: NoiseReading) -> Any:
    dpe = dp_events()
    if reading.of(event, swaps=True) == "swap_distance":
        z = event.noise_multiplier
    else:
        norm = event.record_norm
        z = event.noise_std / (norm / event.sample_size if event.release == "mean" else norm)
    return dpe.SampledWithoutReplacementDpEvent(
        event.population_size, event.sample_size, dpe.GaussianDpEvent(z)
    )


def _to_zcdp(event: events.ZeroConcentrated, reading: NoiseReading) -> Any:
    if event.adjacency is not reading.adjacency:
        raise UnconvertibleEventError(
            event, f"it is stated for {event.adjacency.value}, not for {reading.adjacency.value}."
        )
    expanded = event.expand()
    if expanded is not None:
        return _to(expanded, reading)
    return dp_events().ZCDpEvent(event.rho, event.xi)


def _to_one_part(event: events.Parallel, reading: NoiseReading) -> Any:
    """Equal parts count as one part if a changed record can touch only one of them."""
    if not event.record_may_move(reading.adjacency) and len(set(event.events)) == 1:
        return _to(event.events[0], reading)
    raise UnconvertibleEventError(
        event,
        "dp-accounting has no event for disjoint parts. Parts that are all equal count as one "
        "under add_or_remove_one, or if a record keeps its part.",
    )


def _to_profile(event: events.CustomProfile, reading: NoiseReading) -> Any:
    if event == profiles.nothing(reading.adjacency):
        return dp_events().NoOpDpEvent()
    if event == profiles.everything(reading.adjacency):
        return dp_events().NonPrivateDpEvent()
    raise UnconvertibleEventError(event, "dp-accounting has no event for a privacy profile.")


def _swap(event: Any, reading: NoiseReading) -> Adjacency:
    """The relation whose sensitivity the noise is relative to."""
    swap = reading.of(event, presence=False) == "swap_distance"
    return Adjacency.REPLACE_ONE if swap else Adjacency.ADD_OR_REMOVE_ONE


def _to_laplace(event: events.Laplace, reading: NoiseReading) -> Any:
    moved = event.sensitivity(_swap(event, reading))
    return dp_events().LaplaceDpEvent(event.noise_scale / moved)


def _to_discrete_laplace(event: events.DiscreteLaplace, reading: NoiseReading) -> Any:
    moved = event.sensitivity(_swap(event, reading))
    return dp_events().DiscreteLaplaceDpEvent(1.0 / event.noise_scale, moved)


def _newer(event: Event, name: str, *arguments: Any) -> Any:
    """An event that only newer versions of dp-accounting have."""
    kind = getattr(dp_events(), name, None)
    if kind is None:
        raise UnconvertibleEventError(event, f"this version of dp-accounting has no {name}.")
    return kind(*arguments)


def _to_discrete_gaussian(event: events.DiscreteGaussian, reading: NoiseReading) -> Any:
    moved = event.sensitivity(_swap(event, reading))
    return _newer(event, "DiscreteGaussianDpEvent", event.sigma, moved, event.dimension)


def _to_trees(event: events.TreeAggregation, reading: NoiseReading) -> Any:
    moved = event.record_norm
    if _swap(event, reading) is Adjacency.REPLACE_ONE:
        moved = event.noise_std / event.noise_multiplier(Adjacency.REPLACE_ONE)
        moved /= math.sqrt(event.nodes_of_a_record)
    steps = [event.steps] if isinstance(event.steps, int) else list(event.steps)
    if event.completed:
        steps = [1 << (count - 1).bit_length() for count in steps]
    return dp_events().SingleEpochTreeAggregationDpEvent(event.noise_std / moved, steps)


def _to_truncated_poisson(event: events.TruncatedPoissonGaussian, reading: NoiseReading) -> Any:
    reading.of(event)
    return dp_events().TruncatedSubsampledGaussianDpEvent(
        event.population_size,
        event.sampling_probability,
        event.max_batch_size,
        event.noise_std / event.record_norm,
    )


def _to_epsilon_delta(event: events.EpsilonDelta, reading: NoiseReading) -> Any:
    if event.adjacency is not reading.adjacency:
        raise UnconvertibleEventError(event, f"it is stated for {event.adjacency}.")
    return _newer(event, "EpsilonDeltaDpEvent", event.epsilon, event.delta)


def _to_selection(event: events.Exponential | events.PermuteAndFlip, reading: NoiseReading) -> Any:
    if event.monotone_scores:
        raise UnconvertibleEventError(event, "dp-accounting has no event for monotone scores.")
    exponential = isinstance(event, events.Exponential)
    kind = "ExponentialMechanismDpEvent" if exponential else "PermuteAndFlipDpEvent"
    return _newer(event, kind, event.epsilon)


_TO_TABLE: dict[type[Event], Callable[[Any, NoiseReading], Any]] = {
    events.Gaussian: _to_gaussian,
    events.PoissonSampledGaussian: _to_poisson,
    events.FixedSizeSampledGaussian: _to_fixed_size,
    events.PoissonSampled: lambda event, reading: dp_events().PoissonSampledDpEvent(
        event.sampling_probability, _to(event.event, reading)
    ),
    events.FixedSizeSampled: lambda event, reading: dp_events().SampledWithoutReplacementDpEvent(
        event.population_size, event.sample_size, _to(event.event, reading)
    ),
    events.ZeroConcentrated: _to_zcdp,
    events.RepeatAndSelect: lambda event, reading: dp_events().RepeatAndSelectDpEvent(
        _to(event.event, reading), event.mean, event.shape
    ),
    events.Composed: lambda event, reading: dp_events().ComposedDpEvent(
        [_to(part, reading) for part in event.events]
    ),
    events.Repeated: lambda event, reading: dp_events().SelfComposedDpEvent(
        _to(event.event, reading), event.count
    ),
    events.Parallel: _to_one_part,
    events.CustomProfile: _to_profile,
    events.Laplace: _to_laplace,
    events.DiscreteLaplace: _to_discrete_laplace,
    events.DiscreteGaussian: _to_discrete_gaussian,
    events.RandomizedResponse: lambda event, reading: dp_events().RandomizedResponseDpEvent(
        event.noise_parameter, event.num_buckets
    ),
    events.MixtureOfGaussians: lambda event, reading: dp_events().MixtureOfGaussiansDpEvent(
        event.noise_std, list(event.sensitivities), list(event.probabilities)
    ),
    events.TreeAggregation: _to_trees,
    events.TruncatedPoissonGaussian: _to_truncated_poisson,
    events.EpsilonDelta: _to_epsilon_delta,
    events.Exponential: _to_selection,
    events.PermuteAndFlip: _to_selection,
}
