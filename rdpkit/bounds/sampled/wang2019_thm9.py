"""Subsampling without replacement under replace-one: Theorem 9, for any base mechanism.

Guarantee
---------
Let gamma = l / n for l of n records, let r(j) be the divergence of the base mechanism, and r'(a)
that of the mechanism on the sample. At integer orders a >= 2

    e^{(a-1) r'(a)} <= 1 + gamma^2 C(a,2) min{4 (e^{r(2)} - 1), e^{r(2)} min{2, (e^{r(inf)} - 1)^2}}
                       + sum_{j=3}^{a} gamma^j C(a,j) e^{(j-1) r(j)} min{2, (e^{r(inf)} - 1)^j}.

For a Gaussian r(inf) = inf, and both inner minima are 2.

Assumes
-------
As :func:`rdpkit.bounds.sampled.wang2019.rdp`.

Source
------
Wang, Balle and Kasiviswanathan 2019, Theorem 9 and Corollary 10 (arXiv 1808.00087v2).
"""

from __future__ import annotations

from rdpkit.bounds.sampled.wang2019 import bound

BOUND = bound(
    "wang2019-thm9",
    "sampling without replacement, any base mechanism",
    "Wang, Balle and Kasiviswanathan 2019, Theorem 9 (arXiv 1808.00087v2)",
    "theorem9",
)
