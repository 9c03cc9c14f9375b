"""Claims that point at a release or at code: what is read, what is checked, what is run."""

import json
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from rdpkit import Adjacency, Composed, CustomRdp, Gaussian, GaussianSynthesis, epsilon
from rdpkit.extensions import install_line
from rdpkit.verification.auditing.audit import findings_about, with_release
from rdpkit.verification.auditing.findings import Reproduction, Soundness
from rdpkit.verification.auditing.verdict import audit_one
from rdpkit.verification.claims.reading import load_files, loads
from tests.cli import commands
from tests.verification.claim_files import text

pytest.importorskip("cryptography", reason="releases draw their noise with it")

from rdpkit.mechanisms.parts.counts import NUMBER_BY_CLASS
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.releases.release import release, release_without_guarantee

EVENT = Gaussian(noise_std=5.0, record_norm=1.0)
ARRAYS = np.zeros((3, 2)), np.zeros(3, dtype=np.int64)
CODE = '[claim.code]\ncallable = "{}"\ndimension = 1\nsamples = 6000\nseed = 3\n'


def released(path, *, noise=None, epsilon=None, event=EVENT, delta=1e-5, notes=()):
    """A release on the disk; its epsilon may be made smaller afterwards."""
    source = noise or NoiseSource.system()
    privacy = Privacy(delta=delta, adjacency=Adjacency.ADD_OR_REMOVE_ONE, noise=source)
    given = {"event": event, "privacy": privacy, "parameters": {"noise_std": 5.0}}
    made = release(*ARRAYS, **given, notes=notes)
    made.save(path.with_suffix(".npz"))
    manifest = path.with_suffix(".json")
    if epsilon is not None:
        content = json.loads(manifest.read_text())
        content["guarantee"]["epsilon"] = epsilon
        content["guarantee"]["computed"] = [epsilon, epsilon]
        manifest.write_text(json.dumps(content))
    return manifest


def claim_about(name, **changes):
    given = {"parameters": None, "mechanism": None, "epsilon": "0.73", "bound": '"best"'}
    return text(**{**given, "release": f'"{name}"', **changes})


run = partial(commands.run, "audit")


def only_claim(folder):
    (claim,) = loads(claim_about("out.json"), folder=folder)
    return claim


def test_a_claim_takes_its_event_from_the_release(tmp_path):
    released(tmp_path / "out")
    claim = only_claim(tmp_path)
    assert (claim.event, claim.mechanism) == (EVENT, "gaussian")
    finding = with_release(audit_one(claim))
    assert finding.soundness is Soundness.SOUND
    assert finding.notes[-1] == "the arrays are those of the manifest"


def test_arrays_that_changed_refute_the_claim(tmp_path):
    manifest = released(tmp_path / "out")
    claim = only_claim(tmp_path)
    np.savez(manifest.with_suffix(".npz"), features=np.ones((3, 2)), labels=ARRAYS[1])
    finding = with_release(audit_one(claim))
    assert finding.soundness is Soundness.REFUTED
    assert "out.json: array 'features' has changed: sha256" in finding.refutation[0]
    manifest.with_suffix(".npz").unlink()
    assert "arrays are missing" in with_release(audit_one(claim)).refutation[0]


def test_noise_that_can_be_taken_off_refutes_the_claim(tmp_path):
    released(tmp_path / "out", noise=NoiseSource.seeded(1))
    claim = only_claim(tmp_path)
    finding = with_release(audit_one(claim))
    assert finding.soundness is Soundness.REFUTED
    assert "not private: the noise was drawn from a seed" in finding.refutation[0]


def test_without_the_library_that_checks_releases_there_is_one_clear_error(tmp_path, monkeypatch):
    manifest = released(tmp_path / "out")
    monkeypatch.setitem(sys.modules, "rdpkit.mechanisms.releases.release", None)
    done = run(manifest)
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert install_line("mechanisms") in done.stderr


