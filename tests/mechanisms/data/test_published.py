"""Published data sets: their files as they are read, and what is wrong with others."""

import gzip
import os
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from rdpkit.mechanisms.data import DATASETS, load_dataset
from rdpkit.mechanisms.data.published import (
    DIRECTORY_VARIABLE,
    SOURCES,
    download,
    load_celeba,
    load_cifar10,
    read_binary_batch,
    read_idx,
    read_images_and_labels,
)


def real_data(name: str) -> Path:
    beside = Path(__file__).parents[4] / "shared" / "data"
    folder = Path(os.environ.get(DIRECTORY_VARIABLE, beside))
    if not (folder / name).is_dir():
        pytest.skip(f"{name} is neither in {DIRECTORY_VARIABLE} nor beside the repository")
    return folder


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("mnist", "6bbc9ace898e44ae57da46a324031adb"),
        ("fashion-mnist", "f4a8712d7a061bf5bd6d2ca38dc4d50a"),
    ],
)
def test_real_images_have_the_published_digest(name, digest):
    import hashlib

    data = load_dataset(name, real_data(name))
    # The MD5 sum of the unpacked file: its 16 bytes of header, then the pixels.
    header = bytes([0, 0, 8, 3]) + np.array([60000, 28, 28], ">u4").tobytes()
    content = header + data.train_features.tobytes()
    assert hashlib.md5(content).hexdigest() == digest
    assert data.test_features.shape == (10000, 784)
    assert sum(data.class_sizes) == 60000
    if name == "mnist":
        assert data.class_sizes[:3] == (5923, 6742, 5958)


def test_digits_are_embedded(monkeypatch):
    monkeypatch.delenv(DIRECTORY_VARIABLE, raising=False)
    data = load_dataset("digits")
    assert data.train_features.shape == (1437, 64)
    assert data.test_features.shape == (360, 64)
    assert min(data.class_sizes) > 100


def test_unknown_names_and_missing_folders_are_errors(tmp_path, monkeypatch):
    monkeypatch.delenv(DIRECTORY_VARIABLE, raising=False)
    with pytest.raises(ValueError, match="Expected data set to be one of 'digits', 'mnist'"):
        load_dataset("minst")
    with pytest.raises(ValueError, match=f"give one, or set {DIRECTORY_VARIABLE}"):
        load_dataset("mnist")
    for name in DATASETS[1:]:
        with pytest.raises(FileNotFoundError, match=f"Expected the data set '{name}' in "):
            load_dataset(name, tmp_path)
    monkeypatch.setenv(DIRECTORY_VARIABLE, str(tmp_path))
    (tmp_path / "mnist").mkdir()
    with pytest.raises(FileNotFoundError, match=r"to have train-images-idx3-ubyte\.gz or"):
        load_dataset("mnist")


class Pooch:
    """Stands in for the network."""

    def __init__(self, error=None):
        self.asked, self.error = [], error

    def retrieve(self, url, *, known_hash, fname, path):
        if self.error:
            raise self.error
        self.asked.append((url, known_hash, fname))
        path.mkdir(exist_ok=True)
        (path / fname).write_bytes(b"x")
        return str(path / fname)


def test_downloads_have_checksums_and_keep_what_is_there(tmp_path, monkeypatch):
    pooch = Pooch()
    monkeypatch.setitem(__import__("sys").modules, "pooch", pooch)
    (tmp_path / "mnist").mkdir()
    (tmp_path / "mnist" / "train-images-idx3-ubyte.gz").write_bytes(b"mine")
    assert download("mnist", tmp_path) == tmp_path / "mnist"
    assert len(pooch.asked) == 3
    assert all(known.startswith("md5:") and len(known) == 36 for _, known, _ in pooch.asked)
    assert (tmp_path / "mnist" / "train-images-idx3-ubyte.gz").read_bytes() == b"mine"


def test_downloads_that_fail_say_what(tmp_path, monkeypatch):
    modules = __import__("sys").modules
    monkeypatch.setitem(modules, "pooch", Pooch(OSError("no network")))
    with pytest.raises(OSError, match=r"mnist: https://.* could not be downloaded: no network"):
        download("mnist", tmp_path)
    monkeypatch.setitem(modules, "pooch", None)
    with pytest.raises(ImportError, match="Downloading needs the package pooch"):
        download("mnist", tmp_path)
    with pytest.raises(ValueError, match="Expected data set to be one of"):
        download("celeba", tmp_path)
    assert set(SOURCES) < set(DATASETS)


