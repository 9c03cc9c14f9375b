"use strict";
/* A checker of certificates in integers, written from docs/theory/kernel.md: a second hand beside
   rdpkit/kernel. All that decides is a BigInt. checkCertificate(text) says what was found. */

function need(shown, reason) {
  if (!shown) throw new Error(reason);
  return shown;
}
/* What may still be computed, in units of rdpkit/kernel; and who is told how far it is. */
const MOST_WORK = 70000000n;
let [left, progress] = [0n, () => {}];
function spend(units) {
  left -= units;
  need(left >= 0n, "it takes more work than is allowed for one certificate");
}

/* Integers and fractions. */
const largest = (all) => all.reduce((a, b) => (a > b ? a : b));
const most = (...all) => largest(all);
const least = (...all) => all.reduce((a, b) => (a < b ? a : b));
const total = (all) => all.reduce((a, b) => a + b, 0n);
const size = (a) => (a < 0n ? -a : a);
const up = (a, n) => -(-a >> n);
const digitsOf = (a, base = 10) => BigInt(a.toString(base).length);
/* The quotient rounded down, by a divisor above 0. */
const floor = (a, b) => a / b - (a < 0n && a % b ? 1n : 0n);
function isqrt(a) {
  let x = 2n << (digitsOf(a, 2) / 2n + 1n);
  for (let next = x - 1n; next < x; next = (x + a / most(x, 1n)) >> 1n) x = next;
  return x;
}
class Fraction {
  constructor(n, d = 1n) {
    need(d !== 0n, "a denominator is 0");
    let [a, b] = [n, d];
    while (b) [a, b] = [b, a % b];
    if (a < 0n !== d < 0n) a = -a;
    [this.n, this.d] = [n / a, d / a];
  }
  plus(o) { return new Fraction(this.n * o.d + o.n * this.d, this.d * o.d); }
  minus(o) { return new Fraction(this.n * o.d - o.n * this.d, this.d * o.d); }
  times(o) { return new Fraction(this.n * o.n, this.d * o.d); }
  over(o) { return new Fraction(this.n * o.d, this.d * o.n); }
  squared() { return this.times(this); }
  below(o) { return this.n * o.d < o.n * this.d; }
}
const whole = (n) => new Fraction(BigInt(n));
const [ZERO, ONE, TWO, HALF] = [whole(0), whole(1), whole(2), new Fraction(1n, 2n)];
/* Reduced once, at the end. */
const added = (all) =>
  new Fraction(...all.reduce(([n, d], o) => [n * o.d + o.n * d, d * o.d], [0n, 1n]));

