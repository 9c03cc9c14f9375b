"""Training runs on one thread unless the environment says otherwise."""

import numpy as np
import pytest

from rdpkit.mechanisms.parts.threads import VARIABLE, training_threads

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(("given", "threads"), [(None, 1), ("", 1), ("3", 3)])
def test_the_variable_decides_and_the_number_from_before_comes_back(monkeypatch, given, threads):
    monkeypatch.delenv(VARIABLE, raising=False)
    if given is not None:
        monkeypatch.setenv(VARIABLE, given)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with training_threads():
            assert torch.get_num_threads() == threads
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("given", ["0", "-1", "two", "1.5"])
def test_other_values_are_refused(monkeypatch, given):
    monkeypatch.setenv(VARIABLE, given)
    with pytest.raises(ValueError, match=VARIABLE), training_threads():
        pass


def test_training_uses_it(monkeypatch):
    from rdpkit.mechanisms.evaluation.training import Training, train

    seen = []

    class Watching(torch.nn.Linear):
        def forward(self, images):
            seen.append(torch.get_num_threads())
            return super().forward(images.flatten(1))

    monkeypatch.setenv(VARIABLE, "2")
    images = np.zeros((4, 1, 2, 2), np.float32)
    settings = Training(epochs=1, batch_size=2)
    train(Watching(4, 2), images, np.array([0, 1, 0, 1]), settings=settings, classes=2, seed=0)
    assert set(seen) == {2}
