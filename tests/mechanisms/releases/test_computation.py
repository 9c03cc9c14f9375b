"""Checkpoints: saved when it is time, whole or not at all."""

import numpy as np
import pytest

from rdpkit.mechanisms.releases import computation
from rdpkit.mechanisms.releases.computation import Checkpoint


def test_it_is_due_some_seconds_after_the_last_writing(tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(computation.time, "monotonic", lambda: now[0])
    kept = Checkpoint(tmp_path / "c.npz", every=10.0)
    assert kept.resume(a=1) is None
    now[0] = 109.0
    assert not kept.is_due()
    now[0] = 110.0
    assert kept.is_due()
    kept.save({"x": np.arange(3)})
    assert not kept.is_due()
    assert [path.name for path in tmp_path.iterdir()] == ["c.npz"]


def test_the_name_of_the_run_counts(tmp_path):
    first = Checkpoint(tmp_path / "c.npz", run="mnist")
    first.resume()
    first.save({"x": np.arange(3)})
    assert Checkpoint(tmp_path / "c.npz", run="mnist").resume()["x"].tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="of a run with other parameters; remove it"):
        Checkpoint(tmp_path / "c.npz", run="fashion-mnist").resume()


def test_a_failed_writing_leaves_the_last_one(tmp_path):
    kept = Checkpoint(tmp_path / "c.npz")
    kept.resume()
    kept.save({"x": np.arange(3)})

    class Broken:
        def __array__(self, dtype=None, copy=None):
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        kept.save({"x": Broken()})
    assert Checkpoint(kept.path).resume()["x"].tolist() == [0, 1, 2]
    assert [path.name for path in tmp_path.iterdir()] == ["c.npz"]
    kept.clear()
    kept.clear()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("given", [{"path": "state.pt"}, {"path": "s.npz", "every": -1.0}])
def test_bad_arguments_are_named(given):
    with pytest.raises(ValueError, match=r"Expected (path|every) to (be|end)"):
        Checkpoint(**given)
