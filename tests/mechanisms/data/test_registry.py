import os
from pathlib import Path

import numpy as np
import pytest

from rdpkit.mechanisms.data import DATASETS, load_dataset
from rdpkit.mechanisms.data.download import SOURCES, download
from rdpkit.mechanisms.data.registry import DIRECTORY_VARIABLE


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

    def retrieve(self, url, *, known_hash, fname, path, progressbar):
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
