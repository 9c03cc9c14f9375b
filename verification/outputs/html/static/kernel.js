"use strict";
/* A checker of certificates in integers, written from docs/theory/kernel.md: a second hand beside
   rdpkit/kernel. All that decides is a BigInt. checkCertificate(text) says what was found. */

class Refused extends Error {}
function need(shown, reason) {
  if (!shown) throw new Refused(reason);
}
let left = 0n;
let progress = () => {};
function spend(units) {
  left -= units;
  need(left >= 0n, "it takes more work than is allowed for one certificate");
}

/* Integers and fractions. */
const most = (...all) => all.reduce((a, b) => (a > b ? a : b));
const least = (...all) => all.reduce((a, b) => (a < b ? a : b));
const size = (a) => (a < 0n ? -a : a);
const half2 = (a, n) => (n >= 0n ? a << n : a >> -n);
const up = (a, n) => -(-a >> n);
const length = (a) => BigInt(a === 0n ? 0 : a.toString(2).length);
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

/* Enclosures: a number in [lo, hi] / 2^bits. */
class Enclosed {
  constructor(lo, hi, bits) { [this.lo, this.hi, this.bits] = [lo, hi, bits]; }
  plus(o) { return new Enclosed(this.lo + o.lo, this.hi + o.hi, this.bits); }
  minus(o) { return new Enclosed(this.lo - o.hi, this.hi - o.lo, this.bits); }
  times(o) {
    let ends = [this.lo * o.lo, this.hi * o.hi];
    if (this.lo < 0n || o.lo < 0n) ends = [...ends, this.lo * o.hi, this.hi * o.lo];
    return new Enclosed(least(...ends) >> this.bits, up(most(...ends), this.bits), this.bits);
  }
  over(o) {
    need(o.lo > 0n, "a divisor is not certainly positive: too few digits");
    const low = floor(this.lo << this.bits, this.lo >= 0n ? o.hi : o.lo);
    return new Enclosed(low, -floor(-this.hi << this.bits, this.hi >= 0n ? o.lo : o.hi), this.bits);
  }
  positive() { return new Enclosed(most(this.lo, 0n), most(this.hi, 0n), this.bits); }
  upper() { return new Fraction(this.hi, 1n << this.bits); }
}
const of = (f, bits) => new Enclosed(floor(f.n << bits, f.d), -floor(-f.n << bits, f.d), bits);
const sum = (all, bits) => all.reduce((a, b) => a.plus(b), new Enclosed(0n, 0n, bits));
const root = (x) =>
  new Enclosed(isqrt(most(x.lo, 0n) << x.bits), isqrt(most(x.hi, 0n) << x.bits) + 1n, x.bits);
function kept(make) {
  const found = new Map();
  return (bits) => {
    if (!found.has(bits)) found.set(bits, make(bits));
    return found.get(bits);
  };
}
/* z +- z^3/3 + z^5/5 ..., 0 <= z <= 1/3: every term is off by at most 2 units, the rest by 8. */
function oddSeries(z, sign, bits) {
  let [total, power, n, side] = [0n, z, 0n, 1n];
  const square = (z * z) >> bits;
  for (; power; n += 1n, side *= sign, power = (power * square) >> bits)
    total += side * (power / (2n * n + 1n));
  return new Enclosed(total - 2n * n - 8n, total + 2n * n + 8n, bits);
}
const logTwo = kept((bits) => {
  spend(bits ** 2n / 4000n + bits ** 3n / 10n ** 7n);
  const one = oddSeries((1n << bits) / 3n, 1n, bits);
  return one.plus(one);
});
const rootOfTwoPi = kept((bits) => {
  const [a, b] = [5n, 239n].map((n) => oddSeries((1n << bits) / n, -1n, bits));
  return root(of(whole(32), bits).times(a).minus(of(whole(8), bits).times(b)));
});
function exp(x) {
  const { bits } = x, width = x.hi - x.lo;
  if (!x.lo && !x.hi) return of(ONE, bits);
  let two = logTwo(bits);
  need(two.lo > 0n, "too few digits for an exponential");
  const k = floor(x.lo, x.lo >= 0n ? two.hi : two.lo), above = most(k, 0n);
  spend(8n + ((bits + above) ** 2n / 600n) * (1n + ((bits + above) >> 14n)));
  need(k < 100000n && !(width >> (bits - 1n)), "an exponential is too large, or too uncertain");
  if (k < -bits - 8n) return new Enclosed(0n, 1n, bits);
  const work = bits + above + 40n, down = work - bits - k;
  two = logTwo(work);
  const ends = [two.lo, two.hi].map((end) => (x.lo << (work - bits)) - k * end);
  const r = most(least(...ends), 0n) >> 8n;
  let [term, total, n] = [1n << work, 0n, 0n];
  while (term) {
    total += term;
    n += 1n;
    term = ((term * r) >> work) / n;
  }
  let [low, high] = [total, total + 3n * n + 10n + 4n * (size(ends[1] - ends[0]) + 2n)];
  for (let i = 0; i < 8; i++) [low, high] = [(low * low) >> work, ((high * high) >> work) + 1n];
  [low, high] = [low >> down, (high >> down) + 1n];
  return new Enclosed(low, high + ((2n * high * width) >> bits) + 1n, bits);
}
const expOf = (f, bits) => exp(of(f, bits));
function log(x) {
  need(x.lo > 0n, "a logarithm of a number that is not certainly positive");
  const work = x.bits + 40n, one = 1n << work;
  const [a, b] = [x.lo, x.hi].map((end) => {
    const k = length(end) - 1n - x.bits, m = half2(end << 40n, -k);
    const part = oddSeries(((m - one) << work) / (m + one), 1n, work);
    return part.plus(part).plus(of(whole(k), work).times(logTwo(work)));
  });
  return new Enclosed((a.lo - 1n) >> 40n, ((b.hi + 1n) >> 40n) + 1n, x.bits);
}
/* The normal tail, 1/2 - phi(x) (x + x^3/3 + x^5/(3 5) + ...); it falls by at most 0.4 a unit. */
function tail(x) {
  let [low, high] = tailAt(size(x.lo), x.bits);
  const one = 1n << x.bits, width = x.hi - x.lo;
  if (x.lo < 0n) [low, high] = [one - high, one - low];
  return new Enclosed(most(low - (2n * width + 4n) / 5n, 0n), least(high, one), x.bits);
}
function tailAt(n, bits) {
  const square = (n * n) >> bits;
  if (square > (7n * bits << bits) / 5n) return [0n, 1n];
  const guard = 32n + bits / 10n + ((3n * square) >> (bits + 2n)), work = bits + guard;
  spend(((work + ((4n * square) >> bits)) * (1n + (work >> 11n) ** 2n)) / 4n);
  const exact = (n * n) << (2n * guard), middle = -(exact >> (work + 1n));
  const density = exp(new Enclosed(middle - 1n, middle, work)).over(rootOfTwoPi(work));
  const series = (down, more) => {
    let [term, total, m] = [n << guard, 0n, 1n];
    while (term > 4n || m << work < 2n * down) {
      total += term;
      m += 2n;
      term = ((term * down) >> work) / m + 2n * more;
    }
    return total + 16n * more;
  };
  const low = (density.lo * series(exact >> work, 0n)) >> work;
  const high = ((density.hi * series((exact >> work) + 1n, 1n)) >> work) + 1n, one = 1n << work;
  return [most((one / 2n - high) >> guard, 0n), ((one / 2n - low) >> guard) + 1n];
}

