"""Releases of images of one's own: the target is met, and bytes go in as bytes."""

from dataclasses import replace

import numpy as np
import pytest

import rdpkit
from rdpkit.mechanisms.algorithms import moments
from rdpkit.mechanisms.data.images import ImageSet, load_images, to_image_folder
from rdpkit.mechanisms.evaluation.utility.evaluate import open_records, open_release
from rdpkit.mechanisms.experiments.own_images import synthesize_images
from rdpkit.mechanisms.parts.moments.noisy import measure
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.releases.release import load_release

OPTIONS = {"samples_per_class": 5, "order_of_mixture": 16, "clip_norm": 1.0}
QUESTION = {"mechanism": "dpcda", "epsilon": 10.0, "delta": 1e-5, "adjacency": "replace_one"}


@pytest.fixture
def images():
    rng = np.random.default_rng(0)
    return ImageSet(
        name="small",
        features=rng.integers(0, 256, (400, 64), dtype=np.uint8),
        labels=np.arange(400) % 2,
        classes=("cat", "dog"),
        image_shape=(1, 8, 8),
    )


@pytest.mark.thorough
@pytest.mark.parametrize("counts", ["noisy", [200, 200]])
def test_the_target_is_met_and_the_manifest_says_what_is_needed_to_go_back(
    images, counts, tmp_path
):
    made = synthesize_images(images, counts=counts, options=OPTIONS, dataset="pets", **QUESTION)
    assert made.guarantee is not None
    assert 9.0 < made.guarantee.epsilon <= 10.0
    assert made.manifest.private
    assert made.manifest.dataset == "pets"
    assert set(made.manifest.parameters["public"].values()) == {"stated"}
    made.save(tmp_path / "synth.npz")
    again = load_release(tmp_path / "synth.npz")
    names, shape = (again.manifest.parameters[key] for key in ("class_names", "image_shape"))
    folder = to_image_folder(again, tmp_path / "out", classes=names, image_shape=tuple(shape))
    found = load_images(folder, classes=names)
    assert found.features.shape == (10, 64)
    assert found.labels.tolist() == [0] * 5 + [1] * 5


@pytest.mark.parametrize("unstated", ["class names", "size", "channels"])
def test_what_nobody_stated_is_not_private_and_names_no_class(images, unstated):
    found = replace(images, assumed=(unstated,))
    question = {**QUESTION, "mechanism": "local-perturbation", "options": {"clip_norm": 1.0}}
    made = synthesize_images(found, **question)
    assert not made.manifest.private
    (check,) = [one for one in made.manifest.checks if one.status == "fails"]
    assert check.name == "public_parameters"
    assert check.sentence.startswith(f"{unstated}: read from the private records")
    assert ("cat" in str(made.manifest.as_dict())) == (unstated != "class names")
    with pytest.raises(ValueError, match="Expected private to be false"):
        replace(made.manifest, private=True, checks=())


@pytest.mark.thorough
def test_bytes_give_what_scaled_numbers_give(images):
    """Up to the rounding of clipping factors to 24 bits, and of numbers to single precision."""
    from rdpkit.mechanisms.experiments import own_images

    found = []
    for stays in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(own_images, "scales_itself", lambda spec, stays=stays: stays)
            made = synthesize_images(
                images, counts=[200, 200], options=OPTIONS, noise=NoiseSource.seeded(3), **QUESTION
            )
        found.append(made.features)
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-6)


def test_what_cannot_be_done_is_said(images):
    with pytest.raises(ValueError, match="adds none: it is a baseline without any guarantee"):
        synthesize_images(images, **{**QUESTION, "mechanism": "original"})
    with pytest.raises(ValueError, match="preprocessing"):
        synthesize_images(images, options={**OPTIONS, "preprocessing": "exact-z-score"}, **QUESTION)


@pytest.mark.thorough
def test_a_release_of_own_images_is_evaluated_in_its_own_order_of_classes(tmp_path):
    """Classes in another order than that of their folders, and images of another size."""
    rng = np.random.default_rng(0)
    labels = np.arange(200) % 2
    pixels = np.clip(rng.normal(60 + 130 * labels[:, None], 20, (200, 64)), 0, 255).astype(np.uint8)
    names, shape = ("dog", "cat"), (1, 8, 8)
    made = ImageSet(name="s", features=pixels, labels=labels, classes=names, image_shape=shape)
    kept = to_image_folder(made, tmp_path / "kept", classes=names, image_shape=shape)
    found = load_images(kept, classes=names, image_size=8, channels=1)
    question = {**QUESTION, "epsilon": 20.0}
    release = synthesize_images(found, counts=[100, 100], options=OPTIONS, **question)
    release.save(tmp_path / "synth.npz")
    opened = open_records(kept, like=release.manifest)
    features, numbers = opened.arrays
    assert features[numbers == 0].mean() + 80 < features[numbers == 1].mean()
    assert opened.image == open_release(tmp_path / "synth.npz").image == shape


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:too few records")
@pytest.mark.parametrize("adjacency", ["replace_one", "add_or_remove_one"])
def test_a_person_with_many_images_has_a_few_and_pays_for_them(images, adjacency, monkeypatch):
    """Neighbours differ in a person whose 150 images are all white, as no others are."""
    whose = np.arange(400) // 2
    whose[:150], whose[150:160] = 0, -1
    pixels = images.features // 2
    pixels[whose == 0] = 255
    taken = []

    def measured(rows, labels, **given):
        taken.append((len(rows), given["records"]))
        return measure(rows, labels, **given)

    monkeypatch.setattr(moments, "measure", measured)
    question = {**QUESTION, "mechanism": "moments", "adjacency": adjacency, "epsilon": 1.0}
    made = {}
    for who in ("there", "absent"):
        kept = whose != 0 if who == "absent" else np.full(400, True)
        given = replace(
            images, features=pixels[kept], labels=images.labels[kept], persons=whose[kept],
            most_per_person=3,
        )  # fmt: skip
        made[who] = synthesize_images(given, **question)
    assert [rows for rows, _ in taken] == [243, 240]
    # The number of images is not public, though that of persons may be.
    assert all(rows != records for rows, records in taken)
    manifest = made["there"].manifest
    assert manifest.private
    assert manifest.parameters["most_per_person"] == 3
    assert 0.9 < manifest.guarantee.epsilon <= 1.0
    assert manifest.parameters["counts"]["epsilon"] == pytest.approx(0.05, rel=0.05)
    group = manifest.event.events[1]
    assert group.size == 3
    single = rdpkit.epsilon(group.event, delta=1e-5, adjacency=adjacency)
    assert single.epsilon < manifest.guarantee.epsilon / 2.5
    (check,) = [one for one in manifest.checks if one.name == "epsilon"]
    assert "with all records of one person, of which at most 3 were used" in check.sentence


def test_who_and_how_many_are_said_together(images):
    whose = replace(images, persons=np.arange(400))
    with pytest.raises(ValueError, match="with persons and most_per_person"):
        synthesize_images(whose, **{**QUESTION, "mechanism": "moments"})
    question = {**QUESTION, "adjacency": "add_or_remove_one", "options": OPTIONS}
    with pytest.raises(ValueError, match="Expected public numbers of records"):
        synthesize_images(replace(whose, most_per_person=3), **question)
    with pytest.raises(ValueError, match="their number tells how many a person has"):
        synthesize_images(
            replace(whose, most_per_person=3),
            options={"clip_norm": 1.0},
            **{**QUESTION, "mechanism": "local-perturbation"},
        )
