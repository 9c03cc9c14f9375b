"""Does the release tell who was in it? An attack, and the epsilon that its success proves.

Each pair has one record that was in the data and one that was not. The attacker sees the release
and both records, and guesses which of the two was in, by how near records of the release lie. If
chance decided which records were in, every pair hides one fair coin, and whoever guesses many of
them right refutes a small epsilon.

Guarantee
---------
Let the records in the data be a uniformly random subset of a pool, and let m records in and m
records out be matched at random, perhaps only with those of the same class. Given the unordered
pairs and all other records, exchanging the two of a pair maps the subset to another one that is
equally likely, so the m bits are independent fair coins. To change one bit is to replace one
record. So the release is a mechanism of m bits that is (epsilon, delta)-DP under replace-one in the
sense of the theorem, whose tail of right guesses is
:func:`rdpkit.numerics.right_guesses.right_guesses_tail`. Under add-or-remove-one and zero-out a
replacement is two steps, which makes it (2 epsilon, (1 + e^epsilon) delta)-DP. Several attacks
share the probability of error.

Source
------
Steinke, Nasr and Jagielski, "Privacy auditing with one (1) training run", NeurIPS 2023 (arXiv
2305.08846v1), Corollary 5.4, of bits; the coins of pairs are ours, as above.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdpkit import Adjacency, Guarantee
from rdpkit.mechanisms.evaluation.utility.samples import Sample, encoder_of
from rdpkit.numerics.right_guesses import LARGEST_EPSILON, largest_rejected, right_guesses_tail

CONFIDENCE = 0.99
MOST_PAIRS = 2_000
DELTA = 1e-6
"""The delta of the bound where the release has no guarantee."""
_MOST_NEIGHBOURS = 20_000  # Records of the release that are searched, at most
_SHARES = (1.0, 0.25, 0.05)  # Of the pairs, on which an attack guesses
_NEAREST = 10  # Neighbours whose distances are compared
_TINY = 1e-9  # Keeps logarithms of distances finite


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """How one attack did."""

    score: str  # What it looks at
    # For how many pairs it guessed, the clearest first, and how often it was right.
    guesses: int
    right: int
    lower: float  # The epsilon that this proves, with its share of the probability of error


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipTest:
    """What attacks on a release show."""

    pairs: int  # How many pairs of a record that was in and one that was not
    attacks: tuple[Attack, ...]  # All that were tried
    lower: float  # A lower bound on epsilon, in nats: the largest of the attacks'
    confidence: float  # It is too large with at most the rest of this probability
    most: float  # The largest bound that so many pairs could have given
    delta: float  # The delta of the bound
    adjacency: str  # The neighbours of the bound
    proven: float | None  # The release's own epsilon, an upper bound

    @property
    def refuted(self) -> bool:
        """Whether the attack shows more than the release's guarantee allows."""
        return self.proven is not None and self.lower > self.proven

    @property
    def right_share(self) -> float:
        """The share of all pairs that the best attack told apart; an estimate, 0.5 is chance."""
        return max(a.right / a.guesses for a in self.attacks if a.guesses == self.pairs)


