"use strict";
/* A checker of certificates in integers, written from docs/theory/kernel.md: a second hand beside
   rdpkit/kernel. All that decides is a BigInt. checkCertificate(text) says what was found. */

class Refused extends Error {}
function need(shown, reason) {
  if (!shown) throw new Refused(reason);
}
let left = 0n, progress = () => {};
function spend(units) {
  left -= units;
  need(left >= 0n, "it takes more work than is allowed for one certificate");
}

/* Integers and fractions. */
const most = (...all) => all.reduce((a, b) => (a > b ? a : b));
const least = (...all) => all.reduce((a, b) => (a < b ? a : b));
const size = (a) => (a < 0n ? -a : a);
const up = (a, n) => -(-a >> n);
const length = (a) => (a === 0n ? 0n : BigInt(a.toString(2).length));
const digitsOf = (a) => BigInt(a.toString().length);
function floor(a, b) {
  need(b > 0n, "a divisor is not positive");
  const q = a / b;
  return q * b > a ? q - 1n : q;
}
function isqrt(a) {
  if (a < 2n) return a;
  let x = 1n << (length(a) / 2n + 1n);
  for (;;) {
    const next = (x + a / x) >> 1n;
    if (next >= x) return x;
    x = next;
  }
}
class Fraction {
  constructor(n, d = 1n) {
    need(d !== 0n, "a denominator is 0");
    let [a, b] = [size(n), size(d)];
    while (b) [a, b] = [b, a % b];
    if (d < 0n) a = -a;
    [this.n, this.d] = [n / a, d / a];
  }
  plus(o) { return new Fraction(this.n * o.d + o.n * this.d, this.d * o.d); }
  minus(o) { return new Fraction(this.n * o.d - o.n * this.d, this.d * o.d); }
  times(o) { return new Fraction(this.n * o.n, this.d * o.d); }
  over(o) { return new Fraction(this.n * o.d, this.d * o.n); }
  below(o) { return this.n * o.d < o.n * this.d; }
  same(o) { return this.n === o.n && this.d === o.d; }
}
const whole = (n) => new Fraction(BigInt(n));
const ZERO = whole(0), ONE = whole(1), TWO = whole(2);
const added = (all) => all.reduce((a, b) => a.plus(b), ZERO);

/* Enclosures: a number in [lo, hi] / 2^bits. */
class Enclosed {
  constructor(lo, hi, bits) { [this.lo, this.hi, this.bits] = [lo, hi, bits]; }
  plus(o) { return new Enclosed(this.lo + o.lo, this.hi + o.hi, this.bits); }
  minus(o) { return new Enclosed(this.lo - o.hi, this.hi - o.lo, this.bits); }
  times(o) {
    const ends = [this.lo * o.lo, this.lo * o.hi, this.hi * o.lo, this.hi * o.hi];
    return new Enclosed(least(...ends) >> this.bits, up(most(...ends), this.bits), this.bits);
  }
  over(o) {
    need(o.lo > 0n, "a divisor is not certainly positive: too few digits");
    const low = floor(this.lo << this.bits, this.lo >= 0n ? o.hi : o.lo);
    return new Enclosed(low, -floor(-this.hi << this.bits, this.hi >= 0n ? o.lo : o.hi), this.bits);
  }
  positive() { return new Enclosed(most(this.lo, 0n), most(this.hi, 0n), this.bits); }
  at(bits) {
    const n = bits - this.bits;
    return n < 0n ? new Enclosed(this.lo >> -n, up(this.hi, -n), bits)
      : new Enclosed(this.lo << n, this.hi << n, bits);
  }
  root() {
    const [low, high] = [this.lo, this.hi].map((end) => isqrt(most(end, 0n) << this.bits));
    return new Enclosed(low, high + 1n, this.bits);
  }
  /* Squares of e^r, or of 1 / e^r, with r = |x| / 2^k; e^w <= 1 + 2 w for a width w below 1/2. */
  exp() {
    const { bits } = this, width = this.hi - this.lo, far = size(this.lo);
    const squares = most(length(far) - bits, 0n) + 16n;
    const grown = this.lo > 0n ? (3n * far) >> (bits + 1n) : 0n;
    const work = bits + grown + squares + 20n;
    spend(8n + ((work + grown) ** 2n / 600n) * (1n + (work >> 14n)));
    need(grown < 160000n && !(width >> (bits - 1n)), "an exponential is uncertain, or large");
    let near = series(1n << work, (far << (work - bits)) >> squares, 1n, 1n, work);
    if (this.lo < 0n) near = of(ONE, work).over(near);
    let { lo, hi } = near;
    for (let i = 0n; i < squares; i++) [lo, hi] = [(lo * lo) >> work, ((hi * hi) >> work) + 1n];
    const found = new Enclosed(lo, hi, work).at(bits);
    return new Enclosed(found.lo, found.hi + ((2n * found.hi * width) >> bits) + 1n, bits);
  }
  /* 2^n log u, with u^(2^n) = x, and 1 - 1 / u <= log u <= u - 1. */
  log() {
    spend(this.bits ** 2n / 8n);
    let near = this.at(3n * this.bits);
    for (let i = 0n; i < this.bits; i++) near = near.root();
    const above = near.minus(of(ONE, near.bits)), low = above.over(near).lo;
    return new Enclosed(low << this.bits, above.hi << this.bits, near.bits).at(this.bits);
  }
}
const of = (f, bits) => new Enclosed(floor(f.n << bits, f.d), -floor(-f.n << bits, f.d), bits);
const sum = (all, bits) => all.reduce((a, b) => a.plus(b), new Enclosed(0n, 0n, bits));
const HALF = new Fraction(1n, 2n);
/* x + x f / d + x f^2 / (d (d + s)) + ..., for f between two neighbours: all down, and all up. */
function series(first, factor, divisor, stride, work) {
  const [low, high] = [0n, 1n].map((more) => {
    let [found, term, below] = [0n, first, divisor];
    while (term > 4n || below << work < 2n * (factor + more)) {
      found += term;
      term = ((term * (factor + more)) >> work) / below + 2n * more;
      below += stride;
    }
    return found + 16n * more;
  });
  return new Enclosed(low, high, work);
}
/* The integral of e^(-u^2/2) from 0 to n / 2^bits, and half of that over the whole line. */
function area(n, bits) {
  const square = (n * n) >> bits, middle = -(square >> 1n);
  return new Enclosed(middle - 1n, middle, bits).exp().times(series(n, square, 3n, 2n, bits));
}
const halves = new Map();
function halfArea(bits) {
  if (!halves.has(bits)) {
    const work = 3n * bits + 64n, found = area((isqrt(2n * bits) + 1n) << work, work).at(bits);
    halves.set(bits, new Enclosed(found.lo, found.hi + 1n, bits));
  }
  return halves.get(bits);
}
/* Tails of noise: normal, which falls by at most 0.4 a unit. */
function normalTail(x) {
  const { bits } = x, half = 1n << (bits - 1n), n = size(x.lo), square = (n * n) >> bits;
  const more = 32n * (2n + ((3n * square) >> (bits + 7n))), work = bits + more;
  spend((work + ((4n * square) >> bits)) * (1n + (work >> 11n) ** 2n));
  const share = area(n << more, work).over(halfArea(work));
  let [low, high] = [share.lo >> (more + 1n), (share.hi >> (more + 1n)) + 1n];
  if (x.lo < 0n) [low, high] = [-high, -low];
  const fall = (2n * (x.hi - x.lo) + 4n) / 5n;
  return new Enclosed(most(half - high - fall, 0n), half - low, bits);
}
/* Laplace: e^-x / 2 from 0 on, and below it 1 - e^x / 2, which is nowhere above the tail. */
function laplaceTail(x) {
  const half = (y) => of(HALF, x.bits).times(y.exp());
  return x.lo >= 0n ? half(of(ZERO, x.bits).minus(x)) : of(ONE, x.bits).minus(half(x));
}

