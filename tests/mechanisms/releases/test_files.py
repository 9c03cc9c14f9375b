import json

import pytest

import rdpkit
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.releases.files import check_file_path, save_file_release
from rdpkit.mechanisms.releases.manifest import load_manifest
from rdpkit.mechanisms.releases.release import check_arrays, guaranteed
from rdpkit.verification.auditing.audit import findings_about
from rdpkit.verification.auditing.findings import Soundness
from rdpkit.verification.claims.reading import load_files

PRIVACY = Privacy(delta=1e-5, adjacency="replace_one", noise=NoiseSource.system())
SCHEMA = {"column": [{"name": "a", "kind": "boolean", "type": "bool"}]}


def saved(path, **changes):
    values = {
        "write": lambda target: target.write_text("a\ntrue\n"),
        "rows": 1,
        "file_format": "csv",
        "stated": guaranteed(
            event=rdpkit.Gaussian(noise_std=10.0, record_norm=1.0),
            privacy=PRIVACY,
            parameters={},
            mechanism="marginals",
            tested_as="marginals",
        ),
        "schema": SCHEMA,
        "dataset": "patients",
    }
    return save_file_release(path, **{**values, **changes})


def test_the_manifest_says_what_is_needed_to_go_back(tmp_path):
    made = saved(tmp_path / "synth.csv")
    manifest = load_manifest(tmp_path / "synth.json")
    assert manifest == made.manifest
    assert (manifest.dataset, manifest.schema) == ("patients", SCHEMA)
    assert manifest.files["synth.csv"]["rows"] == 1
    assert check_arrays(tmp_path / "synth.json") == ()


def test_an_audit_reads_the_file_and_sees_that_it_was_changed(tmp_path):
    saved(tmp_path / "synth.csv")
    path = tmp_path / "synth.json"
    (finding,) = findings_about(load_files([path]))
    assert finding.soundness is Soundness.SOUND
    assert "the files are those of the manifest" in finding.notes
    (tmp_path / "synth.csv").write_text("a\nfalse\n")
    (finding,) = findings_about(load_files([path]))
    assert finding.soundness is Soundness.REFUTED
    assert "file 'synth.csv' has changed" in " ".join(finding.refutation)
    (tmp_path / "synth.csv").unlink()
    assert check_arrays(path) == ("file 'synth.csv' is missing",)


@pytest.mark.parametrize("name", ["../secret.csv", "a/b.csv", "..", "a\\b.csv", ""])
def test_a_manifest_cannot_point_at_files_elsewhere(tmp_path, name):
    saved(tmp_path / "synth.csv")
    path = tmp_path / "synth.json"
    table = json.loads(path.read_text())
    table["files"] = {name: table["files"]["synth.csv"]}
    path.write_text(json.dumps(table))
    with pytest.raises(ValueError, match="without a folder"):
        load_manifest(path)


def test_nothing_is_replaced_by_what_cannot_be_described(tmp_path):
    saved(tmp_path / "synth.csv")
    before = (tmp_path / "synth.csv").read_text()
    with pytest.raises(ValueError, match="dataset"):
        saved(tmp_path / "synth.csv", dataset="", write=lambda target: target.write_text("new"))
    assert (tmp_path / "synth.csv").read_text() == before


def test_a_path_that_would_share_a_manifest_is_refused(tmp_path):
    for name in ("x.json", "x.npz", "x"):
        with pytest.raises(ValueError, match=r"to end in \.csv"):
            check_file_path(tmp_path / name)
    (tmp_path / "x.npz").touch()
    with pytest.raises(ValueError, match="there already"):
        check_file_path(tmp_path / "x.csv")