/* Enclosures: a number in [lo, hi] / 2^bits. */
class Enclosed {
  constructor(lo, hi, bits) { [this.lo, this.hi, this.bits] = [lo, hi, bits]; }
  plus(o) { return new Enclosed(this.lo + o.lo, this.hi + o.hi, this.bits); }
  minus(o) { return new Enclosed(this.lo - o.hi, this.hi - o.lo, this.bits); }
  larger(o) { return new Enclosed(most(this.lo, o.lo), most(this.hi, o.hi), this.bits); }
  times(o) {
    const ends = [this.lo * o.lo, this.lo * o.hi, this.hi * o.lo, this.hi * o.hi];
    return new Enclosed(least(...ends) >> this.bits, up(most(...ends), this.bits), this.bits);
  }
  over(o) {
    need(o.lo > 0n, "a divisor is not certainly positive: too few digits");
    const low = floor(this.lo << this.bits, this.lo < 0n ? o.lo : o.hi);
    const high = floor(this.hi << this.bits, this.hi < 0n ? o.hi : o.lo);
    return new Enclosed(low, high + 1n, this.bits);
  }
  at(bits) {
    const more = bits - this.bits;
    return new Enclosed(this.lo << more, -(-this.hi << more), bits);
  }
  root() {
    const [low, high] = [this.lo, this.hi].map((end) => isqrt(most(end, 0n) << this.bits));
    return new Enclosed(low, high + 1n, this.bits);
  }
  /* Squares of e^r, or of 1 / e^r, with r = |x| / 2^k; e^w <= 1 + 2 w for a width w below 1/2. */
  exp() {
    const [{ bits }, far, width] = [this, size(this.lo), this.hi - this.lo];
    const squares = most(digitsOf(far, 2) - bits, 0n) + 16n;
    const grown = this.lo > 0n ? (3n * far) >> (bits + 1n) : 0n;
    const work = bits + grown + squares + 20n;
    spend(8n + ((work + grown) ** 2n / 600n) * (1n + (work >> 14n)));
    need(grown < 160000n && !(width >> (bits - 1n)), "an exponential is uncertain, or large");
    const near = series(1n << work, (far << (work - bits)) >> squares, 1n, 1n, work);
    let { lo, hi } = this.lo < 0n ? of(ONE, work).over(near) : near;
    for (let i = 0n; i < squares; i++) [lo, hi] = [(lo * lo) >> work, ((hi * hi) >> work) + 1n];
    const found = new Enclosed(lo, hi, work).at(bits);
    return new Enclosed(found.lo, found.hi + ((2n * found.hi * width) >> bits) + 1n, bits);
  }
  /* 2^n log u, with u^(2^n) = x, and 1 - 1 / u <= log u <= u - 1. */
  log() {
    spend(this.bits ** 2n / 8n);
    let near = this.at(3n * this.bits);
    for (let i = 0n; i < this.bits; i++) near = near.root();
    const above = near.minus(of(ONE, near.bits));
    const low = above.over(near).lo;
    return new Enclosed(low << this.bits, above.hi << this.bits, near.bits).at(this.bits);
  }
}
const of = (f, bits) => new Enclosed(floor(f.n << bits, f.d), -floor(-f.n << bits, f.d), bits);
const sum = (all, bits) => all.reduce((a, b) => a.plus(b), of(ZERO, bits));
/* x + x f / d + x f^2 / (d (d + s)) + ..., for f between two neighbours: all down, and all up. */
function series(first, factor, divisor, stride, work) {
  const [low, high] = [0n, 1n].map((more) => {
    let [found, term, below] = [0n, first, divisor];
    for (; term > 4n || below << work < 2n * (factor + more); below += stride) {
      found += term;
      term = ((term * (factor + more)) >> work) / below + 2n * more;
    }
    return found + 16n * more;
  });
  return new Enclosed(low, high, work);
}
/* The integral of e^(-u^2/2) from 0 to n / 2^bits, and half of that over the whole line. */
function area(n, bits) {
  const square = (n * n) >> bits;
  spend((bits + ((4n * square) >> bits)) * (1n + (bits >> 11n) ** 2n));
  const power = new Enclosed(-(square >> 1n) - 1n, -(square >> 1n), bits);
  return power.exp().times(series(n, square, 3n, 2n, bits));
}
const halves = new Map();
function halfArea(bits) {
  if (halves.has(bits)) return halves.get(bits);
  const work = 3n * bits + 64n;
  const found = area((isqrt(2n * bits) + 1n) << work, work).at(bits);
  halves.set(bits, new Enclosed(found.lo, found.hi + 1n, bits));
  return halves.get(bits);
}
/* The tail of normal noise, which falls by at most 0.4 a unit. */
function normalTail(x) {
  const [{ bits }, half, n] = [x, 1n << (x.bits - 1n), size(x.lo)];
  const more = 32n * (2n + ((3n * ((n * n) >> bits)) >> (bits + 7n)));
  const share = area(n << more, bits + more).over(halfArea(bits + more));
  const ends = [share.lo >> (more + 1n), (share.hi >> (more + 1n)) + 1n];
  const [low, high] = x.lo < 0n ? [-ends[1], -ends[0]] : ends;
  return new Enclosed(most(half - high - (2n * (x.hi - x.lo) + 4n) / 5n, 0n), half - low, bits);
}

/* Pairs: a kind, what P and Q are, a bound on losses, the rate of a sample, and a side: -1 if
   members are exchanged, 0 if that is the same curve. */
const FINE = 4000n;
const pairOf = (kind, given, limit = null, side = 0) => ({ kind, given, limit, rate: ONE, side });
const shift = (square) => pairOf("normal", [[[square, ONE]], [[ZERO, ONE]]]);
const outcomes = (p, e, d = ZERO) => pairOf("outcomes", [p, [...p].reverse()], [e, d]);
const exchanged = (way) => way.map(([pair, n]) => [{ ...pair, side: -pair.side }, n]);
function mixture({ noise, parts }) {
  const all = added(parts.map(([weight]) => weight));
  const first = parts.map(([weight, x]) => [x.over(noise).squared(), weight.over(all)]);
  return pairOf("normal", [first, [[ZERO, ONE]]], null, 1);
}
const laplace = ({ scale, distance }) =>
  pairOf("laplace", [[distance.over(scale)], [ZERO]], [distance.over(scale), ZERO]);