/* Pairs: a kind, what P and Q are, a bound on losses, the rate of a sample, and a side: -1 if members
   are exchanged, 0 if that is the same curve. */
const FINE = 4000n;
const pairOf = (kind, given, limit = null, side = 0) => ({ kind, given, limit, rate: ONE, side });
const shift = (square) => pairOf("normal", [[[square, ONE]], [[ZERO, ONE]]]);
const outcomes = (p, e, d = ZERO) => pairOf("outcomes", [p, [...p].reverse()], [e, d]);
const exchanged = (pair) => ({ ...pair, side: -pair.side });
const PAIRS = {
  mixture({ noise, parts }) {
    const all = added(parts.map(([w]) => w)), square = (x) => x.over(noise).times(x.over(noise));
    const first = parts.map(([w, x]) => [square(x), w.over(all)]);
    return pairOf("normal", [first, [[ZERO, ONE]]], null, 1);
  },
  laplace({ scale, distance }) {
    const far = distance.over(scale);
    return pairOf("laplace", [far, ZERO], [far, ZERO]);
  },
  stated({ epsilon, delta }) {
    const kept = of(ONE.minus(delta), FINE);
    const small = kept.over(of(ONE, FINE).plus(of(epsilon, FINE).exp()));
    const first = [of(ZERO, FINE), small, kept.minus(small), of(delta, FINE)];
    return outcomes(first, epsilon, delta);
  },
  response({ buckets, probability }) {
    const other = probability.over(whole(buckets)), same = ONE.minus(probability).plus(other);
    need(probability.n > 0n && probability.below(ONE) && buckets > 1n, "no random answer");
    const first = [other, ONE.minus(same).minus(other), same].map((one) => of(one, FINE));
    return outcomes(first, new Fraction(of(same.over(other), 60n).log().hi, 1n << 60n));
  },
  "discrete-laplace"({ scale, distance: { n, d } }) {
    need(d === 1n && n >= 1n && n <= 100n, "no distance from 1 to 100");
    const one = of(ONE, FINE), power = (m) => of(whole(m).over(scale), FINE).exp();
    const half = one.over(one.plus(power(-1n))), upTo = [of(ZERO, FINE)];
    for (let m = 0n; m < n; m++) upTo.push(power(m - n).times(half));
    return outcomes([...upTo.slice(1), one].map((b, i) => b.minus(upTo[i])), whole(n).over(scale));
  },
};
function curve(pair, t) {
  const { bits } = t, one = of(ONE, bits), rest = one.minus(t), plain = { ...pair, side: 1 };
  need(pair.kind !== "batches", "only events of batches are known");
  if (t.lo <= 0n) return new Enclosed(rest.lo, most(one.hi, rest.hi), bits);
  if (pair.side < 0 || (pair.side === 0 && t.lo < one.lo)) {
    need(pair.side < 0 || t.hi <= one.lo, "too few digits beside 1");
    return rest.plus(t.times(curve(plain, one.over(t))));
  }
  if (pair.rate.below(ONE)) {
    const q = of(pair.rate, bits);
    return q.times(curve({ ...plain, rate: ONE }, t.minus(one).plus(q).over(q)));
  }
  const [first, second] = pair.given;
  if (pair.kind === "outcomes")
    return sum(first.map((p, i) => p.at(bits).minus(t.times(second[i].at(bits))).positive()), bits);
  if (pair.kind === "laplace") {
    const low = one.minus(t.times(of(ZERO.minus(first), bits).exp()).root()), high = rest.positive();
    return new Enclosed(most(low.lo, high.lo), most(low.hi, high.hi), bits);
  }
  const sides = pair.given.map((parts) => atBits(parts, bits)), x = placeOf(sides, t);
  const [p, q] = sides.map((parts) => tails.normal(parts, x));
  const [above, below] = sides.map((parts) => density(parts, x)[0]);
  const ratio = above.over(below).positive(), top = new Enclosed(ratio.hi, ratio.hi, bits);
  const found = p.minus(t.times(q)), wrong = t.minus(ratio).positive().times(q)
    .plus(top.minus(t).positive().over(top).times(one.minus(p)));
  return new Enclosed(most(found.lo, 0n), least(most(found.plus(wrong).hi, 0n), one.hi), bits);
}
/* P and Q of the event beyond a place, or of the complement of one if members are exchanged. */
function event(pair, start, bits) {
  const place = floor(start << bits, 10000n), end = pair.side < 0 ? -place : place;
  const one = of(ONE, bits), q = of(pair.rate, bits), sampled = (parts) => atBits(parts, bits);
  const given = pair.kind === "normal" ? pair.given.map(sampled) : pair.given;
  const [p, second] = given.map((side) => tails[pair.kind](side, new Enclosed(end, end, bits)));
  const first = q.times(p).plus(one.minus(q).times(second));
  return pair.side < 0 ? [one.minus(second), one.minus(first)] : [first, second];
}
const ofNormal = (parts, x) => sum(parts.map(([a, w]) => w.times(normalTail(x.minus(a)))), x.bits);
const tails = {
  normal: ofNormal,
  laplace: (centre, x) => laplaceTail(x.minus(of(centre, x.bits))),
  outcomes: (list, x) =>
    sum(list.filter((_, i) => BigInt(i) << x.bits > x.lo).map((p) => p.at(x.bits)), x.bits),
  /* That all of so many numbers are above x, of which perhaps one has another mean. */
  batches([count, share, mean], x) {
    let own = normalTail(x), q = of(share, x.bits);
    let all = of(ONE, x.bits).minus(q).times(own)
      .plus(q.times(normalTail(x.minus(of(mean, x.bits)))));
    for (let n = count - 1n; n; n >>= 1n) {
      if (n & 1n) all = all.times(own);
      own = own.times(own);
    }
    return all;
  },
};
function atBits(parts, bits) {
  return parts.map(([square, w]) => [of(square, 2n * bits).root().at(bits), of(w, bits)]);
}
/* A density, but for what all have in common, and its slope. */
function density(parts, x) {
  const terms = parts.map(([a, w]) => w.times(x.minus(of(HALF, x.bits).times(a)).times(a).exp()));
  return [sum(terms, x.bits), sum(terms.map((v, i) => v.times(parts[i][0])), x.bits)];
}
/* Where the ratio is about t; where this comes from does not matter. */
function placeOf(sides, t) {
  const { bits } = t, far = most(...sides.flat().map(([a]) => a.hi)) + ((isqrt(2n * bits) + 2n) << bits);
  let x = 0n, moved = far;
  while (size(moved) >> (bits / 4n)) {
    const [[p, dp], [q0, dq0]] = sides.map((one) => density(one, new Enclosed(x, x, bits)));
    const [q, dq] = [t.times(q0), t.times(dq0)];
    const slope = floor(dp.lo << bits, most(p.lo, 1n)) - floor(dq.lo << bits, most(q.lo, 1n));
    moved = floor((q.lo - p.lo) << (2n * bits + 1n), most(p.lo + q.lo, 1n) * most(slope, 1n));
    moved = least(most(x + moved, -far), far) - x;
    x += moved;
  }
  return new Enclosed(x, x, bits);
}