/* Pairs and their curves H(t). A part of a mixture is [weight, centre]. */
function line(p, q) {
  const last = q.map(([, b]) => b).reduce((a, b) => (a.below(b) ? b : a));
  need([...p, ...q].every(([w]) => w.n >= 0n), "a weight is negative");
  need(p.every(([, a]) => !a.below(last)), "the centres of two mixtures are mixed up");
  const moved = (parts) => parts.map(([w, a]) => [w, a.minus(last)]).sort(byParts);
  return { kind: "line", p: moved(p), q: moved(q) };
}
const order = (a, b) => (a.below(b) ? -1 : b.below(a) ? 1 : 0);
const byParts = (a, b) => order(a[0], b[0]) || order(a[1], b[1]);
const negated = (parts) => parts.map(([w, a]) => [w, ZERO.minus(a)]);
function reverse(pair) {
  if (pair.kind === "line") return line(negated(pair.q), negated(pair.p));
  return ["sampled", "shuffled"].includes(pair.kind) ? { kind: "reversed", pair } : pair;
}
/* A pair as text, by which the pairs of a way are put in order. */
function name(value) {
  if (value instanceof Fraction) return `Fraction(${value.n}, ${value.d})`;
  if (typeof value === "string") return `'${value}'`;
  const items = (Array.isArray(value) ? value : Object.values(value)).map(name);
  return items.length === 1 ? `(${items[0]},)` : `(${items.join(", ")})`;
}
function curve(pair, t) {
  const { bits } = t, one = of(ONE, bits), { kind } = pair;
  if (kind === "line") return onALine(pair, t);
  if (kind === "reversed" || kind === "mirrored") {
    need(kind === "reversed" || !(t.lo < one.lo && one.lo < t.hi), "too few digits beside 1");
    if (kind === "mirrored" && t.lo >= one.lo) return curve(pair.pair, t);
    return one.minus(t).plus(t.times(curve(pair.pair, one.over(t)))).positive();
  }
  if (kind === "laplace") {
    const a = one.minus(t), b = one.minus(root(t.times(expOf(ZERO.minus(pair.d), bits))));
    return new Enclosed(most(a.lo, b.lo, 0n), most(a.hi, b.hi, 0n), bits);
  }
  if (kind === "sampled") {
    const q = of(pair.q, bits), inner = t.minus(one).plus(q).over(q), a = one.minus(t);
    if (inner.lo > 0n) return q.times(curve(pair.pair, inner));
    return new Enclosed(a.lo, a.plus(q.times(inner).positive()).hi, bits).positive();
  }
  return sum(outcomes(pair, bits).map(([p, q]) => p.minus(t.times(q)).positive()), bits);
}
function outcomes(pair, bits) {
  const one = of(ONE, bits), none = of(ZERO, bits);
  if (pair.kind === "response") {
    const b = pair.probability.over(pair.many), a = ONE.minus(pair.probability).plus(b);
    const rest = pair.probability.minus(b).minus(b);
    return [[a, b], [rest, rest], [b, a]].map(([p, q]) => [of(p, bits), of(q, bits)]);
  }
  if (pair.kind === "stated") {
    const lost = of(pair.delta, bits), all = of(ONE.minus(pair.delta), bits);
    const small = all.over(one.plus(expOf(pair.epsilon, bits))), large = all.minus(small);
    return [[lost, none], [large, small], [small, large], [none, lost]];
  }
  const all = one.plus(expOf(ZERO.minus(pair.rate), bits)), n = Number(pair.n.n);
  const share = (m) => expOf(ZERO.minus(pair.rate.times(whole(m))), bits).over(all);
  const p = [none], q = [none];
  for (let m = 0; m < n; m++) {
    p.push(one.minus(share(m + 1)));
    q.push(share(n - m));
  }
  p.push(one);
  q.push(one);
  return p.slice(1).map((top, i) => [top.minus(p[i]), q[i + 1].minus(q[i])]);
}
/* A bound on finite losses and the probability of an infinite one, or null. */
function largest(pair) {
  if (pair.kind === "reversed") return largest(pair.pair);
  if (pair.kind === "sampled") {
    const found = largest(pair.pair), one = of(ONE, 400n), q = of(pair.q, 400n);
    if (!found || found[1].n) return null;
    return [log(one.plus(q.times(expOf(found[0], 400n).minus(one)))).upper(), ZERO];
  }
  if (pair.kind === "response") {
    const [a, b] = outcomes(pair, 200n)[0];
    return [log(a.over(b)).upper(), ZERO];
  }
  if (pair.kind === "laplace") return [pair.d, ZERO];
  if (pair.kind === "stated") return [pair.epsilon, pair.delta];
  return pair.kind === "geometric" ? [pair.rate.times(pair.n), ZERO] : null;
}
/* Disjoint events of a pair, with P and Q of each. */
function cells(pair, [first, last, number], bits) {
  need(first.below(last), "the ends of cells do not ascend");
  const grid = [first, last, number], one = of(ONE, bits), none = of(ZERO, bits);
  if (pair.kind === "reversed") return cells(pair.pair, grid, bits).map(([p, q]) => [q, p]);
  if (pair.kind === "sampled") {
    const q = of(pair.q, bits), rest = of(ONE.minus(pair.q), bits);
    return cells(pair.pair, grid, bits).map(([a, b]) => [rest.times(b).plus(q.times(a)), b]);
  }
  if (!["line", "laplace", "shuffled"].includes(pair.kind)) return outcomes(pair, bits);
  const half = of(ONE.over(TWO), bits), beyond = [[one, one]];
  for (let i = 0n; i <= number.n / number.d; i++) {
    const part = whole(i).over(number);
    if (pair.kind !== "laplace") {
      const x = first.plus(last.minus(first).times(part));
      const beside = pair.kind === "line" ? above : largestAbove;
      beyond.push(beside(pair, floor(x.n << bits, x.d), bits));
    } else {
      const x = pair.d.times(part), near = half.times(expOf(ZERO.minus(x), bits));
      beyond.push([near, one.minus(half.times(expOf(x.minus(pair.d), bits)))]);
    }
  }
  beyond.push([none, none]);
  return beyond.slice(1).map((b, i) => [beyond[i][0].minus(b[0]), beyond[i][1].minus(b[1])]);
}
function constants(parts, bits) {
  parts.kept ??= new Map();
  if (!parts.kept.has(bits))
    parts.kept.set(bits, parts.map(([w, a]) =>
      [of(w, bits), of(a, bits), of(a.times(a).over(TWO), bits)]));
  return parts.kept.get(bits);
}
function densities(pair, x, bits) {
  const here = new Enclosed(x, x, bits);
  return [pair.p, pair.q].flatMap((parts) => {
    const terms = constants(parts, bits).map(([w, a, h]) =>
      [w.times(exp(here.times(a).minus(h))), a]);
    return [sum(terms.map(([v]) => v), bits), sum(terms.map(([v, a]) => v.times(a)), bits)];
  });
}
function sign(pair, x, t) {
  const [p, , q] = densities(pair, x, t.bits), d = p.minus(t.times(q));
  return d.lo > 0n ? 1n : d.hi < 0n ? -1n : 0n;
}
function above(pair, x, bits) {
  const here = new Enclosed(x, x, bits);
  return [pair.p, pair.q].map((parts) =>
    sum(constants(parts, bits).map(([w, a]) => w.times(tail(here.minus(a)))), bits));
}
/* The largest of several numbers is not above x if none is; one of them may have another mean. */
function largestAbove({ batches, share, p, q }, x, bits) {
  const one = of(ONE, bits), here = new Enclosed(x, x, bits), own = one.minus(tail(here));
  const others = exp(of(batches.minus(ONE), bits).times(log(own)));
  const [rest, moved] = [of(ONE.minus(share), bits), of(share, bits)];
  return [p, q].map((mean) => one.minus(others.times(
    rest.times(own).plus(moved.times(one.minus(tail(here.minus(of(mean, bits)))))))));
}
/* Where the ratio is about t; where this comes from does not matter. */
function proposed(pair, t, reach) {
  let [low, high, x] = [-reach, reach, 0n];
  const { bits } = t;
  for (let i = 0; i < 200; i++) {
    let [p, dp, q, dq] = densities(pair, x, bits).map((one) => one.lo);
    [q, dq] = [(q * t.lo) >> bits, (dq * t.lo) >> bits];
    if (p < q) low = x; else high = x;
    const slope = floor(dp << bits, most(p, 1n)) - floor(dq << bits, most(q, 1n));
    const far = 7n * (length(q) - length(p));
    const [over, under] = size(far) > 20n ? [far, 10n] : [2n * (q - p), most(p + q, 1n)];
    let next = x + floor(over << (2n * bits), under * most(slope, 1n));
    if (next <= low || next >= high) next = (low + high) >> 1n;
    if (!(size(next - x) >> (bits / 4n))) return next;
    x = next;
  }
  return x;
}
function onALine(pair, t) {
  const { bits } = t, ends = [of(ONE, bits), of(ZERO, bits)];
  const far = [...pair.p, ...pair.q].map(([, a]) => size(a.n) / a.d);
  const reach = (isqrt(2n * bits) + 2n + most(...far)) << bits, x = proposed(pair, t, reach);
  [-1n, 1n].forEach((side, i) => {
    for (let step = 64n; length(step) < length(reach) + 3n; step <<= 16n)
      if (sign(pair, x + side * step, t) === side) {
        ends[i] = above(pair, x + side * step, bits)[i];
        break;
      }
  });
  const [p, q] = above(pair, x, bits), low = p.minus(t.times(q)).positive();
  const high = ends[0].minus(t.times(ends[1]));
  return new Enclosed(low.lo, least(most(high.hi, low.lo), 1n << bits), bits);
}