function stated({ epsilon, delta }) {
  const kept = of(ONE.minus(delta), FINE);
  const small = kept.over(of(ONE, FINE).plus(of(epsilon, FINE).exp()));
  return outcomes([of(ZERO, FINE), small, kept.minus(small), of(delta, FINE)], epsilon, delta);
}
function response({ buckets, probability }) {
  const other = probability.over(whole(buckets));
  const same = ONE.minus(probability).plus(other);
  need(probability.n > 0n && probability.below(ONE) && buckets > 1n, "no random answer");
  const first = [other, ONE.minus(same).minus(other), same].map((one) => of(one, FINE));
  return outcomes(first, new Fraction(of(same.over(other), 60n).log().hi, 1n << 60n));
}
function discreteLaplace({ scale, distance: { n, d } }) {
  need(d === 1n && n >= 1n && n <= 100n, "no distance from 1 to 100");
  const [one, power] = [of(ONE, FINE), (m) => of(whole(m).over(scale), FINE).exp()];
  const half = one.over(one.plus(power(-1n)));
  const upTo = Array.from({ length: Number(n) }, (_, m) => power(BigInt(m) - n).times(half));
  const before = [of(ZERO, FINE), ...upTo];
  return outcomes([...upTo, one].map((b, i) => b.minus(before[i])), whole(n).over(scale));
}
function curve(pair, t) {
  const [{ bits }, { side, rate, given }, plain] = [t, pair, { ...pair, side: 1 }];
  const [one, q] = [of(ONE, bits), of(rate, bits)];
  const rest = one.minus(t);
  need(curves[pair.kind], "only events of batches are known");
  if (t.lo <= 0n) return new Enclosed(rest.lo, most(one.hi, rest.hi), bits);
  if (side < 0 || (side === 0 && t.lo < one.lo)) {
    need(side < 0 || t.hi <= one.lo, "too few digits beside 1");
    return rest.plus(t.times(curve(plain, one.over(t))));
  }
  if (!rate.below(ONE)) return curves[pair.kind](given[0], given[1], t, one, of(ZERO, bits));
  return q.times(curve({ ...plain, rate: ONE }, q.minus(rest).over(q)));
}
const curves = {
  outcomes(p, q, t, one, none) {
    const parts = p.map((a, i) => a.at(t.bits).minus(t.times(q[i].at(t.bits))));
    return sum(parts.map((part) => part.larger(none)), t.bits);
  },
  laplace([far], _, t, one, none) {
    const middle = one.minus(t.times(none.minus(of(far, t.bits)).exp()).root());
    return none.larger(one.minus(t)).larger(middle);
  },
  normal(first, second, t, one, none) {
    const [p, q] = [first, second].map((parts) => centres(parts, t.bits));
    const x = placeOf([p, q.map(([a, w]) => [a, w.times(t)])], t.bits);
    const [above, below] = [first, second].map((parts) => tails.normal(parts, x));
    const ratio = density(p, x)[0].over(density(q, x)[0]).larger(none);
    const top = new Enclosed(ratio.hi, ratio.hi, t.bits);
    const missed = top.minus(t).larger(none).over(top).times(one.minus(above));
    const wrong = t.minus(ratio).larger(none).times(below).plus(missed);
    const found = above.minus(t.times(below));
    const high = most(found.plus(wrong).hi, 0n);
    return new Enclosed(most(found.lo, 0n), least(high, one.hi), t.bits);
  },
};
/* P and Q of the event beyond a place, or of the complement of one if members are exchanged. */
function event({ kind, given, rate, side }, start, bits) {
  const place = (side < 0 ? -1n : 1n) * floor(start << bits, 10000n);
  const [one, q, x] = [of(ONE, bits), of(rate, bits), new Enclosed(place, place, bits)];
  const [sampled, without] = given.map((parts) => tails[kind](parts, x));
  const joined = q.times(sampled).plus(one.minus(q).times(without));
  return side < 0 ? [one.minus(without), one.minus(joined)] : [joined, without];
}
const tails = {
  outcomes(list, x) {
    const after = list.filter((_, i) => BigInt(i) << x.bits > x.lo);
    return sum(after.map((p) => p.at(x.bits)), x.bits);
  },
  /* e^-x / 2 from 0 on, and below it 1 - e^x / 2, which is nowhere above the tail. */
  laplace([centre], x) {
    const [far, half] = [x.minus(of(centre, x.bits)), of(HALF, x.bits)];
    if (far.lo < 0n) return of(ONE, x.bits).minus(half.times(far.exp()));
    return half.times(of(ZERO, x.bits).minus(far).exp());
  },
  normal(parts, x) {
    return sum(centres(parts, x.bits).map(([a, w]) => w.times(normalTail(x.minus(a)))), x.bits);
  },
  /* That all of so many numbers are above x, of which perhaps one has another mean. */
  batches([number, share, mean], x) {
    let own = normalTail(x);
    const [q, other] = [of(share, x.bits), normalTail(x.minus(of(mean, x.bits)))];
    let found = of(ONE, x.bits).minus(q).times(own).plus(q.times(other));
    for (let n = number - 1n; n; [n, own] = [n >> 1n, own.times(own)])
      if (n & 1n) found = found.times(own);
    return found;
  },
};
const centres = (parts, bits) =>
  parts.map(([square, w]) => [of(square, 2n * bits).root().at(bits), of(w, bits)]);
/* A density, but for what all have in common, and its slope. */
function density(parts, x) {
  const terms = parts.map(([a, w]) => w.times(x.minus(of(HALF, x.bits).times(a)).times(a).exp()));
  return [sum(terms, x.bits), sum(terms.map((v, i) => v.times(parts[i][0])), x.bits)];
}
/* Where the ratio is about 1; where this comes from does not matter. */
function placeOf(sides, bits) {
  const far = most(...sides.flat().map(([a]) => a.hi)) + ((isqrt(2n * bits) + 2n) << bits);
  let [x, last] = [0n, far];
  while (size(x - last) >> (bits / 4n)) {
    const [[p, dp], [q, dq]] = sides.map((one) => density(one, new Enclosed(x, x, bits)));
    const slope = floor(dp.lo << bits, most(p.lo, 1n)) - floor(dq.lo << bits, most(q.lo, 1n));
    const height = most(p.lo + q.lo, 1n) * most(slope, 1n);
    const moved = x + floor((q.lo - p.lo) << (2n * bits + 1n), height);
    [x, last] = [least(most(moved, -far), far), x];
  }
  return new Enclosed(x, x, bits);
}