/* Masses of the losses (low + i) step, in units of 1 / unit: [above P], or [below P, above Q]. */
const MOST_PLACES = 400000;
class Masses {
  constructor(step, digits, low, lists, infinite) {
    Object.assign(this, { step, digits, low, lists, infinite, unit: 10n ** digits });
    this.raised = [lists.length === 1, true];
  }
  times(o) {
    const lists = this.lists.map((a, i) => product(a, o.lists[i], this.unit, this.raised[i]));
    const infinite = this.infinite.map((a, i) => {
      const b = o.infinite[i];
      return this.raised[i] ? a + b : a + b - floor(a * b, this.unit) - 1n;
    });
    return new Masses(this.step, this.digits, this.low + o.low, lists, infinite);
  }
  halved() {
    const bits = 4n * this.digits + 64n, one = of(ONE, bits);
    const small = of(ZERO.minus(this.step), bits).exp();
    const share = this.raised[0] ? one.over(one.plus(small)).hi : 0n;
    const odd = this.low & 1n;
    const lists = this.lists.map((values) => {
      const found = Array(Math.trunc((values.length + Number(odd)) / 2) + 1).fill(0n);
      values.forEach((v, i) => {
        const place = i + Number(odd), moved = place % 2 ? up(v * share, bits) : 0n;
        found[place >> 1] += v - moved;
        if (moved) found[(place >> 1) + 1] += moved;
      });
      return found;
    });
    return new Masses(this.step.times(TWO), this.digits, (this.low - odd) / 2n, lists, this.infinite);
  }
  cut(budget) {
    const p = this.lists[0], total = (values) => values.reduce((a, b) => a + b, 0n);
    let [first, end, cutLow, cutHigh] = [0, p.length, p[0], p[p.length - 1]];
    while (first < end - 1 && cutLow <= budget) cutLow += p[++first];
    while (end > first + 1 && cutHigh <= budget) cutHigh += p[--end - 1];
    const lists = this.lists.map((values) => values.slice(first, end));
    if (this.raised[0]) lists[0][0] += total(p.slice(0, first));
    const infinite = this.infinite.map((v, i) => v + total(this.lists[i].slice(end)));
    return new Masses(this.step, this.digits, this.low + BigInt(first), lists, infinite);
  }
  power(count, halvings, cut) {
    let [found, once, taken] = [this, this, 1n];
    [...count.toString(2).slice(1)].forEach((digit, level) => {
      [found, taken] = [found.times(found), 2n * taken];
      if (halvings.includes(level)) [found, once] = [found.halved(), once.halved()];
      if (digit === "1") [found, taken] = [found.times(once), taken + 1n];
      found = found.cut((cut * taken) / count);
      progress(`${taken} of ${count} releases`);
    });
    return found;
  }
  /* The largest P(sum >= s) - e^epsilon Q(sum >= s); from above Q is e^-loss times P. */
  delta(epsilon) {
    const bits = 4n * this.digits + 64n, above = this.raised[0];
    const first = above ? epsilon.minus(whole(this.low).times(this.step)) : epsilon;
    const fall = above ? of(ZERO.minus(this.step), bits).exp().lo : 1n << bits;
    let weight = of(first, bits).exp()[above ? "lo" : "hi"];
    const parts = this.lists[0].map((p, i) => {
      const part = (p << bits) - (above ? p : this.lists[1][i]) * weight;
      weight = (weight * fall) >> bits;
      return part;
    });
    let total = (this.infinite[0] << bits) - (above ? 0n : this.infinite[1] * weight), best = total;
    for (const part of parts.reverse()) best = most(best, total += part);
    return new Fraction(best, this.unit << bits);
  }
}
/* A convolution over unit: entries side by side, as hexadecimal digits of two long integers. */
function product(ours, theirs, unit, raised) {
  const places = ours.length + theirs.length - 1, count = BigInt(places);
  const [a, b] = [ours, theirs].map((values) => values.reduce((x, y) => (x > y ? x : y)));
  const wide = digitsOf(a) + digitsOf(b) + digitsOf(ours.length);
  need(places <= MOST_PLACES && count * wide <= 60000000n, "a product is too long");
  spend(count * (wide / 4n + 2n));
  const hex = (a * b * BigInt(ours.length)).toString(16).length + 1;
  const pack = (values) =>
    BigInt("0x" + values.map((v) => v.toString(16).padStart(hex, "0")).reverse().join(""));
  const text = (pack(ours) * pack(theirs)).toString(16).padStart(places * hex, "0"), found = [];
  for (let end = text.length; end > text.length - places * hex; end -= hex) {
    const value = BigInt("0x" + text.slice(end - hex, end));
    found.push(raised ? -floor(-value, unit) : value / unit);
  }
  return found;
}
/* Fact 1: the chords of a curve, at places of a grid. */
function fromAbove(pair, places, step, digits) {
  const unit = 10n ** digits, bits = bitsFor(places, step, digits);
  const rounded = (x) => most(up(x.hi * unit, bits), 0n);
  const points = places.map((k) => of(whole(k).times(step), bits).exp());
  const t = [of(ZERO, bits), ...points], h = [of(ONE, bits), ...points.map((one, i) => {
    if (i % 20 === 0) progress(`${i} of ${places.length} points of a curve`);
    return curve(pair, one);
  })];
  const slopes = places.map((_, i) => h[i + 1].minus(h[i]).over(t[i + 1].minus(t[i])));
  slopes.push(of(ZERO, bits));
  const masses = points.map((one, i) => rounded(one.times(slopes[i + 1].minus(slopes[i]))));
  const infinite = [rounded(h[h.length - 1])];
  return new Masses(step, digits, places[0], [spread(places, masses)], infinite);
}
/* Events of which each is a part of the one before it; a place labels what is in one and not in the next. */
function fromBelow(pair, places, step, digits, starts) {
  need(Array.isArray(starts) && starts.length === places.length, "events do not shrink");
  const all = starts.map(integer), unit = 10n ** digits, bits = bitsFor(places, step, digits);
  need(all.every((one, i) => !i || all[i - 1] <= one), "events do not shrink");
  const found = [...all.map((one) => event(pair, one, bits)), [of(ZERO, bits), of(ZERO, bits)]];
  const p = places.map((_, i) => most((found[i][0].minus(found[i + 1][0]).lo * unit) >> bits, 0n));
  const q = places.map((_, i) => up(found[i][1].minus(found[i + 1][1]).hi * unit, bits));
  return new Masses(step, digits, places[0], [p, q].map((one) => spread(places, one)), [0n, 0n]);
}
/* Binary digits, more where e^loss, or one over it, multiplies what is off. */
function bitsFor(places, step, digits) {
  const end = whole(most(-places[0], places[places.length - 1])).times(step), far = end.n / end.d;
  const span = places[places.length - 1] - places[0] + 1n;
  need(far < 10n ** 5n && span <= BigInt(MOST_PLACES), "a loss is too large, or a grid too long");
  spend(4n * span);
  return (7n * digits) / 2n + 64n + 4n * digitsOf(step.d) + floor(3n * far, 2n);
}
function spread(places, masses) {
  const found = Array(Number(places[places.length - 1] - places[0] + 1n)).fill(0n);
  places.forEach((k, i) => { found[Number(k - places[0])] = masses[i]; });
  return found;
}