def written(values: np.ndarray, code: int) -> bytes:
    header = bytes([0, 0, code, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape)
    return header + values.astype(values.dtype.newbyteorder(">")).tobytes()


IMAGES = np.arange(5 * 4 * 3, dtype=np.uint8).reshape(5, 4, 3)


@pytest.mark.parametrize(
    ("kind", "code"),
    [("u1", 8), ("i1", 9), ("i2", 11), ("i4", 12), ("f4", 13), ("f8", 14)],
)
def test_every_type_of_the_format_is_read(tmp_path, kind, code):
    values = np.array([[1, 2, 3], [4, 100, 6]], kind)
    (tmp_path / "a").write_bytes(written(values, code))
    got = read_idx(tmp_path / "a")
    assert got.dtype == np.dtype(kind)
    np.testing.assert_array_equal(got, values)


def test_compressed_or_not_whatever_the_name(tmp_path):
    (tmp_path / "plain.gz").write_bytes(written(IMAGES, 8))
    (tmp_path / "compressed").write_bytes(gzip.compress(written(IMAGES, 8)))
    np.testing.assert_array_equal(read_idx(tmp_path / "plain.gz"), IMAGES)
    np.testing.assert_array_equal(read_idx(tmp_path / "compressed"), IMAGES)


WHOLE = written(IMAGES, 8)
# Without the time: the content is in the names of the tests, which two processes collect alike.
PACKED = gzip.compress(WHOLE, mtime=0)
FLIPPED = bytearray(PACKED)
FLIPPED[len(PACKED) // 2] ^= 0x10


@pytest.mark.parametrize(
    ("content", "message"),
    [
        *((WHOLE[:cut], "the file is truncated") for cut in (20, 75)),
        *((WHOLE[:cut], "the file is truncated|expected an IDX file") for cut in (1, 3, 7, 15)),
        *((PACKED[:cut], "the file is (truncated|corrupted)") for cut in (5, 30, -1, -9)),
        (bytes(FLIPPED), "the file is (truncated|corrupted)"),
        (WHOLE + b"\0", "the file is too long"),
        (b"label,pixel\n", "expected an IDX file"),
        (written(IMAGES, 7), "expected an IDX file"),
    ],
)
def test_a_damaged_file_is_an_error_that_names_it(tmp_path, content, message):
    (tmp_path / "images.gz").write_bytes(content)
    with pytest.raises(ValueError, match=rf"images\.gz: ({message})"):
        read_idx(tmp_path / "images.gz")


def test_a_compressed_file_is_not_expanded_beyond_what_its_header_says(tmp_path):
    bomb = written(IMAGES, 8) + bytes(2**25)
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(bomb, 1))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"too long: .* announces 60 bytes .* at least 61"):
            read_idx(tmp_path / "bomb.gz")
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()


def test_a_header_that_announces_much_costs_no_more_than_the_file_has(tmp_path):
    huge = bytes([0, 0, 8, 2]) + struct.pack(">2I", 2**31, 2**31) + b"12345"
    for name, content in (("huge", huge), ("huge.gz", gzip.compress(huge))):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=r"truncated: its header announces .* and it has 5"):
            read_idx(tmp_path / name)


def test_images_and_labels_must_fit(tmp_path):
    (tmp_path / "images").write_bytes(written(IMAGES, 8))
    (tmp_path / "labels").write_bytes(written(np.arange(5, dtype=np.uint8), 8))
    (tmp_path / "few").write_bytes(written(np.arange(4, dtype=np.uint8), 8))
    images, labels, shape = read_images_and_labels(tmp_path / "images", tmp_path / "labels")
    assert images.shape == (5, 12)
    assert shape == (1, 4, 3)
    np.testing.assert_array_equal(labels, np.arange(5))
    with pytest.raises(ValueError, match="few: expected 5 labels, as images, got 4"):
        read_images_and_labels(tmp_path / "images", tmp_path / "few")
    with pytest.raises(ValueError, match="labels: expected images"):
        read_images_and_labels(tmp_path / "labels", tmp_path / "labels")
    with pytest.raises(ValueError, match="images: expected labels"):
        read_images_and_labels(tmp_path / "images", tmp_path / "images")