/* Masses of the losses (low + i) step, over 10^digits: a side for P, which is above the masses, or
   two, for P and Q, which are below and above. A side has what is infinite beside its values. */
const [MOST_PLACES, MOST_POINTS, MOST_DIGITS] = [400000, 20000, 60000000n];
function massesOf(step, digits, places, sides) {
  const all = sides.map(([up, infinite, masses]) => {
    const known = new Map(places.map((k, i) => [k - places[0], masses[i]]));
    const length = Number(places.at(-1) - places[0]) + 1;
    return { up, infinite, values: Array.from({ length }, (_, i) => known.get(BigInt(i)) ?? 0n) };
  });
  return { step, unit: 10n ** digits, bits: 4n * digits + 64n, low: places[0], sides: all };
}
function times(one, other) {
  const sides = one.sides.map(({ up, infinite: a, values }, i) => {
    const { infinite: b, values: theirs } = other.sides[i];
    const infinite = a + b - (up ? 0n : (a * b) / one.unit + 1n);
    return { up, infinite, values: product(values, theirs, one.unit, up) };
  });
  return { ...one, low: one.low + other.low, sides };
}
function halved(masses) {
  const [{ bits, step, low }, one] = [masses, of(ONE, masses.bits)];
  const share = one.over(one.plus(of(ZERO.minus(step), bits).exp())).hi;
  const rising = masses.sides.length > 1 ? 0n : least(share, one.hi);
  const odd = Number(low & 1n);
  const sides = masses.sides.map((side) => {
    const values = Array(((side.values.length + odd) >> 1) + 1).fill(0n);
    side.values.forEach((v, i) => {
      const moved = (i + odd) % 2 ? up(v * rising, bits) : 0n;
      values[(i + odd) >> 1] += v - moved;
      values[(i + odd + 1) >> 1] += moved;
    });
    return { ...side, values };
  });
  return { ...masses, step: step.times(TWO), low: low >> 1n, sides };
}
/* Without places at both ends that together have at most a budget of mass each. */
function cut(masses, budget) {
  const [{ values: p, up }] = masses.sides;
  let [first, end, before, after] = [0, p.length, p[0], p.at(-1)];
  while (first < end - 1 && before <= budget) before += p[++first];
  while (end > first + 1 && after <= budget) after += p[--end - 1];
  const sides = masses.sides.map((side) => {
    const [values, far] = [side.values.slice(first, end), total(side.values.slice(end))];
    return { ...side, values, infinite: side.infinite + far };
  });
  if (up) sides[0].values[0] = before;
  return { ...masses, low: masses.low + BigInt(first), sides };
}
function power(once, number, halvings, budget) {
  let [found, taken] = [once, 1n];
  [...number.toString(2).slice(1)].forEach((digit, level) => {
    [found, taken] = [times(found, found), 2n * taken];
    if (halvings.includes(level)) [found, once] = [halved(found), halved(once)];
    if (digit === "1") [found, taken] = [times(found, once), taken + 1n];
    found = cut(found, (budget * taken) / number);
    progress(`${taken} of ${number} releases`);
  });
  return found;
}
/* The largest P(sum >= s) - e^epsilon Q(sum >= s); from above Q is e^-loss times P. */
function deltaOf({ step, unit, bits, low, sides }, epsilon) {
  const [p, q, above] = [sides[0], sides.at(-1), sides.length === 1];
  const first = above ? epsilon.minus(whole(low).times(step)) : epsilon;
  const fall = above ? of(ZERO.minus(step), bits).exp().lo : 1n << bits;
  let weight = of(first, bits).exp()[above ? "lo" : "hi"];
  const parts = p.values.map((mass, i) => {
    const part = (mass << bits) - q.values[i] * weight;
    weight = (weight * fall) >> bits;
    return part;
  });
  let found = (p.infinite << bits) - (above ? 0n : q.infinite * weight);
  const sums = [found, ...parts.reverse().map((part) => (found += part))];
  return new Fraction(largest(sums), unit << bits);
}
/* A convolution over unit: entries side by side, as hexadecimal digits of two long integers. */
function product(ours, theirs, unit, raised) {
  const [places, number] = [ours.length + theirs.length - 1, BigInt(ours.length)];
  const [a, b] = [largest(ours), largest(theirs)];
  const wide = digitsOf(a) + digitsOf(b) + digitsOf(number);
  const widest = least(MOST_DIGITS / BigInt(places), 1000n);
  need(places <= MOST_PLACES && wide <= widest, "it is too long");
  spend(BigInt(places) * (wide / 4n + 2n));
  const hex = (a * b * number).toString(16).length + 1;
  const padded = (v, n) => v.toString(16).padStart(n * hex, "0");
  const pack = (all) => BigInt("0x" + all.map((v) => padded(v, 1)).reverse().join(""));
  const text = padded(pack(ours) * pack(theirs), places);
  return Array.from({ length: places }, (_, i) => {
    const value = BigInt("0x" + text.slice(text.length - (i + 1) * hex, text.length - i * hex));
    return raised ? -floor(-value, unit) : value / unit;
  });
}
/* Fact 1: the chords of a curve, at places of a grid. */
function fromAbove(pair, places, step, digits) {
  const bits = bitsFor(pair, places, step, digits);
  const t = [of(ZERO, bits), ...places.map((k) => of(whole(k).times(step), bits).exp())];
  const heights = t.map((one, i) => {
    progress(`${i} of ${places.length} points of a curve`);
    return curve(pair, one);
  });
  const slopes = places.map((_, i) => heights[i + 1].minus(heights[i]).over(t[i + 1].minus(t[i])));
  const jumps = [...slopes.slice(1), of(ZERO, bits)].map((one, i) => one.minus(slopes[i]));
  const exact = [...jumps.map((jump, i) => t[i + 1].times(jump)), heights.at(-1)];
  const masses = exact.map((one) => most(up(one.hi * 10n ** digits, bits), 0n));
  return massesOf(step, digits, places, [[true, masses.pop(), masses]]);
}
/* Events, each a part of the one before it; a place labels what is in one and not in the next. */
function fromBelow(pair, places, step, digits, starts) {
  const all = starts.map(integer);
  const shrink = all.every((one, i) => !i || all[i - 1] <= one);
  need(all.length === places.length && shrink, "events do not shrink");
  const bits = bitsFor(pair, places, step, digits);
  const events = [...all.map((one) => event(pair, one, bits)), [of(ZERO, bits), of(ZERO, bits)]];
  const [p, q] = [0, 1].map((k) => all.map((_, i) => events[i][k].minus(events[i + 1][k])));
  const lower = p.map(({ lo }) => most((lo * 10n ** digits) >> bits, 0n));
  const upper = q.map(({ hi }) => up(hi * 10n ** digits, bits));
  return massesOf(step, digits, places, [[false, 0n, lower], [true, 0n, upper]]);
}
/* Binary digits, more where e^loss, or one over it, multiplies what is off. */
function bitsFor({ given: [{ length }] }, places, step, digits) {
  const [width, number] = [places.at(-1) - places[0] + 1n, BigInt(places.length)];
  const far = (most(-places[0], places.at(-1)) * step.n) / step.d;
  need(far < 100000n && width <= MOST_PLACES, "a loss is too large, or a grid too long");
  const bits = (7n * digits) / 2n + 64n + 4n * digitsOf(step.d) + (3n * far) / 2n;
  spend(4n * width + number * BigInt(length) * (10n + bits ** 2n / 40000n));
  return bits;
}