/* Masses of the losses (low + i) step, in units of 1 / unit: [above P], or [below P, above Q]. */
const MOST_PLACES = 400000;
class Masses {
  constructor(step, digits, low, lists, infinite) {
    need(lists[0].length > 0 && lists[0].length <= MOST_PLACES, "no place, or too many");
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
    const share = this.raised[0] ? one.over(one.plus(expOf(ZERO.minus(this.step), bits))).hi : 0n;
    const odd = this.low & 1n, low = (this.low - odd) / 2n;
    const lists = this.lists.map((values) => {
      const found = Array(Math.trunc((values.length + Number(odd)) / 2) + 1).fill(0n);
      values.forEach((v, i) => {
        const place = i + Number(odd), moved = place % 2 && this.raised[0] ? up(v * share, bits) : 0n;
        found[place >> 1] += v - moved;
        if (moved) found[(place >> 1) + 1] += moved;
      });
      return found;
    });
    return new Masses(this.step.times(TWO), this.digits, low, lists, this.infinite);
  }
  cut(budget) {
    const p = this.lists[0];
    let [first, end, cutLow, cutHigh] = [0, p.length, p[0], p[p.length - 1]];
    while (first < end - 1 && cutLow <= budget) cutLow += p[++first];
    while (end > first + 1 && cutHigh <= budget) cutHigh += p[--end - 1];
    const total = (values) => values.reduce((a, b) => a + b, 0n);
    const lists = this.lists.map((values) => values.slice(first, end));
    if (this.raised[0]) lists[0][0] += total(p.slice(0, first));
    const infinite = this.infinite.map((v, i) => v + total(this.lists[i].slice(end)));
    return new Masses(this.step, this.digits, this.low + BigInt(first), lists, infinite);
  }
  power(count, halvings, cut) {
    let [found, once, taken] = [this, this, 1n];
    [...count.toString(2).slice(1)].forEach((digit, level) => {
      [found, taken] = [found.times(found), 2n * taken];
      if (halvings.some((v) => v === BigInt(level) || (level < 2 && v === Boolean(level)))) [found, once] = [found.halved(), once.halved()];
      if (digit === "1") [found, taken] = [found.times(once), taken + 1n];
      found = found.cut((cut * taken) / count);
      progress(`${taken} of ${count} releases`);
    });
    return found;
  }
  delta(epsilon) {
    const bits = 4n * this.digits + 64n, one = 1n << bits;
    if (!this.raised[0]) {
      const grown = expOf(epsilon, bits).hi;
      let [p, q] = this.infinite, best = (p << bits) - q * grown;
      for (let i = this.lists[0].length - 1; i >= 0; i--) {
        [p, q] = [p + this.lists[0][i], q + this.lists[1][i]];
        best = most(best, (p << bits) - q * grown);
      }
      return new Fraction(best, this.unit << bits);
    }
    const ratio = epsilon.over(this.step), from = floor(ratio.n, ratio.d) + 1n;
    const first = most(from - this.low, 0n), place = whole(this.low + first);
    let weight = expOf(epsilon.minus(place.times(this.step)), bits).lo;
    let total = this.infinite[0] << bits;
    const fall = expOf(ZERO.minus(this.step), bits).lo;
    for (const mass of this.lists[0].slice(Number(least(first, BigInt(MOST_PLACES))))) {
      total += mass * (one - weight);
      weight = (weight * fall) >> bits;
    }
    return new Fraction(total, this.unit << bits);
  }
}
/* A convolution over unit: entries side by side, as hexadecimal digits of two long integers. */
function product(ours, theirs, unit, raised) {
  const places = ours.length + theirs.length - 1;
  const decimals = (values) => BigInt(top(values).toString().length);
  const digits = BigInt(unit.toString().length - 1);
  const room = decimals(ours) + decimals(theirs) + BigInt(String(ours.length).length);
  const wide = most(room, digits) + 1n, count = BigInt(places);
  need(places <= MOST_PLACES && count * wide <= 60000000n, "a product is too long");
  spend(count * (wide / 4n + 2n));
  const hex = (top(ours) * top(theirs) * BigInt(ours.length)).toString(16).length + 1;
  const pack = (values) =>
    BigInt("0x" + values.map((v) => v.toString(16).padStart(hex, "0")).reverse().join(""));
  const text = (pack(ours) * pack(theirs)).toString(16).padStart(places * hex, "0"), found = [];
  for (let end = text.length; end > text.length - places * hex; end -= hex) {
    const value = BigInt("0x" + text.slice(end - hex, end));
    found.push(raised ? -floor(-value, unit) : value / unit);
  }
  return found;
}
const top = (values) => values.reduce((a, b) => (a > b ? a : b), 0n);
/* Fact 1: the chords of a curve, at places of a grid. */
function fromAbove(pair, places, step, digits) {
  const first = places[0], last = places[places.length - 1], unit = 10n ** digits;
  need(last - first < BigInt(MOST_PLACES), "the grid has too many places");
  need(whole(most(-first, last)).times(step).below(whole(10n ** 5n)), "a loss is too large");
  const bits = (7n * digits) / 2n + 64n + 4n * BigInt(step.d.toString().length);
  const one = of(ONE, bits), h = places.map((k, i) => {
    const more = (size(k * step.n) * 3n) / (2n * step.d), loss = whole(k).times(step);
    const exact = curve(pair, expOf(loss, bits + more));
    if (i % 20 === 0) progress(`${i} of ${places.length} points of a curve`);
    return new Enclosed(exact.lo >> more, up(exact.hi, more), bits);
  });
  const rise = kept((gap) => expOf(whole(gap).times(step), bits).minus(one));
  const fall = kept((gap) => one.minus(expOf(whole(-gap).times(step), bits)));
  const masses = Array(Number(last - first) + 1).fill(0n);
  places.forEach((k, i) => {
    let mass = one.minus(h[0]);
    if (i) mass = h[i - 1].minus(h[i]).over(fall(k - places[i - 1]));
    if (i + 1 < places.length) mass = mass.plus(h[i + 1].minus(h[i]).over(rise(places[i + 1] - k)));
    masses[Number(k - first)] = most(up(mass.hi * unit, bits), 0n);
  });
  const infinite = most(up(h[h.length - 1].hi * unit, bits), 0n);
  return new Masses(step, digits, first, [masses], [infinite]);
}
function fromBelow(pair, grid, step, digits) {
  const bits = (7n * digits) / 2n + 64n, unit = 10n ** digits, found = new Map();
  for (const [p, q] of cells(pair, grid, bits)) {
    const mass = (p.lo * unit) >> bits;
    if (mass <= 0n || q.lo <= 0n) continue;
    const ratio = new Fraction(log(p.over(q)).lo, 1n << bits).over(step);
    // The nearest integer; of two, the even one.
    let label = floor(2n * ratio.n + ratio.d, 2n * ratio.d);
    if (label & 1n && (2n * ratio.n + ratio.d) % (2n * ratio.d) === 0n) label -= 1n;
    const [a, b] = found.get(label) ?? [0n, 0n];
    found.set(label, [a + mass, b + up(q.hi * unit, bits)]);
  }
  need(found.size > 0, "there are no cells");
  const low = least(...found.keys()), high = most(...found.keys());
  need(high - low < BigInt(MOST_PLACES), "labels are too far apart");
  const lists = [0, 1].map((i) =>
    Array.from({ length: Number(high - low) + 1 }, (_, k) => found.get(low + BigInt(k))?.[i] ?? 0n));
  return new Masses(step, digits, low, lists, [0n, 0n]);
}

