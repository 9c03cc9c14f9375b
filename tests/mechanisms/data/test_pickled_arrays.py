import io
import pickle
import pickletools
import struct

import numpy as np
import pytest

from rdpkit.mechanisms.data.pickled_arrays import read_pickled_arrays


def old_pickle(rows: np.ndarray, labels: list[int]) -> bytes:
    """A dictionary as Python 2 pickled it (protocol 2): byte strings, numpy's old names."""

    def string(text: bytes) -> bytes:
        return b"U" + bytes([len(text)]) + text

    data = rows.tobytes()
    shape = b"".join(b"J" + struct.pack("<i", n) for n in rows.shape)
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85"
        + string(b"b")
        + b"\x87R(K\x01"
        + shape
        + b"\x86cnumpy\ndtype\n"
        + string(b"u1")
        + b"K\x00K\x01\x87R(K\x03"
        + string(b"|")
        + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T"
        + struct.pack("<i", len(data))
        + data
        + b"tb"
    )
    numbers = b"](" + b"".join(b"K" + bytes([n]) for n in labels) + b"e"
    return b"\x80\x02}(" + string(b"data") + array + string(b"labels") + numbers + b"u."


ROWS = np.arange(24, dtype=np.uint8).reshape(4, 6)


def test_the_old_form_is_a_pickle_that_python_reads_alike(tmp_path):
    content = old_pickle(ROWS, [3, 1, 2, 0])
    pickletools.dis(content, out=io.StringIO())  # raises unless it is a well-formed pickle
    (tmp_path / "old").write_bytes(content)
    got = read_pickled_arrays(tmp_path / "old")
    assert got.keys() == {b"data", b"labels"}
    np.testing.assert_array_equal(got[b"data"], ROWS)
    assert got[b"labels"] == [3, 1, 2, 0]


@pytest.mark.parametrize("protocol", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", ["u1", "i4", "<f8", ">i2"])
def test_what_python_pickles_comes_back(tmp_path, protocol, kind):
    rows = ROWS.astype(kind)
    value = {
        b"data": rows,
        "labels": [1, 2, 3],
        "t": (1, (2.5, None)),
        "f": np.asfortranarray(ROWS),
    }
    (tmp_path / "new").write_bytes(pickle.dumps(value, protocol=protocol))
    got = read_pickled_arrays(tmp_path / "new")
    np.testing.assert_array_equal(got[b"data"], rows)
    np.testing.assert_array_equal(got["f"], ROWS)
    assert got["labels"] == [1, 2, 3]
    assert got["t"] == (1, (2.5, None))


class Evil:
    ran = False

    def __reduce__(self):
        return (exec, ("import builtins; builtins.rdpkit_test_was_here = True",))


@pytest.mark.parametrize("protocol", [1, 2, 3, 4])
def test_code_in_a_file_is_refused_and_never_runs(tmp_path, protocol):
    import builtins

    (tmp_path / "evil").write_bytes(pickle.dumps({b"data": Evil()}, protocol=protocol))
    with pytest.raises(
        ValueError, match=r"evil: refused: the pickle names '(builtins|__builtin__)"
    ):
        read_pickled_arrays(tmp_path / "evil")
    assert not hasattr(builtins, "rdpkit_test_was_here")


def test_arrays_of_objects_are_refused(tmp_path):
    (tmp_path / "o").write_bytes(pickle.dumps(np.array([{}, []], object), protocol=2))
    with pytest.raises(ValueError, match="o: refused: an array of 'O8'"):
        read_pickled_arrays(tmp_path / "o")


def test_every_truncation_is_an_error(tmp_path):
    content = old_pickle(ROWS, [3, 1, 2, 0])
    path = tmp_path / "cut"
    for end in range(len(content)):
        path.write_bytes(content[:end])
        with pytest.raises(ValueError, match=r"cut: "):
            read_pickled_arrays(path)


def test_random_changes_are_errors_or_data_but_nothing_else(tmp_path):
    content = old_pickle(ROWS, [3, 1, 2, 0])
    rng = np.random.default_rng(5)
    path, refused = tmp_path / "changed", 0
    for _ in range(400):
        changed = bytearray(content)
        changed[rng.integers(len(changed))] = rng.integers(256)
        path.write_bytes(changed)
        try:
            read_pickled_arrays(path)
        except ValueError:
            refused += 1
    assert refused > 100


def _laughs(levels, width=10):
    """Lists of ten references each to the list before: 10 ** levels items in a few bytes."""
    text = b"]q\x00(" + b"K\x01" * width + b"e"
    for level in range(1, levels):
        text += b"]q" + bytes([level]) + b"(" + (b"h" + bytes([level - 1])) * width + b"e"
    return b"\x80\x02(" + text + b"t."


DEEP = b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b"."
SHARED_TUPLE = b"\x80\x02)q\x00" + b"".join(
    b"h" + bytes([i]) + b"h" + bytes([i]) + b"\x86q" + bytes([i + 1]) for i in range(60)
)
ENCODED = (
    b"\x80\x02(c_codecs\nencode\nq\x00X\x10\x27\x00\x00" + b"x" * 10_000 + b"q\x01"
    b"](" + b"h\x00h\x01X\x06\x00\x00\x00latin1\x86R" * 1000 + b"et."
)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (_laughs(20), "more than 1000000 items"),
        (DEEP, "more than 50 levels deep"),
        (b"\x80\x02]q\x00h\x00a.", "more than 50 levels deep"),  # a list in itself
        (SHARED_TUPLE + b"}h\x3cK\x01s.", "a key that is no string, bytes or integer"),
        (SHARED_TUPLE + b"h\x3c\x93.", "a name is no string"),
        (SHARED_TUPLE + b"cnumpy\ndtype\nh\x3c\x85R.", "calls 'dtype' in an unknown way"),
        (SHARED_TUPLE + b"c_codecs\nencode\nh\x3c\x85R.", "calls 'encode' in an unknown way"),
        (ENCODED, "encodes one string again and again"),
        (b"\x80\x04\x8e" + b"\xff" * 7 + b"\x00abc.", "truncated or corrupted"),  # 2^56 bytes
        (b"\x80\x02T\xff\xff\xff\x7fabc.", "truncated or corrupted"),
        (b"\x80\x02" + b"(" + b"N" * 500_000 + b"t.", "more than 500000 instructions"),
    ],
    ids=["laughs", "deep", "cycle", "key", "name", "dtype", "encode", "encoded", "bytes8",
         "string", "long"],
)  # fmt: skip
def test_hostile_files_are_one_error_and_little_work(tmp_path, content, message):
    (tmp_path / "bad").write_bytes(content)
    with pytest.raises(ValueError, match=message) as error:
        read_pickled_arrays(tmp_path / "bad")
    assert str(tmp_path / "bad") in str(error.value)
    assert len(str(error.value)) < 500


def test_what_is_shared_stays_shared(tmp_path):
    inner = [1, 2]
    (tmp_path / "good").write_bytes(pickle.dumps([inner, inner], protocol=2))
    first, second = read_pickled_arrays(tmp_path / "good")
    assert first == [1, 2]
    assert first is second
