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
const shift = (a, n) => (n >= 0n ? a << n : a >> -n);
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
  at(bits) {
    const more = bits - this.bits;
    return new Enclosed(shift(this.lo, more), -shift(-this.hi, more), bits);
  }
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
/* Squares of e^r, or of 1 / e^r, with r = |x| / 2^k; e^w <= 1 + 2 w for a width w below 1/2. */
function exp(x) {
  const { bits } = x, width = x.hi - x.lo, far = size(x.lo);
  const squares = most(length(far) - bits, 0n) + 16n, grown = x.lo > 0n ? (3n * far) >> (bits + 1n) : 0n;
  const work = bits + grown + squares + 20n;
  spend(8n + ((work + grown) ** 2n / 600n) * (1n + (work >> 14n)));
  need(grown < 160000n && !(width >> (bits - 1n)), "an exponential is too large or uncertain");
  let { lo, hi } = series(1n << work, (far << (work - bits)) >> squares, 1n, 1n, work);
  if (x.lo < 0n) [lo, hi] = [(1n << (2n * work)) / hi, (1n << (2n * work)) / lo + 1n];
  for (let i = 0n; i < squares; i++) [lo, hi] = [(lo * lo) >> work, ((hi * hi) >> work) + 1n];
  const found = new Enclosed(lo, hi, work).at(bits);
  return new Enclosed(found.lo, found.hi + ((2n * found.hi * width) >> bits) + 1n, bits);
}
const expOf = (f, bits) => exp(of(f, bits));
/* A logarithm is guessed, by Newton's method, and then shown by two exponentials. */
function log(x) {
  need(x.lo > 0n, "a logarithm of a number that is not certainly positive");
  const work = 2n * x.bits, near = x.at(work), expAt = (n) => exp(new Enclosed(n, n, work));
  let y = floor(((length(x.lo) - x.bits) * 693147n) << work, 1000000n);
  for (let i = 0; i < 20; i++) {
    const now = expAt(y).lo;
    y += floor((2n * (near.lo - now)) << work, near.lo + now);
  }
  for (let i = 2n; i < work; i += 4n) {
    const [low, high] = [expAt(y - (1n << i)), expAt(y + (1n << i))];
    if (low.hi <= near.lo && near.hi <= high.lo)
      return new Enclosed(y - (1n << i), y + (1n << i), work).at(x.bits);
  }
  throw new Refused("a logarithm of a number that is too uncertain");
}
/* The integral of e^(-u^2/2) from 0 to n / 2^bits, and half of that over the whole line. */
function area(n, bits) {
  const square = (n * n) >> bits, middle = -(square >> 1n);
  return exp(new Enclosed(middle - 1n, middle, bits)).times(series(n, square, 3n, 2n, bits));
}
const halfArea = kept((bits) => {
  const work = 3n * bits + 64n, found = area((isqrt(2n * bits) + 1n) << work, work).at(bits);
  return new Enclosed(found.lo, found.hi + 1n, bits);
});
/* Tails of noise: normal, which falls by at most 0.4 a unit, and Laplace, by at most 1/2. */
const tails = {
  normal(x) {
    const { bits } = x, half = 1n << (bits - 1n), n = size(x.lo), square = (n * n) >> bits;
    let [low, high] = [half - 1n, half];
    if (5n * square <= (7n * bits) << bits) {
      const more = 32n * (2n + ((3n * square) >> (bits + 7n))), work = bits + more;
      spend(((work + ((4n * square) >> bits)) * (1n + (work >> 11n) ** 2n)) / 4n);
      const share = area(n << more, work).over(halfArea(work));
      [low, high] = [share.lo >> (more + 1n), (share.hi >> (more + 1n)) + 1n];
    }
    if (x.lo < 0n) [low, high] = [-high, -low];
    const fall = (2n * (x.hi - x.lo) + 4n) / 5n;
    return new Enclosed(most(half - high - fall, 0n), half - low, bits);
  },
  laplace(x) {
    const near = exp(new Enclosed(-size(x.lo), -size(x.lo), x.bits)), one = 1n << x.bits;
    let [low, high] = [near.lo >> 1n, (near.hi + 1n) >> 1n];
    if (x.lo < 0n) [low, high] = [one - high, one - low];
    return new Enclosed(most(low - (x.hi - x.lo), 0n), high, x.bits);
  },
};

