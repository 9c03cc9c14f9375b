"""The digest of the code behind a target, and of what a callable holds."""

from __future__ import annotations

import dataclasses
import functools
import sys
import threading
from enum import Enum
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from rdpkit.verification.blackbox import targets
from rdpkit.verification.evidence import code_digest as digests
from rdpkit.verification.evidence.code_digest import code_digest, contents_of
from tests.processes import printed

HERE = __name__


class Colour(Enum):
    RED = 1
    BLUE = 2


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    std: object

    def __call__(self, dataset, rng):
        return self.std


class Plain:
    def __init__(self, std):
        self.std = std

    def release(self, dataset, rng):
        return self.std


def holding(value):
    return lambda dataset, rng: value


def defaulting(value):
    def release(dataset, rng, std=value):
        return std

    return release


WAYS = {
    "closure": holding,
    "default": defaulting,
    "partial": lambda value: functools.partial(holding(None), value),
    "keyword": lambda value: functools.partial(holding(None), std=value),
    "slots": Slotted,
    "method": lambda value: Plain(value).release,
    "nested": lambda value: holding({"a": [holding((value,))]}),
}
PAIRS = [
    (1.0, 2.0),
    (1, 1.0),
    (True, 1),
    ("a", "b"),
    ("1", 1),
    (None, 0),
    (b"a", "a"),
    ((1, 2), [1, 2]),
    ((1, 2), (2, 1)),
    ({"a": 1}, {"a": 2}),
    ({1, 2}, {1, 3}),
    (Colour.RED, Colour.BLUE),
    (np.arange(3), np.arange(4)),
    (np.zeros(3), np.zeros(3, dtype=np.float32)),
    (np.zeros((2, 3)), np.zeros((3, 2))),
    (np.random.default_rng(1), np.random.default_rng(2)),
    (Slotted(1), Slotted(2)),
    (Slotted, Plain),
    (np.sin, np.cos),
    (len, print),
    (Path("a"), Path("b")),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_another_value_is_other_code(way, one, other):
    make = WAYS[way]
    first, again, second = contents_of(make(one)), contents_of(make(one)), contents_of(make(other))
    assert first == again
    assert first.digest != second.digest


def test_the_modules_of_functions_and_classes_count():
    found = contents_of(functools.partial(holding(Slotted(dataclasses.replace)), 1))
    assert {HERE, "dataclasses"} <= found.modules


def test_values_may_refer_to_each_other_and_to_themselves():
    one, other = Plain(1), Plain(2)
    one.friend, other.friend = other, one
    values = [one]
    values.append(values)
    digest = contents_of(holding(values)).digest
    assert digest == contents_of(holding(values)).digest
    other.std = 3
    assert digest != contents_of(holding(values)).digest


@pytest.mark.thorough
def test_it_is_the_same_in_another_process():
    code = (
        "from rdpkit.verification.evidence.code_digest import contents_of\n"
        "import sys, functools, numpy as np\n"
        "f = functools.partial(sorted, {'b', 'a', 'c'}, key=np.zeros(3), x={'k': (1, None)})\n"
        "print(contents_of(f).digest)\n"
    )
    found = {printed(code, PYTHONHASHSEED=seed) for seed in ("1", "2")}
    assert len(found) == 1


def test_what_cannot_be_recognised_is_an_error_that_says_where_it_is():
    with pytest.raises(ValueError, match=r"'value', which holding.*lock.*cannot be pickled"):
        contents_of(holding(threading.Lock()))


@pytest.mark.thorough
def test_values_that_are_nested_without_end_are_an_error():
    value = ()
    for _ in range(100_000):
        value = (value,)
    with pytest.raises(ValueError, match="nested too deeply"):
        contents_of(holding(value))


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


@pytest.mark.thorough
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
