import numpy as np
import pytest

from rdpkit.mechanisms.data.cifar10 import load_cifar10, read_binary_batch

NAMES = [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]


def batch(seed: int, records: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return (
        rng.integers(0, 256, (records, 3072), dtype=np.uint8),
        rng.integers(0, 10, records, dtype=np.uint8),
    )


@pytest.fixture
def folder(tmp_path):
    inner = tmp_path / "cifar-10-batches-bin"
    inner.mkdir()
    for seed, name in enumerate(NAMES):
        images, labels = batch(seed)
        rows = np.concatenate([labels[:, None], images], axis=1)
        (inner / f"{name}.bin").write_bytes(rows.tobytes())
    return tmp_path


@pytest.mark.parametrize("inner", [".", "cifar-10-batches-bin"])
def test_the_records_are_those_of_the_files(folder, inner):
    one = load_cifar10(folder / inner, records=4)
    assert one.train_features.shape == (20, 3072)
    np.testing.assert_array_equal(one.train_features[4:8], batch(1)[0])
    np.testing.assert_array_equal(one.test_labels, batch(5)[1])
    assert one.image_shape == (3, 32, 32)
    assert one.classes[3] == "cat"


def test_truncated_files_are_errors(folder):
    path = folder / "cifar-10-batches-bin" / "data_batch_3.bin"
    content = path.read_bytes()
    for cut in (0, 100, len(content) - 3073, len(content) - 1):
        path.write_bytes(content[:cut])
        with pytest.raises(ValueError, match=r"data_batch_3\.bin: the file is truncated"):
            load_cifar10(folder, records=4)
    path.write_bytes(content + b"\0")
    with pytest.raises(ValueError, match="too long"):
        read_binary_batch(path, records=4)


def test_impossible_labels_are_errors(folder):
    path = folder / "cifar-10-batches-bin" / "test_batch.bin"
    content = bytearray(path.read_bytes())
    content[3073] = 10
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"corrupted: expected labels in \[0, 9\], got 10"):
        read_binary_batch(path, records=4)


def test_another_folder_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="cifar-10-binary"):
        load_cifar10(tmp_path)
