"""From a whole RDP curve to one epsilon: the best of its orders."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from rdpkit import _validate
from rdpkit.conversions import EPSILON


@_validate.by_name()
def rdp_to_epsilon(
    orders: ArrayLike, rdp: ArrayLike, *, delta: float, conversion: str = "balle2020"
) -> tuple[float, float]:
    """Smallest epsilon that an RDP curve gives at ``delta``, and the order it comes from.

    Guarantee
    ---------
    A mechanism that is (orders[i], rdp[i])-RDP for every i is (epsilon, delta)-DP with the epsilon
    returned: an upper bound.

    Assumes
    -------
    The curve bounds the divergence in both directions, as RDP under a symmetric neighbouring
    relation does ("optimal" uses both).

    Parameters
    ----------
    orders : array_like, shape (k,)
        Renyi orders, each > 1.
    rdp : array_like, shape (k,)
        Divergences in nats, each >= 0; inf where no bound is known.
    delta : float
        In (0, 1).
    conversion : {"mironov2017", "balle2020", "optimal"}
        Each gives an epsilon at most as large as the one before.

    Returns
    -------
    epsilon : float
        In nats, >= 0; inf if every divergence is inf.
    order : float
        The order that attains it; NaN if epsilon is inf.

    Raises
    ------
    ValueError
        If arrays do not match, or hold NaN, a negative divergence or an order not > 1, or
        ``delta`` is not in (0, 1).

    Source
    ------
    Mironov 2017, Proposition 3; Balle et al. 2020, Theorem 21; Asoodeh et al. 2021, Theorem 2.

    Examples
    --------
    >>> import rdpkit
    >>> orders = [1.5, 2, 4, 8, 16]
    >>> rdp = rdpkit.gaussian_rdp(orders, noise_multiplier=5.0)
    >>> epsilon, order = rdpkit.rdp_to_epsilon(orders, rdp, delta=1e-5)
    >>> f"{epsilon:.6f}", order
    ('0.838151', 16.0)
    """
    checked = _validate.orders("orders", orders)
    values = _validate.divergences("rdp", rdp, like=checked)
    target = _validate.open_probability("delta", delta)
    _validate.choice("conversion", conversion, EPSILON)
    epsilons = EPSILON[conversion](checked, values, target)
    if np.isnan(epsilons).any():
        raise ArithmeticError(f"The conversion {conversion!r} could not be computed.")
    pick = int(np.argmin(epsilons))
    best = float(epsilons[pick])
    return best, (float(checked[pick]) if math.isfinite(best) else math.nan)