def test_a_manifest_is_audited_by_itself(tmp_path):
    manifest = released(tmp_path / "out")
    (claim,) = load_files([manifest])
    assert (claim.id, claim.event, claim.adjacency) == ("out", EVENT, Adjacency.ADD_OR_REMOVE_ONE)
    finding = audit_one(claim)
    assert (finding.reproduction, finding.soundness) == (Reproduction.EXACT, Soundness.SOUND)
    done = run(manifest)
    assert done.exit_code == 0, done.output
    assert "exact" in done.stdout


def test_a_manifest_whose_guarantee_is_one_of_renyi_divergences(tmp_path):
    curve = CustomRdp(
        orders=(2.0, 8.0, 32.0), values=(0.1, 0.2, 1.0), adjacency=Adjacency.ADD_OR_REMOVE_ONE
    )
    (claim,) = load_files([released(tmp_path / "out", event=curve)])
    assert claim.bound == "best-rdp"
    finding = audit_one(claim)
    assert (finding.reproduction, finding.soundness) == (Reproduction.EXACT, Soundness.SOUND)


def test_a_manifest_with_noisy_counts_names_no_formula_and_is_sound(tmp_path):
    """Its epsilon is that of a bound and what the counts cost, so no bound gives it."""
    privacy = Privacy(delta=1e-5, adjacency="add_or_remove_one", noise=NoiseSource.system())
    counts = privacy.known_counts((90, 80), NUMBER_BY_CLASS)
    made = release(*ARRAYS, event=EVENT, privacy=privacy, parameters={}, counts=counts)
    made.save(tmp_path / "out.npz")
    assert made.manifest.private
    assert made.guarantee > epsilon(EVENT, delta=1e-5, adjacency="add_or_remove_one")
    (claim,) = load_files([tmp_path / "out.json"])
    assert claim.bound is None
    assert isinstance(claim.event, Composed)
    (finding,) = findings_about([claim])
    assert (finding.reproduction, finding.soundness) == (Reproduction.UNNAMED, Soundness.SOUND)


def test_a_manifest_that_says_too_little_is_refuted(tmp_path):
    done = run(released(tmp_path / "out", epsilon=0.5))
    assert done.exit_code == 1
    assert "refuted" in done.stdout
    (finding,) = findings_about(load_files([tmp_path / "out.json"]))
    assert "says that it is private, and its guarantee is refuted" in finding.refutation[-1]


@pytest.mark.parametrize(("why", "sound"), [(None, True), ("exact counts", False)])
def test_a_manifest_of_an_older_version_is_audited_like_what_it_says_today(tmp_path, why, sound):
    manifest = released(tmp_path / "out", **({} if why is None else EXACT))
    table = json.loads(manifest.read_text())
    for key in ("checks", "accept_epsilon", "dataset", "schema", "files"):
        del table[key]
    manifest.write_text(json.dumps({**table, "format": 1, "private": True}))
    (finding,) = findings_about(load_files([manifest]))
    assert (finding.soundness is Soundness.SOUND) is sound
    said = " ".join((*finding.refutation, *finding.notes))
    assert "the manifest does not say which code made the release" in said or not sound


def test_a_claim_cannot_hide_that_its_release_says_too_little(tmp_path):
    # The claim itself is true, and the manifest's own number is not.
    released(tmp_path / "out", epsilon=0.5)
    claim = only_claim(tmp_path)
    assert audit_one(claim).soundness is Soundness.SOUND
    assert with_release(audit_one(claim)).soundness is Soundness.REFUTED


EXACT = {"notes": ("the number of records is the data's exact one, taken as public: and so on",)}
SYNTHESIS = GaussianSynthesis(records=10**7, outputs=1, dimension=2, min_eigenvalue=0.5)
WEAK = {
    "a delta that releases records outright": {"delta": 0.9},
    "an epsilon of 135": {"event": Gaussian(noise_std=0.0746, record_norm=1.0)},
    "a seed": {"noise": NoiseSource.seeded(1)},
    "an assumption about the data": {"event": SYNTHESIS},
}


