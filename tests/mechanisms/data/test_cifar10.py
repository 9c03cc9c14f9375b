import pickle

import numpy as np
import pytest

from rdpkit.mechanisms.data.cifar10 import load_cifar10, read_binary_batch, read_python_batch

NAMES = [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]


def batch(seed: int, records: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return (
        rng.integers(0, 256, (records, 3072), dtype=np.uint8),
        rng.integers(0, 10, records, dtype=np.uint8),
    )


@pytest.fixture
def folder(tmp_path):
    for version in ("bin", "py"):
        inner = tmp_path / version / f"cifar-10-batches-{version}"
        inner.mkdir(parents=True)
        for seed, name in enumerate(NAMES):
            images, labels = batch(seed)
            if version == "bin":
                rows = np.concatenate([labels[:, None], images], axis=1)
                (inner / f"{name}.bin").write_bytes(rows.tobytes())
            else:
                content = {b"data": images, b"labels": labels.tolist(), b"batch_label": b"one"}
                (inner / name).write_bytes(pickle.dumps(content, protocol=2))
    return tmp_path


def test_both_versions_are_the_same_data(folder):
    one = load_cifar10(folder / "bin", records=4)
    two = load_cifar10(folder / "py", records=4)
    for field in ("train_features", "train_labels", "test_features", "test_labels"):
        np.testing.assert_array_equal(getattr(one, field), getattr(two, field))
    assert one.train_features.shape == (20, 3072)
    np.testing.assert_array_equal(one.train_features[4:8], batch(1)[0])
    np.testing.assert_array_equal(one.test_labels, batch(5)[1])
    assert one.image_shape == (3, 32, 32)
    assert one.classes[3] == "cat"


def test_truncated_files_are_errors(folder):
    path = folder / "bin" / "cifar-10-batches-bin" / "data_batch_3.bin"
    content = path.read_bytes()
    for cut in (0, 100, len(content) - 3073, len(content) - 1):
        path.write_bytes(content[:cut])
        with pytest.raises(ValueError, match=r"data_batch_3\.bin: the file is truncated"):
            load_cifar10(folder / "bin", records=4)
    path.write_bytes(content + b"\0")
    with pytest.raises(ValueError, match="too long"):
        read_binary_batch(path, records=4)
    python = folder / "py" / "cifar-10-batches-py" / "test_batch"
    python.write_bytes(python.read_bytes()[:-50])
    with pytest.raises(ValueError, match=r"test_batch: the file is truncated"):
        load_cifar10(folder / "py", records=4)


def test_impossible_labels_are_errors(folder):
    path = folder / "bin" / "cifar-10-batches-bin" / "test_batch.bin"
    content = bytearray(path.read_bytes())
    content[3073] = 10
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"corrupted: expected labels in \[0, 9\], got 10"):
        read_binary_batch(path, records=4)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([1, 2], "expected a dictionary"),
        ({b"data": 1}, "expected the keys data and labels, got data"),
        ({b"data": np.zeros((4, 5), np.uint8), b"labels": [0] * 4}, "expected data to be bytes"),
        ({b"data": np.zeros((4, 3072), np.uint8), b"labels": [0] * 3}, "expected 4 integer labels"),
    ],
)
def test_other_contents_are_errors(tmp_path, content, message):
    (tmp_path / "b").write_bytes(pickle.dumps(content, protocol=2))
    with pytest.raises(ValueError, match=message):
        read_python_batch(tmp_path / "b", records=4)


def test_neither_version_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="got neither"):
        load_cifar10(tmp_path)
