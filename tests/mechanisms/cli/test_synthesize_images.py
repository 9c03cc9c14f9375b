"""``rdpkit synthesize IMAGES``: a folder in, a release out, and what is missing is named."""

import numpy as np
import pytest
from click.testing import CliRunner

from rdpkit.mechanisms import Ledger
from rdpkit.mechanisms.cli.synthesize import synthesize
from rdpkit.mechanisms.data.images import ImageSet, to_image_folder
from rdpkit.mechanisms.releases.release import load_release


def run(*arguments):
    return CliRunner().invoke(synthesize, [str(part) for part in arguments])


def said(found):
    return f"{found.output} {found.exception}"


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    images = ImageSet(
        name="small",
        features=rng.integers(0, 256, (80, 16), dtype=np.uint8),
        labels=np.arange(80) % 2,
        classes=("cat", "dog"),
        image_shape=(1, 4, 4),
    )
    return to_image_folder(
        images, tmp_path / "images", classes=images.classes, image_shape=images.image_shape
    )


@pytest.mark.thorough
def test_a_folder_of_images_becomes_a_release(folder, tmp_path):
    options = ("samples_per_class=3", "order_of_mixture=8", "clip_norm=1.0")
    found = run(
        folder, "--mechanism", "dpcda", "--epsilon", 8, "--delta", 1e-4, "--adjacency",
        "replace_one", "--counts", "40,40", "--classes", "cat,dog", "--image-size", "4x4",
        "--channels", 1, "--dataset", "pets",
        *(part for option in options for part in ("--option", option)),
        "-o", tmp_path / "synth.npz",
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    assert "6 records in" in found.output
    manifest = load_release(tmp_path / "synth.npz").manifest
    assert manifest.dataset == "pets"
    assert manifest.guarantee.epsilon <= 8.0
    assert manifest.parameters["class_names"] == ["cat", "dog"]
    assert manifest.private
    assert "verdict    PRIVATE" in found.output


def test_a_folder_that_nobody_described_is_not_private(folder, tmp_path):
    (folder / "9_HIV_John_Smith").mkdir()
    (folder / "cat" / "000000.png").rename(folder / "9_HIV_John_Smith" / "John_Smith.png")
    found = run(
        folder, "--mechanism", "moments", "--epsilon", 1, "--delta", 1e-4, "--adjacency",
        "replace_one", "--option", "rows=6", "-o", tmp_path / "synth.npz",
    )  # fmt: skip
    written = (tmp_path / "synth.json").read_text() if (tmp_path / "synth.json").exists() else ""
    assert "John" not in found.output + written
    assert "verdict    PRIVATE" not in found.output
    # A name that is not among the stated ones is not quoted, and neither is a file.
    (folder / "cat" / "Jane.png").write_text("no image")
    for classes in ("cat,dog", "cat,dog,9_HIV_John_Smith"):
        found = run(
            folder, "--mechanism", "moments", "--epsilon", 1, "--delta", 1e-4, "--adjacency",
            "replace_one", "--classes", classes, "-o", tmp_path / "other.npz",
        )  # fmt: skip
        assert found.exit_code != 0
        assert "Jane" not in f"{found.output} {found.exception}"
        assert "John" not in f"{found.output} {found.exception}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--mechanism, --epsilon, --delta, --adjacency for images"),
        (("--seed", 1), "an experiment for --seed, got images"),
    ],
)
def test_what_is_missing_is_named(folder, arguments, message):
    found = run(folder, *arguments)
    assert found.exit_code != 0
    assert message in f"{found.output} {found.exception}"


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:too few records")
def test_a_person_of_a_folder_is_protected_and_named_nowhere(folder, tmp_path):
    """By names of files, by folders, and by a list; a ledger of persons takes the release."""
    listed = ["file,person"]
    for number, file in enumerate(sorted(folder.glob("*/*.png"))):
        (file.parent / f"Zebulon{number // 8}").mkdir(exist_ok=True)
        moved = file.parent / f"Zebulon{number // 8}" / f"Zebulon{number // 8}-{number}.png"
        file.rename(moved)
        listed.append(f"{moved.relative_to(folder).as_posix()},Zebulon{number // 8}")
    (tmp_path / "whose.csv").write_text("\n".join(listed))
    ledger = Ledger.create(tmp_path / "l.jsonl")
    ledger.open("pets", adjacency="replace_one", delta=1e-4, epsilon=30.0, of_persons=True)
    command = (
        folder, "--mechanism", "moments", "--epsilon", 5, "--delta", 1e-4, "--adjacency",
        "replace_one", "--classes", "cat,dog", "--image-size", 4, "--channels", 1, "--option",
        "basis=cosines", "--dataset", "pets", "--ledger", tmp_path / "l.jsonl",
        "--counts", 80, "-o", tmp_path / "synth.npz",
    )  # fmt: skip
    assert "single record" in said(run(*command))
    for rule in (r"/(\w+)-\d+\.png$", r"^\w+/(\w+)/", tmp_path / "whose.csv"):
        found = run(*command, "--person", rule, "--most-per-person", 2)
        assert found.exit_code == 0, said(found)
        assert "all records of one person, of which at most 2" in found.output
        everything = found.output + "".join(
            (tmp_path / name).read_text() for name in ("synth.json", "l.jsonl")
        )
        assert "Zebulon" not in everything
        assert b"Zebulon" not in (tmp_path / "synth.npz").read_bytes()
    for wrong, message in {
        "\n".join(listed[:-1]): "expected person to say whose it is",
        "\n".join([*listed, "Zebulon,x,y"]): "expected rows of file and person",
        "Zebulon,1": "expected rows of file and person",
        "file,person\n" + "Zebulon" * 40_000: "expected rows of file and person",
    }.items():
        (tmp_path / "whose.csv").write_text(wrong)
        found = run(*command, "--person", tmp_path / "whose.csv", "--most-per-person", 2)
        assert message in said(found)
        assert "Zebulon" not in said(found)
    for wrong, message in {"(": "regular expression", "a": "one group"}.items():
        assert message in said(run(*command, "--person", wrong, "--most-per-person", 2))
    assert "together" in said(run(*command, "--most-per-person", 2))