/* Releases: what is understood, and the pairs of what a record may amount to. */
const ADD = "add-or-remove-one", REPLACE = "replace-one";
const RECORDS = {
  [ADD]: "by one record, which only one has",
  [REPLACE]: "in one record, which is another one",
  "zero-out": "in one record, which adds nothing to sums in one of them",
};
const KINDS = {
  gaussian: "noise norm diameter", "poisson-gaussian": "noise norm probability",
  "fixed-size-gaussian": "noise distance sampled of",
  "shuffled-gaussian": "noise norm diameter batch of", mixture: "noise positions weights",
  laplace: "scale distance", "discrete-laplace": "scale distance",
  response: "buckets probability", stated: "epsilon delta", "zero-concentrated": "rho",
  "gaussian-synthesis": "n d eigenvalue", repeated: "count release", composed: "releases",
  parallel: "releases record-may-move", poisson: "probability release",
};
const MOST = { probability: ONE, eigenvalue: ONE, delta: ONE, epsilon: whole(10n ** 5n) };
const DIGITS =
  /^([0-9]{1,60})(?:\.([0-9]{1,80}))?(?:e([+-]?)([0-9]{1,3}))?(?:\/(0*[1-9][0-9]{0,29}))?$/;
function number(text, limit = whole(10n ** 400n)) {
  const found = typeof text === "string" ? DIGITS.exec(text) : null;
  need(found && !text.endsWith("\n"), "no string of digits");
  const [, head, part = "", minus, power = "0", below = "1"] = found;
  const scale = BigInt(power) * (minus === "-" ? -1n : 1n) - BigInt(part.length);
  const value = new Fraction(BigInt(head + part) * 10n ** most(scale, 0n),
    BigInt(below) * 10n ** most(-scale, 0n));
  const tiny = new Fraction(1n, 10n ** 400n);
  need(!value.n || !(value.below(tiny) || limit.below(value)), "too small or too large");
  return value;
}
function count(given, limit = 10n ** 9n) {
  need(typeof given === "bigint" && given >= 1n && given <= limit, `not from 1 to ${limit}`);
  return given;
}
function fields(given, names) {
  const keys = names.split(" ");
  need(given instanceof Map && given.size === keys.length && keys.every((k) => given.has(k)),
    `its fields: not ${names}`);
  return given;
}
function field(name, given) {
  if (["count", "sampled", "batch", "of", "n", "d", "buckets"].includes(name)) return count(given);
  if (name === "distance" && typeof given === "bigint") return count(given);
  if (name === "record-may-move") {
    need(typeof given === "boolean", "a record may move, or may not");
    return given;
  }
  if (name !== "positions" && name !== "weights") return number(given, MOST[name]);
  need(Array.isArray(given) && given.length > 0 && given.length <= 50, "not from 1 to 50");
  return given.map((one) => number(one));
}
function readRelease(given, depth = 0) {
  const kind = given instanceof Map ? given.get("kind") : null;
  need(typeof kind === "string" && Object.hasOwn(KINDS, kind) && depth < 20, "an unknown kind");
  fields(given, `kind ${KINDS[kind]}`);
  const inner = given.has("release") ? [given.get("release")] : (given.get("releases") ?? []);
  need(Array.isArray(inner) && inner.length <= 64, "too many releases");
  need(inner.length > 0 || !given.has("releases"), "made of no releases");
  const found = { kind }, names = KINDS[kind].split(" ").filter((k) => !k.startsWith("release"));
  for (const key of names) found[key] = field(key, given.get(key));
  found.own = names.map((k) => `${k} ${plain(given.get(k)).replaceAll('"', "")}`).join(", ");
  found.inner = inner.map((one) => readRelease(one, depth + 1));
  return found;
}
const kinds = (release) => [release.kind, ...release.inner.flatMap(kinds)];
function words({ kind, own, inner }) {
  return `${kind} (${own})` + (inner.length ? ` of [${inner.map(words).join("; and ")}]` : "");
}
function moved(release, relation) {
  need(!whole(2).times(release.norm).below(release.diameter), "a diameter is too large");
  return (relation === REPLACE ? release.diameter : release.norm).over(release.noise);
}
function simplePair(release, relation, below) {
  const { kind } = release, nothing = [[ONE, ZERO]];
  const sample = (q, a) => [[ONE.minus(q), ZERO], [q, a]];
  if (kind === "gaussian") return line([[ONE, moved(release, relation)]], nothing);
  if (kind === "poisson-gaussian") {
    const q = release.probability, a = release.norm.over(release.noise);
    return line(sample(q, a), relation !== REPLACE ? nothing : sample(q, ZERO.minus(a)));
  }
  if (kind === "fixed-size-gaussian") {
    const m = count(release.sampled, release.of - (relation === ADD ? 1n : 0n));
    const a = asFraction(release.distance).over(release.noise);
    const pair = line(sample(new Fraction(m, release.of), a), nothing);
    return below || relation === ADD ? pair : { kind: "mirrored", pair };
  }
  if (kind === "shuffled-gaussian") {
    const far = moved(release, REPLACE), own = moved(release, ADD), zeroed = relation === "zero-out";
    need(relation !== ADD || release.of % release.batch, "without a record there is a batch less");
    if (!below) return line([[ONE, zeroed ? own : far]], nothing);
    const batches = (release.of - (relation === ADD ? 1n : 0n)) / release.batch;
    need(batches > 0n, "there is no full batch");
    need(!zeroed || far.same(TWO.times(own)), "records on opposite sides are not allowed");
    const share = new Fraction(batches * release.batch, release.of);
    return { kind: "shuffled", batches: whole(batches), share, p: far, q: zeroed ? own : ZERO };
  }
  need(relation === ({ mixture: ADD, response: REPLACE }[kind] ?? relation), "another relation");
  if (kind === "mixture") {
    const { positions, weights, noise } = release, all = weights.reduce((a, b) => a.plus(b));
    need(positions.length === weights.length, "positions and weights: not as many");
    return line(positions.map((x, i) => [weights[i].over(all), x.over(noise)]), nothing);
  }
  if (kind === "laplace") return { kind, d: asFraction(release.distance).over(release.scale) };
  if (kind === "discrete-laplace")
    return { kind: "geometric", rate: ONE.over(release.scale), n: whole(count(release.distance, 100n)) };
  if (kind === "response") {
    const { probability, buckets } = release;
    need(probability.n > 0n && probability.below(ONE) && buckets > 1n, "no randomised response");
    return { kind, probability, many: whole(buckets) };
  }
  need(kind === "stated", `no pair is known for ${kind}: give an order`);
  return { kind, epsilon: release.epsilon, delta: release.delta };
}
const asFraction = (given) => (typeof given === "bigint" ? whole(given) : given);
const backwards = (way) => way.map(([pair, n]) => [reverse(pair), n]);
const wayName = (way) => way.map(([pair, n]) => `${name(pair)} ${n}`).join();
function different(found) {
  const seen = new Map();
  for (const way of found) {
    if (!seen.has(wayName(way))) seen.set(wayName(way), way);
    need(seen.size <= 64, "a record may matter in too many ways");
  }
  return [...seen.values()];
}
function* together(first, second) {
  for (const a of first) for (const b of second) yield [...a, ...b];
}
function forward(release, relation, below) {
  const { kind, inner } = release;
  if (!inner.length) return [[[simplePair(release, relation, below), 1n]]];
  if (kind === "poisson") {
    const known = ["gaussian", "laplace", "discrete-laplace", "response", "stated"];
    need(relation === ADD && known.includes(inner[0].kind), "samples of this are not known");
    const q = release.probability, pair = simplePair(inner[0], relation, below);
    return [q.n ? [[{ kind: "sampled", q, pair }, 1n]] : []];
  }
  const each = inner.map((one) => forward(one, relation, below));
  if (kind === "repeated")
    return each[0].map((way) => way.map(([pair, n]) => [pair, n * release.count]));
  if (kind === "composed")
    return each.reduce((found, some) => different(together(found, some)), [[]]);
  if (relation === REPLACE && release["record-may-move"]) {
    const known = ["gaussian", "poisson-gaussian", "fixed-size-gaussian", "repeated", "composed",
      "parallel"];
    need(!below && kinds(release).every((one) => known.includes(one)), "records that move");
    const ends = inner.map((one) => forward(one, ADD, below));
    each.push(different((function* () {
      for (const [i, left] of ends.entries())
        for (const [j, joined] of ends.entries())
          if (i !== j) yield* together(left, joined.map(backwards));
    })()));
  }
  return different(each.flat());
}
function merged(way, below) {
  const counts = new Map();
  for (const [pair, n] of way)
    counts.set(name(pair), [pair, (counts.get(name(pair))?.[1] ?? 0n) + n]);
  const simple = [...counts.values()].filter(([pair]) =>
    pair.kind === "line" && pair.p.length === 1 && pair.q.length === 1);
  if (simple.reduce((total, [, n]) => total + n, 0n) > 1n) {
    let square = ZERO;
    for (const [pair, n] of simple) {
      counts.delete(name(pair));
      square = square.plus(whole(n).times(pair.p[0][1]).times(pair.p[0][1]));
    }
    const exact = root(of(square, 300n + length(square.d)));
    const far = new Fraction(below ? exact.lo : exact.hi, 1n << exact.bits);
    const pair = line([[ONE, far]], [[ONE, ZERO]]);
    counts.set(name(pair), [pair, 1n]);
  }
  need([...counts.values()].every(([, n]) => n <= 10n ** 9n), "more than a billion releases");
  return [...counts.entries()].sort((a, b) => (a[0] < b[0] ? -1 : 1)).map(([, one]) => one);
}
function ways(release, relation, below) {
  if (relation === "zero-out") {
    const known = ["gaussian", "poisson-gaussian", "shuffled-gaussian", "repeated", "composed"];
    need(kinds(release).every((one) => known.includes(one)), "zero-out is known of sums");
  }
  const first = forward(release, relation, below).map((way) => merged(way, below));
  return different([...first, ...first.map((way) => merged(backwards(way), below))]);
}

