"""Code of one's own, which commands and claims files point at."""

from __future__ import annotations

import sys

import pytest

# A mechanism that says what it claims, for the noise that it is given.
DESCRIBED = """
import numpy as np
import rdpkit


class Described:
    event = rdpkit.Gaussian(noise_std=2.0, record_norm=1.0)
    adjacency = "add_or_remove_one"
    dimension = 1

    def __init__(self, std):
        self.std = std

    def __call__(self, dataset, rng):
        norms = np.linalg.norm(dataset.features, axis=1, keepdims=True)
        clipped = dataset.features / np.maximum(1.0, norms)
        return clipped.sum(axis=0) + rng.normal(0.0, self.std, dataset.dimension)
"""


@pytest.fixture
def one_process(monkeypatch):
    """No fresh processes: they take a second each, and have tests of their own."""
    monkeypatch.setattr("rdpkit.verification.blackbox.verify.fresh_evidence", lambda *_, **__: None)


@pytest.fixture
def own_module(tmp_path, monkeypatch):
    """Writes a module into a folder, in which one then is, and returns its fresh name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def write(content, kind="code"):
        name = f"{kind}_of_{tmp_path.name}"
        (tmp_path / f"{name}.py").write_text(content)
        return name

    return write
