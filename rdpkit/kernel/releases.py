"""What was released: its pairs, its Renyi divergences, and the theorems for them.

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
from .pairs import NOTHING, Pair, geometric, line, response, reverse, sample, stated

ADD, REPLACE, ZERO = "add-or-remove-one", "replace-one", "zero-out"
RECORDS = {
    ADD: "by one record, which only one has",
    REPLACE: "in one record, which is another one",
    ZERO: "in one record, which adds nothing to sums in one of them",
}
NUMBER = re.compile(r"[0-9]{1,60}(\.[0-9]{1,80})?(e[+-]?[0-9]{1,3})?(/0*[1-9][0-9]{0,29})?")
MOST_COUNT, MOST_WAYS, MOST_DEPTH, HUGE = 10**9, 64, 20, 10**400
ZHU = "Zhu, Dong and Wang 2022, AISTATS, Theorem"
POISSON = f"Poisson samples: {ZHU} 11; if replaced: rdpkit, docs/theory/poisson-replace-one.md"
NORMAL = "Gaussian noise: Balle and Wang 2018, ICML, Theorem 8"
DISJOINT = "disjoint parts: rdpkit, docs/theory/composition.md"
SUBSETS = "samples without replacement: Balle, Barthe and Gaboardi 2018, NeurIPS, Theorem 11"
SHUFFLED = "any sum of shuffled batches: rdpkit, docs/theory/batches.md"
# Fields; what is known of a kind, and of what it is made of; the theorem. Sums: a record may add
# nothing; moves: it may move between parts; linear: Renyi divergences are multiples of orders.
KINDS = {
    "gaussian": ("noise norm diameter", "sampled sum moves linear attained", NORMAL),
    "fixed-size-gaussian": ("noise distance sampled of", "moves", SUBSETS),
    "shuffled-gaussian": ("noise norm diameter batch of", "sum", SHUFFLED),
    "mixture": ("noise parts", "", "its pair is a part of the statement"),
    "laplace": ("scale distance", "sampled", "Laplace noise: Dwork et al. 2006, TCC"),
    "discrete-laplace": ("scale distance", "sampled", "Ghosh, Roughgarden and Sundararajan 2012"),
    "response": ("buckets probability", "", "randomised response: Warner 1965"),
    "stated": ("epsilon delta", "sampled", "Kairouz, Oh and Viswanath 2015, ICML"),
    "zero-concentrated": ("rho", "linear", "the definition: Bun and Steinke 2016, TCC"),
    "renyi": ("order divergence", "", "its divergence is a part of the statement"),
    "gaussian-synthesis": ("n d eigenvalue", "", "rdpkit, docs/theory/synthesis-direct.md"),
    "poisson": ("probability release", "sum moves", POISSON),
    "repeated": ("count release", "sum moves linear attained", f"compositions: {ZHU} 10"),
    "composed": ("releases", "sum moves linear attained", f"compositions: {ZHU} 10"),
    "parallel": ("releases record-may-move", "moves", DISJOINT),
}
SAYS = {"at most": "is at most", "exceeded": "for some two is more than"}
ABOUT = {
    "delta": "epsilon at delta {delta}",
    "order": "the Renyi divergence of order {order}",
    "": "rho, by which all orders times it bound Renyi divergences,",
}
WHOLE = {"count", "batch", "sampled", "of", "n", "d", "buckets"}
MOST = {"probability": 1, "eigenvalue": 1, "delta": 1, "epsilon": 10**5}
Way = tuple[tuple[Pair, int], ...]


class Released(NamedTuple):
    """A release whose fields were read: numbers, and what it is made of."""

    kind: str
    given: dict[str, Any]
    inner: list[Any]

    def kinds(self) -> set[str]:
        """Its kind, and those of what it is made of."""
        return {self.kind}.union(*(one.kinds() for one in self.inner))

    def all_are(self, known: str) -> bool:
        """Whether something is known of all these kinds."""
        return all(known in KINDS[kind][1].split() for kind in self.kinds())


def number(text: Any, most: Union[int, Fraction] = HUGE) -> Fraction:
    """A number of at least 0, given as a string of digits, perhaps with a denominator."""
    require(isinstance(text, str) and bool(NUMBER.fullmatch(text)), f"no digits: {text!r:.40}")
    head, _, below = text.partition("/")
    found = Fraction(head) / int(below or 1)
    require(not found or Fraction(1, HUGE) <= found <= most, f"too small or large: {text:.40}")
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


def listed(given: Any, least: int, most: int) -> list[Any]:
    """A list that is neither too short nor too long."""
    right = isinstance(given, list) and least <= len(given) <= most
    require(right, f"no list of {least} to {most}")
    return list(given)


def read_release(given: Any, depth: int = 0) -> Released:
    """A release whose fields have meaning, and no other fields."""
    kind, read, inner = str(given["kind"]), dict[str, Any](), list[Released]()
    require(kind in KINDS and depth < MOST_DEPTH, f"too deep, or an unknown kind: {kind:.40}")
    for name, value in fields(given, f"kind {KINDS[kind][0]}").items():
        if name in ("release", "releases"):
            several = listed(value if name == "releases" else [value], 1, MOST_WAYS)
            inner = [read_release(one, depth + 1) for one in several]
        elif name in WHOLE:
            read[name] = whole(value)
        elif name == "parts":
            read[name] = [(number(weight), number(x)) for weight, x in listed(value, 1, 50)]
        elif name == "record-may-move":
            require(isinstance(value, bool), "a record may move, or may not")
            read[name] = value
        elif name != "kind":
            read[name] = number(value, MOST.get(name, HUGE))
    return Released(kind, read, inner)


def measure_of(claim: Any) -> str:
    """What of a claim comes with its number: a delta, an order, or nothing for rho."""
    return "delta" if "delta" in claim else "order" if "order" in claim else ""


def statement(claim: Any) -> list[str]:
    """The claim in words, and what it rests on; nothing else has meaning."""
    says, relation, measure = claim["says"], claim["relation"], measure_of(claim)
    require(says in SAYS and relation in RECORDS, "an unknown relation, or sort of claim")
    fields(claim, f"says relation release epsilon {measure}")
    _ = [number(claim[name]) for name in ("epsilon", *measure.split())]
    kinds, words = read_release(claim["release"]).kinds(), json.dumps(claim["release"])
    return [
        f"any two data sets that differ {RECORDS[relation]}:",
        f"  {ABOUT[measure].format(**claim)} {SAYS[says]} {claim['epsilon']}",
        f"released: {words}".replace('"kind": ', "").replace('"', ""),
        *(f"rests on {one}" for one in sorted({KINDS[kind][2] for kind in kinds})),
    ]


def _pair(release: Released, relation: str, below: bool) -> Pair:
    """The pair of a simple release: with the record against without it."""
    kind, given, nothing = release.kind, release.given, [(NOTHING, ONE)]
    if kind == "gaussian":
        return line("normal", [(_moved(given, relation), ONE)], nothing)
    if kind == "poisson":
        (inner,), q = release.inner, given["probability"]
        if relation == REPLACE and inner.kind == "gaussian":
            # The worst two records are opposite ones; they may be as far apart as the diameter.
            a = _moved(inner.given, REPLACE) / 2 if below else _moved(inner.given, ADD)
            return line("normal", [(NOTHING, 1 - q), (a, q)], [(NOTHING, 1 - q), (-a, q)])
        known = relation == ADD or inner.kind == "gaussian"
        require(known and "sampled" in KINDS[inner.kind][1], "samples of this are not known")
        return sample(_pair(inner, relation, below), q)
    if kind == "fixed-size-gaussian":
        q = Fraction(whole(given["sampled"], given["of"] - (relation == ADD)), given["of"])
        pair = sample(line("normal", [(given["distance"] / given["noise"], ONE)], nothing), q)
        return pair._replace(mirrored=not below and relation == REPLACE)
    if kind == "shuffled-gaussian":
        require(below, "shuffled batches are known from below only")
        return _of_shuffled(given, relation)
    known = relation == {"mixture": ADD, "response": REPLACE}.get(kind, relation)
    require(known, f"{kind} is not known under {relation}")
    if kind == "mixture":
        all_weights = sum(w for w, _ in given["parts"])
        parts = [(x / given["noise"], w / all_weights) for w, x in given["parts"]]
        return line("normal", parts, nothing)
    if kind == "laplace":
        d = given["distance"] / given["scale"]
        return line("laplace", [(d, ONE)], nothing, (d, NOTHING))
    if kind == "discrete-laplace":
        steps = given["distance"]
        require(steps.denominator == 1 and 1 <= steps <= 100, "no distance from 1 to 100")
        return geometric(1 / given["scale"], int(steps))
    if kind == "response":
        share = given["probability"] / given["buckets"]
        require(share > 0 and given["probability"] < 1 < given["buckets"], "no random answer")
        kept = 1 - given["probability"] + share
        return response(kept, share)
    require(kind == "stated", f"no pair is known for {kind}: give an order")
    return stated(given["epsilon"], given["delta"])


def _of_shuffled(given: Any, relation: str) -> Pair:
    """The sums of shuffled batches where all other records are on the other side of the origin."""
    far, own, of_all = _moved(given, REPLACE), _moved(given, ADD), given["of"]
    require(relation != ADD or of_all % given["batch"] > 0, "without a record a batch is missing")
    # If it adds nothing in one data set, it is on one side in the other one.
    require(relation != ZERO or far == 2 * own, "records on opposite sides are not allowed")
    count = whole(of_all // given["batch"])
    share = Fraction(count * given["batch"], of_all)
    other = -own if relation == ZERO else NOTHING
    return Pair("any", (count, share, -far), (count, share, other))


def _moved(given: Any, relation: str) -> Fraction:
    """How far a record moves a sum of vectors, over the noise."""
    norm, diameter = given["norm"], given["diameter"]
    require(diameter <= 2 * norm, "a diameter is more than twice the norm")
    return Fraction((diameter if relation == REPLACE else norm) / given["noise"])


def ways(release: Released, relation: str, below: bool) -> list[Way]:
    """All that one record may amount to, as pairs and counts, in both orders of the data sets."""
    require(relation != ZERO or release.all_are("sum"), "zero-out is known of sums of vectors")
    forward = _forward(release, relation, below)
    return _different(_merged(way, below) for way in (*forward, *map(_reversed, forward)))


def _reversed(way: Way) -> Way:
    return tuple((reverse(pair), n) for pair, n in way)


def _different(found: Iterable[Way]) -> list[Way]:
    kept = list(dict.fromkeys(found))
    require(len(kept) <= MOST_WAYS, "a record may matter in too many ways")
    return kept


def _forward(release: Released, relation: str, below: bool) -> list[Way]:
    kind, given, inner = release
    if kind not in ("repeated", "composed", "parallel"):
        return [((_pair(release, relation, below), 1),)]
    each = [_forward(one, relation, below) for one in inner]
    if kind == "repeated":
        return [tuple((pair, n * given["count"]) for pair, n in way) for way in each[0]]
    if kind == "composed":
        found: list[Way] = [()]
        for some in each:
            found = _different(a + b for a, b in product(found, some))
        return found
    if relation == REPLACE and given["record-may-move"]:
        known = not below and release.all_are("moves")
        require(known, "records that move are known of Gaussian sums, from above only")
        ends = permutations([_forward(one, ADD, below) for one in inner], 2)
        each.append(_different(a + _reversed(b) for two in ends for a, b in product(*two)))
    return _different(way for some in each for way in some)


def _merged(way: Way, below: bool) -> Way:
    """Equal pairs counted together, and all Gaussians as one: squared distances add up."""
    counts: dict[Pair, int] = {}
    for pair, count in way:
        counts[pair] = counts.get(pair, 0) + count
    simple = [one for one in counts if one.noise == "normal" and len(one.first + one.second) == 2]
    if sum(counts[pair] for pair in simple) > 1:
        square = sum((counts.pop(pair) * pair.first[0][0] ** 2 for pair in simple), NOTHING)
        exact = root(of(square, 300 + square.denominator.bit_length()))
        far = Fraction(exact.lo if below else exact.hi, 1 << exact.bits)
        counts[line("normal", [(far, ONE)], [(NOTHING, ONE)])] = 1
    require(all(n <= MOST_COUNT for n in counts.values()), "more than a billion releases")
    return tuple(counts.items())


def divergence(release: Released, relation: str, a: Fraction) -> Any:
    """An upper bound on the Renyi divergence of order a > 1, in either direction."""
    kind, given, inner = release
    require(1 < a <= 10**6, "an order is at most 1, or very large")
    if kind == "gaussian":
        return a / 2 * _moved(given, relation) ** 2
    if kind == "zero-concentrated":
        return a * given["rho"]
    if kind == "renyi":
        require(a == given["order"], "the divergence of another order is stated")
        return given["divergence"]
    if kind == "stated" and not given["delta"]:
        return min(given["epsilon"], a * given["epsilon"] ** 2 / 2)
    if kind == "gaussian-synthesis" and relation != ZERO:
        return _of_synthesis(given, relation, a)
    require(kind in ("repeated", "composed"), f"no Renyi divergence is known for {kind}")
    each = (divergence(one, relation, a) for one in inner)
    return given.get("count", 1) * sum(each, NOTHING)


def _of_synthesis(given: Any, relation: str, a: Fraction) -> Any:
    """The two theorems of docs/theory/synthesis-direct.md, about one record of the synthesis.

    One normal law against another one, along axes: by x the variance is larger on the axis along
    which the square of the means' distance is ``far``, and by y on each of the d - 1 others.
    """
    n, d, sigma, b = given["n"], given["d"], given["eigenvalue"], a - 1
    if relation == REPLACE:
        x = 4 * d / sigma * (n - 1) / n**2
        require(x < 1 and (a >= 2 or 3 * x**2 <= 1), "too few records for this order")
        cases = [(x, NOTHING, x / (n - 1))]
    else:
        farthest, cases = d * (1 + upper(root(of(1 - sigma, 400)))) ** 2 / sigma, []
        for size, t in product((n, n + 1), (NOTHING, farthest)):
            x, y = ((size - 1) * t / size - 1) / size, Fraction(-1, size)
            cases.append((x, y, t / size**2))
            cases.append((-x / (1 + x), Fraction(1, size - 1), t / size**2 / (1 + x)))

    def part(x: Fraction) -> Fraction:
        both = log(of(1 - b * x, 400)) + of(b, 400) * log(of(1 + x, 400))
        return -Fraction(both.lo, 1 << 400) / (2 * b)

    return max((d - 1) * part(y) + part(x) + a / 2 * far / (1 - b * x) for x, y, far in cases)
