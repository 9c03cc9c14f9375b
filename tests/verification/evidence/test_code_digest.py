"""The digest of code: it changes with whatever the code is made of, and with nothing else."""

import sys
from types import ModuleType

import pytest

from rdpkit.verification.blackbox import targets
from rdpkit.verification.evidence import code_digest as digests
from rdpkit.verification.evidence.code_digest import code_digest

FILES = {
    "entry.py": "from .parts import noise\nimport helper_{0}\n\n"
    "def release(dataset, rng):\n    from .late import scale\n    return noise(rng) * scale\n",
    "parts/__init__.py": "from .deeper import noise\n",
    "parts/deeper.py": "import numpy as np\nimport re\ndef noise(rng):\n    return rng.normal()\n",
    "late.py": "scale = 2.0\n",
    "unused.py": "nothing = 1\n",
    "__init__.py": "",
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A package and a module beside it, under fresh names."""
    name = f"package_{tmp_path.name}"
    for file, content in FILES.items():
        path = tmp_path / name / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(content.format(tmp_path.name))
    (tmp_path / f"helper_{tmp_path.name}.py").write_text("import sys\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path / name


def loaded(monkeypatch, name, path):
    """As if a module of this name had been imported from this file."""
    module = ModuleType(name)
    module.__file__ = str(path)
    monkeypatch.setitem(sys.modules, name, module)


def digest(project):
    return code_digest(targets.target(f"{project.name}.entry:release"))


def test_it_covers_what_the_code_is_made_of(project):
    found = digest(project)
    own = project.name
    assert set(found.modules) == {
        own,
        f"{own}.entry",
        f"{own}.parts",
        f"{own}.parts.deeper",
        f"{own}.late",
        f"helper_{project.parent.name}",
    }
    assert any(text.startswith("numpy ") for text in found.versions)
    # Nothing was imported for it: the function imports this module when it is called.
    assert f"{own}.late" not in sys.modules


@pytest.mark.parametrize(
    "file", ["entry.py", "parts/__init__.py", "parts/deeper.py", "late.py", "__init__.py", "helper"]
)
def test_any_change_of_it_is_another_digest(project, file):
    before = digest(project).digest
    path = project / file
    if file == "helper":
        path = project.parent / f"helper_{project.parent.name}.py"
    path.write_text(path.read_text() + "# a comment may be anything\n")
    assert digest(project).digest != before


def test_other_files_make_no_difference(project, monkeypatch):
    before = digest(project).digest
    (project / "unused.py").write_text("nothing = 2\n")
    (project.parent / "elsewhere.py").write_text("x = 1\n")
    loaded(monkeypatch, "elsewhere", project.parent / "elsewhere.py")
    assert digest(project).digest == before


def test_a_module_that_imports_by_computed_names_depends_on_all_that_is_loaded(
    project, monkeypatch
):
    (project / "parts" / "deeper.py").write_text(
        "import importlib\nimport sys\n\ndef noise(rng):\n"
        "    return importlib.import_module('else' + 'where').x\n"
    )
    loaded(monkeypatch, "elsewhere", project.parent / "elsewhere.py")
    (project.parent / "elsewhere.py").write_text("x = 1\n")
    before = digest(project)
    assert "elsewhere" in before.modules
    (project.parent / "elsewhere.py").write_text("x = 2\n")
    assert digest(project).digest != before.digest


def test_a_virtual_environment_in_the_project_is_none_of_it(project, monkeypatch):
    installed = project.parent / ".venv" / "lib" / "site-packages" / "installed_thing.py"
    installed.parent.mkdir(parents=True)
    installed.write_text("x = 1\n")
    loaded(monkeypatch, "installed_thing", installed)
    (project / "late.py").write_text("import installed_thing\nscale = 2.0\n")
    before = digest(project)
    assert "installed_thing" not in before.modules
    installed.write_text("x = 2\n")
    assert digest(project).digest == before.digest


def test_where_the_project_lies_makes_no_difference(project, tmp_path_factory, monkeypatch):
    before = digest(project).digest
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    for path in [*project.rglob("*.py"), *project.parent.glob("helper_*.py")]:
        copy = elsewhere / path.relative_to(project.parent)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    for name in [name for name in sys.modules if project.parent.name in name]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.chdir(elsewhere)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p != str(project.parent)])
    assert digest(elsewhere / project.name).digest == before


def test_other_versions_of_packages_are_other_code(project, monkeypatch):
    before = digest(project).digest
    monkeypatch.setattr(digests.metadata, "version", lambda name: f"{name} from tomorrow")
    assert digest(project).digest != before


def test_the_targets_of_the_library_are_code_too():
    found = code_digest(targets.target("half-sensitivity"))
    assert found.modules == ()
    assert len(found.digest) == 32


def test_a_callable_that_was_handed_in_is_its_modules_and_its_values(project):
    def made(value):
        return lambda dataset, rng: value

    def of(function):
        return code_digest(targets.target(function)).digest

    assert of(made(1.0)) == of(made(1.0)) != of(made(2.0))
    release = targets.target(f"{project.name}.entry:release").mechanism()
    before = code_digest(targets.target(release))
    assert before.modules == digest(project).modules
    (project / "late.py").write_text("scale = 3.0\n")
    assert of(release) != before.digest