@pytest.mark.parametrize("why", [None, *WEAK])
def test_an_audit_says_of_a_manifest_what_the_manifest_says(tmp_path, why):
    manifest = released(tmp_path / "out", **({} if why is None else WEAK[why]))
    stated = json.loads(manifest.read_text())
    assert stated["private"] is (why is None)
    (finding,) = findings_about(load_files([manifest]))
    assert (finding.soundness is Soundness.SOUND) is stated["private"]
    failing = [check["sentence"] for check in stated["checks"] if check["status"] == "fails"]
    said = " ".join((*finding.refutation, *finding.notes))
    assert all(sentence in said for sentence in failing)
    assert bool(failing) is (why is not None)


def test_a_manifest_of_nothing_guarantees_nothing(tmp_path):
    release_without_guarantee(
        *ARRAYS, mechanism="none", parameters={}, notes=(), noise=NoiseSource.system()
    ).save(tmp_path / "x.npz")
    done = run(tmp_path / "x.json")
    assert done.exit_code == 2
    assert "guarantees nothing" in done.stderr
    with pytest.raises(ValueError, match="it has no event"):
        loads(claim_about("x.json"), folder=tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"release": '"no.json"'}, "expected release to be a manifest, a file, got 'no.json'"),
        ({"release": '"."'}, "expected release to be a manifest, a file"),
        ({"release": '"/etc/hostname"'}, "a path relative to the claims file"),
        ({"release": '"bad.json"'}, "bad.json: not a manifest in JSON"),
        ({"release": "1"}, "expected release to be a non-empty string"),
        ({"parameters": {"noise_std": "5.0"}}, "expected no parameters beside release"),
        ({"missing": '["x"]'}, "expected no missing beside release"),
        ({"mechanism": '"dpmix"'}, "expected mechanism to be 'gaussian', as the release says"),
    ],
)
def test_mistakes_about_releases(tmp_path, changes, message):
    released(tmp_path / "out")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(ValueError, match=r"<claims>:\d+: claim 'a': ") as caught:
        loads(claim_about("out.json", **changes), folder=tmp_path)
    assert message in str(caught.value)


def test_a_release_needs_a_folder_to_be_in():
    with pytest.raises(ValueError, match="relative to the claims file"):
        loads(claim_about("out.json"))


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("callable = 'a'", "expected callable to be module:callable, got 'a'"),
        ("callable = 'a:b; import os'", "expected callable to be module:callable"),
        ("callable = 'a:b'\ndimension = 0", "expected dimension to be an integer in [1, 10^9]"),
        ("callable = 'a:b'\ndimension = true", "expected dimension to be an integer"),
        ("callable = 'a:b'\ndimension = 2\ncommand = 1", "unknown key 'command'"),
        ("callable = 'a:b'\ndimension = 2\ntime_budget = 0", "time_budget in (0, 86400], got 0"),
        ("callable = 'a:b'\ndimension = 2\nfalse_alarm_rate = 1", "false_alarm_rate in (0, 1)"),
        ("callable = 'a:b'\ndimension = 2\nneighbours = 'x'", "expected neighbours to be one of"),
        ("callable = 'a:b'\nneighbours = 'own'\nrecords = 2", "expected no records with neigh"),
        ("callable = 'a:b'\nneighbours = 'own'\ndimension = 2", "expected no dimension with"),
        ("callable = 'a:b'\ndimension = 2\nsamples = 3", "samples to be an integer in [42, "),
    ],
)
def test_mistakes_about_code(code, message):
    with pytest.raises(ValueError, match=r"<claims>:\d+: claim 'a': ") as caught:
        loads(text(after=f"[claim.code]\n{code}\n"))
    assert message in str(caught.value)


@pytest.mark.parametrize("changes", [{"order": "4"}, {"order": "4", "delta": None}])
def test_a_claim_about_code_has_an_epsilon_and_a_delta(changes):
    with pytest.raises(ValueError, match="expected epsilon, delta, no order"):
        loads(text(after=CODE.format("a:b"), **changes))


