"""The public names, and what their docstrings must say."""

import enum
import importlib
import inspect
import pkgutil
import types
from importlib.util import find_spec

import pytest
from sphinx.pycode import ModuleAnalyzer

import rdpkit
import rdpkit.bounds

PUBLIC = {
    "RandomizedResponse",
    "PermuteAndFlip",
    "Laplace",
    "Group",
    "Exponential",
    "EpsilonDelta",
    "DiscreteLaplace",
    "DiscreteGaussian",
    "AboveThreshold",
    "Adjacency",
    "BOUNDS",
    "BudgetExceededError",
    "CalibrationError",
    "Composed",
    "CustomRdp",
    "DPCDA",
    "DPSGD",
    "Event",
    "FixedSizeSampledGaussian",
    "Gaussian",
    "MatrixFactorization",
    "Guarantee",
    "Kind",
    "NoEffectError",
    "Parallel",
    "PoissonSampledGaussian",
    "PrivacyFilter",
    "PrivacyOdometer",
    "RdpBound",
    "RdpCurve",
    "Repeated",
    "ShuffledGaussian",
    "TreeAggregation",
    "UnreachableTargetError",
    "ZeroConcentrated",
    "__version__",
    "calibrate",
    "calibrate_attack",
    "check",
    "compare",
    "compare_sampling",
    "delta",
    "epsilon",
    "event_from_parameters",
    "fixed_size_gaussian_rdp",
    "gaussian_rdp",
    "gaussian_renyi_divergence",
    "gaussian_synthesis_rdp",
    "gdp",
    "zcdp",
    "limits",
    "lower_bound",
    "plan",
    "rdp_to_epsilon",
    "sampled_gaussian_rdp",
    "sweep_epsilon",
    "tradeoff",
    "training_report",
    "weak_triangle",
    "worst_pair",
}
# Arguments that are refused raise a ValueError, as the overview of the pages says of all functions.
THEOREM = ("Guarantee", "Assumes", "Parameters", "Source")
FUNCTIONS = [name for name in rdpkit.__all__ if inspect.isfunction(getattr(rdpkit, name))]
EVENTS = [kind for kind in vars(rdpkit.events).values() if inspect.isclass(kind)]
EVENTS = [kind for kind in EVENTS if issubclass(kind, rdpkit.Event)]
# Results, and events that fewer programs name, are public in their modules.
EVERY = sorted({*rdpkit.__all__, *rdpkit._HOMES, *(one.__name__ for one in EVENTS)})
CLASSES = [name for name in EVERY if inspect.isclass(getattr(rdpkit, name))]
BOUND_MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(rdpkit.bounds.__path__, "rdpkit.bounds.")
    if any(
        isinstance(thing, rdpkit.bounds.RdpBound)
        for thing in vars(importlib.import_module(module.name)).values()
    )
)


def sections(thing):
    """Headings of a numpydoc docstring, with the text below each."""
    found, current = {}, None
    lines = (inspect.getdoc(thing) or "").splitlines()
    for line, below in zip(lines, [*lines[1:], ""]):
        if line and below == "-" * len(line):
            current = found.setdefault(line, [])
        elif current is not None and line.strip("-"):
            current.append(line)
    return {heading: "\n".join(text) for heading, text in found.items()}


def is_theorem(function):
    return function.__module__.startswith("rdpkit.bounds") or function is rdpkit.rdp_to_epsilon


def test_the_public_names_are_those_listed_here():
    unlisted = set(rdpkit.__all__) - PUBLIC
    lost = PUBLIC - set(rdpkit.__all__)
    assert not unlisted, f"new public names: list them in PUBLIC, and document them: {unlisted}"
    assert not lost, f"public names that are gone, a breaking change: {lost}"


def test_the_list_is_literal_and_complete():
    assert len(rdpkit.__all__) == len(set(rdpkit.__all__))
    visible = {
        name
        for name, value in [(name, getattr(rdpkit, name)) for name in dir(rdpkit)]
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert visible - {"annotations"} == set(rdpkit.__all__) - {"__version__"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_document_every_parameter(name):
    function = getattr(rdpkit, name)
    found = sections(function)
    wanted = THEOREM if is_theorem(function) else ("Parameters",)
    assert [heading for heading in wanted if heading not in found] == []
    documented = {
        word.strip(" *")
        for line in found["Parameters"].splitlines()
        if line and not line.startswith(" ")
        for word in line.partition(" : ")[0].split(",")
    }
    assert documented == set(inspect.signature(function).parameters)


def test_the_list_of_theorems_is_not_empty():
    assert {"gaussian_rdp", "rdp_to_epsilon"} <= {
        name for name in FUNCTIONS if is_theorem(getattr(rdpkit, name))
    }


@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_but_the_subject_of_a_question_is_by_keyword(name):
    parameters = list(inspect.signature(getattr(rdpkit, name)).parameters.values())
    positional = [p.name for p in parameters if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    assert set(positional) <= {"orders", "order", "rdp", "event", "mechanism", "parameters"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_arguments_that_are_not_named_are_one_line_that_helps(name):
    function = getattr(rdpkit, name)
    parameters = inspect.signature(function).parameters.values()
    if not any(p.kind is p.KEYWORD_ONLY for p in parameters):
        return
    with pytest.raises(TypeError, match=rf"^{name}\(\) takes .* by name: {name}\(") as refused:
        function(*range(20))
    assert "\n" not in str(refused.value)


def test_only_public_names_are_listed():
    assert dir(rdpkit) == sorted(rdpkit.__all__)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_function_assumes_an_adjacency(name):
    parameter = inspect.signature(getattr(rdpkit, name)).parameters.get("adjacency")
    assert parameter is None or parameter.default is inspect.Parameter.empty


@pytest.mark.parametrize("name", CLASSES)
def test_classes_document_every_parameter(name):
    kind = getattr(rdpkit, name)
    assert kind.__doc__
    assert not kind.__doc__.startswith(f"{name}("), "the docstring that dataclasses make up"
    if issubclass(kind, enum.Enum) or kind is rdpkit.Event:
        return
    text = sections(kind).get("Parameters", "")
    said = ModuleAnalyzer.for_module(kind.__module__).find_attr_docs()
    for parameter in inspect.signature(kind).parameters:
        assert parameter in text or (kind.__name__, parameter) in said, parameter


@pytest.mark.parametrize("name", BOUND_MODULES)
def test_each_theorem_says_what_it_guarantees_and_where_it_is_from(name):
    module = importlib.import_module(name)
    own = [
        thing
        for _, thing in inspect.getmembers(module, inspect.isfunction)
        if thing.__module__ == name
    ]
    found = {heading for thing in (module, *own) for heading in sections(thing)}
    assert {"Guarantee", "Assumes", "Source"} <= found


def test_every_module_has_a_docstring():
    modules = pkgutil.walk_packages(rdpkit.__path__, "rdpkit.")
    needs = {"rdpkit.interop.opacus": "opacus", "rdpkit.tradeoffs.drawing": "matplotlib"}
    missing = [name for name, library in needs.items() if find_spec(library) is None]
    skipped = {"rdpkit.__main__", *missing}
    names = [m.name for m in modules if m.name not in skipped]
    assert len(names) > 10
    assert [name for name in names if not importlib.import_module(name).__doc__] == []