/* Releases: what is understood, and the pairs of what a record may amount to. */
const [ADD, REPLACE, ZEROED] = ["add-or-remove-one", "replace-one", "zero-out"];
const [STAYS, MOVES] = ["replace-one-in-a-part", "moves"];
const RECORDS = new Map([
  [ADD, "by one record, which only one has"],
  [REPLACE, "in one record, which is another one"],
  [ZEROED, "in one record, which adds nothing to sums in one of them"],
  [STAYS, "in one record, which is another one in the same part of the data"],
]);
/* Fields; first letters of relations, and what else is known of a kind; its pair. */
const KINDS = new Map([
  ["gaussian", ["noise distance", "a r z q moves linear attained"]],
  ["fixed-size-gaussian", ["noise distance sampled of", "a r moves"]],
  ["shuffled-gaussian", ["noise distance batch of", "a r z"]],
  ["mixture", ["noise parts", "a", mixture]],
  ["laplace", ["scale distance", "a r q", laplace]],
  ["discrete-laplace", ["scale distance", "a r q", discreteLaplace]],
  ["response", ["buckets probability", "r", response]],
  ["stated", ["epsilon delta", "a r q", stated]],
  ["zero-concentrated", ["rho", "a r z linear"]],
  ["gaussian-synthesis", ["n d eigenvalue", "a r"]],
]);
const all = (release, what) =>
  release.flat().every(({ kind }) => KINDS.get(kind)[1].split(" ").includes(what));
const WHOLE = ["count", "batch", "sampled", "of", "n", "d", "buckets"];
const [BILLION, HUGE] = [10 ** 9, whole(10n ** 400n)];
const MOST = { rate: ONE, probability: ONE, eigenvalue: ONE, delta: ONE, epsilon: whole(10 ** 5) };
const NUMBER =
  /^([0-9]{1,60})(?:\/(0*[1-9][0-9]{0,29})|(?:\.([0-9]{1,80}))?(?:e([+-]?[0-9]{1,3}))?)$/;
function number(text, limit = HUGE) {
  const [, head, below = "1", part = "", power = "0"] = NUMBER.exec(text) ?? [];
  need(typeof text === "string" && head, "no string of digits");
  const scale = BigInt(Number(power) - part.length);
  const above = BigInt(head + part) * 10n ** most(scale, 0n);
  const found = new Fraction(above, BigInt(below) * 10n ** most(-scale, 0n));
  const usual = !found.below(ONE.over(HUGE)) && !limit.below(found);
  need(!found.n || usual, "too small or too large");
  return found;
}
function integer(given) {
  need(["number", "boolean"].includes(typeof given), "no integer");
  return BigInt(given);
}
const count = (given, limit = BILLION) =>
  integer(need(given !== true && given >= 1 && given <= limit && given, `not from 1 to ${limit}`));
const listed = (given, few, many) => need(
  Array.isArray(given) && few <= given.length && given.length <= many && given, "too few, or many");