/* Releases: what is understood, and the pairs of what a record may amount to. */
const ADD = "add-or-remove-one", REPLACE = "replace-one", ZEROED = "zero-out", MOVES = "moves";
const STAYS = "replace-one-in-a-part";
const RECORDS = {
  [ADD]: "by one record, which only one has",
  [REPLACE]: "in one record, which is another one",
  [ZEROED]: "in one record, which adds nothing to sums in one of them",
  [STAYS]: "in one record, which is another one in the same part of the data",
};
/* Fields; first letters of relations, and what else is known of a kind. */
const KINDS = {
  gaussian: ["noise distance", "a r z q moves linear attained"],
  "fixed-size-gaussian": ["noise distance sampled of", "a r moves"],
  "shuffled-gaussian": ["noise distance batch of", "a r z"],
  mixture: ["noise parts", "a"],
  laplace: ["scale distance", "a r q"],
  "discrete-laplace": ["scale distance", "a r q"],
  response: ["buckets probability", "r"],
  stated: ["epsilon delta", "a r q"],
  "zero-concentrated": ["rho", "a r z linear"],
  "gaussian-synthesis": ["n d eigenvalue", "a r"],
};
const WHOLE = ["count", "batch", "sampled", "of", "n", "d", "buckets"], BILLION = 10n ** 9n;
const LIMITS = { rate: ONE, probability: ONE, eigenvalue: ONE, delta: ONE, epsilon: whole(10n ** 5n) };
const HUGE = whole(10n ** 400n);
const DIGITS = /^([0-9]{1,60})(?:\/(0*[1-9][0-9]{0,29})|(?:\.([0-9]{1,80}))?(?:e([+-]?)([0-9]{1,3}))?)$/;
function number(text, limit = HUGE) {
  const found = typeof text === "string" && !text.endsWith("\n") ? DIGITS.exec(text) : null;
  need(found, "no string of digits");
  const [, head, below = "1", part = "", minus, power = "0"] = found;
  const scale = BigInt(power) * (minus === "-" ? -1n : 1n) - BigInt(part.length);
  const value = new Fraction(BigInt(head + part) * 10n ** most(scale, 0n),
    BigInt(below) * 10n ** most(-scale, 0n));
  const usual = !value.below(ONE.over(HUGE)) && !limit.below(value);
  need(!value.n || usual, "too small or too large");
  return value;
}
function integer(one) {
  need(Number.isInteger(one) || typeof one === "boolean", "no integer");
  return BigInt(one);
}
function count(given, limit = BILLION) {
  need(Number.isInteger(given) && given >= 1 && BigInt(given) <= limit, `not from 1 to ${limit}`);
  return BigInt(given);
}
function fields(given, names) {
  const keys = names.trim().split(" "), plain = given && typeof given === "object";
  need(plain && !Array.isArray(given) && Object.keys(given).length === keys.length &&
    keys.every((k) => Object.hasOwn(given, k)), `its fields: not ${names}`);
  return given;
}
function listed(given, least, most) {
  need(Array.isArray(given) && given.length >= least && given.length <= most, "too few or too many");
  return given;
}
function readRelease(given) {
  return listed(given, 1, 64).map((part) => listed(part, 1, 64).map((one) => {
    need(typeof one?.kind === "string" && Object.hasOwn(KINDS, one.kind), "an unknown kind");
    const names = Object.entries(fields(one, `kind count rate ${KINDS[one.kind][0]}`));
    return Object.fromEntries(names.map(([name, value]) => [name, readField(name, value)]));
  }));
}
function readField(name, value) {
  if (name === "parts")
    return listed(value, 1, 50).map((one) => listed(one, 2, 2).map((text) => number(text)));
  if (name === "kind") return value;
  return WHOLE.includes(name) ? count(value) : number(value, LIMITS[name]);
}
const allAre = (release, what) =>
  release.flat().every(({ kind }) => KINDS[kind][1].split(" ").includes(what));
