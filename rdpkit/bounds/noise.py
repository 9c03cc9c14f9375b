r"""Renyi divergences of noise other than Gaussian, and of losses that are bounded.

Guarantee
---------
Each formula is an upper bound on the divergence between neighbours at every order above 1; its
docstring says of what.

Assumes
-------
The noise, or the losses, are those of the event, drawn independently for every coordinate, score or
client; records are vectors of integers where the noise is one of integers.

Source
------
The papers in the docstrings of the formulas.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from flint import arb

from rdpkit import events
from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import OrderRange, RdpBound, moved_up, of_formula, only_without_delta


def _laplace(event: Any, order: arb, adjacency: Adjacency) -> arb:
    r"""Laplace noise, and selections that tell no more than it does.

    With d the distance of two Laplace distributions of scale 1, at every order a > 1

        D_a = log( a/(2a-1) e^((a-1) d) + (a-1)/(2a-1) e^(-a d) ) / (a-1)

    (Mironov, "Renyi differential privacy", CSF 2017, Proposition 6, arXiv 1702.07476v3).
    Permute-and-flip, and the largest of noisy scores, have a hockey-stick curve below that of two
    such distributions (theory page "Selections"), so that the same number bounds them. Several
    coordinates tell no more than one (theory page "Laplace noise").
    """
    d, a = moved_up(event.distance(adjacency)), order
    whole = a * ((a - 1) * d).exp() + (a - 1) * (-a * d).exp()
    return (whole / (2 * a - 1)).log() / (a - 1)


def _discrete_laplace(event: Any, order: arb, adjacency: Adjacency) -> arb:
    r"""Discrete Laplace noise: the sum over its losses, by the definition of the divergence.

    With g = e^(-1/scale) and two centres n apart, e^((a-1) D_a) is the sum of
    P(k) (P(k) / Q(k))^(a-1):

        (L + g^n R) / (1 + g) + (1-g)/(1+g) L x (1 - x^(n-1)) / (1 - x),

    L = e^((a-1) n / scale), R = 1/L, x = g^(2a-1). Several coordinates tell no more than one
    (rdpkit, theory page "Laplace noise").
    """
    n, rate, a = event.sensitivity(adjacency), moved_up(1.0 / event.noise_scale), order
    g = (-rate).exp()
    large = ((a - 1) * n * rate).exp()
    x = (-(2 * a - 1) * rate).exp()
    ends = (large + (-n * rate).exp() / large) / (1 + g)
    between = (1 - g) / (1 + g) * large * x * (1 - x ** (n - 1)) / (1 - x)
    whole: arb = ends + between
    return whole.log() / (a - 1)


def _discrete_gaussian(event: Any, order: arb, adjacency: Adjacency) -> arb:
    r"""Discrete Gaussian noise: the divergence of the Gaussian mechanism is an upper bound.

    With L2 sensitivity s of vectors of integers, the divergence at order a is at most
    a s^2 / (2 sigma^2), in any number of coordinates: those of one coordinate add up (Canonne,
    Kamath and Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020, Proposition
    5 and Theorem 14, arXiv 2004.00010v5).
    """
    ratio = arb(event.sensitivity(adjacency)) / arb(event.sigma)
    return order * ratio * ratio / 2


def _distributed_discrete_gaussian(event: Any, order: arb, adjacency: Adjacency) -> arb:
    r"""The sum of many discrete Gaussians is nearly one.

    With tau = 10 sum_(k=1)^(n-1) e^(-2 pi^2 sigma^2 k / (k+1)), n clients, d coordinates and L2
    sensitivity s, the divergence at order a is at most the smaller one of

        a s^2 / (2 n sigma^2) + tau d,        a (s / (sqrt(n) sigma) + tau sqrt(d))^2 / 2

    (Kairouz, Liu and Steinke, "The distributed discrete Gaussian mechanism for federated learning
    with secure aggregation", ICML 2021, Theorem 1 and Proposition 14, arXiv 2102.06387).
    """
    tau, d = event.distance_from_one(), arb(event.dimension)
    ratio = arb(event.sensitivity(adjacency)) / (arb(event.sigma) * arb(event.clients).sqrt())
    apart: arb = order * ratio * ratio / 2 + tau * d
    together = order * (ratio + tau * d.sqrt()) ** 2 / 2
    return apart.min(together)


def _mixture_of_gaussians(event: Any, order: arb, adjacency: Adjacency) -> arb:
    r"""Mixtures of Gaussians, and users with several records: convexity in the mixture.

    e^((a-1) D_a) is convex in each of the two distributions, so that in both directions

        D_a <= log( Sum p_j e^(a (a-1) c_j^2 / (2 sigma^2)) ) / (a-1)

    (van Erven and Harremoes, "Renyi divergence and Kullback-Leibler divergence", IEEE Trans. Inf.
    Theory 2014, Theorem 13's proof, arXiv 1206.2459v2; Choquette-Choo et al., "Privacy
    amplification for matrix mechanisms", ICLR 2024, arXiv 2310.15526, for the mechanism). For a
    user of whose records j joined the sum moves by at most j norms, and j is binomial. The loss
    distribution is much tighter, and is what ``bound="best"`` uses.

    How much a person contributes is drawn independently of everybody else's contribution; of one
    user's records each joins independently of the others.
    """
    total = sum((arb(weight) for weight in event.probabilities), arb(0))
    std = arb(event.noise_std)
    whole = arb(0)
    for weight, norm in zip(event.probabilities, event.sensitivities, strict=True):
        ratio = arb(norm) / std
        whole += arb(weight) / total * (order * (order - 1) * ratio * ratio / 2).exp()
    return whole.log() / (order - 1)


def _skellam(event: Any, order: arb, adjacency: Adjacency) -> arb:
    r"""Skellam noise is nearly Gaussian.

    With v the variance and s_1, s_2 the L1 and L2 sensitivities of vectors of integers, the
    divergence at an integer order a >= 2 is at most

        r(a) = a s_2^2 / (2 v) + min(((2 a - 1) s_2^2 + 6 s_1) / (4 v^2), 3 s_1 / (2 v))

    (Agarwal, Kairouz and Liu, "The Skellam mechanism for differentially private federated
    learning", NeurIPS 2021, Theorem 3.5, arXiv 2110.04995). (a - 1) r(a) is convex in the order, so
    that in between it is below the straight line, which begins with 0 at order 1.
    """
    below = math.floor(float(order))
    share, rest = order - below, (below - 1) * _skellam_at_integer(event, arb(below), adjacency)
    if share == 0:
        return rest / (order - 1)
    after = below * _skellam_at_integer(event, arb(below + 1), adjacency)
    return ((1 - share) * rest + share * after) / (order - 1)


def _skellam_at_integer(event: Any, order: arb, adjacency: Adjacency) -> arb:
    v, square = arb(event.variance), arb(event.sensitivity(adjacency)) ** 2
    length = moved_up(event.l1_sensitivity(adjacency))
    more = (((2 * order - 1) * square + 6 * length) / (4 * v * v)).min(3 * length / (2 * v))
    return order * square / (2 * v) + more


def _response(event: Any, order: arb, adjacency: Adjacency) -> arb:
    r"""Randomised response, by the definition of the divergence.

    With a and b the probabilities of a record's own bucket and of another one:
    e^((o-1) D_o) = a^o b^(1-o) + b^o a^(1-o) + (k-2) b at order o.
    """
    p, buckets = arb(event.noise_parameter), event.num_buckets
    b = p / buckets
    a = 1 - p + b
    ratio = (a / b).log() * (order - 1)
    whole: arb = a * ratio.exp() + b * (-ratio).exp() + (buckets - 2) * b
    return whole.log() / (order - 1)


def _pure(epsilon: arb, order: arb) -> arb:
    r"""Pure differential privacy: randomised response with k = 2 is the worst mechanism.

    It has a = e^epsilon / (1 + e^epsilon) (Kairouz, Oh and Viswanath, "The composition theorem for
    differential privacy", ICML 2015, arXiv 1311.0776v4).
    """
    a = 1 / (1 + (-epsilon).exp())
    grown = (order - 1) * epsilon
    return (a * grown.exp() + (1 - a) * (-grown).exp()).log() / (order - 1)


def _range(epsilon: arb, order: arb) -> arb:
    r"""Losses in [t - epsilon, t].

    The worst is t with probability p = (1 - e^(t-epsilon)) / (1 - e^-epsilon) (Dong, Durfee and
    Rogers, "Optimal differential privacy composition for exponential mechanisms", ICML 2020, Lemma
    3.2, arXiv 1909.13830v2), so that e^((o-1) D_o) is y^(o-1) (A - B y) with y = e^t,
    k = e^(-(o-1) epsilon), A = k + (1-k) / (1 - e^-epsilon),
    B = (1-k) e^-epsilon / (1 - e^-epsilon). It is largest at y = (o-1) A / (o B), where it is
    y^(o-1) A / o. Of the largest of noisy scores epsilon is 1, 1.4 or 2 times the distance that two
    of them move apart, over the scale of the noise, with Gumbel, Laplace and exponential noise.
    """
    k = (-(order - 1) * epsilon).exp()
    whole = -((-epsilon).expm1())
    a = k + (1 - k) / whole
    b = (1 - k) * (-epsilon).exp() / whole
    y = (order - 1) * a / (order * b)
    return ((order - 1) * y.log() + (a / order).log()) / (order - 1)


def _top_options(event: Any, order: arb, adjacency: Adjacency) -> arb:
    whole: arb = event.options * _range(moved_up(event.distance(adjacency)), order)
    return whole


_KAIROUZ = "Kairouz, Oh and Viswanath 2015 (arXiv 1311.0776v4)"
_DONG = "Dong, Durfee and Rogers 2020, Lemma 3.2 (arXiv 1909.13830v2)"

_ONE_LAPLACE = of_formula(
    _laplace,
    id="laplace",
    title="Laplace mechanism",
    source="Mironov 2017, Proposition 6 (arXiv 1702.07476v3)",
    event_type=events.Laplace,
)

_MIXTURE = of_formula(
    _mixture_of_gaussians,
    id="mixture-convexity",
    title="Mixture of Gaussians, by convexity",
    source="van Erven and Harremoes 2014 (arXiv 1206.2459v2)",
    event_type=events.MixtureOfGaussians,
    adjacencies=tuple(one for one in Adjacency if one is not Adjacency.REPLACE_ONE),
)

BOUNDS: tuple[RdpBound, ...] = (
    _ONE_LAPLACE,
    replace(
        _ONE_LAPLACE,
        title="Permute-and-flip, below two Laplace distributions",
        event_type=events.PermuteAndFlip,
    ),
    replace(
        _ONE_LAPLACE,
        title="Noisy maximum, below two Laplace distributions",
        event_type=events.ReportNoisyMax,
    ),
    of_formula(
        _discrete_laplace,
        id="discrete-laplace",
        title="Discrete Laplace mechanism",
        source="rdpkit, theory page 'Laplace noise'",
        event_type=events.DiscreteLaplace,
    ),
    of_formula(
        _discrete_gaussian,
        id="discrete-gaussian",
        title="Discrete Gaussian mechanism",
        source="Canonne, Kamath and Steinke 2020, Theorem 14 (arXiv 2004.00010v5)",
        event_type=events.DiscreteGaussian,
    ),
    of_formula(
        _distributed_discrete_gaussian,
        id="distributed-discrete-gaussian",
        title="Discrete Gaussian noise of many clients",
        source="Kairouz, Liu and Steinke 2021, Theorem 1 and Proposition 14 (arXiv 2102.06387)",
        event_type=events.DistributedDiscreteGaussian,
    ),
    _MIXTURE,
    replace(
        _MIXTURE,
        id="users-convexity",
        title="Users with several records in a Poisson sample, by convexity",
        event_type=events.UserSampledGaussian,
        adjacencies=(Adjacency.ADD_OR_REMOVE_ONE, Adjacency.ZERO_OUT),
    ),
    of_formula(
        _skellam,
        id="skellam",
        title="Skellam noise",
        source="Agarwal, Kairouz and Liu 2021, Theorem 3.5 (arXiv 2110.04995)",
        event_type=events.Skellam,
    ),
    of_formula(
        _response,
        id="randomized-response",
        title="Randomised response",
        source="the definition of the divergence",
        event_type=events.RandomizedResponse,
        adjacencies=(Adjacency.REPLACE_ONE,),
    ),
    of_formula(
        lambda event, order, adjacency: _pure(arb(event.epsilon), order),
        id="pure-dp",
        title="Pure differential privacy",
        source=_KAIROUZ,
        event_type=events.EpsilonDelta,
        order_range=only_without_delta,
    ),
    of_formula(
        lambda event, order, adjacency: _pure(arb(event.pure_epsilon()), order),
        id="pure-dp",
        title="Sparse vector, as pure privacy",
        source=_KAIROUZ,
        event_type=events.AboveThreshold,
    ),
    of_formula(
        lambda event, order, adjacency: _range(moved_up(event.range()), order),
        id="bounded-range",
        title="Exponential mechanism",
        source=_DONG,
        event_type=events.Exponential,
    ),
    of_formula(
        lambda event, order, adjacency: _range(moved_up(event.range(adjacency)), order),
        id="bounded-range",
        title="Noisy maximum",
        source=f"{_DONG}; for Laplace noise: rdpkit, theory page: Selections",
        event_type=events.ReportNoisyMax,
    ),
    of_formula(
        _top_options,
        id="bounded-range",
        title="Options with Gumbel noise, one after the other",
        source=_DONG,
        event_type=events.TopOptions,
        order_range=lambda event, adjacency: (
            OrderRange() if event.noise == "gumbel" else OrderRange(highest=1.0)
        ),
    ),
)
