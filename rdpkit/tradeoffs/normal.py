"""The normal distribution in balls."""

from __future__ import annotations

from flint import arb


def tail(x: arb) -> arb:
    """P(N(0, 1) > x)."""
    return (x / arb(2).sqrt()).erfc() / 2


def tail_quantile(
    # A probability in (0, 1) and 1 - p. Both are given, because one of the two may be tiny.
    p: arb,
    rest: arb,
) -> arb:
    """The x with P(N(0, 1) > x) = p."""
    root = arb(2).sqrt()
    return root * (2 * p).erfcinv() if p < rest else -root * (2 * rest).erfcinv()


def gaussian_delta(epsilon: arb, mu: arb) -> arb:
    """The delta of N(mu, 1) against N(0, 1) at an epsilon."""
    x = epsilon / mu - mu / 2
    return tail(x) - epsilon.exp() * tail(x + mu)