def membership_test(
    synthetic: Sample,  # The release
    # Records that it was made from, and records of the same kind that it was not made from.
    members: Sample,
    others: Sample,
    *,
    guarantee: Guarantee | None,  # Of the release
    # Chooses and matches the pairs, and guesses where the attack sees no difference.
    rng: np.random.Generator,
    # A column in which the two of a pair agree, such as the label: then to exchange them changes no
    # number of records of a class, which some releases take to be public.
    within: str | None = None,
) -> MembershipTest:
    """Attack a release with records that were in the data and records that were not.

    Assumes
    -------
    Chance decided which of these records were in: a random split, made before the release.
    """
    rows = _matched(members, others, rng, within)
    pairs = len(rows[0])
    if not pairs:
        raise ValueError(f"Expected records of the same {within} in the holdout, got none.")
    inside, outside = members.taken(rows[0]), others.taken(rows[1])
    adjacency = Adjacency.REPLACE_ONE if guarantee is None else guarantee.adjacency
    delta = DELTA if guarantee is None else guarantee.delta
    counts = sorted({max(1, math.ceil(share * pairs)) for share in _SHARES}, reverse=True)
    differences = _differences(synthetic, inside, outside, rng)
    failure = (1.0 - CONFIDENCE) / (len(counts) * len(differences))
    attacks = []
    for name, gaps in differences.items():
        # The clearest pairs first; the sign, which tells who was in, takes no part in the order.
        order = np.argsort(-np.abs(gaps), kind="stable")
        coins = rng.random(pairs) < 0.5
        right = np.where(gaps == 0.0, coins, gaps > 0.0)[order]
        for count in counts:
            correct = int(right[:count].sum())
            bound = proven_epsilon(
                pairs, count, correct, delta=delta, adjacency=adjacency, failure=failure
            )
            attacks.append(Attack(score=name, guesses=count, right=correct, lower=bound))
    return MembershipTest(
        pairs=pairs,
        attacks=tuple(attacks),
        lower=max(attack.lower for attack in attacks),
        confidence=CONFIDENCE,
        most=max(
            proven_epsilon(pairs, c, c, delta=delta, adjacency=adjacency, failure=failure)
            for c in counts
        ),
        delta=delta,
        adjacency=adjacency.value,
        proven=None if guarantee is None else guarantee.epsilon,
    )


def _matched(
    members: Sample, others: Sample, rng: np.random.Generator, within: str | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numbers of records that were in and that were not, in random pairs."""
    first, second = rng.permutation(members.rows), rng.permutation(others.rows)
    if within is not None:
        ours, theirs = (
            one.column(within).values[order] for one, order in ((members, first), (others, second))
        )
        chosen = []
        for value in sorted(set(theirs) & set(ours)):
            same = np.flatnonzero(ours == value), np.flatnonzero(theirs == value)
            count = min(map(len, same))
            chosen.append((first[same[0][:count]], second[same[1][:count]]))
        empty = np.empty(0, np.int64)
        first, second = (np.concatenate([empty, *(c[i] for c in chosen)]) for i in (0, 1))
    pairs = min(len(first), len(second))
    order = rng.permutation(pairs)[:MOST_PAIRS]
    return first[order], second[order]


def proven_epsilon(
    pairs: int,
    guesses: int,
    right: int,
    *,
    delta: float,
    adjacency: Adjacency,
    failure: float,
) -> float:
    """The epsilon below which so many right guesses are too unlikely.

    Guarantee
    ---------
    It exceeds the epsilon of the mechanism at ``delta`` with probability at most ``failure``, up to
    the rounding of floats, if bits are fair coins and the number of guesses was fixed beforehand.
    """
    replaced = adjacency is Adjacency.REPLACE_ONE

    def is_rejected(epsilon: float) -> bool:
        slack = delta if replaced else delta * (1.0 + math.exp(epsilon))
        tail = right_guesses_tail(
            bits=pairs,
            guesses=guesses,
            right=right,
            epsilon=epsilon if replaced else 2.0 * epsilon,
            delta=min(1.0, slack),
        )
        return tail <= failure

    return largest_rejected(is_rejected, most=LARGEST_EPSILON if replaced else LARGEST_EPSILON / 2)


def _differences(
    synthetic: Sample, inside: Sample, outside: Sample, rng: np.random.Generator
) -> dict[str, NDArray[np.float64]]:
    """For each score and pair, by how much the record that was in looks more like the release."""
    from sklearn.neighbors import NearestNeighbors  # noqa: PLC0415

    rows = rng.permutation(synthetic.rows)[:_MOST_NEIGHBOURS]
    encode = encoder_of(synthetic)
    known = encode(synthetic.taken(np.sort(rows)))
    count = min(_NEAREST, len(known))
    search = NearestNeighbors(n_neighbors=count, algorithm="brute").fit(known)
    near, far = (
        np.log(search.kneighbors(encode(sample))[0] + _TINY) for sample in (inside, outside)
    )
    return {
        "distance to the nearest record": far[:, 0] - near[:, 0],
        f"distance to the {count} nearest records": far.mean(axis=1) - near.mean(axis=1),
    }