function fields(given, names) {
  const wanted = JSON.stringify(names.trim().split(" ").sort());
  const plain = given && typeof given === "object" && !Array.isArray(given);
  need(plain && JSON.stringify(Object.keys(given).sort()) === wanted, `its fields: not ${names}`);
  return given;
}
function readRelease(given) {
  return listed(given, 1, 64).map((part) => listed(part, 1, 64).map((one) => {
    const [names] = need(KINDS.get(one.kind), "an unknown kind");
    const entries = Object.entries(fields(one, `kind count rate ${names}`));
    return Object.fromEntries(entries.map(([name, value]) => [name, readField(name, value)]));
  }));
}
function readField(name, value) {
  if (name === "kind") return value;
  if (WHOLE.includes(name)) return count(value);
  if (name !== "parts") return number(value, MOST[name]);
  return listed(value, 1, 50).map((one) => listed(one, 2, 2).map((text) => number(text)));
}
function pairFor(given, relation, below) {
  const { kind, rate } = given;
  const sampled = rate.below(ONE);
  const known = all([[given]], "q") && (relation === ADD || kind === "gaussian");
  need(known || !sampled, "samples of this are not known");
  if (kind === "shuffled-gaussian") return batches(given, relation);
  const [, , make] = KINDS.get(kind);
  if (make) return { ...make(given), rate, side: Number(sampled || kind === "mixture") };
  need(given.noise, "no pair is known of it");
  const square = given.distance.over(given.noise).squared();
  if (kind === "fixed-size-gaussian") {
    const subset = count(Number(given.sampled), Number(given.of) - (relation !== REPLACE));
    const share = new Fraction(subset, given.of);
    return { ...shift(square), rate: share, side: Number(relation !== REPLACE || below) };
  }
  const quarter = square.times(HALF.squared());
  if (relation === MOVES) return { ...shift(quarter), rate, side: Number(sampled) };
  if (relation !== REPLACE || !sampled) return { ...shift(square), rate, side: Number(sampled) };
  /* The worst two records are opposite ones, each half of the distance away from nothing. */
  const rest = [quarter, ONE.minus(rate)];
  return pairOf("normal", [[rest, [square, rate]], [rest, [ZERO, rate]]]);
}
/* All other records are on the other side of the origin. */
function batches({ noise, distance, batch, of: records }, relation) {
  need(relation !== ADD || records % batch, "without a record a batch is missing");
  const [far, number] = [distance.over(noise), count(Number(records / batch))];
  const own = relation === ZEROED ? far.times(HALF) : ZERO;
  const share = new Fraction(number * batch, records);
  const given = [own, far].map((mean) => [number, share, ZERO.minus(mean)]);
  return pairOf("batches", given, null, -1);
}
/* A value as text, by which equal pairs and equal ways are found. */
const named = (value) => JSON.stringify(value, (_, v) => (typeof v === "bigint" ? `${v}` : v));
function merged(way) {
  spend(BigInt(40 * way.length ** 2));
  const counts = new Map();
  for (const [pair, n] of way)
    counts.set(named(pair), [pair, n + (counts.get(named(pair)) ?? [pair, 0n])[1]]);
  const alone = [...counts].filter(([, [{ kind, rate, given }]]) =>
    kind === "normal" && !rate.below(ONE) && given[0].length === 1);
  alone.forEach(([key]) => counts.delete(key));
  const squares = alone.map(([, [{ given }, n]]) => whole(n).times(given[0][0][0]));
  const pair = shift(added(squares));
  if (alone.length) counts.set(named(pair), [pair, 1n]);
  need([...counts.values()].every(([, n]) => n <= BILLION), "more than a billion releases");
  return [...counts.values()];
}
function ways(release, relation, below) {
  const sizes = release.map((part) => new Set(part.flatMap((one) => one.of ?? [])));
  need(!below || sizes.every((one) => one.size <= 1), "data sets of different sizes");
  const pairs = (about) =>
    release.map((part) => part.map((one) => [pairFor(one, about, below), one.count]));
  const found = pairs(relation === STAYS ? REPLACE : relation);
  if (relation === REPLACE && release.length > 1) {
    need(!below && all(release, "moves"), "records that move are not known of this");
    const ends = pairs(MOVES);
    const others = (i) => ends.filter((_, k) => k !== i);
    const moves = ends.map((one, i) => others(i).map((to) => [...one, ...exchanged(to)]));
    found.push(...moves.flat());
  }
  const both = [...found, ...found.map(exchanged)].map(merged);
  const every = [...new Map(both.map((way) => [named(way), way])).values()];
  return listed(every, 1, 64);
}

