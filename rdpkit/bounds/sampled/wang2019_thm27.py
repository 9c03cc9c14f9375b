"""Subsampling without replacement under replace-one: Theorem 27, for a mechanism with a worst pair.

Guarantee
---------
The bound of Theorem 9 holds with the weights of j >= 3 replaced by
4 sqrt(B(2 floor(j/2)) B(2 ceil(j/2))), where B(m) = sum_i (-1)^i C(m,i) e^{(i-1) r(i)}, r(i) is the
divergence of the base mechanism, and the exponential is 1 at i = 0 and i = 1.

Assumes
-------
As :func:`rdpkit.bounds.sampled.wang2019.rdp`, and that one pair of neighbours is worst for all
Renyi and Pearson-Vajda divergences at once, which holds for a Gaussian at full sensitivity.

Source
------
Wang, Balle and Kasiviswanathan 2019, Theorem 27 and Corollary 10 (arXiv 1808.00087v2).
"""

from __future__ import annotations

from rdpkit.bounds.sampled.wang2019 import bound

BOUND = bound(
    "wang2019-thm27",
    "sampling without replacement, one worst pair",
    "Wang, Balle and Kasiviswanathan 2019, Theorem 27 (arXiv 1808.00087v2)",
    "theorem27",
)
