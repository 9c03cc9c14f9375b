"""Noise of torch is followed as that of numpy is."""

from __future__ import annotations

import pytest

from rdpkit.verification.replay.agent.tape import Tape, recording

torch = pytest.importorskip("torch")


def values():
    return torch.tensor([5.0, 6.0], dtype=torch.float64)


def in_place():
    found = values()
    found += 2.0 * torch.randn_like(found)
    return found


FOLLOWED = {
    "added": (lambda: values() + torch.randn(2) * 2.0, ("normal", 2.0)),
    "alpha": (lambda: values().add_(torch.randn(2), alpha=2.0), ("normal", 2.0)),
    "in place": (in_place, ("normal", 2.0)),
    "normal": (lambda: torch.normal(0.0, 2.0, (2,)).double() + values(), ("normal", 2.0)),
    "mean": (lambda: torch.normal(values(), 2.0), ("normal", 2.0)),
    "view": (lambda: values() - torch.randn(1, 2).reshape(2), ("normal", 1.0)),
    "laplace": (lambda: torch.distributions.Laplace(values(), 2.0).sample(), ("laplace", 2.0)),
    "two": (lambda: values() + (3.0 * torch.randn(2) + 4.0 * torch.randn(2)), ("normal", 5.0)),
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_noise_is_followed(tape, put, name):
    release, (family, scale) = FOLLOWED[name]
    found = release()
    assert put() == [(family, pytest.approx(scale), [5.0, 6.0])]
    assert type(found) is torch.Tensor
    with recording(Tape(earlier=tape)):
        again = release()
    assert torch.equal(found, again)


def test_other_uses_are_remembered_as_escaped(tape, put):
    values() + torch.randn(2) ** 2
    assert put() == []
    assert tape.escaped