/* Pairs and their curves H(t): mixtures of noise on a line, with parts [centre, weight], or lists of
   outcomes, the largest ratio first; of batches only events, with [number, probability, mean]. */
const fine = 4000n, none = of(ZERO, fine);
const order = (a, b) => (a.below(b) ? -1 : b.below(a) ? 1 : 0);
function line(noise, p, q, limit = null) {
  const last = q.map(([b]) => b).reduce((a, b) => (a.below(b) ? b : a));
  need([...p, ...q].every(([, w]) => w.n >= 0n), "a weight is negative");
  need(p.every(([a]) => !a.below(last)), "the centres of two mixtures are mixed up");
  const moved = (parts) => parts.map(([a, w]) => [a.minus(last), w])
    .sort((a, b) => order(a[0], b[0]) || order(a[1], b[1]));
  return { noise, p: moved(p), q: moved(q), limit, mirrored: false };
}
const outcomes = (p, limit) => ({ noise: "", p, q: [...p].reverse(), limit, mirrored: false });
const opposite = { all: "any", any: "all" };
function reverse(pair) {
  if (pair.noise in opposite) return { noise: opposite[pair.noise], p: pair.q, q: pair.p, limit: null };
  const negated = (parts) => parts.map(([a, w]) => [ZERO.minus(a), w]);
  if (!pair.noise) return { ...pair, p: [...pair.q].reverse(), q: [...pair.p].reverse() };
  return pair.mirrored ? pair : line(pair.noise, negated(pair.q), negated(pair.p), pair.limit);
}
/* (1 - q) Q + q P against Q. */
function sample(pair, q) {
  const rest = ONE.minus(q), scaled = (parts, by) => parts.map(([a, w]) => [a, w.times(by)]);
  let limit = null;
  if (pair.limit && !pair.limit[1].n) {
    const one = of(ONE, 60n), grown = expOf(pair.limit[0], 60n).minus(one);
    limit = [log(one.plus(of(q, 60n).times(grown))).upper(), ZERO];
  }
  if (pair.noise)
    return line(pair.noise, [...scaled(pair.q, rest), ...scaled(pair.p, q)], pair.q, limit);
  const mixed = pair.p.map((p, i) =>
    of(q, fine).times(p).plus(of(rest, fine).times(pair.q[i])));
  return { ...pair, p: mixed, limit };
}
function stated(epsilon, delta) {
  const kept = of(ONE.minus(delta), fine), small = kept.over(of(ONE, fine).plus(expOf(epsilon, fine)));
  return outcomes([of(delta, fine), kept.minus(small), small, none], [epsilon, delta]);
}
function response(same, other) {
  const p = [same, ONE.minus(same).minus(other), other].map((one) => of(one, fine));
  return outcomes(p, [log(of(same.over(other), 60n)).upper(), ZERO]);
}
function geometric(rate, n) {
  const one = of(ONE, fine), power = (m) => expOf(ZERO.minus(rate.times(whole(m))), fine);
  const below = [none];
  for (let m = 1; m <= n; m++) below.push(one.minus(power(m).over(one.plus(power(1)))));
  return outcomes([...below.slice(1), one].map((b, i) => b.minus(below[i])), [rate.times(whole(n)), ZERO]);
}
const rows = (pair, bits) => pair.p.map((p, i) => [p.at(bits), pair.q[i].at(bits)]);
function curve(pair, t) {
  const { bits } = t, one = of(ONE, bits);
  need(!(pair.noise in opposite), "only events of batches are known");
  if (pair.mirrored && t.lo < one.lo) {
    need(t.hi <= one.lo, "too few digits beside 1");
    return one.minus(t).plus(t.times(curve(pair, one.over(t))));
  }
  if (!pair.noise) return sum(rows(pair, bits).map(([p, q]) => p.minus(t.times(q)).positive()), bits);
  const [x, p, q] = event(pair, t), [above, , below] = densities(pair, x, bits);
  const ratio = above.over(below).positive(), top = new Enclosed(ratio.hi, ratio.hi, bits);
  const found = p.minus(t.times(q)), wrong = t.minus(ratio).positive().times(q)
    .plus(top.minus(t).positive().over(top).times(one.minus(p)));
  const high = least(most(found.plus(wrong).hi, 0n), one.hi);
  return new Enclosed(most(found.lo, 0n), high, bits);
}
/* About the outcomes with a ratio above t: where they begin, and their P and Q. */
function event(pair, t, start = null) {
  const { bits } = t;
  if (pair.noise in opposite) {
    need(start !== null, "it is not said where events begin");
    const x = floor(integer(start) << bits, 1000n);
    return [x, ...[pair.p, pair.q].map((one) => ofBatches(pair.noise, one, x, bits))];
  }
  if (!pair.noise) {
    const all = rows(pair, bits), last = all.findLastIndex(([p, q]) => p.minus(t.times(q)).lo > 0n);
    const kept = all.slice(0, last + 1);
    return [BigInt(-kept.length), ...[0, 1].map((i) => sum(kept.map((one) => one[i]), bits))];
  }
  const x = placeOf(pair, t), here = new Enclosed(x, x, bits);
  return [x, ...[pair.p, pair.q].map((parts) =>
    sum(constants(parts, bits).map(([a, w]) => w.times(tails[pair.noise](here.minus(a)))), bits))];
}
/* That all numbers are above x, or any is below -x, which all others are above. */
function ofBatches(which, [count, share, mean], x, bits) {
  const end = which === "all" ? x : -x, here = new Enclosed(end, end, bits);
  let own = tails.normal(here), above = of(ONE.minus(share), bits).times(own)
    .plus(of(share, bits).times(tails.normal(here.minus(of(mean, bits)))));
  for (let n = count - 1n; n; n >>= 1n) {
    if (n & 1n) above = above.times(own);
    own = own.times(own);
  }
  return which === "all" ? above : of(ONE, bits).minus(above);
}
function constants(parts, bits) {
  parts.kept ??= new Map();
  if (!parts.kept.has(bits)) parts.kept.set(bits, parts.map((one) => one.map((v) => of(v, bits))));
  return parts.kept.get(bits);
}
/* Of P and of Q: a density at x, but for a common factor, and its slope. */
function densities(pair, x, bits) {
  const here = new Enclosed(x, x, bits);
  return [pair.p, pair.q].flatMap((parts) => {
    const terms = constants(parts, bits).map(([a, w]) => {
      if (pair.noise === "normal") {
        const half = new Enclosed(a.lo >> 1n, (a.hi + 1n) >> 1n, bits);
        const value = w.times(exp(here.minus(half).times(a)));
        return [value, value.times(a)];
      }
      const d = here.minus(a), near = most(d.lo, -d.hi, 0n), value = w.times(
        exp(new Enclosed(size(x) - most(-d.lo, d.hi), size(x) - near, bits)));
      return [value, d.hi <= 0n ? value : new Enclosed(-value.hi, -value.lo, bits)];
    });
    return [0, 1].map((i) => sum(terms.map((one) => one[i]), bits));
  });
}
/* Where the ratio is about t; where this comes from does not matter. */
function placeOf(pair, t) {
  const { bits } = t, normal = pair.noise === "normal", centres = [...pair.p, ...pair.q].map(([a]) => a);
  const reach = whole(normal ? isqrt(2n * bits) + 2n : bits);
  let low = ZERO.plus(centres.reduce((a, b) => (b.below(a) ? b : a)).minus(reach));
  let high = centres.reduce((a, b) => (a.below(b) ? b : a)).plus(reach), x = 0n;
  [low, high] = [low, high].map((end) => (end.n / end.d) << bits);
  for (let i = 0; i < 200; i++) {
    let [p, dp, q, dq] = densities(pair, x, bits).map((one) => one.lo);
    [q, dq] = [(q * t.lo) >> bits, (dq * t.lo) >> bits];
    if (p < q) low = x; else high = x;
    const slope = floor(dp << bits, most(p, 1n)) - floor(dq << bits, most(q, 1n));
    const far = 7n * (length(q) - length(p));
    const [over, under] = size(far) > 20n ? [far, 10n] : [2n * (q - p), most(p + q, 1n)];
    const step = floor(over << (2n * bits), under * most(slope, 1n));
    if (!(size(step) >> (bits / 4n)) || high - low < 2n) return x + step;
    x = low < x + step && x + step < high ? x + step : (low + high) >> 1n;
  }
  return x;
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
const digitsFor = (places, step, digits) => {
  const first = places[0], last = places[places.length - 1];
  need(last - first < BigInt(MOST_PLACES), "the grid has too many places");
  need(whole(most(-first, last)).times(step).below(whole(10n ** 5n)), "a loss is too large");
  return (7n * digits) / 2n + 64n + 4n * BigInt(step.d.toString().length);
};
/* Where t is large, it multiplies the error of Q; where it is small, 1 / t does. */
const moreFor = (k, step) => (size(k * step.n) * 3n) / (2n * step.d);
/* Fact 1: the chords of a curve, at places of a grid. */
function fromAbove(pair, places, step, digits) {
  const first = places[0], unit = 10n ** digits, bits = digitsFor(places, step, digits);
  const one = of(ONE, bits), h = places.map((k, i) => {
    if (i % 20 === 0) progress(`${i} of ${places.length} points of a curve`);
    return curve(pair, expOf(whole(k).times(step), bits + moreFor(k, step))).at(bits);
  });
  const rise = kept((gap) => expOf(whole(gap).times(step), bits).minus(one));
  const fall = kept((gap) => one.minus(expOf(whole(-gap).times(step), bits)));
  const masses = Array(Number(places[places.length - 1] - first) + 1).fill(0n);
  places.forEach((k, i) => {
    let mass = one.minus(h[0]);
    if (i) mass = h[i - 1].minus(h[i]).over(fall(k - places[i - 1]));
    if (i + 1 < places.length) mass = mass.plus(h[i + 1].minus(h[i]).over(rise(places[i + 1] - k)));
    masses[Number(k - first)] = most(up(mass.hi * unit, bits), 0n);
  });
  const infinite = most(up(h[h.length - 1].hi * unit, bits), 0n);
  return new Masses(step, digits, first, [masses], [infinite]);
}
/* Events of which each is a part of the one before it; a place labels what is in one and not in the next. */
function fromBelow(pair, places, step, digits, starts) {
  const first = places[0], last = places[places.length - 1], unit = 10n ** digits;
  const bits = digitsFor(places, step, digits) + moreFor(most(-first, last), step);
  const found = places.map((k, i) => event(pair, expOf(whole(k).times(step), bits), starts[i]));
  found.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
  const lists = [0, 1].map(() => Array(Number(last - first) + 1).fill(0n)), zero = of(ZERO, bits);
  places.forEach((k, i) => {
    const [, p, q] = found[i], [, nextP, nextQ] = found[i + 1] ?? [0n, zero, zero];
    lists[0][Number(k - first)] = most((p.minus(nextP).lo * unit) >> bits, 0n);
    lists[1][Number(k - first)] = up(q.minus(nextQ).hi * unit, bits);
  });
  return new Masses(step, digits, first, lists, [0n, 0n]);
}

/* Releases: what is understood, and the pairs of what a record may amount to. */
const ADD = "add-or-remove-one", REPLACE = "replace-one";
const RECORDS = {
  [ADD]: "by one record, which only one has",
  [REPLACE]: "in one record, which is another one",
  "zero-out": "in one record, which adds nothing to sums in one of them",
};
/* Fields, and what is known of a kind and of what it is made of. */
const KINDS = {
  gaussian: ["noise norm diameter", "sampled sum moves linear attained"],
  "fixed-size-gaussian": ["noise distance sampled of", "moves"],
  "shuffled-gaussian": ["noise norm diameter batch of", "sum"],
  mixture: ["noise parts", ""],
  laplace: ["scale distance", "sampled"],
  "discrete-laplace": ["scale distance", "sampled"],
  response: ["buckets probability", ""],
  stated: ["epsilon delta", "sampled"],
  "zero-concentrated": ["rho", "linear"],
  renyi: ["order divergence", ""],
  "gaussian-synthesis": ["n d eigenvalue", ""],
  poisson: ["probability release", "sum moves"],
  repeated: ["count release", "sum moves linear attained"],
  composed: ["releases", "sum moves linear attained"],
  parallel: ["releases record-may-move", "moves"],
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
function listed(given, least, most) {
  need(Array.isArray(given) && given.length >= least && given.length <= most, "too few or too many");
  return given;
}
function readRelease(given, depth = 0) {
  const kind = given instanceof Map ? given.get("kind") : null;
  need(typeof kind === "string" && Object.hasOwn(KINDS, kind) && depth < 20, "an unknown kind");
  const found = { kind, inner: [] };
  for (const [key, value] of fields(given, `kind ${KINDS[kind][0]}`)) {
    if (key === "release" || key === "releases") {
      const several = listed(key === "releases" ? value : [value], 1, 64);
      found.inner = several.map((one) => readRelease(one, depth + 1));
    } else if (["count", "batch", "sampled", "of", "n", "d", "buckets"].includes(key)) found[key] = count(value);
    else if (key === "parts")
      found.parts = listed(value, 1, 50).map((part) => {
        need(Array.isArray(part) && part.length === 2, "a part is a weight and a centre");
        return part.map((one) => number(one));
      });
    else if (key === "record-may-move") {
      need(typeof value === "boolean", "a record may move, or may not");
      found[key] = value;
    } else if (key !== "kind") found[key] = number(value, MOST[key]);
  }
  return found;
}
const isKnown = (kind, what) => KINDS[kind][1].split(" ").includes(what);
const allAre = (one, what) => isKnown(one.kind, what) && one.inner.every((two) => allAre(two, what));
function moved(release, relation) {
  need(!whole(2).times(release.norm).below(release.diameter), "a diameter is too large");
  return (relation === REPLACE ? release.diameter : release.norm).over(release.noise);
}
/* All other records are on the other side of the origin. */
function batches(release, relation) {
  const far = moved(release, REPLACE), own = moved(release, ADD), zeroed = relation === "zero-out";
  need(relation !== ADD || release.of % release.batch, "without a record a batch is missing");
  need(!zeroed || far.same(TWO.times(own)), "records on opposite sides are not allowed");
  const number = count(release.of / release.batch);
  const share = new Fraction(number * release.batch, release.of);
  const [p, q] = [far, zeroed ? own : ZERO].map((mean) => [number, share, ZERO.minus(mean)]);
  return { noise: "any", p, q, limit: null };
}
function simplePair(release, relation, below) {
  const { kind } = release, nothing = [[ZERO, ONE]];
  if (kind === "gaussian") return line("normal", [[moved(release, relation), ONE]], nothing);
  if (kind === "poisson") {
    const [inner] = release.inner, q = release.probability, rest = [ZERO, ONE.minus(q)];
    if (relation === REPLACE && inner.kind === "gaussian") {
      // The worst two records are opposite ones; they may be as far apart as the diameter.
      const a = below ? moved(inner, REPLACE).over(TWO) : moved(inner, ADD);
      return line("normal", [rest, [a, q]], [rest, [ZERO.minus(a), q]]);
    }
    const known = relation === ADD || inner.kind === "gaussian";
    need(known && isKnown(inner.kind, "sampled"), "samples of this are not known");
    return sample(simplePair(inner, relation, below), q);
  }
  if (kind === "fixed-size-gaussian") {
    const m = count(release.sampled, release.of - (relation === ADD ? 1n : 0n));
    const whole = line("normal", [[release.distance.over(release.noise), ONE]], nothing);
    const mirrored = !below && relation === REPLACE;
    return { ...sample(whole, new Fraction(m, release.of)), mirrored };
  }
  if (kind === "shuffled-gaussian") {
    need(below, "shuffled batches are known from below only");
    return batches(release, relation);
  }
  need(relation === ({ mixture: ADD, response: REPLACE }[kind] ?? relation), "another relation");
  if (kind === "mixture") {
    const all = release.parts.reduce((total, [w]) => total.plus(w), ZERO);
    return line("normal", release.parts.map(([w, x]) => [x.over(release.noise), w.over(all)]), nothing);
  }
  if (kind === "laplace") {
    const d = release.distance.over(release.scale);
    return line("laplace", [[d, ONE]], nothing, [d, ZERO]);
  }
  if (kind === "discrete-laplace") {
    const { n, d } = release.distance;
    need(d === 1n && n >= 1n && n <= 100n, "no distance from 1 to 100");
    return geometric(ONE.over(release.scale), Number(n));
  }
  if (kind === "response") {
    const { probability, buckets } = release, other = probability.over(whole(buckets));
    need(other.n > 0n && probability.below(ONE) && buckets > 1n, "no random answer");
    return response(ONE.minus(probability).plus(other), other);
  }
  need(kind === "stated", `no pair is known for ${kind}: give an order`);
  return stated(release.epsilon, release.delta);
}
/* A value as text, by which equal pairs and equal ways are found. */
function name(value) {
  if (value instanceof Fraction) return `${value.n}/${value.d}`;
  if (Array.isArray(value)) return `[${value.map(name)}]`;
  return value && typeof value === "object" ? name(Object.values(value)) : String(value);
}
const backwards = (way) => way.map(([pair, n]) => [reverse(pair), n]);
function different(found) {
  const seen = new Map();
  for (const way of found) if (!seen.has(name(way))) seen.set(name(way), way);
  need(seen.size <= 64, "a record may matter in too many ways");
  return [...seen.values()];
}
const together = (first, second) => first.flatMap((a) => second.map((b) => [...a, ...b]));
function forward(release, relation, below) {
  const { kind, inner } = release;
  if (!["repeated", "composed", "parallel"].includes(kind))
    return [[[simplePair(release, relation, below), 1n]]];
  const each = inner.map((one) => forward(one, relation, below));
  if (kind === "repeated")
    return each[0].map((way) => way.map(([pair, n]) => [pair, n * release.count]));
  if (kind === "composed")
    return each.reduce((found, some) => different(together(found, some)), [[]]);
  if (relation === REPLACE && release["record-may-move"]) {
    need(!below && allAre(release, "moves"), "records that move");
    const ends = inner.map((one) => forward(one, ADD, below));
    each.push(different(ends.flatMap((left, i) => ends.flatMap((joined, j) =>
      i === j ? [] : together(left, joined.map(backwards))))));
  }
  return different(each.flat());
}
function merged(way, below) {
  const counts = new Map();
  for (const [pair, n] of way)
    counts.set(name(pair), [pair, (counts.get(name(pair))?.[1] ?? 0n) + n]);
  const simple = [...counts.values()].filter(([pair]) =>
    pair.noise === "normal" && pair.p.length + pair.q.length === 2);
  if (simple.reduce((total, [, n]) => total + n, 0n) > 1n) {
    let square = ZERO;
    for (const [pair, n] of simple) {
      counts.delete(name(pair));
      square = square.plus(whole(n).times(pair.p[0][0]).times(pair.p[0][0]));
    }
    const exact = root(of(square, 300n + length(square.d)));
    const pair = line("normal", [[new Fraction(below ? exact.lo : exact.hi, 1n << exact.bits), ONE]],
      [[ZERO, ONE]]);
    counts.set(name(pair), [pair, 1n]);
  }
  need([...counts.values()].every(([, n]) => n <= 10n ** 9n), "more than a billion releases");
  return [...counts.values()];
}
function ways(release, relation, below) {
  need(relation !== "zero-out" || allAre(release, "sum"), "zero-out is known of sums of vectors");
  const first = forward(release, relation, below);
  return different([...first, ...first.map(backwards)].map((way) => merged(way, below)));
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
  if (kind === "renyi") {
    need(a.same(release.order), "the divergence of another order is stated");
    return release.divergence;
  }
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
/* One normal law against another one: by x and y the variances are larger, far is a squared distance. */
function ofSynthesis({ n, d, eigenvalue }, relation, a) {
  const b = a.minus(ONE), N = whole(n), D = whole(d), cases = [];
  if (relation === REPLACE) {
    const x = whole(4).times(D).over(eigenvalue).times(N.minus(ONE)).over(N.times(N));
    const small = !ONE.below(whole(3).times(x).times(x));
    need(x.below(ONE) && (!a.below(TWO) || small), "too few records");
    cases.push([x, ZERO, x.over(N.minus(ONE))]);
  } else {
    const wide = ONE.plus(root(of(ONE.minus(eigenvalue), 400n)).upper());
    for (const k of [N, N.plus(ONE)])
      for (const t of [ZERO, D.times(wide).times(wide).over(eigenvalue)]) {
        const x = k.minus(ONE).times(t).over(k).minus(ONE).over(k), far = t.over(k.times(k));
        cases.push([x, ZERO.minus(ONE.over(k)), far], [ZERO.minus(x.over(ONE.plus(x))),
          ONE.over(k.minus(ONE)), far.over(ONE.plus(x))]);
      }
  }
  const part = (x) => {
    const both = log(of(ONE.minus(b.times(x)), 400n))
      .plus(of(b, 400n).times(log(of(ONE.plus(x), 400n))));
    return new Fraction(-both.lo, 1n << 400n).over(TWO.times(b));
  };
  return cases.map(([x, y, far]) => D.minus(ONE).times(part(y)).plus(part(x))
    .plus(a.over(TWO).times(far).over(ONE.minus(b.times(x)))))
    .reduce((x, y) => (x.below(y) ? y : x));
}

/* Delta of one way in which a record may matter, from above or from below. */
function deltaOf(way, hint, below, epsilon) {
  need(hint instanceof Map, "there are no hints");
  if (!hint.has("parts")) {
    need(way.length === 1 && way[0][1] === 1n, "there are several releases, and no grid");
    const bits = 1600n + (2n * epsilon.n) / epsilon.d;
    const height = curve(way[0][0], expOf(epsilon, bits));
    return new Fraction(below ? height.lo : height.hi, 1n << bits);
  }
  const digits = count(hint.get("digits"), 300n), cut = count(hint.get("cut"), 300n);
  const parts = listed(hint.get("parts"), way.length, way.length);
  const powers = way.map(([pair, n], i) => {
    need(parts[i] instanceof Map, "there are no hints for a pair");
    const halvings = listed(parts[i].get("halvings"), 0, 40);
    const step = number(hint.get("step")).over(whole(1n << BigInt(halvings.length)));
    need(step.n > 0n, "a step is 0");
    const places = nodes(parts[i].get("nodes")), { length } = places;
    const starts = !below || !parts[i].has("starts") ? Array(length).fill(null)
      : listed(parts[i].get("starts"), length, length);
    const once = below ? fromBelow(pair, places, step, digits, starts)
      : fromAbove(pair, places, step, digits);
    return once.power(n, halvings, 10n ** most(digits - cut, 0n));
  });
  need(powers.every((one) => one.step.same(powers[0].step)), "the parts end on different grids");
  return powers.reduce((a, b) => a.times(b)).delta(epsilon);
}
function integer(one) {
  need(typeof one === "bigint" || typeof one === "boolean", "no integer");
  return BigInt(one);
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

const measureOf = (claim) => (claim.has("delta") ? "delta" : claim.has("order") ? "order" : "");
function statement(claim) {
  need(claim instanceof Map, "there is no claim");
  const says = claim.get("says"), relation = claim.get("relation"), measure = measureOf(claim);
  fields(claim, `says relation release epsilon ${measure}`.trim());
  const about = {
    delta: `epsilon at delta ${claim.get("delta")}`,
    order: `the Renyi divergence of order ${claim.get("order")}`,
    "": "rho, by which all orders times it bound Renyi divergences,",
  }[measure];
  const verb = { "at most": "is at most", exceeded: "for some two is more than" };
  const known = typeof says === "string" && Object.hasOwn(verb, says);
  need(known && typeof relation === "string" && Object.hasOwn(RECORDS, relation), "unknown claim");
  for (const one of ["epsilon", measure]) if (one) number(claim.get(one));
  readRelease(claim.get("release"));
  const words = canonical(claim.get("release"), ": ", ", ").replaceAll(/"kind": |"/g, "");
  return [`any two data sets that differ ${RECORDS[relation]}:`,
    `  ${about} ${verb[says]} ${claim.get("epsilon")}`, `released: ${words}`];
}
/* Balle et al. 2020, Theorem 21. */
function implied(r, a, epsilon, delta) {
  const b = a.minus(ONE), shrunk = of(b, 400n).times(log(of(ONE.minus(ONE.over(a)), 400n)));
  const shown = of(b.times(r.minus(epsilon)), 400n).plus(shrunk).minus(log(of(a, 400n)));
  return shown.hi <= log(of(delta, 400n)).lo;
}
function ofAWay(way, hint, epsilon, delta) {
  const limits = way.map(([pair]) => pair.limit ?? [epsilon.plus(ONE), ONE]);
  const totals = [0, 1].map((j) => limits.reduce((total, one, k) =>
    total.plus(one[j].times(whole(way[k][1]))), ZERO));
  if (!epsilon.below(totals[0]) && !delta.below(totals[1])) return true;
  return !delta.below(deltaOf(way, hint, false, epsilon));
}
function shownBy(claim, hints) {
  left = 70000000n;
  const release = readRelease(claim.get("release")), relation = claim.get("relation");
  const below = claim.get("says") === "exceeded", measure = measureOf(claim);
  const epsilon = number(claim.get("epsilon"), MOST.epsilon);
  if (measure === "delta") {
    need(hints instanceof Map, "there are no hints");
    const delta = number(claim.get("delta"), ONE);
    if (hints.has("order") && !below) {
      const a = number(hints.get("order"));
      return implied(divergence(release, relation, a), a, epsilon, delta);
    }
    const every = ways(release, relation, below);
    const given = hints.has("ways") ? listed(hints.get("ways"), every.length, every.length)
      : every.map(() => new Map());
    return below
      ? every.some((way, i) => given[i] !== null && delta.below(deltaOf(way, given[i], true, epsilon)))
      : every.every((way, i) => ofAWay(way, given[i], epsilon, delta));
  }
  const exact = allAre(release, below ? "attained" : "linear");
  need(exact || (measure && !below), "its Renyi divergences are not known exactly");
  const found = measure ? divergence(release, relation, number(claim.get("order")))
    : divergence(release, relation, TWO).over(TWO);
  return below ? epsilon.below(found) : !epsilon.below(found);
}
/* {status: 0 accepted, 1 not accepted, 2 not understood; lines: what is claimed; reason}. */
function checkCertificate(text, show = () => {}) {
  let lines = [], status = 2;
  progress = show;
  try {
    need(new TextEncoder().encode(text).length <= 65536, "it has more than 64 kB");
    const found = fields(parse(text), "format claim sha256 hints about"), claim = found.get("claim");
    lines = statement(claim);
    need(found.get("format") === "rdpkit-certificate-2", "another format");
    need(found.get("sha256") === sha256(canonical(claim)), "the hash is not that of the claim");
    status = 1;
    need(shownBy(claim, found.get("hints")), "it is not shown by these hints");
    return { status: 0, lines, reason: "accepted" };
  } catch (error) {
    // What the engine itself refuses, such as an integer that is too long, is no proof either.
    return { status, lines, reason: error instanceof Error ? error.message : "an error" };
  }
}