function pairFor(given, relation, below) {
  const { kind, rate } = given, sampled = rate.below(ONE);
  need(!sampled || relation === ADD || kind === "gaussian", "samples of this are not known");
  need(!sampled || allAre([[given]], "q"), "samples of this are not known");
  if (kind === "shuffled-gaussian") return batches(given, relation);
  const far = kind.endsWith("gaussian") ? given.distance.over(given.noise) : ZERO;
  const square = far.times(far), quarter = square.times(new Fraction(1n, 4n));
  if (kind === "fixed-size-gaussian") {
    const m = count(Number(given.sampled), given.of - (relation === REPLACE ? 0n : 1n));
    const side = relation === REPLACE && !below ? 0 : 1;
    return { ...shift(square), rate: new Fraction(m, given.of), side };
  }
  const side = sampled || kind === "mixture" ? 1 : 0;
  if (kind !== "gaussian") {
    need(Object.hasOwn(PAIRS, kind), `no pair is known for ${kind}`);
    return { ...PAIRS[kind](given), rate, side };
  }
  if (!sampled || relation !== REPLACE)
    return { ...shift(relation === MOVES ? quarter : square), rate, side };
  /* The worst two records are opposite ones, each half of the distance away from nothing. */
  const rest = [quarter, ONE.minus(rate)];
  return pairOf("normal", [[rest, [square, rate]], [rest, [ZERO, rate]]]);
}
/* All other records are on the other side of the origin. */
function batches({ noise, distance, batch, of: all }, relation) {
  need(relation !== ADD || all % batch, "without a record a batch is missing");
  const far = distance.over(noise), number = count(Number(all / batch));
  const share = new Fraction(number * batch, all), own = relation === ZEROED ? far.over(TWO) : ZERO;
  const given = [own, far].map((mean) => [number, share, ZERO.minus(mean)]);
  return pairOf("batches", given, null, -1);
}
/* A value as text, by which equal pairs and equal ways are found. */
function name(value) {
  if (value instanceof Fraction) return `${value.n}/${value.d}`;
  if (Array.isArray(value)) return `[${value.map(name)}]`;
  return value && typeof value === "object" ? name(Object.values(value)) : String(value);
}
function merged(way) {
  const counts = new Map();
  for (const [pair, n] of way)
    counts.set(name(pair), [pair, (counts.get(name(pair))?.[1] ?? 0n) + n]);
  const alone = [...counts.values()].filter(([{ kind, rate, given }]) =>
    kind === "normal" && rate.same(ONE) && given[0].length === 1);
  alone.forEach(([pair]) => counts.delete(name(pair)));
  const pair = shift(added(alone.map(([one, n]) => whole(n).times(one.given[0][0][0]))));
  if (alone.length) counts.set(name(pair), [pair, 1n]);
  need([...counts.values()].every(([, n]) => n <= BILLION), "more than a billion releases");
  return [...counts.values()];
}
function ways(release, relation, below) {
  const sizes = release.map((part) => new Set(part.filter((one) => one.of).map((one) => one.of)));
  need(!below || sizes.every((one) => one.size <= 1), "data sets of different sizes");
  const found = (about) =>
    release.map((part) => part.map((one) => [pairFor(one, about, below), one.count]));
  const backwards = (way) => way.map(([pair, n]) => [exchanged(pair), n]);
  const all = found(relation === STAYS ? REPLACE : relation);
  if (relation === REPLACE && release.length > 1) {
    need(!below && allAre(release, "moves"), "records that move are not known of this");
    const ends = found(MOVES);
    ends.forEach((left, i) => ends.forEach((joined, j) => {
      if (i !== j) all.push([...left, ...backwards(joined)]);
    }));
  }
  const every = new Map([...all, ...all.map(backwards)].map((way) => [name(merged(way)), merged(way)]));
  need(every.size <= 64, "a record may matter in too many ways");
  return [...every.values()];
}