/* Renyi divergences of order a. */
function divergence(release, relation, a) {
  const { kind, inner } = release;
  need(ONE.below(a) && !whole(10n ** 6n).below(a), "an order is at most 1, or very large");
  if (kind === "gaussian") {
    const mu = moved(release, relation);
    return a.over(TWO).times(mu).times(mu);
  }
  if (kind === "zero-concentrated") return a.times(release.rho);
  if (kind === "stated" && !release.delta.n) {
    const squared = a.times(release.epsilon).times(release.epsilon).over(TWO);
    return squared.below(release.epsilon) ? squared : release.epsilon;
  }
  if (kind === "gaussian-synthesis" && relation !== "zero-out")
    return ofSynthesis(release, relation, a);
  need(kind === "repeated" || kind === "composed", `no Renyi divergence is known for ${kind}`);
  const all = inner.map((one) => divergence(one, relation, a)).reduce((x, y) => x.plus(y));
  return kind === "repeated" ? whole(release.count).times(all) : all;
}
function ofSynthesis({ n, d, eigenvalue }, relation, a) {
  const b = a.minus(ONE), N = whole(n), D = whole(d);
  const part = (x) => {
    const both = log(of(ONE.minus(b.times(x)), 400n))
      .plus(of(b, 400n).times(log(of(ONE.plus(x), 400n))));
    return new Fraction(-both.lo, 1n << 400n).over(TWO.times(b));
  };
  if (relation === REPLACE) {
    const big = whole(4).times(D).over(eigenvalue).times(N.minus(ONE)).over(N.times(N));
    const three = whole(3).times(big).times(big);
    need(big.below(ONE) && (!a.below(TWO) || !ONE.below(three)), "too few records");
    const shift = a.over(TWO.times(N.minus(ONE))).times(big).over(ONE.minus(b.times(big)));
    return shift.plus(part(big));
  }
  const far = ONE.plus(root(of(ONE.minus(eigenvalue), 400n)).upper());
  const farthest = D.times(far).times(far).over(eigenvalue);
  let found = ZERO;
  for (const m of [N.minus(ONE), N])
    for (const t of [ZERO, farthest]) {
      const k = m.plus(ONE), e = m.times(t).over(k).minus(ONE).over(k);
      const scaled = a.times(t).over(TWO.times(k).times(k)), others = D.minus(ONE);
      const removed = others.times(part(ZERO.minus(ONE.over(k)))).plus(part(e))
        .plus(scaled.over(ONE.minus(b.times(e))));
      const added = others.times(part(ONE.over(m))).plus(part(ZERO.minus(e).over(ONE.plus(e))))
        .plus(scaled.over(ONE.plus(a.times(e))));
      for (const one of [removed, added]) if (found.below(one)) found = one;
    }
  return found;
}

