"""``rdpkit claims init``: what code says of privacy becomes a claims file, and nothing is run."""

import json
import tomllib
from functools import partial
from pathlib import Path

import pytest
import yaml

from rdpkit.verification.auditing.audit import audit_files
from rdpkit.verification.claims.reading import load_files, loads
from tests.cli import commands

OPACUS = """
import argparse, sys
from opacus import PrivacyEngine
raise SystemExit("never run")
EPOCHS = 20
def main(args):
    engine = PrivacyEngine()
    loader = DataLoader(data, batch_size=512)
    model, optimizer, loader = engine.make_private(
        module=model, optimizer=optimizer, data_loader=loader,
        noise_multiplier=args.sigma, max_grad_norm=1.2, poisson_sampling=False)
    print(engine.get_epsilon(delta=1e-5))
p = argparse.ArgumentParser()
p.add_argument("--sigma", type=float, default=1.3)
"""
TARGET = """
import opacus
e = opacus.PrivacyEngine()
e.make_private_with_epsilon(target_epsilon=8.0, target_delta=1e-6, epochs=3, max_grad_norm=1)
"""
TENSORFLOW = """
import tensorflow_privacy
from tensorflow_privacy.privacy.analysis import compute_dp_sgd_privacy_lib
opt = tensorflow_privacy.DPKerasSGDOptimizer(
    l2_norm_clip=1.0, noise_multiplier=1.1, num_microbatches=64, learning_rate=0.1)
model.fit(x, y, epochs=15, batch_size=256)
compute_dp_sgd_privacy_lib.compute_dp_sgd_privacy(60000, 256, 1.1, 60, 1e-5)
print(compute_dp_sgd_privacy_lib.compute_dp_sgd_privacy_statement(
    number_of_examples=10000, batch_size=64, num_epochs=5.0, noise_multiplier=2.0, delta=1e-6))
"""
JAX = """
from jax_privacy import keras_api
from jax_privacy.accounting import calibrate
train_size, batch_size = 60000, 512
params = keras_api.DPKerasConfig(
    epsilon=1.1, delta=1e-5, clipping_norm=1.0, batch_size=batch_size,
    gradient_accumulation_steps=2, train_steps=5 * (train_size // batch_size),
    train_size=train_size, poisson_sampling_in_fit=True, noise_multiplier=0.9)
calibrate.calibrate_noise_multiplier(target_epsilon=2.0, target_delta=1e-5, batch_sizes=b)
"""
DIFFPRIVLIB = """
from diffprivlib.models import GaussianNB
from diffprivlib import tools as dp
GaussianNB(epsilon=0.1)
dp.mean(x, bounds=(0, 1))
dp.histogram(x, epsilon=eps)
"""
ACCOUNTING = """
import dp_accounting
steps = 14063
event = dp_accounting.SelfComposedDpEvent(
    dp_accounting.PoissonSampledDpEvent(256 / 60000, dp_accounting.GaussianDpEvent(1.1)), steps)
accountant.get_epsilon(target_delta=1e-5)
"""


@pytest.fixture
def repository(tmp_path):
    def make(**files):
        for name, content in files.items():
            path = tmp_path / name.replace("__", "/")
            path = path.with_suffix(".py") if not path.suffix else path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        return tmp_path

    return make


run = partial(commands.run, "claims", "init")


def proposed(folder):
    """The claims that are proposed for a folder, by id."""
    found = json.loads(run(folder, "--format", "json").stdout)
    claims = loads(found["files"]["privacy.claims.toml"])
    return {claim.id: claim for claim in claims}, found


def table(found):
    every = tomllib.loads(found["files"]["privacy.claims.toml"])["claim"]
    return {one["id"]: one for one in every}


def test_opacus_has_what_the_code_says_and_the_rest_is_missing(repository):
    claims, found = proposed(repository(train=OPACUS, target=TARGET))
    assert set(claims) == {"train-9", "target-4"}
    first = table(found)["train-9"]
    assert first["source"] == "train.py, line 9: make_private of Opacus"
    assert first["parameters"] == {
        "noise_multiplier": 1.3,
        "batch_size": 512,
        "epochs": 20,
        "sampling": "shuffle",
    }
    assert first["delta"] == 1e-5
    assert [text.partition(":")[0] for text in first["missing"]] == ["epsilon", "dataset_size"]
    assert "1.3  # the default of --sigma" in found["files"]["privacy.claims.toml"]
    second = table(found)["target-4"]
    assert (second["epsilon"], second["delta"]) == (8.0, 1e-6)
    assert any("print optimizer.noise_multiplier" in text for text in second["missing"])


def test_tensorflow_privacy_is_complete_where_all_is_stated(repository):
    claims, found = proposed(repository(tf=TENSORFLOW))
    optimizer = table(found)["tf-4"]
    assert optimizer["parameters"]["microbatch_size"] == 4
    assert optimizer["parameters"]["epochs"] == 15
    complete = claims["tf-7"]
    assert complete.missing == ()
    assert complete.event.noise_multiplier == 1.1
    assert str(complete.epsilon) == "2.382"
    assert claims["tf-8"].event.dataset_size == 10000


