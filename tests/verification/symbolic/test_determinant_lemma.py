"""One record more: mean, covariance, determinant lemma and Sherman-Morrison, step by step."""

import numpy as np
import pytest
import sympy as sp

from rdpkit import gaussian_renyi_divergence
from rdpkit.bounds.synthesis.exact import log_part, log_part_ball

A, N_COMMON = sp.symbols("a m", positive=True)
SIZE = N_COMMON + 1


def symmetric(d: int) -> sp.Matrix:
    return sp.Matrix(d, d, lambda i, j: sp.Symbol(f"s{min(i, j)}{max(i, j)}"))


def vector(name: str, d: int) -> sp.Matrix:
    return sp.Matrix(d, 1, lambda i, j: sp.Symbol(f"{name}{i}"))


@pytest.mark.parametrize("d", [1, 2, 3])
def test_mean_and_covariance_with_one_record_more(d):
    mean, away, s = vector("mu", d), vector("v", d), symmetric(d)
    record = mean + away
    # Second moments are what adds up over records.
    moment = (N_COMMON * (s + mean * mean.T) + record * record.T) / SIZE
    new_mean = (N_COMMON * mean + record) / SIZE
    assert (new_mean - mean - away / SIZE).applyfunc(sp.simplify) == sp.zeros(d, 1)
    expected = N_COMMON / SIZE * s + N_COMMON / SIZE**2 * away * away.T
    difference = moment - new_mean * new_mean.T - expected
    assert difference.applyfunc(sp.simplify) == sp.zeros(d, d)


@pytest.mark.thorough
@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_lemma_and_sherman_morrison(d):
    s, v, c = symmetric(d), vector("v", d), sp.Symbol("c")
    t = (v.T * s.inv() * v)[0]
    updated = s + c * v * v.T
    assert sp.simplify(updated.det() - s.det() * (1 + c * t)) == 0
    # v' (S + c v v')^-1 v = t / (1 + c t).
    left = (v.T * updated.adjugate() * v)[0] * (1 + c * t)
    assert sp.simplify(left - t * updated.det()) == 0


@pytest.mark.thorough
@pytest.mark.parametrize("d", [1, 2, 3])
def test_eigenvalues_relative_to_the_old_covariance(d):
    # In three dimensions in the basis of the old covariance, for the sake of time.
    s = symmetric(d) if d < 3 else sp.diag(*sp.symbols("s0:3", positive=True))
    v = vector("v", d)
    t = (v.T * s.inv() * v)[0]
    new = N_COMMON / SIZE * s + N_COMMON / SIZE**2 * v * v.T
    excess = (N_COMMON * t / SIZE - 1) / SIZE
    # (1 - 1/N)^(d-1) (1 + e): what log_part is summed over.
    assert sp.simplify(new.det() / s.det() - (1 - 1 / SIZE) ** (d - 1) * (1 + excess)) == 0
    # The mixed covariance of order a, x removed: (1-a) S' + a S.
    mixed = (1 - A) * new + A * s
    ratio = (1 + (A - 1) / SIZE) ** (d - 1) * (1 - (A - 1) * excess)
    assert sp.simplify(mixed.det() / s.det() - ratio) == 0
    quadratic = (v.T * mixed.adjugate() * v)[0] / mixed.det() / SIZE**2
    closed = t / (SIZE**2 * (1 - (A - 1) * excess))
    assert sp.simplify(quadratic - closed) == 0


def test_what_one_eigenvalue_adds():
    x = sp.Symbol("x", positive=True)
    # Gil et al. on the line with equal means, variances 1 + x against 1.
    gil = -(sp.log((1 - A) * (1 + x) + A) - (1 - A) * sp.log(1 + x)) / (2 * (A - 1))
    code = -(sp.log(1 - (A - 1) * x) + (A - 1) * sp.log(1 + x)) / (2 * (A - 1))
    difference = sp.logcombine(sp.expand_log(gil - code, force=True), force=True)
    assert sp.simplify(difference.subs({A: sp.Rational(5, 2), x: sp.Rational(1, 7)})) == 0
    assert sp.simplify(sp.diff(gil - code, x)) == 0
    # As the code writes it, with u - log(1 + u), so that both summands are positive.
    u = sp.Symbol("u")
    part = u - sp.log(1 + u)
    rewritten = (part.subs(u, -(A - 1) * x) / (A - 1) + part.subs(u, x)) / 2
    assert sp.simplify(rewritten - code) == 0
    exact = float(sp.N(code.subs({A: sp.Rational(5, 2), x: sp.Rational(1, 7)}), 30))
    # 1/7 is rounded, which the logarithms do not amplify.
    assert float(log_part(np.array([2.5]), 1.0 / 7.0)[0]) == pytest.approx(exact, rel=1e-14)
    from flint import arb

    assert float(log_part_ball(arb("2.5"), arb(1) / 7)) == pytest.approx(exact, rel=1e-14)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_closed_form_is_the_divergence_of_the_data(seed):
    rng = np.random.default_rng(seed)
    records = rng.uniform(-1.0, 1.0, (9, 3))
    common, a = records[:-1], 2.5
    m, n, d = len(common), len(records), 3

    def moments(data):
        centred = data - data.mean(axis=0)
        return data.mean(axis=0), centred.T @ centred / len(data)

    (mu, s), (mean, cov) = moments(common), moments(records)
    v = records[-1] - mu
    t = float(v @ np.linalg.solve(s, v))
    e = (m * t / n - 1.0) / n
    order = np.array([a])
    closed = (d - 1) * log_part(order, -1.0 / n)[0] + log_part(order, e)[0]
    closed += a * t / (2.0 * n**2 * (1.0 - (a - 1.0) * e))
    direct = gaussian_renyi_divergence(a, mean_p=mean, cov_p=cov, mean_q=mu, cov_q=s)
    # The covariance's condition number is below 100.
    assert closed == pytest.approx(direct, rel=1e-11)
