"""What was released: its words, its pairs, its Renyi divergences, and the theorems for them.

Argument
--------
A release is an object with a ``kind``. Of each kind in ``KINDS`` a theorem on paper says that a
pair of distributions dominates it: every hockey-stick divergence between neighbours is at most the
pair's. Compositions of dominating pairs dominate, adaptive ones too. Both orders of the two data
sets are a way in which a record may matter; where disjoint parts of the data are used, so is each
part, and each ordered pair of parts between which a record moves. All ways together count.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from fractions import Fraction
from itertools import permutations, product
from typing import Any

from .intervals import log, of, require, root, upper
from .pairs import ONE, line, reverse

ADD, REPLACE, ZERO = "add-or-remove-one", "replace-one", "zero-out"
MOST_COUNT, MOST_WAYS, MOST_DEPTH = 10**9, 64, 20
NUMBER = re.compile(r"[0-9]{1,60}(\.[0-9]{1,80})?(e[+-]?[0-9]{1,3})?(/0*[1-9][0-9]{0,29})?")
ZHU = "Zhu, Dong and Wang 2022, AISTATS, Theorem"
SUBSETS = "samples without replacement: Balle, Barthe and Gaboardi 2018, NeurIPS, Theorem 11"
WORST = "the worst private mechanism: Kairouz, Oh and Viswanath 2015, ICML"
ANTIPODAL = f"Poisson samples: {ZHU} 11; if replaced: rdpkit, docs/theory/poisson-replace-one.md"
KINDS = {
    "gaussian": ("noise norm diameter", "Gaussian noise: Balle and Wang 2018, ICML, Theorem 8"),
    "poisson-gaussian": ("noise norm probability", ANTIPODAL),
    "fixed-size-gaussian": ("noise distance sampled of", SUBSETS),
    "mixture": ("noise positions weights", "its pair is a part of the statement"),
    "laplace": ("scale distance", "Laplace noise: Dwork, McSherry, Nissim and Smith 2006, TCC"),
    "discrete-laplace": ("scale distance", "Ghosh, Roughgarden and Sundararajan 2012"),
    "response": ("buckets probability", "randomised response: Warner 1965"),
    "stated": ("epsilon delta", WORST),
    "zero-concentrated": ("rho", "the definition: Bun and Steinke 2016, TCC"),
    "gaussian-synthesis": ("n d eigenvalue", "rdpkit, docs/theory/synthesis-direct.md"),
}
MADE = {
    "repeated": ("count release", f"compositions: {ZHU} 10"),
    "composed": ("releases", f"compositions: {ZHU} 10"),
    "parallel": ("releases record-may-move", "disjoint parts: rdpkit, docs/theory/composition.md"),
    "poisson": ("probability release", f"Poisson samples: {ZHU} 11"),
}
EVERY = {**KINDS, **MADE}
SUMS = {"gaussian", "poisson-gaussian", "repeated", "composed"}
MOVABLE = {"gaussian", "poisson-gaussian", "fixed-size-gaussian", *MADE} - {"poisson"}
SAMPLABLE = {"gaussian", "laplace", "discrete-laplace", "response", "stated"}
RECORDS = {
    ADD: "by one record, which only one has",
    REPLACE: "in one record, which is another one",
    ZERO: "in one record, which adds nothing to sums in one of them",
}
SAYS = {
    "at most": "epsilon is at most {epsilon} at delta {delta}",
    "exceeded": "for some two, epsilon is more than {epsilon} at delta {delta}",
    "divergence at most": "the Renyi divergence of order {order} is at most {epsilon}",
}
Way = list[tuple[Any, int]]


def number(text: Any, most: Fraction = Fraction(10) ** 400) -> Fraction:
    """A number of at least 0, given as a string of digits, perhaps with a denominator."""
    require(isinstance(text, str) and bool(NUMBER.fullmatch(text)), f"no digits: {text!r:.40}")
    head, _, below = text.partition("/")
    found = Fraction(head) / int(below or 1)
    require(found in (0, min(max(found, Fraction(10) ** -400), most)), f"out of range: {text:.40}")
    return found


def whole(given: Any, most: int = MOST_COUNT) -> int:
    """A whole number of at least 1."""
    require(type(given) is int and 1 <= given <= most, f"not from 1 to {most}: {given!r:.40}")
    return int(given)


def fields(given: Any, names: str) -> Any:
    """An object that has fields of these names and no others."""
    require(
        isinstance(given, dict) and set(given) == set(names.split()), f"its fields: not {names}"
    )
    return given


def parts(release: Any, depth: int = 0) -> tuple[str, list[Any]]:
    """The kind of a release, and the releases that it is made of."""
    kind = str(release.get("kind")) if isinstance(release, dict) else ""
    require(kind in EVERY, f"unknown kind: {kind!r:.40}")
    fields(release, f"kind {EVERY[kind][0]}")
    inner = release.get("releases", [release["release"]] if "release" in release else [])
    require(isinstance(inner, list) and len(inner) <= MOST_WAYS, "too many releases")
    require(depth < MOST_DEPTH and bool(inner) is (kind in MADE), "no releases, or too deep")
    return kind, inner


def primitives(release: Any, depth: int = 0) -> set[str]:
    """The kinds in a release, and those of what it is made of."""
    kind, inner = parts(release, depth)
    return {kind}.union(*(primitives(one, depth + 1) for one in inner))


def words(release: Any) -> str:
    """What was released."""
    kind, inner = parts(release)
    # As JSON, numbers and text cannot pass for lines of the output.
    names = [name for name in EVERY[kind][0].split() if name not in ("release", "releases")]
    own = [f"{name} {json.dumps(release[name])}".replace('"', "") for name in names]
    inside = f" of [{'; and '.join(map(words, inner))}]" if inner else ""
    return f"{kind} ({', '.join(own)}){inside}"


def statement(claim: Any) -> list[str]:
    """The claim in words, and what it rests on; nothing else has meaning."""
    says = claim.get("says") if isinstance(claim, dict) else None
    last = "order" if says == "divergence at most" else "delta"
    fields(claim, f"says relation release epsilon {last}")
    require(number(claim["epsilon"]) >= 0 and number(claim[last]) >= 0, "no numbers")
    require(says in SAYS and claim["relation"] in RECORDS, "an unknown relation, or sort of claim")
    theorems = {EVERY[one][1] for one in primitives(claim["release"])}
    about = f"any two data sets that differ {RECORDS[claim['relation']]}:"
    released = f"released: {words(claim['release'])}"
    rests = [f"rests on {one}" for one in sorted(theorems)]
    return [about, "  " + SAYS[str(says)].format(**claim), released, *rests]


def _pair(release: Any, relation: str, below: bool) -> Any:
    """The pair of a primitive release: with the record against without it."""
    kind, nothing = release["kind"], [(ONE, 0 * ONE)]
    given = {k: number(v) for k, v in release.items() if isinstance(v, str) and k != "kind"}
    if kind == "gaussian":
        return line([(ONE, _moved(release, relation))], nothing)
    if kind in ("poisson-gaussian", "fixed-size-gaussian"):
        q = number(release.get("probability", "1"), ONE)
        a = given.get("norm", given.get("distance", ONE)) / given["noise"]
        if kind == "fixed-size-gaussian":
            n = whole(release["of"])
            q = Fraction(whole(release["sampled"], n - (relation == ADD)), n)
        pair = line([(1 - q, 0 * ONE), (q, a)], nothing)
        if relation == ADD or (below and "sampled" in release):
            return pair
        opposed = line(pair[1], [(1 - q, 0 * ONE), (q, -a)])
        return ("mirrored", pair) if "sampled" in release else opposed
    elsewhere = {"mixture": ADD, "response": REPLACE}.get(kind, relation)
    require(relation == elsewhere, f"{kind} is known under {elsewhere} only")
    if kind == "mixture":
        centres, shares = (list(map(number, release[one])) for one in ("positions", "weights"))
        require(0 < len(centres) == len(shares) <= 50, "positions and weights: not as many")
        both = zip(shares, centres)
        return line([(w / sum(shares), x / given["noise"]) for w, x in both], nothing)
    if kind == "laplace":
        return "laplace", given["distance"] / given["scale"]
    if kind == "discrete-laplace":
        return "geometric", 1 / given["scale"], whole(release["distance"], 100) * ONE
    if kind == "response":
        probability, many = number(release["probability"], ONE), whole(release["buckets"])
        require(0 < probability < 1 < many, "a probability is 0 or 1, or there is one bucket")
        return "response", probability, many * ONE
    require(kind == "stated", f"no pair is known for {kind}: give an order")
    return "stated", number(release["epsilon"], 10**5 * ONE), number(release["delta"], ONE)


def _moved(release: Any, relation: str) -> Fraction:
    """How far a record moves a sum of vectors, over the noise."""
    norm, diameter = number(release["norm"]), number(release["diameter"])
    require(diameter <= 2 * norm, "a diameter is more than twice the norm")
    return (diameter if relation == REPLACE else norm) / number(release["noise"])


def ways(release: Any, relation: str, below: bool) -> list[Way]:
    """All that one record may amount to, as pairs and counts, in both orders of the data sets."""
    if relation == ZERO:
        require(primitives(release) <= SUMS, "zero-out is known of sums of vectors")
        relation = ADD
    forward = [_merged(way, below) for way in _forward(release, relation, below)]
    backward = [_merged([(reverse(pair), n) for pair, n in way], below) for way in forward]
    return _different(forward + backward)


def _different(found: Iterable[Way]) -> list[Way]:
    kept: list[Way] = []
    for way in found:
        kept += [way] if way not in kept else []
        require(len(kept) <= MOST_WAYS, "a record may matter in too many ways")
    return kept


def _forward(release: Any, relation: str, below: bool) -> list[Way]:
    kind, inner = parts(release)
    if not inner:
        return [[(_pair(release, relation, below), 1)]]
    if kind == "poisson":
        allowed = relation == ADD and primitives(inner[0]) <= SAMPLABLE
        require(allowed, "samples are known of simple releases under add-or-remove-one")
        q = number(release["probability"], ONE)
        return [[(("sampled", q, _pair(inner[0], relation, below)), 1)] if q else []]
    each = [_different(_forward(one, relation, below)) for one in inner]
    if kind == "repeated":
        return [[(pair, n * whole(release["count"])) for pair, n in way] for way in each[0]]
    if kind == "composed":
        found: list[Way] = [[]]
        for some in each:
            found = _different(a + b for a, b in product(found, some))
        return found
    moves = release["record-may-move"]
    require(type(moves) is bool, "a record may move, or may not")
    if relation == REPLACE and moves:
        known = not below and primitives(release) <= MOVABLE
        require(known, "records that move are known of Gaussian sums, from above only")
        ends = [_forward(one, ADD, below) for one in inner]
        moved = (pair for two in permutations(ends, 2) for pair in product(*two))
        each.append(_different(a + [(reverse(pair), n) for pair, n in b] for a, b in moved))
    return _different(way for some in each for way in some)


def _merged(way: Way, below: bool) -> Way:
    """Equal pairs counted together, and all Gaussians as one: squared distances add up."""
    counts: dict[Any, int] = {}
    for pair, count in way:
        counts[pair] = counts.get(pair, 0) + count
    simple = [pair for pair in counts if pair[0] == "line" and len(pair[1]) == len(pair[2]) == 1]
    if sum(counts[pair] for pair in simple) > 1:
        square = sum((counts.pop(pair) * pair[1][0][1] ** 2 for pair in simple), 0 * ONE)
        exact = root(of(square, 300 + square.denominator.bit_length()))
        far = Fraction(exact.lo if below else exact.hi, 1 << exact.bits)
        counts[line([(ONE, far)], [(ONE, 0 * ONE)])] = 1
    require(all(count <= MOST_COUNT for count in counts.values()), "more than a billion releases")
    return sorted(counts.items(), key=repr)


def divergence(release: Any, relation: str, a: Fraction) -> Fraction:
    """An upper bound on the Renyi divergence of order a > 1, in either direction."""
    kind, inner = parts(release)
    require(1 < a <= 10**6, "an order is at most 1, or very large")
    if kind == "gaussian":
        return a / 2 * _moved(release, relation) ** 2
    if kind == "zero-concentrated":
        return a * number(release["rho"])
    if kind == "stated" and not number(release["delta"]):
        return min(number(release["epsilon"]), a * number(release["epsilon"]) ** 2 / 2)
    if kind == "gaussian-synthesis" and relation != ZERO:
        return _of_synthesis(release, relation, a)
    if kind == "repeated":
        return whole(release["count"]) * divergence(inner[0], relation, a)
    require(kind == "composed", f"no Renyi divergence is known for {kind}")
    return sum((divergence(one, relation, a) for one in inner), 0 * ONE)


def _of_synthesis(release: Any, relation: str, a: Fraction) -> Fraction:
    """The two theorems of docs/theory/synthesis-direct.md, about one record of the synthesis."""
    n, d, found = whole(release["n"]), whole(release["d"], 10**6), 0 * ONE
    sigma, b = number(release["eigenvalue"], ONE), a - 1

    def part(x: Fraction) -> Fraction:
        """The part l(x) = -(log(1 - b x) + b log(1 + x)) / (2 b) of an eigenvalue 1 + x."""
        both = log(of(1 - b * x, 400)) + of(b, 400) * log(of(1 + x, 400))
        return -Fraction(both.lo, 1 << 400) / (2 * b)

    if relation == REPLACE:
        big = 4 * d / sigma * (n - 1) / n**2
        require(big < 1 and (a >= 2 or 3 * big**2 <= 1), "too few records for this order")
        return a / (2 * (n - 1)) * big / (1 - b * big) + part(big)
    farthest = d * (1 + upper(root(of(1 - sigma, 400)))) ** 2 / sigma
    for m, t in product((n - 1, n), (0 * ONE, farthest)):
        size, e = m + 1, (m * t / (m + 1) - 1) / (m + 1)
        scaled = a * t / (2 * size**2)
        removed = (d - 1) * part(Fraction(-1, size)) + part(e) + scaled / (1 - b * e)
        added = (d - 1) * part(Fraction(1, m)) + part(-e / (1 + e)) + scaled / (1 + a * e)
        found = max(found, removed, added)
    return found
