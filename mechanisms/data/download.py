"""Download of published data sets, with checksums, when the user asks for it."""

from __future__ import annotations

import tarfile
from importlib import import_module
from pathlib import Path
from typing import Any

from rdpkit import _validate

# The MD5 sums that the authors publish, of the compressed files.
_MNIST = {
    "train-images-idx3-ubyte.gz": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "train-labels-idx1-ubyte.gz": "d53e105ee54ea40749a09fcbcd1e9432",
    "t10k-images-idx3-ubyte.gz": "9fb629c4189551a2d022fa330f9573f3",
    "t10k-labels-idx1-ubyte.gz": "ec29112dd5afa0611ce80d1b7f02629c",
}
_FASHION = {
    "train-images-idx3-ubyte.gz": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "train-labels-idx1-ubyte.gz": "25c81989df183df01b3e8a0aad5dffbe",
    "t10k-images-idx3-ubyte.gz": "bef4ecab320f06d8554ea6380940ec79",
    "t10k-labels-idx1-ubyte.gz": "bb300cfdad3c16e7a12a480ee83cd310",
}
SOURCES = {
    "mnist": ("https://ossci-datasets.s3.amazonaws.com/mnist/", _MNIST),
    "fashion-mnist": ("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/", _FASHION),
    "cifar-10": (
        "https://www.cs.toronto.edu/~kriz/",
        {"cifar-10-binary.tar.gz": "c32a1d4ab5d03f1284b67883e8d87530"},
    ),
}
"""Where a data set is published, and the MD5 sum of each of its files."""


def download(
    name: str,  # A key of :data:`SOURCES`
    directory: str | Path,  # The data directory; the files come to ``directory / name``
    *,
    progress: bool = False,  # Whether to show a progress bar (which needs tqdm)
) -> Path:  # ``directory / name``
    """Download a data set's published files; files that exist already are kept."""
    base, files = SOURCES[_validate.choice("data set", name, SOURCES)]
    try:
        pooch: Any = import_module("pooch")  # imported only where something is downloaded
    except ImportError:
        raise ImportError(
            "Downloading needs the package pooch: install it, or put the files into "
            f"{Path(directory) / name} yourself."
        ) from None
    folder = Path(directory) / name
    for file, checksum in files.items():
        if (folder / file).exists():
            continue
        try:
            got = pooch.retrieve(
                base + file,
                known_hash=f"md5:{checksum}",
                fname=file,
                path=folder,
                progressbar=progress,
            )
        except OSError as error:
            raise OSError(f"{name}: {base + file} could not be downloaded: {error}.") from None
        if file.endswith(".tar.gz"):
            with tarfile.open(got) as archive:
                # "data" refuses members that would land outside of the folder.
                archive.extractall(folder, filter="data")
    return folder
