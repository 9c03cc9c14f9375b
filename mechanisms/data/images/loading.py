"""Labelled images from folders, files and the objects of other libraries."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from rdpkit import _validate
from rdpkit.mechanisms.data.images import files, objects
from rdpkit.mechanisms.data.images.files import Names
from rdpkit.mechanisms.data.images.image_set import ImageSet, class_names
from rdpkit.mechanisms.data.images.pixels import Frame

_ACCEPTED = (
    "a folder with a folder of images for each class, a folder of idx files, a .npz or .parquet "
    "file, a torch Dataset, or a Hugging Face Dataset"
)


def load_images(
    source: Any,
    *,
    classes: Any = None,
    image_size: Any = None,
    channels: int | None = None,
    part: str = "train",
    columns: tuple[str, str] | None = None,
    person: tuple[str, int] | None = None,
) -> ImageSet:
    """Labelled images from where they are.

    Assumes
    -------
    The classes, the size of images and their channels are public knowledge. Where they are not
    stated they are read from the data, and ``ImageSet.assumed`` says so. Errors name private
    records; they are for whoever holds the data. The number of images and which classes occur stay
    private: mechanisms are told of them, and account for them.

    Parameters
    ----------
    source : str, Path, or an object
        * a folder with one folder for each class, of PNG and JPEG files (``source/part/`` is taken
          if there is one),
        * a folder of idx files, as MNIST's (``train-images-idx3-ubyte.gz``),
        * a .npz file with the arrays ``features`` and ``labels`` (or ``images``, ``x``, ``y``),
        * a .parquet file, or a folder of them, as the Hugging Face library writes,
        * a torch Dataset with a length, whose items are (image, label), or a TensorDataset,
        * a Hugging Face Dataset.
    classes : int or sequence of str, optional
        Every class that there can be, or how many. Labels are places in this list, or its names.
        Without it, names of folders or those that the source states are taken.
    image_size : int or (int, int), optional
        Height and width. Images of another size are resized. Without it all must have one size.
    channels : {1, 3}, optional
        Grey or colour. Without it, as the first image has it.
    part : str
        Which part of a source that has several: "train" or "test".
    columns : (str, str), optional
        Names of the columns of images and of labels in a Hugging Face Dataset or a .parquet file.
    person : (str, int), optional
        What says whose each image is, and how many images of each person a release uses. It is a
        column of a .parquet file or a Hugging Face Dataset, an array of a .npz file, or, of a
        folder, a CSV file with the columns file and person, or a regular expression with one group,
        each about paths inside of the folder, such as ``cats/smith-03.png``.

    Returns
    -------
    ImageSet

    Raises
    ------
    ValueError
        If the source is of no such kind, or an image or a label cannot be used.
    FileNotFoundError
        If it is a path where nothing is.
    ImportError
        If a library that decodes it (Pillow, pyarrow) is not installed.
    """
    found = _loaded(
        source, class_names(classes), Frame(image_size, channels),
        part=part, columns=columns, person=None if person is None else person[0],
    )  # fmt: skip
    if person is None:
        return found
    if found.persons is None:
        raise _validate.fail("person", "to be None where nothing says whose images are", person)
    return replace(found, most_per_person=int(_validate.integer("most images", person[1])))


def _loaded(
    source: Any, names: Names, frame: Frame, *,
    part: str, columns: tuple[str, str] | None, person: str | None,
) -> ImageSet:  # fmt: skip
    if not isinstance(source, (str, Path)):
        if objects.is_hugging_face(source):
            return objects.hugging_face(
                source, names, frame, columns=columns, part=part, person=person
            )
        if hasattr(source, "__getitem__") and hasattr(source, "__len__"):
            return objects.map_style(source, names, frame)
        raise _validate.fail("source", f"to be {_ACCEPTED}", type(source).__name__)
    path = Path(source)
    if not path.exists():
        raise FileNotFoundError(f"Expected {_ACCEPTED}, and {path} is not there.")
    if path.is_file():
        if path.suffix == ".npz":
            return files.of_npz(path, names, frame, person=person)
        if path.suffix == ".parquet":
            return files.of_parquet(path, [path], names, frame, columns=columns, person=person)
        raise _validate.fail("source", f"to be {_ACCEPTED}", str(path))
    if files.idx_files(path, part) is not None:
        return files.of_idx(path, part, names, frame)
    parquet = sorted(path.glob(f"{part}*.parquet")) or sorted(path.glob("*.parquet"))
    if parquet:
        return files.of_parquet(path, parquet, names, frame, columns=columns, person=person)
    folder = path / part if (path / part).is_dir() else path
    return files.of_folder(folder, names, frame, person=person)