/* Delta of one way in which a record may matter, from above or from below. */
function deltaOf(way, hint, below, epsilon) {
  if (way.length === 1 && way[0][1] === 1n && !(hint instanceof Map && hint.has("parts"))) {
    const bits = 1600n + (2n * epsilon.n) / epsilon.d;
    const height = curve(way[0][0], expOf(epsilon, bits));
    return new Fraction(below ? height.lo : height.hi, 1n << bits);
  }
  need(hint instanceof Map && Array.isArray(hint.get("parts")), "there are no parts");
  const digits = count(hint.get("digits"), 300n), cut = count(hint.get("cut"), 300n);
  need(hint.get("parts").length === way.length, "the hints are for another number of pairs");
  const powers = way.map(([pair, n], i) => {
    const part = hint.get("parts")[i], halvings = part instanceof Map && part.get("halvings");
    need(Array.isArray(halvings) && halvings.length <= 40, "a grid is halved too often");
    const step = number(hint.get("step")).over(whole(1n << BigInt(halvings.length)));
    need(step.n > 0n, "a step is 0");
    const once = below ? fromBelow(pair, ends(part.get("cells")), step, digits)
      : fromAbove(pair, nodes(part.get("nodes")), step, digits);
    return once.power(n, halvings, 10n ** most(digits - cut, 0n));
  });
  need(powers.every((one) => one.step.same(powers[0].step)), "the parts end on different grids");
  return powers.reduce((a, b) => a.times(b)).delta(epsilon);
}
function ends(given) {
  need(Array.isArray(given) && given.length === 3, "cells are from, to, number");
  const grid = given.map((text) => {
    need(typeof text === "string", "no string of digits");
    const found = number(text.replace(/^-+/, ""));
    return (text.split("-").length - 1) % 2 ? ZERO.minus(found) : found;
  });
  need(!grid[2].below(ONE) && !whole(5000).below(grid[2]), "there are no cells, or too many");
  return grid;
}
function integer(given) {
  need(typeof given === "bigint" || typeof given === "boolean", "no integer");
  return BigInt(given);
}
function nodes(given) {
  const places = [];
  need(Array.isArray(given), "there are no places");
  for (const stretch of given) {
    need(Array.isArray(stretch) && stretch.length === 3, "a stretch is from, to, stride");
    const [from, to, stride] = [...stretch.slice(0, 2).map(integer), count(stretch[2])];
    for (let k = from; k < to; k += stride) {
      need(!places.length || places[places.length - 1] < k, "the places do not ascend");
      need(places.push(k) <= 20000, "a grid has too many places");
    }
  }
  need(places.length > 0, "there are no places");
  return places;
}
function atMost(release, relation, hints, epsilon, delta) {
  need(hints instanceof Map, "there are no hints");
  if (hints.has("order")) {
    const a = number(hints.get("order")), r = divergence(release, relation, a), b = a.minus(ONE);
    const shrunk = of(b, 400n).times(log(of(ONE.minus(ONE.over(a)), 400n)));
    const shown = of(b.times(r.minus(epsilon)), 400n).plus(shrunk).minus(log(of(a, 400n)));
    return shown.hi <= log(of(delta, 400n)).lo;
  }
  const every = ways(release, relation, false), given = hints.has("ways") ? hints.get("ways") : every;
  need(Array.isArray(given) && given.length === every.length, "another number of ways");
  return every.every((way, i) => {
    const limits = way.map(([pair]) => largest(pair) ?? [epsilon.plus(ONE), ONE]);
    const totals = [0, 1].map((j) => limits.reduce((total, one, k) =>
      total.plus(one[j].times(whole(way[k][1]))), ZERO));
    if (!epsilon.below(totals[0]) && !delta.below(totals[1])) return true;
    return !delta.below(deltaOf(way, given[i], false, epsilon));
  });
}

