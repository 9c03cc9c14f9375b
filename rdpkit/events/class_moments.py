"""Sums and second moments of records, released once."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import DescribedEvent, Event
from rdpkit.events.data_sets import NeighbouringDataSets, one_record_changed
from rdpkit.events.fields import declared, event_class, noise, non_negative
from rdpkit.events.gaussian import Gaussian

_WEIGHTS = ("sum_weight", "pooled_weight", "class_weight", "count_weight")


def _truth(name: str, value: object) -> object:
    if not isinstance(value, bool):
        raise _validate.fail(name, "to be True or False", value)
    return value


@event_class
class ClassMoments(DescribedEvent):
    """Sums and second moments of records, with and without their classes, plus Gaussian noise.

    Released once, side by side, each number with noise of its own from N(0, noise_std^2), for
    records u of L2 norm at most 1, each in one of several classes: ``sum_weight`` times the sum of
    u for every class; ``pooled_weight`` times the sum of u u' over all classes; ``class_weight``
    times the sum of u u' for every class; ``count_weight`` times the number of records of every
    class. Of a symmetric matrix each entry beside the diagonal is released once, times sqrt(2).

    The guarantee is the same if a part is left out, if second moments by class or counts are of all
    classes together, or if some coordinates, the diagonal or any other public linear map that makes
    no vector longer take the place of u or of u u' in a part. It is the same if everything is of
    all classes together. It is *not* the same if the sums alone are. The lower bound is of the
    release as described above, with two classes and two coordinates or more.

    Source
    ------
    rdpkit, theory page "Class moments".

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.ClassMoments(noise_std=5.0, sum_weight=0.6, pooled_weight=0.8)
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="replace_one").epsilon, 3)
    1.09
    """

    mechanism: ClassVar[str] = "class_moments"

    noise_std: float = noise("Standard deviation of the noise on each released number")
    sum_weight: float = non_negative(
        "Weight of the sums of each class. Not all weights are 0", private=-1
    )
    pooled_weight: float = non_negative(
        "Weight of the second moments of all classes together", private=-1, default=0.0
    )
    class_weight: float = non_negative(
        "Weight of the second moments of each class", private=-1, default=0.0
    )
    count_weight: float = non_negative(
        "Weight of the numbers of records of each class. With 0 they are not released",
        private=-1,
        default=0.0,
    )
    nonnegative: bool = declared(
        "Whether no inner product of two records is negative, because it is public knowledge that "
        "no coordinate is. Replacing a record then changes a little less",
        check=_truth,
        default=False,
    )

    def _check_together(self) -> None:
        given = tuple(getattr(self, name) for name in _WEIGHTS)
        if not any(given):
            raise _validate.fail("the weights", "not to be all 0", given)
        if math.isinf(_root_above(4 * self._square())):
            raise _validate.fail("the weights", "to have a finite sum of squares", given)

    def _squares(self) -> tuple[Fraction, Fraction, Fraction]:
        """The squared weights of sums, of both kinds of second moments, and of counts: exact."""
        sums, pooled, by_class, counts = (Fraction(getattr(self, name)) ** 2 for name in _WEIGHTS)
        return sums, pooled + by_class, counts

    def _square(self) -> Fraction:
        """The largest square of what one record adds."""
        return sum(self._squares(), Fraction(0))

    def _product(self) -> Fraction | None:
        """The inner product of the two records that are farthest apart; None in two classes."""
        sums, moments, counts = self._squares()
        if self.nonnegative or not sums:
            return None
        if sums > 2 * moments:
            return None if moments + counts >= sums else Fraction(-1)
        return None if counts >= sums**2 / moments / 4 else -sums / (2 * moments)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """L2 sensitivity of all that is released, rounded up to the next float."""
        match adjacency:
            case Adjacency.ADD_OR_REMOVE_ONE | Adjacency.ZERO_OUT:
                return _root_above(self._square())
            case Adjacency.REPLACE_ONE:
                product = self._product()
                if product is None:
                    return _root_above(2 * self._square())
                sums, moments, _ = self._squares()
                return _root_above(2 * sums * (1 - product) + 2 * moments * (1 - product**2))

    def expand(self) -> Event:
        """One noisy sum of vectors of that norm and that diameter."""
        return Gaussian(
            noise_std=self.noise_std,
            record_norm=self.sensitivity(Adjacency.ADD_OR_REMOVE_ONE),
            record_diameter=self.sensitivity(Adjacency.REPLACE_ONE),
        )

    def attained_expansion(self) -> Event | None:
        """The same with the float below each sensitivity: see :meth:`neighbours`."""
        return Gaussian(
            noise_std=self.noise_std,
            record_norm=math.nextafter(self.sensitivity(Adjacency.ADD_OR_REMOVE_ONE), 0.0),
            record_diameter=math.nextafter(self.sensitivity(Adjacency.REPLACE_ONE), 0.0),
        )

    def assumptions(self) -> tuple[str, ...]:
        """What must hold beyond the parameters."""
        norms = "no record has an L2 norm above 1"
        if self.nonnegative:
            return (norms, "no two records have a negative inner product")
        return (norms,)

    def neighbours(self, adjacency: Adjacency, touched: tuple[int, ...]) -> NeighbouringDataSets:
        """A record of norm 1 and none, or another one at the angle that changes most."""
        product = self._product()
        cosine = 0.0 if product is None else float(product)
        return one_record_changed(
            adjacency,
            changed=1.0,
            replacement=cosine,
            replacement_across=math.sqrt((1.0 - cosine) * (1.0 + cosine)),
            new_label=1 if product is None else 0,
        )


def _root_above(square: Fraction) -> float:
    """The least float that is not below the root of a positive number; inf beyond all floats."""
    # A power of 4 takes the number close to 1, where no float is too large or too small.
    power = (square.numerator.bit_length() - square.denominator.bit_length()) // 2
    close = square / Fraction(4) ** power
    found = math.sqrt(close)
    while Fraction(found) ** 2 < close:
        found = math.nextafter(found, math.inf)
    while Fraction(math.nextafter(found, 0.0)) ** 2 >= close:
        found = math.nextafter(found, 0.0)
    try:
        scaled = math.ldexp(found, power)
    except OverflowError:
        return math.inf
    # Among the smallest floats, which have fewer digits, scaling may have rounded down.
    return scaled if Fraction(scaled) ** 2 >= square else math.nextafter(scaled, math.inf)