@pytest.fixture
def module(own_module, one_process):
    """A module of one's own that leaves a trace when it is imported."""
    return own_module(
        "import pathlib\n"
        "pathlib.Path('ran').touch()\n"
        "def good(dataset, rng):\n"
        "    return dataset.features.clip(-1, 1).sum(axis=0) + rng.normal(0.0, 5.0, 1)\n"
        "def weak(dataset, rng):\n"
        "    return dataset.features.clip(-1, 1).sum(axis=0) + rng.normal(0.0, 1.0, 1)\n"
        "def nan(dataset, rng):\n"
        "    return dataset.features.sum(axis=0) * float('nan')\n"
    )


def audit_code(module, name, *options, **changes):
    """Audit one claim of epsilon 0.80 about this code."""
    code = CODE.format(f"{module}:{name}")
    for old, new in changes.items():
        code = code.replace(f"{old} = 1", new)
    Path("a.claims.toml").write_text(text(epsilon="0.80", after=code))
    return run("a.claims.toml", *options, "--jobs", "1")


def test_code_is_not_imported_unless_it_is_allowed(module, tmp_path):
    done = audit_code(module, "good")
    assert done.exit_code == 0
    assert f"the code '{module}:good' was not run: allow it with --allow-code" in done.stdout
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(("name", "status"), [("good", 0), ("weak", 1), ("nan", 2), ("no", 2)])
def test_code_is_held_against_its_claim(module, tmp_path, name, status):
    """Seeded; over seeds the honest mechanism is rejected at the rate 0.001."""
    done = audit_code(module, name, "--allow-code")
    assert done.exit_code == status, done.output
    assert (tmp_path / "ran").exists()
    if name == "good":
        assert "which proves nothing" in done.stdout
    elif name == "weak":
        assert "REFUTED a: epsilon" in done.stdout
        assert f"code {module}:weak: rejected" in done.stdout
    else:
        assert done.stderr.startswith("Error: a.claims.toml: claim 'a': ")
        assert done.stderr.count("\n") == 1


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "status"), [("good", 0), ("weak", 1)])
def test_code_on_its_own_data_sets(module, tmp_path, name, status):
    source = tmp_path / f"{module}.py"
    source.write_text(
        source.read_text()
        + "import rdpkit\n"
        + f"{name}.event = rdpkit.Gaussian(noise_std=5.0, record_norm=1.0)\n"
        + f"{name}.adjacency = 'add_or_remove_one'\n"
        + f"{name}.neighbours = lambda: (([[1.0], [0.0]], [0, 0]), ([[0.0]], [0]))\n"
    )
    done = audit_code(module, name, "--allow-code", dimension="neighbours = 'own'")
    assert done.exit_code == status, done.output
    if status:
        assert "the target's own pair" in done.stdout


def test_code_that_has_no_data_sets_of_its_own(module):
    done = audit_code(module, "good", "--allow-code", dimension="neighbours = 'own'")
    assert done.exit_code == 2
    assert "claim 'a': Expected a target with attributes event and adjacency" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.thorough
def test_code_that_no_theorem_is_about(module):
    """Without an event the printed number itself is tested."""
    after = CODE.format(f"{module}:weak").replace("6000", "40000")
    after += "record_norm = 3.0\nrecords = 3\n"
    content = text(
        mechanism="'unmodelled'", parameters=None, epsilon="0.1", delta="0.01", after=after
    )
    (claim,) = loads(content)
    assert claim.event is None
    (finding,) = findings_about([claim], allow_code=True)
    assert finding.soundness is Soundness.REFUTED
    assert any("(0.1, 0.01)-DP" in line for line in finding.refutation)


def test_the_version_of_the_format_is_checked():
    assert loads("format = 1\n" + text())
    for version in ("2", "'1'", "true", "1.5"):
        with pytest.raises(ValueError, match=r"f\.toml: expected format to be 1"):
            loads(f"format = {version}\n" + text(), origin="f.toml")