def test_jax_privacy_and_dp_accounting(repository):
    claims, found = proposed(repository(jax=JAX, accounting=ACCOUNTING))
    keras = claims["jax-5"]
    assert keras.missing == ()
    assert (keras.event.steps, keras.event.accumulation_steps) == (585, 2)
    assert str(keras.epsilon) == "1.1"
    event = claims["accounting-4"].event
    assert (event.count, event.event.noise_std) == (14063, 1.1)
    assert table(found)["jax-9"]["epsilon"] == 2.0


def test_diffprivlib_is_taken_at_its_word(repository):
    claims, _ = proposed(repository(dp=DIFFPRIVLIB))
    assert str(claims["dp-4"].epsilon) == "0.1"
    assert str(claims["dp-5"].epsilon) == "1.0"
    assert claims["dp-6"].missing
    assert any("calls on the same data add up" in note for note in claims["dp-4"].notes)


def test_notebooks_are_read_cell_by_cell(repository):
    cells = [
        {"cell_type": "markdown", "source": ["opacus"]},
        {"cell_type": "code", "source": ["%pip install opacus\n", "!ls\n", "SIGMA = 2.0"]},
        {"cell_type": "code", "source": "no python at all"},
        {"cell_type": "code", "source": ["%%bash\n", "echo opacus"]},
        {
            "cell_type": "code",
            "source": [
                "from opacus import PrivacyEngine\n",
                "PrivacyEngine().make_private(noise_multiplier=SIGMA)",
            ],
        },
    ]
    folder = repository(**{"a.ipynb": json.dumps({"cells": cells})})
    claims, found = proposed(folder)
    (claim,) = claims.values()
    assert claim.source == "a.ipynb, cell 5, line 2: make_private of Opacus"
    assert table(found)[claim.id]["parameters"] == {"noise_multiplier": 2.0}
    assert found["problems"] == ["a.ipynb, cell 3: not Python"]


def test_what_cannot_be_read_is_named_and_what_is_not_code_of_the_repository_is_skipped(repository):
    folder = repository(
        good=OPACUS,
        bad="import opacus\ndef (",
        nul="import opacus\0",
        deep="import opacus\nx = " + "(" * 5000,
        tests__test_it=TARGET,
        node_modules__x=TARGET,
        somewhere__myenv__lib=TARGET,
        **{"broken.ipynb": '"opacus', "list.ipynb": '["opacus"]'},
    )
    (folder / "somewhere/myenv/pyvenv.cfg").write_text("")
    claims, found = proposed(folder)
    assert set(claims) == {"good-9"}
    assert {text.partition(":")[0].partition(",")[0] for text in found["problems"]} == {
        *("bad.py", "nul.py", "deep.py", "broken.ipynb", "list.ipynb")
    }
    assert (
        "tests-test-it-4"
        in json.loads(run(folder, "--tests", "--format", "json").stdout)["files"][
            "privacy.claims.toml"
        ]
    )


def test_hostile_names_stay_text(repository):
    folder = repository(
        **{'a"]\n[[claim]]\nid = "x': TARGET.replace("8.0", "float('1e999')").replace("1e-6", "7")}
    )
    claims, _ = proposed(folder)
    assert len(claims) == 1


@pytest.mark.thorough
def test_files_are_written_after_a_yes_and_never_over_others(repository):
    folder = repository(tf=TENSORFLOW)
    assert "Nothing was written." in run(folder, answers="n\n").stdout
    assert "Nothing was written." in run(folder).stdout
    assert not (folder / "privacy.claims.toml").exists()
    done = run(folder, answers="y\n")
    assert done.exit_code == 0
    assert "wrote privacy.claims.toml" in done.stdout
    assert "![privacy claims](privacy-badge.svg)" in done.stdout
    before = (folder / "privacy.claims.toml").read_text()
    workflow = yaml.safe_load((folder / ".github/workflows/privacy.yml").read_text())
    assert workflow["jobs"]["claims"]["steps"][1]["uses"] == "OWNER/rdpkit@VERSION"
    sound = [one for one in audit_files(folder / "privacy.claims.toml") if not one.claim.missing]
    assert sound
    assert all(one.soundness.value == "sound" for one in sound)
    (folder / "tf.py").write_text(OPACUS)
    assert "All of it is there already." in run(folder, "--write").stdout
    assert (folder / "privacy.claims.toml").read_text() == before


def test_a_repository_without_any_of_it_is_told_what_to_do(repository):
    done = run(repository(a="import numpy"), "--write")
    assert done.exit_code == 0
    assert "Read 1 Python file or notebook." in done.stdout
    assert "rdpkit claims new" in done.stdout
    assert not list(Path(repository()).glob("*.toml"))


def test_a_name_is_a_name(repository):
    assert run(repository(), "--name", "../x.toml").exit_code == 2
    assert run(repository(), "--name", "x.json").exit_code == 2


def test_what_is_proposed_can_be_filled_in(repository):
    folder = repository(train=OPACUS)
    run(folder, "--write")
    path = folder / "privacy.claims.toml"
    lines = path.read_text().split("\n")
    start, end = lines.index("missing = ["), lines.index("]")
    text = "\n".join([*lines[:start], *lines[end + 1 :]])
    text = text.replace("# epsilon = ...", "epsilon = 5")
    path.write_text(text.replace("# dataset_size = ...", "dataset_size = 50000"))
    (claim,) = load_files([path])
    assert claim.event.dataset_size == 50000