/* Renyi divergences of order a. */
function divergence(release, relation, a) {
  need(ONE.below(a) && !whole(10n ** 6n).below(a), "an order is at most 1, or very large");
  need(release.length === 1, "no Renyi divergence is known for several parts");
  return added(release[0].map((one) => {
    need(one.rate.same(ONE), "no Renyi divergence is known for samples");
    return whole(one.count).times(divergenceOf(one, relation, a));
  }));
}
function divergenceOf(one, relation, a) {
  if (one.kind === "zero-concentrated") return a.times(one.rho);
  if (one.kind === "gaussian") {
    const far = one.distance.over(one.noise);
    return a.over(TWO).times(far).times(far);
  }
  need(one.kind === "gaussian-synthesis", `no Renyi divergence of ${one.kind}`);
  return ofSynthesis(one, relation, a);
}
/* One normal law against another one: by x and y the variances are larger, far is a squared distance. */
function ofSynthesis({ n, d, eigenvalue }, relation, a) {
  const b = a.minus(ONE), N = whole(n), D = whole(d), cases = [];
  if (relation !== ADD) {
    const x = whole(4).times(D).over(eigenvalue).times(N.minus(ONE)).over(N.times(N));
    const small = !ONE.below(whole(3).times(x).times(x));
    need(x.below(ONE) && (!a.below(TWO) || small), "too few records");
    cases.push([x, ZERO, x.over(N.minus(ONE))]);
  } else {
    const root = new Fraction(of(ONE.minus(eigenvalue), 400n).root().hi, 1n << 400n).plus(ONE);
    for (const k of [N, N.plus(ONE)])
      for (const t of [ZERO, D.times(root).times(root).over(eigenvalue)]) {
        const x = k.minus(ONE).times(t).over(k).minus(ONE).over(k), far = t.over(k.times(k));
        cases.push([x, ZERO.minus(ONE.over(k)), far], [ZERO.minus(x.over(ONE.plus(x))),
          ONE.over(k.minus(ONE)), far.over(ONE.plus(x))]);
      }
  }
  const part = (x) => {
    const both = of(ONE.minus(b.times(x)), 400n).log()
      .plus(of(b, 400n).times(of(ONE.plus(x), 400n).log()));
    return new Fraction(-both.lo, 1n << 400n).over(TWO.times(b));
  };
  return cases.map(([x, y, far]) => D.minus(ONE).times(part(y)).plus(part(x))
    .plus(a.over(TWO).times(far).over(ONE.minus(b.times(x)))))
    .reduce((x, y) => (x.below(y) ? y : x));
}

