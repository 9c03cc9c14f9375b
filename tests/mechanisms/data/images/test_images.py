"""Images in and out: every kind of source gives the same bytes, and what nobody stated is said."""

import gzip
import io
import json
import struct

import numpy as np
import pytest

from rdpkit.mechanisms.data.images import (
    ImageSet,
    as_bytes,
    load_images,
    to_hugging_face,
    to_image_folder,
    to_npz,
    to_torch,
)

Image = pytest.importorskip("PIL.Image")
NAMES = ("cat", "dog", "eel")


@pytest.fixture
def small():
    rng = np.random.default_rng(0)
    return ImageSet(
        name="small",
        features=rng.integers(0, 256, (7, 3 * 4 * 5), dtype=np.uint8),
        labels=np.array([0, 0, 0, 1, 1, 2, 2]),
        classes=NAMES,
        image_shape=(3, 4, 5),
    )


def assert_same(found, expected):
    np.testing.assert_array_equal(found.features, expected.features)
    np.testing.assert_array_equal(found.labels, expected.labels)
    assert found.classes == expected.classes
    assert found.image_shape == expected.image_shape


def test_a_folder_of_classes_goes_in_and_out(small, tmp_path):
    folder = to_image_folder(
        small, tmp_path / "images", classes=NAMES, image_shape=small.image_shape
    )
    found = load_images(folder)
    assert_same(found, small)
    assert found.assumed == ("class names", "size", "channels")
    assert set(found.public.values()) == {"read"}
    stated = load_images(folder, classes=(*NAMES, "fox"), image_size=(4, 5), channels=3)
    assert stated.assumed == ()
    assert stated.classes[-1] == "fox"
    grey = load_images(folder, image_size=2, channels=1)
    assert grey.features.shape == (7, 4)
    assert grey.image_shape == (1, 2, 2)
    with pytest.raises(ValueError, match="not there yet, or is empty"):
        to_image_folder(small, folder, classes=NAMES, image_shape=small.image_shape)


def test_a_folder_with_parts(small, tmp_path):
    to_image_folder(small, tmp_path / "all" / "test", classes=NAMES, image_shape=small.image_shape)
    assert_same(load_images(tmp_path / "all", part="test"), small)


def test_npz_goes_in_and_out(small, tmp_path):
    path = to_npz(small, tmp_path / "s.npz", classes=NAMES, image_shape=small.image_shape)
    assert_same(load_images(path), small)
    first = small.features.reshape(7, 3, 4, 5)
    np.savez(tmp_path / "t.npz", x=first / 255.0, y=np.array(NAMES)[small.labels])
    assert_same(load_images(tmp_path / "t.npz", classes=NAMES), small)
    np.savez(tmp_path / "flat.npz", features=small.features, labels=small.labels)
    flat = load_images(tmp_path / "flat.npz", classes=NAMES, image_size=(4, 5), channels=3)
    assert_same(flat, small)
    with pytest.raises(ValueError, match="which labels occur in the data is private"):
        load_images(tmp_path / "flat.npz", image_size=(4, 5), channels=3)


def test_pickles_in_npz_are_refused(tmp_path):
    np.savez(tmp_path / "p.npz", features=np.array([{}], object), labels=np.zeros(1, int))
    with pytest.raises(ValueError, match="or holds objects"):
        load_images(tmp_path / "p.npz", classes=2)


def test_torch_goes_in_and_out(small):
    torch = pytest.importorskip("torch")
    release = ImageSet(
        name="s", features=small.features, labels=small.labels, classes=NAMES,
        image_shape=small.image_shape,
    )  # fmt: skip
    tensors = to_torch(release, image_shape=small.image_shape)
    assert tensors.tensors[0].shape == (7, 3, 4, 5)
    tensors.tensors[0].div_(255.0)
    assert_same(load_images(tensors, classes=NAMES), small)

    class Pairs(torch.utils.data.Dataset):
        classes = NAMES

        def __len__(self):
            return 7

        def __getitem__(self, i):
            return tensors[i][0], int(small.labels[i])

    found = load_images(Pairs())
    assert_same(found, small)
    assert found.assumed == ("class names", "size", "channels")


