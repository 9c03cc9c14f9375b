"""Noise is followed until it meets a value, and only as far as that is certain."""

from __future__ import annotations

import numpy as np
import pytest

from rdpkit.verification.replay.agent.generators import generator
from rdpkit.verification.replay.agent.tape import Tape, recording

FOLLOWED = {
    "added": (lambda rng: 5.0 + rng.normal(0.0, 2.0), ("normal", 2.0, [5.0])),
    "subtracted": (lambda rng: 5.0 - rng.laplace(0.0, 2.0), ("laplace", 2.0, [5.0])),
    "scaled": (lambda rng: 3.0 * rng.standard_normal() / 2.0 + 5.0, ("normal", 1.5, [5.0])),
    "location": (lambda rng: rng.laplace(5.0, 2.0), ("laplace", 2.0, [5.0])),
    "in-place": (lambda rng: np.add(a := np.array([5.0]), rng.normal(size=1), out=a),
                 ("normal", 1.0, [5.0])),
    "two normals": (lambda rng: 5.0 + (rng.normal(0, 3) + rng.normal(0, 4)),
                    ("normal", 5.0, [5.0])),
    "two geometrics": (lambda rng: 5 + (rng.geometric(0.5) - rng.geometric(0.5)),
                       ("discrete laplace", 1.0 / np.log(2.0), [5.0])),
    "entry": (lambda rng: 5.0 + rng.normal(0.0, 2.0, size=3)[1], ("normal", 2.0, [5.0])),
    "global": (lambda rng: 5.0 + np.random.normal(0.0, 2.0),  # noqa: NPY002 - people do
               ("normal", 2.0, [5.0])),
}  # fmt: skip


@pytest.mark.parametrize("name", FOLLOWED)
def test_noise_is_followed(tape, put, name):
    release, wanted = FOLLOWED[name]
    release(generator(1))
    (family, scale, value), *more = put()
    assert not more
    assert (family, value) == (wanted[0], wanted[2])
    assert scale == pytest.approx(wanted[1])
    assert all(one.followed for one in tape.draws)


NOT_FOLLOWED = {
    "product of two draws": lambda rng: 5.0 + rng.normal() * rng.normal(),
    "square": lambda rng: 5.0 + rng.normal() ** 2,
    "exponential alone": lambda rng: 5.0 + rng.exponential(),
    "logarithm of a uniform": lambda rng: 5.0 + np.log(rng.random()),
    "two families": lambda rng: 5.0 + (rng.normal() + rng.laplace()),
}


@pytest.mark.parametrize("name", NOT_FOLLOWED)
def test_other_uses_are_remembered_as_escaped(tape, put, name):
    NOT_FOLLOWED[name](generator(1))
    assert put() == []
    assert tape.escaped or not all(one.followed for one in tape.draws)


def test_numbers_are_those_of_the_plain_generator(tape):
    ours, plain = generator(3), np.random.default_rng(3)
    assert float(5.0 + ours.normal(0.0, 2.0)) == 5.0 + plain.normal(0.0, 2.0)
    np.testing.assert_array_equal(ours.laplace(size=4) * 2.0, plain.laplace(size=4) * 2.0)


def test_answers_come_back_and_one_record_more_is_an_entry_at_the_end(tape):
    def release(seed, size):
        return generator(seed).normal(size=size) + np.zeros(size)

    first = release(1, 3)
    with recording(Tape(earlier=tape)) as later:
        second = release(9, 4)
    np.testing.assert_array_equal(second[:3], first)
    assert [one.value.shape for one in later.calls if one.value is not None] == [(4,)]
