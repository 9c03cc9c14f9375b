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

import re
from fractions import Fraction
from itertools import permutations, product
from typing import Any

from .intervals import RefusedError, log, of, root, upper
from .pairs import ONE, line, reverse

ADD, REPLACE = "add-or-remove-one", "replace-one"
MOST_COUNT, MOST_WAYS, MOST_DEPTH = 10**9, 64, 20
NUMBER = re.compile(r"[0-9]{1,60}(\.[0-9]{1,80})?(e[+-]?[0-9]{1,3})?(/[0-9]{1,30})?")
ZHU = "Zhu, Dong and Wang 2022, AISTATS, Theorem"
COMPOSED = f"compositions: {ZHU} 10"
SAMPLED = f"Poisson samples: {ZHU} 11"
ANTIPODAL = f"{SAMPLED}; of replaced records: rdpkit, docs/theory/poisson-replace-one.md"
SUBSETS = "samples without replacement: Balle, Barthe and Gaboardi 2018, NeurIPS, Theorem 11"
WORST = "the worst private mechanism: Kairouz, Oh and Viswanath 2015, ICML, Theorem 3.2"
KINDS = {
    "gaussian": ("noise norm diameter", "Gaussian noise: Balle and Wang 2018, ICML, Theorem 5"),
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
MOVABLE = {"gaussian", "poisson-gaussian", "fixed-size-gaussian"}
SAMPLABLE = {"gaussian", "laplace", "discrete-laplace", "response", "stated"}
Way = list[tuple[Any, int]]


def number(text: Any, most: Fraction = Fraction(10) ** 400) -> Fraction:
    """A number of at least 0, given as a string of digits, perhaps with a denominator."""
    if not isinstance(text, str) or not NUMBER.fullmatch(text):
        raise RefusedError(f"not a number in decimal digits: {str(text)[:40]!r}")
    head, _, below = text.partition("/")
    found = Fraction(head) / (int(below or 1) or Fraction(1, 10**401))
    if found > most or 0 < found < 1 / Fraction(10) ** 400:
        raise RefusedError(f"a number is too large or too small: {text[:40]!r}")
    return found


def positive(text: Any) -> Fraction:
    """A number above 0."""
    return number(text) or whole(0)


def whole(given: Any, most: int = MOST_COUNT) -> int:
    """A whole number of at least 1."""
    if type(given) is not int or not 1 <= given <= most:
        raise RefusedError(f"not a number from 1 to {most}: {str(given)[:40]!r}")
    return given


def fields(given: Any, names: str) -> Any:
    """An object that has fields of these names and no others."""
    if not isinstance(given, dict) or set(given) != set(names.split()):
        raise RefusedError(f"an object has not exactly the fields {names}")
    return given


def parts(release: Any, depth: int = 0) -> tuple[str, list[Any]]:
    """The kind of a release, and the releases that it is made of."""
    kind = release.get("kind") if isinstance(release, dict) else None
    names = {"repeated": "count release", "poisson": "probability release", "composed": "releases"}
    if kind == "parallel":
        fields(release, "kind releases record-may-move")
    elif kind in names or (isinstance(kind, str) and kind in KINDS):
        fields(release, f"kind {names.get(kind) or KINDS[kind][0]}")
    else:
        raise RefusedError(f"a release of an unknown kind: {str(kind)[:40]!r}")
    inner = release["releases"] if "releases" in release else [release.get("release")]
    if depth > MOST_DEPTH or not isinstance(inner, list) or not 0 < len(inner) <= MOST_WAYS:
        raise RefusedError("releases are nested too deeply, or no list of at most 64")
    return kind, [] if kind in KINDS else inner


def primitives(release: Any, depth: int = 0) -> set[str]:
    """The kinds in a release, and those of what it is made of."""
    kind, inner = parts(release, depth)
    return {kind}.union(*(primitives(one, depth + 1) for one in inner))


def needs_order(release: Any) -> bool:
    """Whether Renyi divergences are all that is known of a part."""
    return not primitives(release).isdisjoint({"zero-concentrated", "gaussian-synthesis"})


def words(release: Any) -> str:
    """What was released."""
    kind, inner = parts(release)
    own = [f"{k} {v}" for k, v in release.items() if k not in ("kind", "release", "releases")]
    inside = f" of [{'; and '.join(map(words, inner))}]" if inner else ""
    return f"{kind} ({', '.join(own)}){inside}" if own else f"{kind}{inside}"


def theorems(release: Any) -> set[str]:
    """The theorems on paper that an answer rests on."""
    more = {"poisson": SAMPLED}
    return {
        KINDS[one][1] if one in KINDS else more.get(one, COMPOSED) for one in primitives(release)
    }


def _moved(release: Any, relation: str) -> Fraction:
    """How far a record moves a sum of vectors, over the noise."""
    norm, diameter = positive(release["norm"]), positive(release["diameter"])
    if diameter > 2 * norm:
        raise RefusedError("a diameter is more than twice the norm")
    return (diameter if relation == REPLACE else norm) / positive(release["noise"])


def _pair(release: Any, relation: str, below: bool) -> Any:
    """The pair of a primitive release: with the record against without it."""
    kind, nothing = release["kind"], [(ONE, 0 * ONE)]
    if kind == "gaussian":
        return line([(ONE, _moved(release, relation))], nothing)
    if kind == "poisson-gaussian":
        a, q = (
            positive(release["norm"]) / positive(release["noise"]),
            number(release["probability"], ONE),
        )
        first, second = ([(1 - q, 0 * ONE), (q, x)] for x in (a, -a))
        return line(first, second if relation == REPLACE else nothing)
    if kind == "fixed-size-gaussian":
        a, n = positive(release["distance"]) / positive(release["noise"]), whole(release["of"])
        q = Fraction(whole(release["sampled"], n), n)
        pair = line([(1 - q, 0 * ONE), (q, a)], nothing)
        return pair if below or relation == ADD else ("mirrored", pair)
    if kind == "mixture":
        centres, shares = (list(map(number, release[one])) for one in ("positions", "weights"))
        if not 0 < len(centres) == len(shares) <= 50 or not sum(shares):
            raise RefusedError("positions and weights are not as many, or too many")
        noise = positive(release["noise"])
        return line([(w / sum(shares), x / noise) for w, x in zip(shares, centres)], nothing)
    if kind == "laplace":
        return "laplace", positive(release["distance"]) / positive(release["scale"])
    if kind == "discrete-laplace":
        return "geometric", 1 / positive(release["scale"]), whole(release["distance"], 1000) * ONE
    if kind == "response":
        probability, many = number(release["probability"], ONE), whole(release["buckets"])
        if not 0 < probability < 1 or many < 2:
            raise RefusedError("a probability is 0 or 1, or there is one bucket")
        return "response", probability, many * ONE
    if kind == "stated":
        return "stated", number(release["epsilon"], 10**5 * ONE), number(release["delta"], ONE)
    raise RefusedError(f"no pair is known for {kind}: give an order")


def ways(release: Any, relation: str, below: bool) -> list[Way]:
    """All that one record may amount to, as pairs and counts, in both orders of the data sets."""
    forward = [_merged(way, below) for way in _forward(release, relation, below)]
    backward = [_merged([(reverse(pair), n) for pair, n in way], below) for way in forward]
    return _different(forward + backward)


def _different(found: list[Way]) -> list[Way]:
    kept: list[Way] = []
    for way in found:
        kept += [way] if way not in kept else []
    if len(kept) > MOST_WAYS:
        raise RefusedError("a record may matter in too many ways")
    return kept


def _forward(release: Any, relation: str, below: bool) -> list[Way]:
    kind, inner = parts(release)
    if not inner:
        return [[(_pair(release, relation, below), 1)]]
    if kind == "poisson":
        if relation != ADD or parts(inner[0])[0] not in SAMPLABLE:
            raise RefusedError("samples are known of primitive releases under add-or-remove-one")
        q = number(release["probability"], ONE)
        return [[(("sampled", q, _pair(inner[0], relation, below)), 1)] if q else []]
    each = [_different(_forward(one, relation, below)) for one in inner]
    if kind == "repeated":
        return [[(pair, n * whole(release["count"])) for pair, n in way] for way in each[0]]
    if kind == "composed":
        found: list[Way] = [[]]
        for some in each:
            found = _different([a + b for a, b in product(found, some)])
        return found
    if relation == REPLACE and release["record-may-move"] is not False:
        if below or not primitives(release) <= MOVABLE | {"parallel", "repeated", "composed"}:
            raise RefusedError("records that move are known of Gaussian sums, from above only")
        ends = [_forward(one, ADD, below) for one in inner]
        each.append(
            [
                a + [(reverse(pair), n) for pair, n in b]
                for left, joined in permutations(ends, 2)
                for a in left
                for b in joined
            ]
        )
    return _different([way for some in each for way in some])


def _merged(way: Way, below: bool) -> Way:
    """Equal pairs counted together, and all Gaussians as one: squared distances add up."""
    counts: dict[Any, int] = {}
    for pair, count in way:
        counts[pair] = counts.get(pair, 0) + count
    one_each = [pair for pair in counts if pair[0] == "line" and len(pair[1]) == len(pair[2]) == 1]
    if len(one_each) > 1 or any(counts[pair] > 1 for pair in one_each):
        square = sum((counts.pop(pair) * pair[1][0][1] ** 2 for pair in one_each), 0 * ONE)
        bits = 300 + square.denominator.bit_length()
        exact = root(of(square, bits))
        counts[
            line([(ONE, Fraction(exact.lo if below else exact.hi, 1 << bits))], [(ONE, 0 * ONE)])
        ] = 1
    if any(count > MOST_COUNT for count in counts.values()):
        raise RefusedError("more than a billion releases")
    return sorted(counts.items(), key=repr)


def divergence(release: Any, relation: str, a: Fraction) -> Fraction:
    """An upper bound on the Renyi divergence of order a > 1, in either direction."""
    kind, inner = parts(release)
    if kind == "gaussian":
        return a / 2 * _moved(release, relation) ** 2
    if kind == "zero-concentrated":
        return a * number(release["rho"])
    if kind == "stated" and not number(release["delta"]):
        epsilon = number(release["epsilon"])
        return min(epsilon, a * epsilon**2 / 2)
    if kind == "gaussian-synthesis":
        return _of_synthesis(release, relation, a)
    if kind == "repeated":
        return whole(release["count"]) * divergence(inner[0], relation, a)
    if kind == "composed":
        return sum((divergence(one, relation, a) for one in inner), 0 * ONE)
    raise RefusedError(f"no Renyi divergence is known for {kind}")


def _of_synthesis(release: Any, relation: str, a: Fraction) -> Fraction:
    """The two theorems of docs/theory/synthesis-direct.md, about one record of the synthesis."""
    n, d = whole(release["n"]), whole(release["d"], 10**6)
    sigma, b, found = number(release["eigenvalue"], ONE), a - 1, 0 * ONE

    def part(x: Fraction) -> Fraction:
        """The part l(x) = -(log(1 - b x) + b log(1 + x)) / (2 b) of an eigenvalue 1 + x."""
        both = log(of(1 - b * x, 400)) + of(b, 400) * log(of(1 + x, 400))
        return -Fraction(both.lo, 1 << 400) / (2 * b)

    if relation == REPLACE:
        big = 4 * d / sigma * (n - 1) / n**2
        if big >= 1 or b * big >= 1 or (a < 2 and 3 * big**2 > 1):
            raise RefusedError("too few records for this order")
        return a / (2 * (n - 1)) * big / (1 - b * big) + part(big)
    farthest = d * (1 + upper(root(of(1 - sigma, 400)))) ** 2 / sigma
    for m, t in product((n - 1, n), (0 * ONE, farthest)):
        size, e = m + 1, (m * t / (m + 1) - 1) / (m + 1)
        scaled = a * t / (2 * size**2)
        if b * e >= 1 or a >= size:
            raise RefusedError("the divergence of this order is infinite")
        removed = (d - 1) * part(Fraction(-1, size)) + part(e) + scaled / (1 - b * e)
        added = (d - 1) * part(Fraction(1, m)) + part(-e / (1 + e)) + scaled / (1 + a * e)
        found = max(found, removed, added)
    return found
