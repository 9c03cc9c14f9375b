"""What was released: its words, its pairs, its Renyi divergences, and the theorems for them.

Argument
--------
A release is an object with a ``kind``. Of each simple kind in ``KINDS`` a theorem on paper says
that a pair of distributions dominates it: every hockey-stick divergence between neighbours is at
most the pair's. Compositions of dominating pairs dominate, adaptive ones too. Both orders of the
two data sets are a way in which a record may matter; where disjoint parts of the data are used, so
is each part, and each ordered pair of parts between which a record moves. All ways together count.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from fractions import Fraction
from itertools import permutations, product
from typing import Any, NamedTuple, Union

from .intervals import ONE, log, of, require, root, upper
from .pairs import NOTHING, line, reverse

ADD, REPLACE, ZERO = "add-or-remove-one", "replace-one", "zero-out"
MOST_COUNT, MOST_WAYS, MOST_DEPTH = 10**9, 64, 20
NUMBER = re.compile(r"[0-9]{1,60}(\.[0-9]{1,80})?(e[+-]?[0-9]{1,3})?(/0*[1-9][0-9]{0,29})?")
ZHU = "Zhu, Dong and Wang 2022, AISTATS, Theorem"
SUBSETS = "samples without replacement: Balle, Barthe and Gaboardi 2018, NeurIPS, Theorem 11"
ANTIPODAL = f"Poisson samples: {ZHU} 11; if replaced: rdpkit, docs/theory/poisson-replace-one.md"
SHUFFLED = "the largest sum of shuffled batches: rdpkit, docs/theory/batches.md"
WORST = "the worst private mechanism: Kairouz, Oh and Viswanath 2015, ICML"
KINDS = {
    "gaussian": ("noise norm diameter", "Gaussian noise: Balle and Wang 2018, ICML, Theorem 8"),
    "poisson-gaussian": ("noise norm probability", ANTIPODAL),
    "fixed-size-gaussian": ("noise distance sampled of", SUBSETS),
    "shuffled-gaussian": ("noise norm diameter batch of", SHUFFLED),
    "mixture": ("noise positions weights", "its pair is a part of the statement"),
    "laplace": ("scale distance", "Laplace noise: Dwork, McSherry, Nissim and Smith 2006, TCC"),
    "discrete-laplace": ("scale distance", "Ghosh, Roughgarden and Sundararajan 2012"),
    "response": ("buckets probability", "randomised response: Warner 1965"),
    "stated": ("epsilon delta", WORST),
    "zero-concentrated": ("rho", "the definition: Bun and Steinke 2016, TCC"),
    "gaussian-synthesis": ("n d eigenvalue", "rdpkit, docs/theory/synthesis-direct.md"),
    "repeated": ("count release", f"compositions: {ZHU} 10"),
    "composed": ("releases", f"compositions: {ZHU} 10"),
    "parallel": ("releases record-may-move", "disjoint parts: rdpkit, docs/theory/composition.md"),
    "poisson": ("probability release", f"Poisson samples: {ZHU} 11"),
}
WHOLE = {"count", "sampled", "batch", "of", "n", "d", "buckets"}
MOST = {"probability": 1, "eigenvalue": 1, "delta": 1, "epsilon": 10**5}
LEAST = Fraction(1, 10**400)
MADE = {"repeated", "composed", "parallel"}
SUMS = {"gaussian", "poisson-gaussian", "shuffled-gaussian", "repeated", "composed"}
LINEAR = {"gaussian", "zero-concentrated", "repeated", "composed"}
MOVABLE = {"gaussian", "poisson-gaussian", "fixed-size-gaussian", *MADE}
SAMPLABLE = {"gaussian", "laplace", "discrete-laplace", "response", "stated"}
RECORDS = {
    ADD: "by one record, which only one has",
    REPLACE: "in one record, which is another one",
    ZERO: "in one record, which adds nothing to sums in one of them",
}
Way = list[tuple[Any, int]]


class Released(NamedTuple):
    """A release whose fields were read: numbers, what it is made of, and its own words."""

    kind: str
    given: dict[str, Any]
    inner: list[Any]
    own: str

    def kinds(self) -> set[str]:
        """Its kind, and those of what it is made of."""
        return {self.kind}.union(*(one.kinds() for one in self.inner))

    def words(self) -> str:
        """What was released."""
        inside = f" of [{'; and '.join(one.words() for one in self.inner)}]" if self.inner else ""
        return f"{self.kind} ({self.own}){inside}"


def number(text: Any, most: Union[int, Fraction] = 10**400) -> Fraction:
    """A number of at least 0, given as a string of digits, perhaps with a denominator."""
    require(isinstance(text, str) and bool(NUMBER.fullmatch(text)), f"no digits: {text!r:.40}")
    head, _, below = text.partition("/")
    found = Fraction(head) / int(below or 1)
    require(not found or LEAST <= found <= most, f"too small or too large: {text:.40}")
    return found


def whole(given: Any, most: int = MOST_COUNT) -> int:
    """A whole number of at least 1."""
    require(type(given) is int and 1 <= given <= most, f"not from 1 to {most}: {given!r:.40}")
    return int(given)


def fields(given: Any, names: str) -> Any:
    """An object that has fields of these names and no others."""
    known = isinstance(given, dict) and set(given) == set(names.split())
    require(known, f"its fields: not {names}")
    return given


def _field(name: str, given: Any) -> Any:
    """What a field of this name holds."""
    if name in WHOLE or (name == "distance" and isinstance(given, int)):
        return whole(given)
    if name in ("positions", "weights"):
        require(isinstance(given, list) and 0 < len(given) <= 50, f"{name}: not from 1 to 50")
        return [number(one) for one in given]
    if name == "record-may-move":
        require(isinstance(given, bool), "a record may move, or may not")
        return given
    return number(given, MOST.get(name, 10**400))


def read_release(given: Any, depth: int = 0) -> Released:
    """A release whose fields have meaning, and no other fields."""
    kind = str(given["kind"])
    require(kind in KINDS and depth < MOST_DEPTH, f"too deep, or an unknown kind: {kind:.40}")
    fields(given, f"kind {KINDS[kind][0]}")
    inner = given.get("releases", [given[name] for name in ("release",) if name in given])
    require(isinstance(inner, list) and len(inner) <= MOST_WAYS, "too many releases")
    require(bool(inner) or kind not in MADE, "made of no releases")
    names = [name for name in KINDS[kind][0].split() if name not in ("release", "releases")]
    read = {name: _field(name, given[name]) for name in names}
    # As JSON, numbers and text cannot pass for lines of the output.
    own = ", ".join(f"{name} {json.dumps(given[name])}" for name in names).replace('"', "")
    return Released(kind, read, [read_release(one, depth + 1) for one in inner], own)


def _pair(release: Released, relation: str, below: bool) -> Any:
    """The pair of a simple release: with the record against without it."""
    kind, given, nothing = release.kind, release.given, [(ONE, NOTHING)]
    if kind == "gaussian":
        return line([(ONE, _moved(given, relation))], nothing)
    if kind == "poisson-gaussian":
        q, a = given["probability"], given["norm"] / given["noise"]
        opposed = nothing if relation != REPLACE else [(1 - q, NOTHING), (q, -a)]
        return line([(1 - q, NOTHING), (q, a)], opposed)
    if kind == "fixed-size-gaussian":
        q = Fraction(whole(given["sampled"], given["of"] - (relation == ADD)), given["of"])
        pair = line([(1 - q, NOTHING), (q, given["distance"] / given["noise"])], nothing)
        return pair if below or relation == ADD else ("mirrored", pair)
    if kind == "shuffled-gaussian":
        equal = relation != ADD or given["of"] % given["batch"]
        require(bool(equal), "without a record there is a batch less")
        far, of_one = (_moved(given, one) for one in (REPLACE, ADD))
        if not below:
            # As if it were known in which batch the record is.
            return line([(ONE, of_one if relation == ZERO else far)], nothing)
        count = (given["of"] - (relation == ADD)) // given["batch"]
        require(count >= 1, "there is no full batch")
        share = Fraction(count * given["batch"], given["of"])
        # Others are on one side; the record is on the other one, or nothing where it adds nothing.
        require(relation != ZERO or far == 2 * of_one, "records on opposite sides are not allowed")
        return "shuffled", count * ONE, share, far, of_one if relation == ZERO else NOTHING
    elsewhere = {"mixture": ADD, "response": REPLACE}.get(kind, relation)
    require(relation == elsewhere, f"{kind} is known under {elsewhere} only")
    if kind == "mixture":
        centres, shares = given["positions"], given["weights"]
        require(len(centres) == len(shares), "positions and weights: not as many")
        both = zip(shares, centres)
        return line([(w / sum(shares), x / given["noise"]) for w, x in both], nothing)
    if kind == "laplace":
        return "laplace", given["distance"] / given["scale"]
    if kind == "discrete-laplace":
        return "geometric", 1 / given["scale"], whole(given["distance"], 100) * ONE
    if kind == "response":
        probability, many = given["probability"], given["buckets"] * ONE
        require(0 < probability < 1 < many, "a probability is 0 or 1, or there is one bucket")
        return "response", probability, many
    require(kind == "stated", f"no pair is known for {kind}: give an order")
    return "stated", given["epsilon"], given["delta"]


def _moved(given: Any, relation: str) -> Fraction:
    """How far a record moves a sum of vectors, over the noise."""
    norm, diameter = given["norm"], given["diameter"]
    require(diameter <= 2 * norm, "a diameter is more than twice the norm")
    return Fraction((diameter if relation == REPLACE else norm) / given["noise"])


def ways(release: Released, relation: str, below: bool) -> list[Way]:
    """All that one record may amount to, as pairs and counts, in both orders of the data sets."""
    if relation == ZERO:
        require(release.kinds() <= SUMS, "zero-out is known of sums of vectors")
    forward = [_merged(way, below) for way in _forward(release, relation, below)]
    backward = [_merged(_reversed(way), below) for way in forward]
    return _different(forward + backward)


def _reversed(way: Way) -> Way:
    return [(reverse(pair), n) for pair, n in way]


def _different(found: Iterable[Way]) -> list[Way]:
    kept: list[Way] = []
    for way in found:
        kept += [way] if way not in kept else []
        require(len(kept) <= MOST_WAYS, "a record may matter in too many ways")
    return kept


def _forward(release: Released, relation: str, below: bool) -> list[Way]:
    kind, given, inner = release.kind, release.given, release.inner
    if not inner:
        return [[(_pair(release, relation, below), 1)]]
    if kind == "poisson":
        known = relation == ADD and inner[0].kind in SAMPLABLE
        require(known, "samples are known of simple releases under add-or-remove-one")
        q, pair = given["probability"], _pair(inner[0], relation, below)
        return [[(("sampled", q, pair), 1)] if q else []]
    each = [_forward(one, relation, below) for one in inner]
    if kind == "repeated":
        return [[(pair, n * given["count"]) for pair, n in way] for way in each[0]]
    if kind == "composed":
        found: list[Way] = [[]]
        for some in each:
            found = _different(a + b for a, b in product(found, some))
        return found
    if relation == REPLACE and given["record-may-move"]:
        known = not below and release.kinds() <= MOVABLE
        require(known, "records that move are known of Gaussian sums, from above only")
        ends = permutations([_forward(one, ADD, below) for one in inner], 2)
        each.append(_different(a + _reversed(b) for two in ends for a, b in product(*two)))
    return _different(way for some in each for way in some)


def _merged(way: Way, below: bool) -> Way:
    """Equal pairs counted together, and all Gaussians as one: squared distances add up."""
    counts: dict[Any, int] = {}
    for pair, count in way:
        counts[pair] = counts.get(pair, 0) + count
    simple = [pair for pair in counts if pair[0] == "line" and len(pair[1]) == len(pair[2]) == 1]
    if sum(counts[pair] for pair in simple) > 1:
        square = sum((counts.pop(pair) * pair[1][0][1] ** 2 for pair in simple), NOTHING)
        exact = root(of(square, 300 + square.denominator.bit_length()))
        far = Fraction(exact.lo if below else exact.hi, 1 << exact.bits)
        counts[line([(ONE, far)], [(ONE, NOTHING)])] = 1
    require(all(count <= MOST_COUNT for count in counts.values()), "more than a billion releases")
    return sorted(counts.items(), key=repr)


def divergence(release: Released, relation: str, a: Fraction) -> Any:
    """An upper bound on the Renyi divergence of order a > 1, in either direction."""
    kind, given, inner = release.kind, release.given, release.inner
    require(1 < a <= 10**6, "an order is at most 1, or very large")
    if kind == "gaussian":
        return a / 2 * _moved(given, relation) ** 2
    if kind == "zero-concentrated":
        return a * given["rho"]
    if kind == "stated" and not given["delta"]:
        return min(given["epsilon"], a * given["epsilon"] ** 2 / 2)
    if kind == "gaussian-synthesis" and relation != ZERO:
        return _of_synthesis(given, relation, a)
    require(kind in ("repeated", "composed"), f"no Renyi divergence is known for {kind}")
    each = (divergence(one, relation, a) for one in inner)
    return given.get("count", 1) * sum(each, NOTHING)


def rho(release: Released, relation: str, below: bool) -> Any:
    """What all Renyi divergences of orders a are a times of; it is attained by Gaussians."""
    known = LINEAR - ({"zero-concentrated"} if below else set())
    require(release.kinds() <= known, "its Renyi divergences are not multiples of orders")
    return divergence(release, relation, 2 * ONE) / 2


def _of_synthesis(given: Any, relation: str, a: Fraction) -> Any:
    """The two theorems of docs/theory/synthesis-direct.md, about one record of the synthesis."""
    n, d, sigma, b, found = given["n"], given["d"], given["eigenvalue"], a - 1, NOTHING

    def part(x: Fraction) -> Fraction:
        """The part l(x) = -(log(1 - b x) + b log(1 + x)) / (2 b) of an eigenvalue 1 + x."""
        both = log(of(1 - b * x, 400)) + of(b, 400) * log(of(1 + x, 400))
        return -Fraction(both.lo, 1 << 400) / (2 * b)

    if relation == REPLACE:
        big = 4 * d / sigma * (n - 1) / n**2
        require(big < 1 and (a >= 2 or 3 * big**2 <= 1), "too few records for this order")
        return a / (2 * (n - 1)) * big / (1 - b * big) + part(big)
    farthest = d * (1 + upper(root(of(1 - sigma, 400)))) ** 2 / sigma
    for m, t in product((n - 1, n), (NOTHING, farthest)):
        size, e = m + 1, (m * t / (m + 1) - 1) / (m + 1)
        scaled = a * t / (2 * size**2)
        removed = (d - 1) * part(Fraction(-1, size)) + part(e) + scaled / (1 - b * e)
        added = (d - 1) * part(Fraction(1, m)) + part(-e / (1 + e)) + scaled / (1 + a * e)
        found = max(found, removed, added)
    return found
