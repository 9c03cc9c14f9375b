r"""DP-CDA's Theorem 1 with its two errors corrected.

Guarantee
---------
Theorem 1 is corrected in two places: the moments are B(2 ceil(j/2)) as in Wang et al., and
p = l / N_k for the smallest class. It is then a sound upper bound for Algorithm 1 with
T = sum_k T_k releases, under replace-one and under add-or-remove-one. It holds at integer orders
a >= 2, and between them by the chord of Wang et al.'s Corollary 10. The changed record may be

* replaced within its class: it touches the T_k <= T releases of that class, and Theorem 27 bounds
  each of them;
* replaced by a record with another label: it leaves one class and joins another, and touches
  T_j + T_k <= T releases. With q = l / N_k and L the likelihood ratio of the swap coupling, each
  is at most E[(1 + q (L - 1))^a] = 1 + sum_{j>=2} C(a,j) q^j E[(L-1)^j], and by Cauchy-Schwarz
  E[(L-1)^j] <= sqrt(B(2 floor(j/2)) B(2 ceil(j/2))), a quarter of the theorem's weight. (At j = 2
  this is B(2) = e^{r(2)} - 1, which is at most the theorem's minimum.)
* added or removed: it touches one class.

The label noise in r(a) only makes the bound larger.

Assumes
-------
Features are scaled with public constants, or not at all, before clipping: the exact z-score of
Algorithm 1 is not accounted for. Samples per class are fixed in advance.

Source
------
Saha, Tonoy and Imtiaz, DP-CDA, Theorem 1; Wang, Balle and Kasiviswanathan 2019, Theorem 27 (arXiv
1808.00087v2); correction: rdpkit, theory page "DP-CDA".
"""

from __future__ import annotations

from functools import partial
from typing import Any

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Kind, OrderRange, RdpBound, of_event
from rdpkit.bounds.papers.dpcda_theorem1 import all_releases, arguments_for_smallest_class
from rdpkit.bounds.sampled import wang2019
from rdpkit.events import DPCDA


def _range(event: Any, adjacency: Adjacency) -> OrderRange:
    # With the exact z-score no bound is known, so the range is empty.
    return OrderRange() if event.preprocessing == "public" else OrderRange(highest=1.0)


BOUND = RdpBound(
    id="dpcda-theorem1-corrected",
    title="Theorem 1 with p = l/N_k and B(2 ceil(j/2))",
    source="DP-CDA, Theorem 1; Wang et al. 2019, Theorem 27 (arXiv 1808.00087v2)",
    kind=Kind.UPPER,
    event_type=DPCDA,
    adjacencies=(Adjacency.REPLACE_ONE, Adjacency.ADD_OR_REMOVE_ONE),
    order_range=_range,
    rdp=of_event(
        partial(wang2019.rdp, terms="theorem27"), arguments_for_smallest_class, all_releases
    ),
    ball=of_event(
        partial(wang2019.ball, terms="theorem27"), arguments_for_smallest_class, all_releases
    ),
)
