"""The lists in CONTRIBUTING.md, followed step by step by a package that adds one of each kind.

The files of the package are the code blocks of that page, and nothing else. Its entry points are
those of the page, written as an installer writes them.
"""

import json
import os
import re
import sys
import tomllib
from pathlib import Path

import pytest

from tests.processes import ran

PAGE = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(python|toml)\n# ([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

EXPERIMENT = """
title = "A mechanism of another package"
seeds = [0]
[dataset]
name = "digits"
[mechanism]
name = "toy-class-sums"
clip_norm = 1.0
[privacy]
adjacency = "replace_one"
delta = 1e-5
target_epsilon = 10.0
noise = "seeded"
[model]
name = "mlp"
inputs = "standardised"
[training]
epochs = 1
batch_size = 5
"""

CLAIM = """
[[claim]]
id = "toy"
source = "a toy"
mechanism = "toy_laplace"
adjacency = "replace_one"
delta = 1e-5
epsilon = 0.5
[claim.parameters]
scale = 2.0
sensitivity = 1.0
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory) -> Path:
    """A folder that holds the package as an installer leaves it."""
    folder = tmp_path_factory.mktemp("site")
    metadata = folder / "toy-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
    (folder / "toy").mkdir()
    (folder / "toy" / "__init__.py").touch()
    for kind, name, content in BLOCK.findall(PAGE):
        if kind == "python":
            (folder / name).write_text(content)
        else:
            groups = tomllib.loads(content)["project"]["entry-points"]
            lines = []
            for group, points in groups.items():
                lines += [f"[{group}]", *(f"{point} = {at}" for point, at in points.items())]
            (metadata / "entry_points.txt").write_text("\n".join(lines))
    return folder


def rdpkit(package: Path, *words: str, status: int = 0) -> str:
    """Standard output of a command that finds the package."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(package), *sys.path])}
    done = ran("-m", "rdpkit", *words, status=status, env=environment, cwd=package)
    return done.stdout if status == 0 else done.stderr


def test_the_page_has_every_file(package):
    found = {path.name for path in (package / "toy").glob("*.py")}
    assert found == {
        "__init__.py",
        "laplace.py",
        "laplace_rdp.py",
        "class_sums.py",
        "lines.py",
        "hello.py",
    }


def test_event_theorem_and_command(package):
    question = ["--sensitivity", "1", "--delta", "1e-5", "--adjacency", "replace-one"]
    found = json.loads(
        rdpkit(package, "epsilon", "toy-laplace", "--scale", "2", *question, "--format", "json")
    )
    # Pure differential privacy with epsilon = sensitivity / scale, up to the largest order tried.
    assert found["bound"] == "toy-laplace"
    assert found["epsilon"] == pytest.approx(0.5, abs=2e-5)
    assert found["enclosure"] is not None
    calibrated = json.loads(
        rdpkit(
            package, "calibrate", "toy-laplace", "--target-epsilon", "1", *question,
            "--parameter", "scale", "--format", "json",
        )
    )  # fmt: skip
    assert calibrated["values"]["scale"] == pytest.approx(1.0, abs=5e-5)
    assert "toy-laplace" in rdpkit(package, "epsilon", "toy-lapla", status=2)
    assert rdpkit(package, "hello") == "hello\n"


def test_output_of_an_audit(package, tmp_path):
    claims, written = tmp_path / "toy.claims.toml", tmp_path / "lines.txt"
    claims.write_text(CLAIM)
    rdpkit(package, "audit", str(claims), "--lines", str(written), "--jobs", "1")
    assert written.read_text() == "toy: sound\n"


@pytest.mark.thorough
def test_mechanism(package, tmp_path):
    experiment, made = tmp_path / "toy.toml", tmp_path / "made.npz"
    experiment.write_text(EXPERIMENT)
    rdpkit(package, "synthesize", str(experiment), "--output", str(made))
    manifest = json.loads(made.with_suffix(".json").read_text())
    assert manifest["mechanism"] == "toy-class-sums"
    assert manifest["guarantee"]["epsilon"] <= 10.0
    verified = json.loads(
        rdpkit(
            package, "verify", "toy-class-sums", "--samples", "1000", "--seed", "1",
            "--score", "linear", "--jobs", "1", "--format", "json",
        )
    )  # fmt: skip
    assert verified["verdict"] == "not rejected"
