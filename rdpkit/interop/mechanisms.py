"""Mechanisms of autodp and of prv_accountant, which neither has to be imported for.

Both divide noise by the sensitivity that a release has under the relation in question, and sample
for addition and removal. What they keep of a mechanism's parameters is read; what they forget, as
the counts of a composition, has to be given again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rdpkit import _validate, events
from rdpkit.adjacency import Adjacency
from rdpkit.events import Event
from rdpkit.interop.noise_reading import UnconvertibleEventError

_SAMPLE = "PoissonSample"
_GAUSSIAN, _LAPLACE = frozenset({"sigma"}), frozenset({"b"})
_NAMES = {_GAUSSIAN: f"{_SAMPLE}:Gaussian", _LAPLACE: f"{_SAMPLE}:Laplace"}


def from_mechanisms(
    mechanisms: Any, counts: int | Sequence[int] | None = None, *, adjacency: Adjacency | str
) -> Event:
    """Translate what a composition of autodp or an accountant of prv_accountant is given.

    Parameters
    ----------
    mechanisms : object or sequence of objects
        A ``Mechanism`` of autodp or a ``PrivacyRandomVariable`` of prv_accountant, or several.
    counts : int or sequence of int, optional
        How often each is released, as in ``Composition()(mechanisms, counts)`` and
        ``compute_epsilon(delta, counts)``; once if left out.
    adjacency : Adjacency or str
        The relation that their sensitivities are about, and to ask under.

    Returns
    -------
    Event
        All of them, one after the other.

    Raises
    ------
    UnconvertibleEventError
        For a mechanism whose parameters are not known, with the reason.
    """
    relation = Adjacency.parse(adjacency)
    one = not isinstance(mechanisms, (list, tuple))
    given = [mechanisms] if one else list(mechanisms)
    if counts is None:
        counts = [1] * len(given)
    numbers = _validate.integers("counts", [counts] if isinstance(counts, int) else counts)
    if len(numbers) != len(given):
        raise _validate.fail("counts", f"to be {len(given)} integers, one a mechanism", counts)
    parts: list[Event] = []
    for mechanism, number in zip(given, numbers, strict=True):
        try:
            found = _read(mechanism, relation)
        except UnconvertibleEventError:
            raise
        except ValueError as error:
            raise UnconvertibleEventError(mechanism, str(error), invalid=True) from None
        parts.append(found if number == 1 else events.Repeated(event=found, count=number))
    return parts[0] if len(parts) == 1 else events.Composed(events=tuple(parts))


def _read(mechanism: Any, relation: Adjacency) -> Event:
    library, name = type(mechanism).__module__.split(".")[0], type(mechanism).__name__
    reader = _READERS.get((library, name))
    if reader is None:
        raise UnconvertibleEventError(
            mechanism, f"{library}.{name} is none of the mechanisms that are read here."
        )
    return reader(mechanism, relation)


def _gaussian(sensitivity: float, noise: float, relation: Adjacency, q: float = 1.0) -> Event:
    moved = {"record_norm": float(sensitivity), "record_diameter": float(sensitivity)}
    if q == 1.0:
        return events.Gaussian(noise_std=float(noise), **moved)
    return _sampled(
        events.PoissonSampledGaussian(
            noise_std=float(noise), record_norm=moved["record_norm"], sampling_probability=float(q)
        ),
        relation,
    )


def _sampled(event: Event, relation: Adjacency) -> Event:
    if relation is Adjacency.REPLACE_ONE:
        raise UnconvertibleEventError(
            event,
            "its Poisson sample is about addition and removal: how far a record that is replaced "
            "moves it, and one that is absent, is not one number.",
        )
    return event


def _laplace(sensitivity: float, scale: float) -> Event:
    moved = {"record_norm": float(sensitivity), "record_diameter": float(sensitivity)}
    return events.Laplace(noise_scale=float(scale), **moved)


def _of_autodp(mechanism: Any, relation: Adjacency) -> Event:
    """By the parameters that the class has; sampled ones are plain mechanisms with one more."""
    params = dict(mechanism.params)
    match params:
        case {"sigma": sigma, "prob": q, "niter": count, "PoissonSampling": True}:
            steps = _gaussian(1.0, sigma, relation, q)
            return events.Repeated(event=steps, count=int(count))
        case {"sigma": sigma, "prob": q, "coeff": count}:
            return events.Repeated(event=_gaussian(1.0, sigma, relation, q), count=int(count))
        case {"sigma": sigma, "coeff": count}:
            return events.Repeated(event=_gaussian(1.0, sigma, relation), count=int(count))
    # What was sampled is a plain mechanism, which tells by its name alone what it was.
    plain, q = type(mechanism).__name__ == "Mechanism", params.pop(_SAMPLE, None)
    kind = frozenset(params)
    if plain is not (q is not None) or (plain and mechanism.name != _NAMES.get(kind)):
        kind = frozenset()
    q = 1.0 if q is None else q
    match kind, params:
        case known, {"sigma": sigma} if known == _GAUSSIAN:
            return _gaussian(1.0, sigma, relation, q)
        case known, {"b": scale} if known == _LAPLACE:
            noise = _laplace(1.0, scale)
            if q == 1.0:
                return noise
            return _sampled(
                events.PoissonSampled(event=noise, sampling_probability=float(q)), relation
            )
    raise UnconvertibleEventError(
        mechanism,
        f"of its parameters {sorted(mechanism.params)} nothing follows. A composition forgets its "
        "counts: give the mechanisms and counts that it was given. What is sampled is known by the "
        "name that autodp gives it. A sample of a fixed size is more than its rate: see "
        "FixedSizeSampledGaussian.",
    )


def _stated(epsilon: float, delta: float, relation: Adjacency) -> Event:
    return events.EpsilonDelta(epsilon=float(epsilon), delta=float(delta), adjacency=relation)


def _response(mechanism: Any, relation: Adjacency) -> Event:
    truth = max(float(mechanism.params["p"]), 1.0 - float(mechanism.params["p"]))
    return events.RandomizedResponse(noise_parameter=2.0 * (1.0 - truth), num_buckets=2)


def _concentrated(mechanism: Any, relation: Adjacency) -> Event:
    rho, xi = (float(mechanism.params[name]) for name in ("rho", "xi"))
    return events.ZeroConcentrated(rho=rho, xi=xi, adjacency=relation)


_Reader = Callable[[Any, Adjacency], Event]
_READERS: dict[tuple[str, str], _Reader] = {
    ("prv_accountant", "PoissonSubsampledGaussianMechanism"): lambda m, r: _gaussian(
        1.0, m.sigma, r, float(m.p)
    ),
    ("prv_accountant", "GaussianMechanism"): lambda m, r: _gaussian(m.mu, 1.0, r),
    ("prv_accountant", "LaplaceMechanism"): lambda m, r: _laplace(m.mu, 1.0),
    ("prv_accountant", "PureDPMechanism"): lambda m, r: _stated(m.eps, 0.0, r),
    ("prv_accountant", "ApproximateDPMechanism"): lambda m, r: _stated(m.pure_dp.eps, m.delta, r),
    ("autodp", "PureDP_Mechanism"): lambda m, r: _stated(m.params["eps"], 0.0, r),
    ("autodp", "RandresponseMechanism"): _response,
    ("autodp", "zCDP_Mechanism"): _concentrated,
    **{
        ("autodp", name): _of_autodp
        for name in (
            "Mechanism",
            "GaussianMechanism",
            "ExactGaussianMechanism",
            "LaplaceMechanism",
            "SubsampleGaussianMechanism",
            "ComposedGaussianMechanism",
            "NoisySGD_Mechanism",
        )
    },
}
