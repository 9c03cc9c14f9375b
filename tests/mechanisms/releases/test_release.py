"""A release carries its guarantee, is written whole, and notices what has changed."""

import json
import math
import os

import numpy as np
import pytest

import rdpkit
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.releases.manifest import Manifest, load_manifest
from rdpkit.mechanisms.releases.release import (
    check_arrays,
    load_release,
    release,
    release_without_guarantee,
)

EVENT = rdpkit.Gaussian(noise_std=4.0, record_norm=1.0)
SUFFIXES = (".npz", ".safetensors")


def made(*, noise=None, event=EVENT, rows=5, **changes):
    given = {
        "event": event,
        "delta": 1e-5,
        "adjacency": "replace_one",
        "parameters": {"noise_std": 4.0, "shape": [2, 2]},
        "noise": NoiseSource.system() if noise is None else noise,
        **changes,
    }
    features = np.arange(rows * 4, dtype=np.float32).reshape(rows, 2, 2) / 7
    given["privacy"] = Privacy(
        **{name: given.pop(name) for name in ("delta", "adjacency", "noise")}
    )
    return release(features, np.arange(rows), **given)


def test_the_guarantee_is_what_the_accounting_says():
    made_one = made()
    expected = rdpkit.epsilon(EVENT, delta=1e-5, adjacency="replace_one")
    assert made_one.guarantee == expected
    assert made_one.manifest.guarantee.enclosure is not None
    assert made_one.manifest.private
    assert not made_one.manifest.reproducible_noise
    assert made_one.manifest.epsilon == expected.epsilon


def test_a_seed_makes_it_not_private():
    manifest = made(noise=NoiseSource.seeded(1)).manifest
    assert manifest.reproducible_noise
    assert not manifest.private


def test_without_a_sound_bound_it_is_not_private():
    event = rdpkit.DPCDA(
        class_sizes=(5, 5),
        samples_per_class=1,
        order_of_mixture=2,
        clip_norm=1.0,
        feature_noise=1.0,
        label_noise=1.0,
        preprocessing="exact-z-score",
    )
    manifest = made(event=event).manifest
    assert manifest.epsilon == math.inf
    assert not manifest.private
    assert Manifest.from_dict(json.loads(json.dumps(manifest.as_dict()))) == manifest


def test_a_baseline_without_privacy_has_no_guarantee():
    rows = np.zeros((2, 3))
    manifest = release_without_guarantee(
        rows, np.arange(2), mechanism="copy", parameters={}, notes=(), noise=NoiseSource.system()
    ).manifest
    assert (manifest.mechanism, manifest.guarantee, manifest.private) == ("copy", None, False)
    with pytest.raises(ValueError, match="Expected event"):
        made(event=None)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_saved_is_what_is_loaded(tmp_path, suffix):
    first = made(notes=("a remark",))
    first.save(tmp_path / f"x{suffix}")
    assert sorted(os.listdir(tmp_path)) == ["x.json", f"x{suffix}"]
    for name in ("x.json", f"x{suffix}"):
        again = load_release(tmp_path / name)
        assert again.manifest == first.manifest
        np.testing.assert_array_equal(again.features, first.features)
        assert again.features.dtype == first.features.dtype
        np.testing.assert_array_equal(again.labels, first.labels)
    assert check_arrays(tmp_path / "x.json") == ()
    assert load_manifest(tmp_path / "x.json").notes == ("a remark",)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", ["features", "labels"])
def test_a_changed_array_is_named(tmp_path, suffix, name):
    one = made()
    one.save(tmp_path / f"x{suffix}")
    text = (tmp_path / "x.json").read_bytes()
    arrays = {"features": one.features.copy(), "labels": one.labels.copy()}
    arrays[name].flat[0] += 1
    made_two = release(
        **arrays,
        event=EVENT,
        privacy=Privacy(delta=1e-5, adjacency="replace_one", noise=NoiseSource.system()),
        parameters={},
    )
    made_two.save(tmp_path / f"x{suffix}")
    (tmp_path / "x.json").write_bytes(text)
    (problem,) = check_arrays(tmp_path / "x.json")
    assert problem.startswith(f"array '{name}' has changed: sha256 ")
    with pytest.raises(ValueError, match=f"array '{name}' has changed"):
        load_release(tmp_path / "x.json")


def test_arrays_of_another_shape_or_type_are_named(tmp_path):
    one = made()
    one.save(tmp_path / "x.npz")
    np.savez(tmp_path / "x.npz", features=one.features.reshape(5, 4), labels=one.labels)
    assert "'features' has changed: shape" in check_arrays(tmp_path / "x.json")[0]
    np.savez(tmp_path / "x.npz", features=one.features, labels=one.labels.view(np.uint64))
    assert "'labels' has changed: dtype" in check_arrays(tmp_path / "x.json")[0]


def test_missing_and_additional_arrays_are_named(tmp_path):
    one = made()
    one.save(tmp_path / "x.npz")
    np.savez(tmp_path / "x.npz", features=one.features, private=one.features)
    assert check_arrays(tmp_path / "x.json") == (
        "array 'labels' is missing",
        "array 'private' is not in the manifest",
    )
    (tmp_path / "x.npz").unlink()
    (problem,) = check_arrays(tmp_path / "x.json")
    assert "the arrays are missing" in problem


