"""The README's first lines, the packaging and the list of dependencies agree with each other."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

import rdpkit

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
README = (ROOT / "README.md").read_text().splitlines()


def name_of(requirement: str) -> str:
    return re.match(r"[A-Za-z0-9._-]+", requirement).group().lower()


REQUIRED = sorted(
    {
        name_of(requirement)
        for group in (PROJECT["dependencies"], *EXTRAS.values())
        for requirement in group
    }
    - {"rdpkit"}
)


def lines_of_shell() -> list[str]:
    start = README.index("```sh")
    return README[start + 1 : README.index("```", start)]


def test_the_readme_has_one_block_of_two_shell_lines():
    user, developer = lines_of_shell()
    assert user.endswith("&& rdpkit audit --papers")
    assert developer.endswith("&& python3 -m pytest")
    assert README.count("```sh") == 1


@pytest.mark.skipif(shutil.which("sed") is None, reason="needs sed, as .ci/run does")
def test_the_ci_script_finds_these_lines():
    extraction = re.search(r"mapfile -t lines < <\((.*)\)$", (ROOT / ".ci/run").read_text(), re.M)
    done = subprocess.run(
        extraction[1], shell=True, cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == lines_of_shell()


def test_the_extras_that_are_named_exist():
    assert {"mechanisms", "verification", "dev", "all"} <= EXTRAS.keys()
    text = "\n".join(
        (ROOT / name).read_text() for name in ("README.md", "CONTRIBUTING.md", "pyproject.toml")
    )
    named = set(re.findall(r"'\.\[([a-z,]+)\]'|rdpkit\[([a-z,]+)\]", text))
    assert named
    for groups in named:
        assert set("".join(groups).split(",")) <= EXTRAS.keys()


@pytest.mark.parametrize("dependency", REQUIRED)
def test_contributing_says_why_a_dependency_is_there(dependency):
    rows = [row for row in (ROOT / "CONTRIBUTING.md").read_text().splitlines() if row[:1] == "|"]
    named = {name.strip() for row in rows for name in row.split("|")[1].split(",")}
    assert dependency in named


@pytest.mark.parametrize("dependency", REQUIRED)
def test_the_versions_that_tests_run_with_are_pinned(dependency):
    pinned = {
        line.partition("==")[0].lower()
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if "==" in line
    }
    assert dependency in pinned


def test_the_command_and_its_entry_points_exist():
    assert PROJECT["scripts"]["rdpkit"] == "rdpkit.__main__:main"
    assert "audit" in PROJECT["entry-points"]["rdpkit.commands"]


def test_the_citation_is_of_this_version():
    assert f"version: {rdpkit.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_readme_links_to_pages_and_names_no_paths():
    text = "\n".join(README)
    assert not re.findall(r"`docs/[^` ]+\.md`", text)
    for path in re.findall(r"\]\((docs/[^)]+)\)", text):
        assert (ROOT / path).is_file(), path