Image = pytest.importorskip("PIL.Image", reason="Pillow decodes CelebA's images")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "img_align_celeba").mkdir()
    lines, parts = ["6", "Bald Male"], []
    for i in range(6):
        name = f"{i + 1:06d}.png"
        pixels = np.full((20, 16, 3), 40 * i, np.uint8)
        Image.fromarray(pixels).save(tmp_path / "img_align_celeba" / name)
        lines.append(f"{name}  -1  {1 if i % 2 else -1}")
        parts.append(f"{name} {(0, 0, 0, 1, 2, 2)[i]}")
    (tmp_path / "list_attr_celeba.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "list_eval_partition.txt").write_text("\n".join(parts) + "\n")
    return tmp_path


def test_parts_labels_and_pixels(folder):
    seen = []
    data = load_celeba(folder, side=4, progress=lambda done, total: seen.append((done, total)))
    assert data.train_features.shape == (3, 48)
    np.testing.assert_array_equal(data.train_features[:, 0], [0, 40, 80])
    np.testing.assert_array_equal(data.train_labels, [0, 1, 0])
    np.testing.assert_array_equal(data.test_labels, [0, 1])
    assert data.classes == ("not Male", "Male")
    assert seen[-1] == (5, 5)


def test_errors_name_file_and_line(folder):
    with pytest.raises(ValueError, match="Expected attribute to be one of 'Bald', 'Male'"):
        load_celeba(folder, attribute="Female")
    attributes = folder / "list_attr_celeba.txt"
    text = attributes.read_text()
    attributes.write_text("\n".join(text.splitlines()[:-1]))
    with pytest.raises(ValueError, match="truncated: expected 6 images, got 5"):
        load_celeba(folder)
    attributes.write_text(text.replace("000002.png  -1  1", "000002.png  -1"))
    with pytest.raises(ValueError, match="line 4: expected a file name and 2 values"):
        load_celeba(folder)


def test_a_truncated_image_is_an_error(folder):
    path = folder / "img_align_celeba" / "000002.png"
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(ValueError, match=r"000002\.png: the image is truncated or corrupted"):
        load_celeba(folder)


def test_names_do_not_lead_out_of_the_folder(folder):
    for name in ("list_attr_celeba.txt", "list_eval_partition.txt"):
        path = folder / name
        path.write_text(path.read_text().replace("000001.png", "../secret.png"))
    with pytest.raises(ValueError, match="expected the name of a file in img_align_celeba"):
        load_celeba(folder)


NAMES = [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]


def batch(seed: int, records: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return (
        rng.integers(0, 256, (records, 3072), dtype=np.uint8),
        rng.integers(0, 10, records, dtype=np.uint8),
    )


@pytest.fixture
def folder_of_cifar10(tmp_path):
    inner = tmp_path / "cifar-10-batches-bin"
    inner.mkdir()
    for seed, name in enumerate(NAMES):
        images, labels = batch(seed)
        rows = np.concatenate([labels[:, None], images], axis=1)
        (inner / f"{name}.bin").write_bytes(rows.tobytes())
    return tmp_path


@pytest.mark.parametrize("inner", [".", "cifar-10-batches-bin"])
def test_the_records_are_those_of_the_files(folder_of_cifar10, inner):
    one = load_cifar10(folder_of_cifar10 / inner, records=4)
    assert one.train_features.shape == (20, 3072)
    np.testing.assert_array_equal(one.train_features[4:8], batch(1)[0])
    np.testing.assert_array_equal(one.test_labels, batch(5)[1])
    assert one.image_shape == (3, 32, 32)
    assert one.classes[3] == "cat"


def test_truncated_files_are_errors(folder_of_cifar10):
    path = folder_of_cifar10 / "cifar-10-batches-bin" / "data_batch_3.bin"
    content = path.read_bytes()
    for cut in (0, 100, len(content) - 3073, len(content) - 1):
        path.write_bytes(content[:cut])
        with pytest.raises(ValueError, match=r"data_batch_3\.bin: the file is truncated"):
            load_cifar10(folder_of_cifar10, records=4)
    path.write_bytes(content + b"\0")
    with pytest.raises(ValueError, match="too long"):
        read_binary_batch(path, records=4)


def test_impossible_labels_are_errors(folder_of_cifar10):
    path = folder_of_cifar10 / "cifar-10-batches-bin" / "test_batch.bin"
    content = bytearray(path.read_bytes())
    content[3073] = 10
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"corrupted: expected labels in \[0, 9\], got 10"):
        read_binary_batch(path, records=4)


def test_another_folder_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="cifar-10-binary"):
        load_cifar10(tmp_path)
