import gzip
import struct
import tracemalloc

import numpy as np
import pytest

from rdpkit.mechanisms.data.idx import read_idx, read_images_and_labels


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


@pytest.mark.parametrize("cut", [1, 3, 7, 15, 20, 75])
def test_a_truncated_file_is_an_error_that_names_it(tmp_path, cut):
    path = tmp_path / "images"
    path.write_bytes(written(IMAGES, 8)[:cut])
    with pytest.raises(ValueError, match=r"images: (the file is truncated|expected an IDX file)"):
        read_idx(path)


@pytest.mark.parametrize("cut", [5, 30, -1, -9])
def test_a_truncated_compressed_file_is_an_error(tmp_path, cut):
    path = tmp_path / "images.gz"
    path.write_bytes(gzip.compress(written(IMAGES, 8))[:cut])
    with pytest.raises(ValueError, match=r"images\.gz: the file is (truncated|corrupted)"):
        read_idx(path)


def test_a_flipped_bit_in_a_compressed_file_is_an_error(tmp_path):
    content = bytearray(gzip.compress(written(IMAGES, 8)))
    content[len(content) // 2] ^= 0x10
    (tmp_path / "images.gz").write_bytes(content)
    with pytest.raises(ValueError, match=r"images\.gz: the file is (truncated|corrupted)"):
        read_idx(tmp_path / "images.gz")


def test_too_long_and_other_files_are_errors(tmp_path):
    (tmp_path / "long").write_bytes(written(IMAGES, 8) + b"\0")
    with pytest.raises(ValueError, match="long: the file is too long"):
        read_idx(tmp_path / "long")
    (tmp_path / "text").write_text("label,pixel\n")
    with pytest.raises(ValueError, match="text: expected an IDX file"):
        read_idx(tmp_path / "text")


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