/* Renyi divergences of order a. */
function divergence(release, relation, a) {
  need(ONE.below(a) && !whole(10 ** 6).below(a), "an order is at most 1, or very large");
  const [part] = listed(release, 1, 1);
  need(part.every((one) => !one.rate.below(ONE)), "no Renyi divergence is known of samples");
  return added(part.map((one) => whole(one.count).times(divergenceOf(one, relation, a))));
}
function divergenceOf(one, relation, a) {
  if (one.kind === "zero-concentrated") return a.times(one.rho);
  if (one.kind === "gaussian") return a.times(HALF).times(one.distance.over(one.noise).squared());
  need(one.kind === "gaussian-synthesis", "no Renyi divergence is known of it");
  const [b, d] = [a.minus(ONE), whole(one.d)];
  const part = (x) => {
    const second = of(b, 400n).times(of(ONE.plus(x), 400n).log());
    const both = of(ONE.minus(b.times(x)), 400n).log().plus(second);
    return new Fraction(-both.lo, 1n << 400n).over(TWO.times(b));
  };
  const bounds = casesOf(whole(one.n), d, one.eigenvalue, relation, a).map(([x, y, far]) => {
    const means = a.times(HALF).times(far).over(ONE.minus(b.times(x)));
    return d.minus(ONE).times(part(y)).plus(part(x)).plus(means);
  });
  return bounds.reduce((x, y) => (x.below(y) ? y : x));
}
/* One normal law against another: by x and y variances are larger, far is a squared distance. */
function casesOf(n, d, eigenvalue, relation, a) {
  if (relation !== ADD) {
    const x = whole(4).times(d).over(eigenvalue).times(n.minus(ONE)).over(n.squared());
    const small = !a.below(TWO) || !ONE.below(whole(3).times(x.squared()));
    need(x.below(ONE) && small, "too few records");
    return [[x, ZERO, x.over(n.minus(ONE))]];
  }
  const root = new Fraction(of(ONE.minus(eigenvalue), 400n).root().hi, 1n << 400n).plus(ONE);
  const squares = [ZERO, d.times(root.squared()).over(eigenvalue)];
  return [n, n.plus(ONE)].flatMap((m) => squares.flatMap((t) => {
    const [y, far] = [ZERO.minus(ONE.over(m)), t.over(m.squared())];
    const x = t.plus(y.times(t)).minus(ONE).over(m);
    const back = [x, y].map((one) => ZERO.minus(one.over(one.plus(ONE))));
    return [[x, y, far], [...back, far.over(x.plus(ONE))]];
  }));
}

/* Whether one way in which a record may matter has at most delta at epsilon, or more. */
function ofAWay(way, hint, below, epsilon, delta) {
  if (below) return hint !== null && delta.below(boundOf(way, hint, below, epsilon));
  const limits = way.map(([pair, n]) =>
    (pair.limit ?? [epsilon.plus(ONE), ONE]).map((one) => one.times(whole(n))));
  const [losses, infinite] = [0, 1].map((k) => added(limits.map((one) => one[k])));
  if (!epsilon.below(losses) && !delta.below(infinite)) return true;
  return !delta.below(boundOf(way, hint, below, epsilon));
}
function boundOf(way, hint, below, epsilon) {
  const [digits, kept] = [count(hint.digits, 300), count(hint.cut, 300)];
  const parts = listed(hint.parts, way.length, way.length);
  const powers = way.map(([pair, n], i) => {
    const halvings = listed(parts[i].halvings, 0, 40).map((v) => (v === !!v ? Number(v) : v));
    const step = number(hint.step).over(whole(1n << BigInt(halvings.length)));
    const grid = [pair, nodes(parts[i].nodes), step, digits];
    const once = below ? fromBelow(...grid, parts[i].starts) : fromAbove(...grid);
    return power(once, n, halvings, 10n ** most(digits - kept, 0n));
  });
  need(new Set(powers.map(({ step }) => named(step))).size === 1, "the parts end on other grids");
  return deltaOf(powers.reduce(times), epsilon);
}
function nodes(given) {
  const places = [];
  for (const stretch of listed(given, 1, MOST_POINTS)) {
    if (places.length === MOST_POINTS) break;
    const [first, last, stride] = listed(stretch, 3, 3);
    const [end, step] = [integer(last), count(stride)];
    for (let k = integer(first); k < end && places.length < MOST_POINTS; k += step) places.push(k);
  }
  need(places.every((k, i) => !i || places[i - 1] < k), "the places of a grid do not ascend");
  return places;
}
/* Balle et al. 2020, Theorem 21. */
function implied(r, a, epsilon, delta) {
  const shrunk = of(a.minus(ONE), 400n).times(of(ONE.minus(ONE.over(a)), 400n).log());
  const first = of(a.minus(ONE).times(r.minus(epsilon)), 400n);
  return first.plus(shrunk).minus(of(a, 400n).log()).hi <= of(delta, 400n).log().lo;
}
function isShown(claim, hints) {
  left = MOST_WORK;
  halves.clear();
  const [release, { relation, says, order }] = [readRelease(claim.release), claim];
  const [below, epsilon] = [says === "exceeded", number(claim.epsilon, MOST.epsilon)];
  if (!("delta" in claim)) {
    const exact = all(release, below ? "attained" : "linear");
    need(exact || (order && !below), "its divergences are not known exactly");
    const found = divergence(release, relation, number(order ?? "2")).times(order ? ONE : HALF);
    return below ? epsilon.below(found) : !epsilon.below(found);
  }
  const delta = number(claim.delta, ONE);
  if ("order" in hints) {
    const a = number(hints.order);
    return implied(divergence(release, relation, a), a, epsilon, delta) && !below;
  }
  const every = ways(release, relation, below);
  const given = listed(hints.ways, every.length, every.length);
  const shown = (way, i) => ofAWay(way, given[i], below, epsilon, delta);
  return below ? every.some(shown) : every.every(shown);
}