def png(small, i):
    buffer = io.BytesIO()
    pixels = small.features[i].reshape(3, 4, 5).transpose(1, 2, 0)
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def test_parquet_of_encoded_images(small, tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pa.table(
        {
            "image": [{"bytes": png(small, i), "path": None} for i in range(7)],
            "label": small.labels,
        }
    )
    features = {"label": {"names": list(NAMES), "_type": "ClassLabel"}}
    described = {b"huggingface": json.dumps({"info": {"features": features}}).encode()}
    parquet.write_table(table.replace_schema_metadata(described), tmp_path / "train-0.parquet")
    assert_same(load_images(tmp_path / "train-0.parquet"), small)
    assert_same(load_images(tmp_path), small)
    renamed = table.rename_columns(["picture", "kind"])
    parquet.write_table(renamed, tmp_path / "other.parquet")
    found = load_images(tmp_path / "other.parquet", columns=("picture", "kind"), classes=NAMES)
    assert_same(found, small)
    with pytest.raises(ValueError, match="Expected a column of images"):
        load_images(tmp_path / "other.parquet", classes=3)


class Stored:
    """What a Hugging Face Dataset looks like from outside."""

    def __init__(self, small):
        self.small = small
        self.column_names = ["image", "label"]
        self.features = {"label": type("ClassLabel", (), {"names": list(NAMES)})()}

    def __len__(self):
        return len(self.small)

    def __getitem__(self, i):
        image = Image.open(io.BytesIO(png(self.small, i)))
        return {"image": image, "label": int(self.small.labels[i])}


def test_what_looks_like_a_hugging_face_data_set(small):
    assert_same(load_images(Stored(small)), small)


def test_the_library_itself(small, tmp_path):
    pytest.importorskip("datasets")
    made = to_hugging_face(small, classes=NAMES, image_shape=small.image_shape)
    assert_same(load_images(made), small)
    made.to_parquet(tmp_path / "made.parquet")
    assert_same(load_images(tmp_path / "made.parquet"), small)


def test_a_folder_of_idx_files(tmp_path):
    pixels = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)
    for name, header, content in (
        ("train-images-idx3-ubyte.gz", struct.pack(">4B3I", 0, 0, 8, 3, 2, 3, 4), pixels.tobytes()),
        ("train-labels-idx1-ubyte.gz", struct.pack(">4BI", 0, 0, 8, 1, 2), bytes([9, 0])),
    ):
        (tmp_path / name).write_bytes(gzip.compress(header + content))
    found = load_images(tmp_path)
    np.testing.assert_array_equal(found.features, pixels.reshape(2, 12))
    assert found.labels.tolist() == [9, 0]
    assert len(found.classes) == 10


def test_classes_without_images_and_no_images_at_all(tmp_path):
    (tmp_path / "cat").mkdir()
    empty = load_images(tmp_path, classes=NAMES, image_size=4, channels=1)
    assert empty.features.shape == (0, 16)
    with pytest.raises(ValueError, match="at least one image, or image_size="):
        load_images(tmp_path)


def test_noise_beyond_the_range_is_cut():
    images = as_bytes(np.array([[-0.5, 0.0, 0.5, 1.7]]), image_shape=(1, 2, 2))
    assert images.reshape(-1).tolist() == [0, 0, 128, 255]


def test_what_cannot_be_used_is_named(small, tmp_path):
    folder = to_image_folder(small, tmp_path / "i", classes=NAMES, image_shape=(3, 4, 5))
    with pytest.raises(ValueError, match="name every folder"):
        load_images(folder, classes=("cat", "dog"))
    Image.fromarray(np.zeros((9, 9), np.uint8)).save(folder / "cat" / "zz.png")
    with pytest.raises(ValueError, match=r"of the size of the first one\. State image_size="):
        load_images(folder)
    assert len(load_images(folder, image_size=(4, 5), channels=3)) == 8
    (folder / "cat" / "zz.png").write_bytes(b"no image")
    with pytest.raises(ValueError, match=r"file 4 in .*: the image is truncated or corrupted"):
        load_images(folder)
    (folder / "cat" / "zz.png").rename(folder / "cat" / "zz.txt")
    with pytest.raises(ValueError, match="expected PNG and JPEG"):
        load_images(folder)
    with pytest.raises(FileNotFoundError, match="is not there"):
        load_images(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="Expected source to be"):
        load_images(7)
    with pytest.raises(ValueError, match="names that folders can have"):
        to_image_folder(small, tmp_path / "j", classes=("../up", "b", "c"), image_shape=(3, 4, 5))
