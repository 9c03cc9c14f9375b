"""Renyi divergence of mean-and-covariance synthesis, by any theorem."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rdpkit import _validate
from rdpkit.adjacency import Adjacency, needed
from rdpkit.bounds.base import Kind
from rdpkit.bounds.synthesis import BOUNDS, direct
from rdpkit.events import GaussianSynthesis

_PUBLISHED = {bound.id: bound for bound in BOUNDS if bound.kind is Kind.PUBLISHED}
_DIRECT = (direct.REPLACED, direct.ADDED_OR_REMOVED)
_SOUND = tuple(bound for bound in BOUNDS if bound.kind is Kind.UPPER)


@_validate.by_name(adjacency=needed())
def gaussian_synthesis_rdp(
    orders: ArrayLike,
    *,
    n: int,
    d: int,
    min_eigenvalue: float,
    adjacency: Adjacency | str,
    theorem: str = "best",
) -> NDArray[np.float64]:
    """Renyi divergence of one record drawn from N(mean, covariance) of a data set.

    Guarantee
    ---------
    Drawing one record is (order, r)-RDP under ``adjacency`` with the r returned; k records are
    (order, k r)-RDP. With a theorem's name, r is the formula exactly as printed. With "direct" it
    is the library's own, tighter bound, and with "best" the smallest sound bound at each order.
    These two are valid for data sets of ``n`` records and all their neighbours, whereas the printed
    Theorem 3.1 covers n and n + 1 records, but not n and n - 1.

    Assumes
    -------
    Records in [-1, 1]^d, and covariances (of the data set and of every neighbour) with no
    eigenvalue below ``min_eigenvalue``. Corollary 3.2 assumes this also of the data set that holds
    both versions of the record, and so does "best" under replace-one at orders at which the
    corollary gives the smallest bound.

    Parameters
    ----------
    orders : array_like, shape (k,)
        Renyi orders, each > 1.
    n : int
        Number of records; at least 2.
    d : int
        Number of coordinates of a record.
    min_eigenvalue : float
        sigma of the paper, in (0, 1].
    adjacency : Adjacency or str
        The neighbouring relation.
    theorem : {"best", "direct", "miura2023-thm3.1", "miura2023-cor3.2"}
        Theorem 3.1 is for add-or-remove-one, Corollary 3.2 for replace-one, the others for both.

    Returns
    -------
    ndarray of float64, shape (k,)
        Divergences in nats; with "best" and "direct", inf at orders at which no finite bound holds.

    Raises
    ------
    ValueError
        If an argument is outside of its range, the theorem is not for this adjacency, or an order
        is outside of the range in which a theorem asked for by name holds.

    Source
    ------
    Miura et al., "On Renyi differential privacy in statistics-based synthetic data generation",
    2023, Theorem 3.1 and Corollary 3.2; rdpkit, theory page 'Synthesis: direct bounds',
    for "direct".

    Examples
    --------
    >>> import rdpkit
    >>> r = rdpkit.gaussian_synthesis_rdp(
    ...     [4.0], n=10**7, d=6, min_eigenvalue=0.01, adjacency="add_or_remove_one",
    ...     theorem="miura2023-thm3.1")
    >>> f"{1e7 * r[0]:.6f}"
    '0.576462'

    If a record is replaced, Corollary 3.2 gives 2.307, and the direct bound gives less:

    >>> r = rdpkit.gaussian_synthesis_rdp(
    ...     [4.0], n=10**7, d=6, min_eigenvalue=0.01, adjacency="replace_one", theorem="direct")
    >>> f"{1e7 * r[0]:.6f}"
    '0.576665'
    """
    checked = _validate.orders("orders", orders)
    relation = Adjacency.parse(adjacency)
    _validate.choice("theorem", theorem, ("best", "direct", *_PUBLISHED))
    _validate.integer("n", n, minimum=2)
    _validate.integer("d", d)
    event = GaussianSynthesis(records=n, outputs=1, dimension=d, min_eigenvalue=min_eigenvalue)
    if theorem in ("best", "direct"):
        found = [
            bound.values(event, checked, relation)
            for bound in (_SOUND if theorem == "best" else _DIRECT)
            if bound.applies(event, relation)
        ]
        return np.asarray(np.minimum.reduce(found))
    bound = _PUBLISHED[theorem]
    bound.check_adjacency(relation)
    bound.order_range(event, relation).check("orders", checked, theorem)
    return bound.values(event, checked, relation)