/* Files: JSON of text and integers, written in the only way that is read again as the same. */
const escaped = (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`;
const ascii = (value, names) => JSON.stringify(value, names).replace(/[\x7f-\uffff]/g, escaped);
function parse(text) {
  need(text.length <= 65536, "it has more than 64 kB");
  need(!/"[0-9]+"\s*:/.test(text), "a number as a name");
  const bare = text.replace(/("(?:[^"\\]|\\.)*")|[ \t\n\r]+/g, "$1");
  const outside = bare.replace(/"(?:[^"\\]|\\.)*"/g, "");
  need(!/[-0-9]{13}|[0-9][.eE]/.test(outside), "a fraction, or a number of too many digits");
  let depth = 0;
  for (const c of outside) {
    depth += "[{".includes(c) - "]}".includes(c);
    need(depth <= 100, "it is nested too deep");
  }
  const found = JSON.parse(text);
  need(ascii(found) === bare, "a name twice, or unusual JSON");
  return fields(found, "format claim sha256 hints about");
}
/* FIPS 180-4, of ASCII text. Its constants are the first bits of roots of primes. */
function sha256(text) {
  const turned = (x, ...all) => all.reduce((y, n) => y ^ (x >>> n) ^ (x << (32 - n)), 0);
  const bits = (x) => ((x % 1) * 2 ** 32) | 0;
  const primes = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((p) => n % p)) primes.push(n);
  const words = Array(16 * (((text.length + 8) >> 6) + 1)).fill(0);
  [...text, "\x80"].forEach((c, i) => { words[i >> 2] |= c.charCodeAt(0) << (24 - 8 * (i % 4)); });
  words[words.length - 1] = 8 * text.length;
  let state = primes.slice(0, 8).map((p) => bits(Math.sqrt(p)));
  while (words.length) {
    const w = words.splice(0, 16);
    let [a, b, c, d, e, f, g, h] = state;
    primes.forEach((p, i) => {
      const one = h + turned(e, 6, 11, 25) + ((e & f) ^ (~e & g)) + bits(Math.cbrt(p)) + w[i];
      const two = turned(a, 2, 13, 22) + ((a & b) ^ (a & c) ^ (b & c));
      [a, b, c, d, e, f, g, h] = [(one + two) | 0, a, b, c, (d + one) | 0, e, f, g];
      const [x, y] = [w[i + 1], w[i + 14]];
      const near = (turned(x, 7, 18) ^ (x >>> 3)) + (turned(y, 17, 19) ^ (y >>> 10));
      w.push((w[i] + w[i + 9] + near) | 0);
    });
    state = [a, b, c, d, e, f, g, h].map((v, i) => (v + state[i]) | 0);
  }
  return state.map((v) => (v >>> 0).toString(16).padStart(8, "0")).join("");
}
/* The hash of a claim, as JSON with sorted names and no blanks. */
function digest(claim) {
  const names = [];
  JSON.stringify(claim, (name, value) => names.push(name) && value);
  return sha256(ascii(claim, names.sort()));
}
const VERBS = new Map([["at most", "is at most"], ["exceeded", "for some two is more than"]]);
const ABOUT = { delta: "epsilon at delta ", order: "the Renyi divergence of order " };
const RHO = "rho, by which all orders times it bound Renyi divergences,";
function statement(claim) {
  const [release, { says, relation, epsilon }] = [readRelease(claim.release), claim];
  const [measure] = Object.keys(ABOUT).filter((one) => one in claim);
  fields(claim, `says relation release epsilon ${measure ?? ""}`);
  need(VERBS.has(says) && RECORDS.has(relation), "an unknown claim");
  need(all(release, relation[0]), "a release is not known under this relation");
  ["epsilon", measure ?? "epsilon"].forEach((one) => number(claim[one]));
  const words = claim.release.map((part, i) => `released${i ? ` of part ${i}` : ""}: ` +
    JSON.stringify(part).replaceAll(/"kind":|"/g, "").replaceAll(/[:,]/g, "$& "));
  const about = measure ? ABOUT[measure] + claim[measure] : RHO;
  const first = `any two data sets that differ ${RECORDS.get(relation)}:`;
  return [first, `  ${about} ${VERBS.get(says)} ${epsilon}`, ...words];
}
/* {status: 0 accepted, 1 not accepted, 2 not understood; lines: what is claimed; reason}. */
function checkCertificate(text, show = () => {}) {
  let [lines, status] = [[], 2];
  progress = show;
  try {
    const { claim, format, hints, sha256: hash } = parse(text);
    need(format === "rdpkit-certificate-3", "another format");
    lines = statement(claim);
    need(hash === digest(claim), "the hash is not that of the claim");
    status = 1;
    need(isShown(claim, hints), "it is not shown by these hints");
    return { status: 0, lines, reason: "accepted" };
  } catch (error) {
    // What the engine itself refuses, such as an integer that is too long, is no proof either.
    return { status, lines, reason: error instanceof Error ? error.message : "an error" };
  }
}