/* Files: JSON without floats and without names that occur twice, and its hash. */
function parse(text) {
  const token = /[ \t\n\r]*([{}[\],:]|"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9][0-9]*)(?![0-9.eE])|true|false|null)/y;
  const next = () => {
    const found = token.exec(text);
    need(found, "it is no JSON of text and integers");
    return found[1];
  };
  function value(first, depth) {
    need(depth < 100, "too deep");
    if (first === "{" || first === "[") {
      const items = [], map = new Map(), end = first === "{" ? "}" : "]";
      for (let one = next(); one !== end || items.length; one = next()) {
        if (first === "{") {
          const key = one[0] === '"' ? JSON.parse(one) : null;
          need(key !== null && !map.has(key) && next() === ":", "a name occurs twice, or none");
          map.set(key, value(next(), depth + 1));
        } else items.push(value(one, depth + 1));
        const after = next();
        if (after === end) return first === "{" ? map : items;
        need(after === ",", "it is no JSON");
        if (first === "{") items.length = 1;
      }
      return first === "{" ? map : items;
    }
    if (first[0] === '"') return JSON.parse(first);
    if (/^[-0-9]/.test(first)) {
      need(first.length <= 12, "an integer has too many digits");
      return BigInt(first);
    }
    need(["true", "false", "null"].includes(first), "it is no JSON");
    return first === "null" ? null : first === "true";
  }
  const found = value(next(), 0);
  need(/^[ \t\n\r]*$/.test(text.slice(token.lastIndex)), "something comes after the end");
  return found;
}
/* JSON with sorted names and no blanks. */
function canonical(v, colon = ":", comma = ",") {
  if (v instanceof Map)
    return `{${[...v.keys()].sort().map((k) => `"${k}"${colon}${canonical(v.get(k), colon, comma)}`).join(comma)}}`;
  if (Array.isArray(v)) return `[${v.map((one) => canonical(one, colon, comma)).join(comma)}]`;
  return typeof v === "string" ? `"${v}"` : String(v);
}
const plain = (v) => canonical(v, ": ", ", ");
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
  need(claim instanceof Map, "there is no claim");
  const says = claim.get("says"), relation = claim.get("relation");
  const last = says === "divergence at most" ? " order" : /^rho /.test(says) ? "" : " delta";
  fields(claim, `says relation release epsilon${last}`);
  const [epsilon, other] = [claim.get("epsilon"), claim.get(last.slice(1)) ?? "0"];
  const sentence = {
    "at most": `epsilon is at most ${epsilon} at delta ${other}`,
    exceeded: `for some two, epsilon is more than ${epsilon} at delta ${other}`,
    "divergence at most": `the Renyi divergence of order ${other} is at most ${epsilon}`,
    "rho at most": `Renyi divergences of all orders a are at most a ${epsilon}`,
    "rho exceeded": `for some two, Renyi divergences of all orders a are more than a ${epsilon}`,
  };
  const known = typeof says === "string" && Object.hasOwn(sentence, says);
  need(known && typeof relation === "string" && Object.hasOwn(RECORDS, relation), "unknown claim");
  number(epsilon);
  number(other);
  return [`any two data sets that differ ${RECORDS[relation]}:`, `  ${sentence[says]}`,
    `released: ${words(readRelease(claim.get("release")))}`];
}
function shownBy(claim, hints) {
  left = 70000000n;
  const release = readRelease(claim.get("release")), relation = claim.get("relation");
  const epsilon = number(claim.get("epsilon"), MOST.epsilon), says = claim.get("says");
  if (says === "divergence at most")
    return !epsilon.below(divergence(release, relation, number(claim.get("order"))));
  if (says.startsWith("rho")) {
    const linear = ["gaussian", "repeated", "composed", says === "rho at most" && "zero-concentrated"];
    need(kinds(release).every((one) => linear.includes(one)), "not all orders are known");
    const rho = divergence(release, relation, TWO).over(TWO);
    return says === "rho at most" ? !epsilon.below(rho) : epsilon.below(rho);
  }
  const delta = number(claim.get("delta"), ONE);
  if (says === "at most") return atMost(release, relation, hints, epsilon, delta);
  need(hints instanceof Map, "there are no hints");
  const at = number(hints.get("way")), every = ways(release, relation, true);
  const way = every[Number(least(at.n / at.d, 1000n))];
  need(way, "there is no such way");
  return delta.below(deltaOf(way, hints, true, epsilon));
}
/* {status: 0 accepted, 1 not accepted, 2 not understood; lines: what is claimed; reason}. */
function checkCertificate(text, show = () => {}) {
  let lines = [], status = 2;
  progress = show;
  try {
    need(new TextEncoder().encode(text).length <= 65536, "it has more than 64 kB");
    const found = fields(parse(text), "format claim sha256 hints about"), claim = found.get("claim");
    lines = statement(claim);
    need(found.get("format") === "rdpkit-certificate-1", "another format");
    need(found.get("sha256") === sha256(canonical(claim)), "the hash is not that of the claim");
    status = 1;
    need(shownBy(claim, found.get("hints")), "it is not shown by these hints");
    return { status: 0, lines, reason: "accepted" };
  } catch (error) {
    // What the engine itself refuses, such as an integer that is too long, is no proof either.
    return { status, lines, reason: error instanceof Error ? error.message : "an error" };
  }
}
