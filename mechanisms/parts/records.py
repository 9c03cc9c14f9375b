"""The private records as a mechanism sees them: scaled, cut and clipped, without a copy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rdpkit import Composed, Event, Gaussian, _validate
from rdpkit.mechanisms.parts.checks import PrivacyCheck, Status
from rdpkit.mechanisms.parts.noise import NoiseSource

Array = NDArray[np.float64]

_STEP = 1 << 20  # Numbers that are scaled at once
# Bytes of rows in one batch.
_BATCH = 1 << 24
# Rows are clipped to a norm that is smaller than the bound by this share, so that rounding cannot
# make it larger than the bound.
_GIVEN_AWAY = 2.0**-40


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scaling:
    """Each feature x becomes factor * x + shift.

    Make one with :func:`public_scaling`, :func:`exact_z_score` or :func:`noisy_statistics`.
    """

    # One for each feature, or one for all; shape (d,) or ()
    factor: Array
    shift: Array
    origin: Literal["public", "exact-z-score", "noisy-statistics"]  # Where the constants come from
    event: Event | None = None
    """What was released of the private data to find the constants. The mechanism's guarantee
    includes it.
    """

    def apply(self, rows: NDArray[Any]) -> Array:
        """The rows, shape (n, d), scaled, in double precision; infinite where they overflow."""
        found = rows.astype(np.float64)
        with np.errstate(over="ignore"):
            found *= self.factor
            found += self.shift
        return found

    def as_dict(self) -> dict[str, Any]:
        """Plain values for a manifest, without the constants if these are exact statistics."""
        found: dict[str, Any] = {"origin": self.origin}
        if self.origin != "exact-z-score":
            for name in ("factor", "shift"):
                values = getattr(self, name)
                found[name] = values.tolist()
        return found

    def before(self, event: Event) -> Event:
        """The event of a mechanism, composed with what was released to find the constants."""
        return event if self.event is None else Composed(events=(self.event, event))

    def notes(self) -> tuple[str, ...]:
        """What a reader of the manifest has to know about the scaling."""
        if self.origin == "exact-z-score":
            return (
                "features were scaled with the exact mean and standard deviation of the private "
                "data, asked for by name: an unaccounted release, so there is no guarantee",
            )
        if self.origin == "noisy-statistics":
            return ("features were scaled with noisy statistics, which the guarantee pays for",)
        return ()

    def checks(self) -> tuple[PrivacyCheck, ...]:
        """What the constants contribute to the verdict on a release."""
        status: Status = "holds"
        sentence = "features were not scaled"
        if self.origin == "public" and ((self.factor != 1.0).any() or self.shift.any()):
            status = "depends"
            sentence = (
                "features were scaled with constants that whoever made the release calls public; "
                "it holds if they were not computed from the private data"
            )
        if self.origin == "noisy-statistics":
            sentence = "features were scaled with noisy statistics, which the guarantee pays for"
        elif self.origin == "exact-z-score":
            status = "fails"
            sentence = (
                "features were scaled with the exact mean and standard deviation of the private "
                "data, which the guarantee does not pay for"
            )
        return (PrivacyCheck("public_parameters", status, sentence),)

    def check_accounted(self, mechanism: str) -> None:
        """Refuse exact private statistics for a mechanism whose event cannot describe them."""
        if self.origin == "exact-z-score":
            raise ValueError(
                f"Expected public constants or noisy statistics to scale with: {mechanism} has no "
                "event for the exact statistics of private data."
            )


def public_scaling(*, factor: ArrayLike = 1.0, shift: ArrayLike = 0.0) -> Scaling:
    """Scaling with constants that do not depend on the private data, such as 1/255.

    Parameters
    ----------
    factor, shift : array_like, shape (d,) or ()
        x becomes factor * x + shift.

    Raises
    ------
    ValueError
        If they are not finite numbers.
    """
    arrays: dict[str, Any] = {}
    for name, value in (("factor", factor), ("shift", shift)):
        condition = "to be a finite number, or one for each feature"
        array = _validate.real_array(name, value, condition)
        if array.ndim > 1 or not np.isfinite(array).all():
            raise _validate.fail(name, condition, value)
        arrays[name] = array
    return Scaling(**arrays, origin="public")


def exact_z_score(features: NDArray[Any], *, allow_private_statistics: bool = False) -> Scaling:
    """Scaling with the data's own mean and standard deviation, as DP-CDA's Algorithm 1 has it.

    **No guarantee.** Each record moves the mean and the standard deviation, and thereby every
    other record, and nothing accounts for it. A release that uses it says so, and is not private.

    Parameters
    ----------
    features : ndarray, shape (n, ...)
        The private data.
    allow_private_statistics : bool
        Must be True, so that nobody uses exact statistics by accident.

    Returns
    -------
    Scaling
        Constant features are shifted but not scaled.

    Raises
    ------
    ValueError
        If ``allow_private_statistics`` is not True.

    Source
    ------
    Saha, Tonoy and Imtiaz, DP-CDA, Algorithm 1, lines 2 to 5.
    """
    if allow_private_statistics is not True:
        raise ValueError(
            "Expected allow_private_statistics=True: the exact mean and standard deviation of "
            "private data are an unaccounted release, and what is made with them is not private. "
            "public_scaling and noisy_statistics are the private ways."
        )
    rows = flat_rows(features)
    if not len(rows):
        raise _validate.fail("features", "to have at least one record", features.shape)
    # The data are read twice, because the formula for one pass loses digits by cancellation.
    mean = np.zeros(rows.shape[1])
    for part in pieces(rows):
        mean += part.sum(axis=0, dtype=np.float64)
    mean /= len(rows)
    square = np.zeros(rows.shape[1])
    for part in pieces(rows):
        square += ((part - mean) ** 2).sum(axis=0)
    deviation = np.sqrt(square / len(rows))
    factor = 1.0 / np.where(deviation > 0.0, deviation, 1.0)
    return Scaling(factor=factor, shift=-mean * factor, origin="exact-z-score")


def noisy_statistics(
    features: NDArray[Any],
    *,
    lower: float,
    upper: float,
    records: int,
    noise_std: float,
    smallest_deviation: float,
    noise: NoiseSource,
) -> Scaling:
    """Scaling with a noisy mean and standard deviation, which the guarantee pays for.

    Guarantee
    ---------
    With u = 2 (x - lower) / (upper - lower) - 1, cut to [-1, 1], the sums of u and of u^2 over the
    records are released once, each coordinate with noise from N(0, noise_std^2). A record's vector
    (u, u^2) has norm at most sqrt(2 d). The vectors of two records differ by at most 2 sqrt(d),
    because (u-v)^2 (1 + (u+v)^2) <= 4 on [-1, 1]^2: where u + v has absolute value s, that of u - v
    is at most 2 - s, and (2-s)^2 (1+s^2) decreases in s. Everything else is computed from the noisy
    sums and from public numbers. The event is in the result, and mechanisms compose it with their
    own.

    Parameters
    ----------
    features : ndarray, shape (n, ...)
        The private data.
    lower, upper : float
        Public limits of every feature; what lies outside is cut.
    records : int
        A public number of records, to divide by; a wrong one costs accuracy, not privacy.
    noise_std : float
        Standard deviation of the noise on each coordinate of the sums.
    smallest_deviation : float
        Smaller estimates of a deviation are replaced by this, in units of ``(upper - lower) / 2``.
    noise : NoiseSource
        Where the noise comes from.
    """
    low = float(_validate.real_array("lower", lower, "to be a finite number"))
    high = float(_validate.real_array("upper", upper, "to be a finite number"))
    if not -math.inf < low < high < math.inf:
        raise _validate.fail("upper", f"to be a finite number above lower = {lower}", upper)
    count = int(_validate.integer("records", records))
    std = _validate.positive("noise_std", noise_std)
    least = _validate.positive("smallest_deviation", smallest_deviation)
    rows = flat_rows(features)
    dimension = rows.shape[1]
    sums = np.zeros((2, dimension))
    for part in pieces(rows):
        unit = np.clip((part.astype(np.float64) - low) * (2.0 / (high - low)) - 1.0, -1.0, 1.0)
        sums[0] += unit.sum(axis=0)
        sums[1] += (unit**2).sum(axis=0)
    noise.add_normal(sums, std=std)
    mean = np.clip(sums[0] / count, -1.0, 1.0)
    deviation = np.sqrt(np.maximum(sums[1] / count - mean**2, least**2))
    unit_factor = 2.0 / (high - low)
    return Scaling(
        factor=unit_factor / deviation,
        shift=(-low * unit_factor - 1.0 - mean) / deviation,
        origin="noisy-statistics",
        event=Gaussian(
            noise_std=std,
            record_norm=math.sqrt(2.0 * dimension),
            record_diameter=2.0 * math.sqrt(dimension),
        ),
    )


def clip_factors(rows: Array, norm: float) -> Array:
    """A factor for each row, shape (n, d), that makes its L2 norm at most ``norm``.

    The norm is kept below ``norm`` by a share of 2^-40, so that rounding cannot exceed it. Each
    factor depends on its own row alone. A row whose numbers or length overflow has the factor 0.
    """
    bound = _validate.positive("norm", norm)
    largest = np.abs(rows).max(axis=1, initial=0.0)
    # Rows are divided by their largest entry first, because squares of large numbers overflow.
    safe = np.where(largest > 0.0, largest, 1.0)
    # A length that overflows has the factor 0, and a factor that overflows becomes 1.
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        lengths = safe * np.linalg.norm(rows / safe[:, None], axis=1)
        factors = np.minimum(1.0, bound * (1.0 - _GIVEN_AWAY) / lengths)
    return np.asarray(np.where(np.isnan(factors), 0.0, factors))


def clip_rows(rows: Array, norm: float) -> Array:
    """The rows, shape (n, d), each scaled down to an L2 norm of at most ``norm``."""
    factors = clip_factors(rows, norm)
    with np.errstate(invalid="ignore"):
        found = rows * factors[:, None]
    # Infinity times 0 is no number.
    found[factors == 0.0] = 0.0
    return np.asarray(found)


def flat_rows(features: Any) -> NDArray[Any]:
    """Features of shape (n, ...) as a view of shape (n, d). There may be no records."""
    condition = "to be an array of real numbers of shape (n, ...) with d >= 1 features"
    if not isinstance(features, np.ndarray) or features.ndim < 2 or 0 in features.shape[1:]:
        raise _validate.fail("features", condition, features)
    if features.dtype.kind not in "iuf":
        raise _validate.fail("features", condition, features.dtype)
    return features.reshape(len(features), math.prod(features.shape[1:]))


def in_batches(count: int, width: int) -> Iterator[slice]:
    """Slices of ``count`` rows of ``width`` numbers, each of at most 16 MiB in double precision."""
    step = max(1, _BATCH // (8 * width))
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))


def pieces(rows: NDArray[Any]) -> list[NDArray[Any]]:
    """Views of a few rows each, so that temporary arrays stay small."""
    step = max(1, _STEP // rows.shape[1])
    return [rows[start : start + step] for start in range(0, len(rows), step)]


Batch = tuple[NDArray[np.float64], NDArray[Any]]
"""Released features of shape (k, d), and labels of shape (k,) or (k, classes)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Records:
    """Features with the transformation that bounds each record, applied where they are read.

    Each record x becomes s(x), then each coordinate is cut to ``box``, then the record is scaled
    down to an L2 norm of at most ``norm``. Each step changes a record without looking at others, so
    no step needs an account, except for what was released to find the scaling's constants.
    """

    features: NDArray[Any]
    """Numbers of any real type; may be memory-mapped, and is never copied as a whole; shape (n,
    ...).
    """
    labels: NDArray[Any]  # Classes in [0, classes); shape (n,)
    classes: int  # Number of classes, a public number
    scaling: Scaling  # The function s
    box: tuple[float, float] | None = None  # Limits of every coordinate
    norm: float | None = None  # Largest L2 norm
    flat: NDArray[Any] = field(init=False)
    members: tuple[NDArray[np.int64], ...] = field(init=False)

    def __post_init__(self) -> None:
        flat = flat_rows(self.features)
        object.__setattr__(self, "flat", flat)
        _validate.one_of_a_kind("scaling", self.scaling, Scaling)
        for name in ("factor", "shift"):
            if getattr(self.scaling, name).shape not in ((), (flat.shape[1],)):
                raise ValueError(
                    f"Expected the scaling's {name} to be one number or {flat.shape[1]}, as there "
                    f"are features, got {getattr(self.scaling, name).size}."
                )
        classes = int(_validate.integer("classes", self.classes))
        labels = self.labels
        if (
            not isinstance(labels, np.ndarray)
            or labels.dtype.kind not in "iu"
            or labels.shape != (len(flat),)
        ):
            condition = f"to be an array of integers of shape ({len(flat)},)"
            raise _validate.fail("labels", condition, labels)
        if labels.size and (labels.min() < 0 or labels.max() >= classes):
            raise _validate.fail("labels", f"in [0, {classes}), as classes says", labels)
        order = np.argsort(labels, kind="stable").astype(np.int64)
        ends = np.cumsum(np.bincount(labels, minlength=classes))[:-1]
        object.__setattr__(self, "members", tuple(np.split(order, ends)))
        if flat.dtype.kind == "f":
            for part in pieces(flat):
                if not np.isfinite(part).all():
                    raise ValueError("Expected features to be finite, got NaN or an infinity.")

    def __len__(self) -> int:
        return len(self.flat)

    @property
    def dimension(self) -> int:
        """Number of features."""
        return int(self.flat.shape[1])

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one record's features."""
        return tuple(self.features.shape[1:])

    @property
    def class_sizes(self) -> tuple[int, ...]:
        """Records of each class."""
        return tuple(len(indices) for indices in self.members)

    def rows(self, indices: NDArray[np.int64] | slice) -> Array:
        """Records as the mechanism sees them, shape (k, d), in double precision."""
        found = self.scaling.apply(self.flat[indices])
        if self.box is not None:
            np.clip(found, *self.box, out=found)
        return found if self.norm is None else clip_rows(found, self.norm)

    def is_affine(self) -> bool:
        """Whether no coordinate can be cut, so that means may be taken before scaling.

        This is decided by the type of the features and by public numbers, never by the features.
        Otherwise one record would decide how the means of all others are rounded.
        """
        if self.box is None:
            return True
        if self.flat.dtype.kind not in "iu":
            return False
        lower, upper = self.box
        limits = np.iinfo(self.flat.dtype)
        ends = [self.scaling.factor * end + self.scaling.shift for end in (limits.min, limits.max)]
        return bool(min(map(np.min, ends)) >= lower and max(map(np.max, ends)) <= upper)

    def clip_factors(self) -> Array | None:
        """The factor by which each record is clipped, shape (n,); None without a norm."""
        if self.norm is None:
            return None
        parts = []
        for part in pieces(self.flat):
            scaled = self.scaling.apply(part)
            if self.box is not None:
                np.clip(scaled, *self.box, out=scaled)
            parts.append(clip_factors(scaled, self.norm))
        return np.concatenate([np.empty(0), *parts])

    def smallest_factor(self) -> float:
        """A lower bound, from public numbers alone, on the clipping factors of records of bytes."""
        if self.norm is None:
            return 1.0
        ends = np.array([[0.0], [255.0]]) * self.scaling.factor + self.scaling.shift
        farthest = np.broadcast_to(np.abs(ends).max(axis=0), self.dimension)
        return min(1.0, self.norm / max(float(np.linalg.norm(farthest)), 1e-300))


def left_out(records: Records, classes: Sequence[int]) -> Records:
    """The same records as if some classes had none, which is how nothing is released of them."""
    if not classes:
        return records
    found = replace(records)
    none = np.empty(0, dtype=np.int64)
    members = tuple(
        none if label in classes else indices for label, indices in enumerate(records.members)
    )
    object.__setattr__(found, "members", members)
    return found