/* Delta of one way in which a record may matter, from above or from below. */
function deltaOf(way, hint, below, epsilon) {
  const digits = count(hint.digits, 300n), cut = count(hint.cut, 300n);
  const parts = listed(hint.parts, way.length, way.length);
  const powers = way.map(([pair, n], i) => {
    const halvings = listed(parts[i].halvings, 0, 40).map((v) => (typeof v === "boolean" ? Number(v) : v));
    const step = number(hint.step).over(whole(1n << BigInt(halvings.length)));
    const places = nodes(parts[i].nodes);
    const once = below ? fromBelow(pair, places, step, digits, parts[i].starts)
      : fromAbove(pair, places, step, digits);
    return once.power(n, halvings, 10n ** most(digits - cut, 0n));
  });
  need(powers.every((one) => one.step.same(powers[0].step)), "the parts end on different grids");
  return powers.reduce((a, b) => a.times(b)).delta(epsilon);
}
function nodes(given) {
  const places = [];
  for (const stretch of listed(given, 1, 20000)) {
    if (places.length === 20000) break;
    const [from, to] = listed(stretch, 3, 3).slice(0, 2).map(integer), stride = count(stretch[2]);
    for (let k = from; k < to && places.length < 20000; k += stride) {
      need(!places.length || places[places.length - 1] < k, "the places do not ascend");
      places.push(k);
    }
  }
  need(places.length > 0, "there are no places");
  return places;
}
function ofAWay(way, hint, below, epsilon, delta) {
  if (below) return hint !== null && delta.below(deltaOf(way, hint, below, epsilon));
  const limits = way.map(([pair]) => pair.limit ?? [epsilon.plus(ONE), ONE]);
  const [losses, infinite] = [0, 1].map((j) =>
    added(limits.map((one, k) => one[j].times(whole(way[k][1])))));
  return (!epsilon.below(losses) && !delta.below(infinite)) ||
    !delta.below(deltaOf(way, hint, below, epsilon));
}
/* Balle et al. 2020, Theorem 21. */
function implied(r, a, epsilon, delta) {
  const b = a.minus(ONE), shrunk = of(b, 400n).times(of(ONE.minus(ONE.over(a)), 400n).log());
  const shown = of(b.times(r.minus(epsilon)), 400n).plus(shrunk).minus(of(a, 400n).log());
  return shown.hi <= of(delta, 400n).log().lo;
}
function isShown(claim, hints) {
  left = 70000000n;
  const release = readRelease(claim.release), { relation } = claim, has = (k) => Object.hasOwn(claim, k);
  const below = claim.says === "exceeded", epsilon = number(claim.epsilon, LIMITS.epsilon);
  if (!has("delta")) {
    const exact = allAre(release, below ? "attained" : "linear");
    need(exact || (has("order") && !below), "its Renyi divergences are not known exactly");
    const order = divergence(release, relation, has("order") ? number(claim.order) : TWO);
    const found = has("order") ? order : order.over(TWO);
    return below ? epsilon.below(found) : !epsilon.below(found);
  }
  const delta = number(claim.delta, ONE);
  if (Object.hasOwn(hints, "order")) {
    const a = number(hints.order), shown = implied(divergence(release, relation, a), a, epsilon, delta);
    return !below && shown;
  }
  const every = ways(release, relation, below), given = listed(hints.ways, every.length, every.length);
  const test = (way, i) => ofAWay(way, given[i], below, epsilon, delta);
  return below ? every.some(test) : every.every(test);
}

