"""Whether a computed number is a printed one, at the precision to which it is printed."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal


def agrees(computed: float, printed: Decimal) -> bool:
    """Whether ``printed`` is ``computed`` at the printed precision, rounded either way."""
    if math.isinf(computed) or not printed.is_finite():
        return math.isinf(computed) and not printed.is_finite()
    if computed > 0.0 and printed == 0:
        # A printed 0 says that nothing is lost; a positive loss is never rounded to that.
        return False
    return printed in {
        rounded(computed, printed, mode) for mode in (ROUND_HALF_EVEN, ROUND_CEILING, ROUND_FLOOR)
    }


def agrees_rounded(computed: float, printed: Decimal) -> bool:
    """Whether ``computed`` exceeds ``printed`` by less than one unit in its last digit."""
    if math.isinf(computed) or not printed.is_finite():
        return False
    return rounded(computed, printed, ROUND_FLOOR) == printed


def rounded(computed: float, printed: Decimal, mode: str) -> Decimal:
    """``computed`` with as many digits after the point as ``printed`` has."""
    exponent = printed.as_tuple().exponent
    assert isinstance(exponent, int)
    # A printed 1e2 counts as 100: its digits left of the point are all printed.
    unit = Decimal(1).scaleb(min(exponent, 0))
    return Decimal(computed).quantize(unit, rounding=mode, context=Context(prec=1200))