def test_files_that_are_cut_off_or_hold_objects_are_refused(tmp_path):
    made().save(tmp_path / "x.npz")
    content = (tmp_path / "x.npz").read_bytes()
    (tmp_path / "x.npz").write_bytes(content[: len(content) // 2])
    assert "cannot be read" in check_arrays(tmp_path / "x.json")[0]
    with pytest.raises(ValueError, match="cannot be read"):
        load_release(tmp_path / "x.npz")
    np.savez(tmp_path / "x.npz", features=np.array([{}], dtype=object), labels=np.zeros(1))
    assert "holds Python objects" in check_arrays(tmp_path / "x.json")[0]


def test_the_two_kinds_of_file_do_not_share_a_manifest(tmp_path):
    made().save(tmp_path / "x.npz")
    with pytest.raises(ValueError, match="is there already"):
        made().save(tmp_path / "x.safetensors")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("format", 4, "Expected format to be 1, 2 or 3"),
        ("format", True, "Expected format to be 1, 2 or 3"),
        ("private", "yes", "Expected private to be bool"),
        ("notes", "text", "Expected notes to be a list of strings"),
        ("event", {"mechanism": "gaussian"}, "needs the parameters"),
        ("event", None, "an event together with its guarantee"),
        ("guarantee", {}, "Missing key 'bound' in guarantee"),
        ("surprise", 1, "Unknown key 'surprise'"),
        ("reproducible_noise", True, "the check 'secret_noise' to fail"),
        ("private", False, "private to be true where no check fails"),
        ("checks", {}, "Expected checks to be a list"),
        ("checks", [{"name": "delta"}], "a check to be a table of name, status and sentence"),
        ("accept_epsilon", -1, "Expected accept_epsilon"),
        ("arrays", {"features": {}}, r"Expected arrays\['features'\]"),
    ],
)
def test_a_bad_manifest_is_one_clear_error(tmp_path, key, value, message):
    table = {**made().manifest.as_dict(), key: value}
    path = tmp_path / "x.json"
    path.write_text(json.dumps(table))
    with pytest.raises(ValueError, match=message) as error:
        load_manifest(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("text", ["", "[1]", '{"format": NaN}', "[" * 100_000, "\x00"])
def test_what_is_no_manifest_is_refused(tmp_path, text):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(ValueError, match=r"x\.json"):
        load_manifest(tmp_path / "x.json")


@pytest.mark.parametrize(("key", "value"), [("epsilon", -1), ("epsilon", "NaN"), ("delta", 0)])
def test_a_guarantee_of_impossible_numbers_is_refused(key, value):
    table = made().manifest.as_dict()
    table["guarantee"][key] = value
    with pytest.raises(ValueError, match=f"guarantee's {key}"):
        Manifest.from_dict(table)


@pytest.mark.parametrize(
    ("features", "labels", "message"),
    [
        (np.zeros((2, 1)), np.zeros(3), "as many labels"),
        (np.full((1, 1), np.nan), np.zeros(1), "NaN or an infinity"),
        (np.zeros((2, 1), dtype=object), np.zeros(2), "array of numbers"),
        ([[1.0]], np.zeros(1), "array of numbers"),
        (np.zeros((1, 1), dtype=">f8"), np.zeros(1), "order of bytes"),
    ],
)
def test_arrays_that_are_no_release_are_refused(features, labels, message):
    with pytest.raises(ValueError, match=message):
        release(
            features,
            labels,
            event=EVENT,
            privacy=Privacy(delta=1e-5, adjacency="replace_one", noise=NoiseSource.seeded(0)),
            parameters={},
        )


def test_parameters_that_json_cannot_hold_are_refused():
    with pytest.raises(ValueError, match="Expected parameters to be plain JSON"):
        made(parameters={"a": np.zeros(2)})
    with pytest.raises(ValueError, match="Expected parameters to be plain JSON"):
        made(parameters={"a": math.nan})


def test_a_failed_write_leaves_the_old_release(tmp_path, monkeypatch):
    one = made()
    one.save(tmp_path / "x.npz")

    def fails(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", fails)
    with pytest.raises(OSError, match="disk full"):
        made(rows=9).save(tmp_path / "x.npz")
    assert sorted(os.listdir(tmp_path)) == ["x.json", "x.npz"]
    assert len(load_release(tmp_path / "x.npz").labels) == 5


def test_a_manifest_of_format_2_is_read():
    table = made().manifest.as_dict()
    for key in ("dataset", "schema", "files"):
        del table[key]
    assert Manifest.from_dict({**table, "format": 2}) == made().manifest


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_further_arrays_are_saved_hashed_and_loaded(tmp_path, suffix):
    moments = np.arange(6.0).reshape(2, 3)
    one = made(others={"moments": moments})
    one.save(tmp_path / f"x{suffix}")
    again = load_release(tmp_path / "x.json")
    np.testing.assert_array_equal(again.others["moments"], moments)
    assert set(again.manifest.arrays) == {"features", "labels", "moments"}
    with pytest.raises(ValueError, match="names like those of variables"):
        made(others={"features": moments})
    with pytest.raises(ValueError, match="finite"):
        made(others={"moments": moments * math.nan})