/* Files: JSON of text and integers, written in the only way that is read again as the same. */
const ascii = (text) => text.replace(/[\x7f-\uffff]/g,
  (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
function parse(text) {
  const found = JSON.parse(text, (_, v) => {
    const small = Number.isInteger(v) && String(v).length <= 12;
    need(typeof v !== "number" || small, "a number of too many digits");
    return v;
  });
  const bare = text.replace(/("(?:[^"\\]|\\.)*")|[ \t\n\r]+/g, "$1");
  need(ascii(JSON.stringify(found)) === bare, "a name twice, or unusual JSON");
  return found;
}
/* JSON with sorted names and no blanks. */
function canonical(v) {
  if (Array.isArray(v)) return `[${v.map(canonical)}]`;
  if (v === null || typeof v !== "object") return ascii(JSON.stringify(v));
  return `{${Object.keys(v).sort().map((k) => `${canonical(k)}:${canonical(v[k])}`)}}`;
}
/* FIPS 180-4, of ASCII text. Its constants are the first bits of roots of primes. */
function sha256(text) {
  const primes = [];
  for (let n = 2n; primes.length < 64; n++) if (primes.every((p) => n % p)) primes.push(n);
  const cube = (n) => {
    let x = 0n;
    for (let bit = 1n << 36n; bit; bit >>= 1n) if ((x + bit) ** 3n <= n << 96n) x += bit;
    return Number(x & 0xffffffffn) | 0;
  };
  const K = primes.map(cube);
  const state = primes.slice(0, 8).map((p) => Number(isqrt(p << 64n) & 0xffffffffn) | 0);
  const bytes = [...text].map((c) => c.charCodeAt(0)), bits = bytes.length * 8;
  bytes.push(128);
  while (bytes.length % 64 !== 56) bytes.push(0);
  bytes.push(0, 0, 0, 0, bits >>> 24, (bits >>> 16) & 255, (bits >>> 8) & 255, bits & 255);
  const turn = (x, n) => (x >>> n) | (x << (32 - n)), w = new Int32Array(64);
  for (let start = 0; start < bytes.length; start += 64) {
    for (let i = 0; i < 64; i++) {
      const at = start + 4 * i, x = w[i - 15], y = w[i - 2];
      w[i] = i < 16
        ? (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3]
        : w[i - 16] + (turn(x, 7) ^ turn(x, 18) ^ (x >>> 3)) + w[i - 7] +
          (turn(y, 17) ^ turn(y, 19) ^ (y >>> 10));
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i++) {
      const one = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + K[i] + w[i];
      const two = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((v, i) => { state[i] = (state[i] + v) | 0; });
  }
  return state.map((v) => (v >>> 0).toString(16).padStart(8, "0")).join("");
}

function statement(claim) {
  const release = readRelease(claim.release), { says, relation } = claim;
  const measure = ["delta", "order"].find((one) => Object.hasOwn(claim, one)) ?? "";
  fields(claim, `says relation release epsilon ${measure}`);
  const about = {
    delta: `epsilon at delta ${claim.delta}`,
    order: `the Renyi divergence of order ${claim.order}`,
    "": "rho, by which all orders times it bound Renyi divergences,",
  }[measure];
  const verb = { "at most": "is at most", exceeded: "for some two is more than" };
  const known = typeof says === "string" && Object.hasOwn(verb, says);
  need(known && typeof relation === "string" && Object.hasOwn(RECORDS, relation), "unknown claim");
  need(allAre(release, relation[0]), "a release is not known under this relation");
  for (const one of ["epsilon", measure]) if (one) number(claim[one]);
  const words = claim.release.map((part, i) => `released${i ? ` of part ${i}` : ""}: ` +
    JSON.stringify(part).replaceAll(/"kind":|"/g, "").replaceAll(/[:,]/g, "$& "));
  return [`any two data sets that differ ${RECORDS[relation]}:`,
    `  ${about} ${verb[says]} ${claim.epsilon}`, ...words];
}
/* {status: 0 accepted, 1 not accepted, 2 not understood; lines: what is claimed; reason}. */
function checkCertificate(text, show = () => {}) {
  let lines = [], status = 2;
  progress = show;
  try {
    need(text.length <= 65536, "it has more than 64 kB");
    need(!/"[0-9]+"\s*:/.test(text), "a number as a name");
    const { claim, format, hints, sha256: hash } = fields(parse(text), "format claim sha256 hints about");
    need(format === "rdpkit-certificate-3", "another format");
    lines = statement(claim);
    need(hash === sha256(canonical(claim)), "the hash is not that of the claim");
    status = 1;
    need(isShown(claim, hints), "it is not shown by these hints");
    return { status: 0, lines, reason: "accepted" };
  } catch (error) {
    // What the engine itself refuses, such as an integer that is too long, is no proof either.
    return { status, lines, reason: error instanceof Error ? error.message : "an error" };
  }
}
