"""``epsilon``, ``delta`` and ``compare``: by options and by file, in words and in JSON."""

import functools
import json
import shlex

import pytest

import rdpkit
from rdpkit import analysis
from rdpkit.cli.option_types import dashed, option_name
from rdpkit.events import MECHANISMS, parameters_of
from tests.cli.commands import ADD, EVENTS, GAUSSIAN, answer, options, run, under

QUESTIONS = {"epsilon": ["--delta", "1e-5"], "delta": ["--epsilon", "1"]}
TABLE = '{mechanism = "gaussian", noise_std = 5.0, record_norm = 1.0}'
NESTED = {
    "composed": f"events = [{TABLE}, {TABLE}]",
    "repeated": f"event = {TABLE}\ncount = 3",
    "parallel": f"events = [{TABLE}, {TABLE}]\nrecord_keeps_its_part = true",
    "three deep": f"events = [{{mechanism = 'repeated', count = 2, event = {{mechanism = "
    f"'parallel', events = [{TABLE}]}}}}]",
}


def write(path, name, **extra):
    """The same in a file; JSON's numbers, strings and lists are TOML's too."""
    values = {"mechanism": name, **EVENTS[name], **extra}
    lines = (f"{k} = {json.dumps(v).replace('Infinity', 'inf')}" for k, v in values.items())
    path.write_text("\n".join(lines))
    return path


def test_every_mechanism_has_a_command_or_is_made_of_others():
    made_of_others = {
        "composed",
        "first_above_threshold",
        "fixed_size_sampled",
        "group",
        "parallel",
        "poisson_sampled",
        "repeat_and_select",
        "repeated",
    }
    assert EVENTS.keys() | made_of_others == MECHANISMS.keys()
    listed = run("epsilon", "--help").output
    assert all(name.replace("_", "-") in listed for name in EVENTS)


@pytest.mark.thorough
@pytest.mark.parametrize("name", EVENTS)
@pytest.mark.parametrize("question", QUESTIONS)
def test_options_and_files_say_the_same(tmp_path, monkeypatch, name, question):
    # The same event has the same answer, which is computed once.
    monkeypatch.setattr(analysis, "_answer", functools.cache(analysis._answer))
    by_options = answer(question, *options(name), *QUESTIONS[question], *under(name))
    own = "adjacency" in MECHANISMS[name].__dataclass_fields__
    extra = {"adjacency": "add_or_remove_one"} if own else {}
    path = write(tmp_path / "event.toml", name, **extra)
    assert answer(question, path, *QUESTIONS[question], *under(name)) == by_options
    assert by_options["adjacency"] == under(name)[1]
    assert by_options["kind"] == "upper"
    assert by_options.keys() >= {"bound", "epsilon", "delta", "assumptions", "notes"}
    text = run(question, *options(name), *QUESTIONS[question], *under(name))
    assert text.exit_code == 0
    assert by_options["bound"] in text.output
    for assumption in by_options["assumptions"]:
        assert assumption in text.output


@pytest.mark.thorough
@pytest.mark.parametrize("name", EVENTS)
def test_compare_begins_with_what_is_published_and_has_the_best_bound(monkeypatch, name):
    monkeypatch.setattr(analysis, "compare", functools.cache(analysis.compare))
    question = [*options(name), "--delta", "1e-5", *under(name)]
    bounds = answer("compare", *question)["bounds"]
    kinds = [bound["kind"] for bound in bounds]
    order = ["published", "upper", "lower"]
    assert kinds == sorted(kinds, key=order.index)
    best = answer("epsilon", *question)
    uppers = [b for b in bounds if b["kind"] == "upper"]
    # A loss distribution is laid out on a grid that depends on who asks; the number does not.
    if isinstance(best["epsilon"], str):
        assert uppers[0]["epsilon"] == best["epsilon"] == "inf"
    else:
        assert uppers[0]["epsilon"] == pytest.approx(best["epsilon"], rel=1e-3)
    done = run("compare", *question)
    assert done.exit_code == 0
    assert "\x1b" not in done.output


@pytest.mark.parametrize("name", NESTED)
def test_events_made_of_events_come_from_files(tmp_path, name):
    path = tmp_path / "event.toml"
    mechanism = name if name in MECHANISMS else "composed"
    path.write_text(f"mechanism = '{mechanism}'\n{NESTED[name]}\n")
    one = answer("epsilon", *GAUSSIAN, "--delta", "1e-5", *ADD, "--bound", "gaussian")
    found = answer("epsilon", path, "--delta", "1e-5", *ADD, "--bound", "gaussian")
    # Certified ends of different sums: the same number up to the width of its enclosure.
    factor = {"composed": 1.2, "repeated": 1.4, "parallel": 0.999999, "three deep": 1.2}[name]
    assert found["epsilon"] >= one["epsilon"] * factor
    assert answer("compare", path, "--delta", "1e-5", *ADD)["bounds"]


@pytest.mark.parametrize("name", ["composed", "repeated", "parallel"])
def test_events_made_of_events_have_no_options(name):
    done = run("epsilon", name, "--delta", "1e-5", *ADD)
    assert done.exit_code == 2
    assert "describe it in a TOML file" in done.stderr


def test_the_command_line_and_the_library_agree():
    event = rdpkit.event_from_parameters("dpcda", EVENTS["dpcda"])
    direct = rdpkit.epsilon(event, delta=1e-5, adjacency="replace_one", bound="dpcda-theorem1")
    words = [*options("dpcda"), "--delta", "1e-5", "--adjacency", "replace_one"]
    found = answer("epsilon", *words, "--bound", "dpcda-theorem1")
    assert found == direct.as_dict()
    assert found["kind"] == "published"


def test_conversions():
    words = ["epsilon", *GAUSSIAN, "--delta", "1e-5", *ADD, "--bound", "gaussian", "--conversion"]
    mironov, balle = (answer(*words, name)["epsilon"] for name in ("mironov2017", "balle2020"))
    assert mironov > balle


def test_an_infinite_epsilon_is_a_word():
    words = [*options("dpcda"), "--preprocessing", "exact-z-score", "--delta", "1e-5", *ADD]
    assert answer("epsilon", *words)["epsilon"] == "inf"
    assert "inf" in run("epsilon", *words).output


@pytest.mark.parametrize("command", [[], ["epsilon"], ["delta"], ["compare"]])
def test_help(command):
    done = run(*command, "--help")
    assert done.exit_code == 0
    assert done.stdout.startswith("Usage: ")


@pytest.mark.parametrize("name", EVENTS)
def test_the_help_of_a_mechanism_names_every_parameter(name):
    done = run("epsilon", name, "--help")
    assert done.exit_code == 0
    for parameter in parameters_of(MECHANISMS[name]):
        assert "--" + dashed(option_name(parameter.name)) in done.output


def test_one_number_of_samples_is_for_every_class():
    one, two = (
        [shown if word == "5,7" else word for word in [*options("dpcda"), "--delta", "1e-5", *ADD]]
        for shown in ("5", "5,5")
    )
    assert answer("epsilon", *one) == answer("epsilon", *two)


@pytest.mark.parametrize("epsilon", [3, 5, 20])
def test_a_delta_too_small_for_a_float_is_not_zero(epsilon):
    found = answer("delta", *GAUSSIAN, "--epsilon", epsilon, *ADD)
    assert found["delta"] > 0.0


def test_names_are_spelled_with_dashes_and_underscores_are_accepted():
    question = ["--delta", "1e-5"]
    one = answer("epsilon", *GAUSSIAN, *question, "--adjacency", "replace_one")
    for adjacency in ("replace-one", "replace"):
        assert answer("epsilon", *GAUSSIAN, *question, "--adjacency", adjacency) == one
    for adjacency in ("add-or-remove-one", "add-remove"):
        other = answer("epsilon", *GAUSSIAN, *question, "--adjacency", adjacency)
        assert other["adjacency"] == "add_or_remove_one"
    name, *words = options("poisson_sampled_gaussian")
    both = [answer("epsilon", n, *words, *question, *ADD) for n in (name, name.replace("_", "-"))]
    assert both[0] == both[1]
    assert name.replace("_", "-") in run("epsilon", name, "--help").output


def test_help_comes_from_the_docstring():
    shown = " ".join(run("epsilon", "gaussian", "--help").output.split())
    for text in (
        "The sum of the records' vectors plus Gaussian noise, released once.",
        "Standard deviation of the noise in each coordinate, in the units of the sum",
        "Largest L2 norm of one record's vector",
    ):
        assert text in shown


@pytest.mark.thorough
@pytest.mark.parametrize("command", ["epsilon", "delta", "compare", "calibrate", "sweep", "plan"])
@pytest.mark.parametrize("name", EVENTS)
def test_the_example_in_the_help_is_a_command_that_is_understood(command, name):
    if command == "plan" and MECHANISMS[name].mixing is None:
        return
    shown = run(command, name, "--help").output.partition("Example:")[2].partition("Options:")[0]
    program, *words = shlex.split(shown.replace("\\\n", " "))
    assert (program, words[:2]) == ("main", [command, name.replace("_", "-")])
    # The option that comes last counts: a value that is refused shows that all others were read.
    refused = {"delta": "--epsilon", "sweep": "--delta"}.get(command, "--delta")
    done = run(*words, refused, "-1")
    assert done.exit_code == 2
    assert "-1" in done.stderr
    assert "No such option" not in done.stderr


def test_an_event_is_counted_by_an_option_by_its_file_or_by_both(tmp_path):
    path = tmp_path / "event.toml"
    path.write_text(TABLE[1:-1].replace(", ", "\n"))
    question = ["--delta", "1e-5", *ADD]
    three = answer("epsilon", *GAUSSIAN, "--count", "3", *question)
    assert answer("epsilon", path, "--count", 3, *question) == three
    path.write_text(f"mechanism = 'repeated'\ncount = 3\nevent = {TABLE}")
    assert answer("epsilon", path, *question) == three
    thirty = answer("epsilon", *GAUSSIAN, "--count", "3e1", *question)
    assert answer("epsilon", path, "--count", 10, *question) == thirty
    assert thirty["epsilon"] > three["epsilon"]


@pytest.mark.parametrize("command", ["delta", "compare"])
def test_count_is_understood_by_every_question(command):
    target = ["--epsilon", "1"] if command == "delta" else ["--delta", "1e-5"]
    question = [command, *GAUSSIAN, *target, *ADD]
    assert answer(*question, "--count", 1) == answer(*question)
    assert answer(*question, "--count", 50) != answer(*question)


def test_a_count_is_at_least_one():
    done = run("epsilon", *GAUSSIAN, "--count", "0", "--delta", "1e-5", *ADD)
    assert done.exit_code == 2
    assert "Expected count to be an integer >= 1, got 0." in done.stderr


@pytest.mark.thorough
def test_what_a_pair_attains_is_shown_if_it_is_asked_for():
    sampled = options("poisson_sampled_gaussian")
    question = ["epsilon", *sampled, "--count", "100", "--delta", "1e-5", *ADD]
    assert "lower" not in run(*question).stdout
    shown = run(*question, "--lower").stdout
    found = answer(*question, "--lower")
    assert 0.99 * found["epsilon"] < found["lower"] <= found["epsilon"]
    assert "lower      epsilon >= " in shown
    about_delta = run("delta", *sampled, "--epsilon", "0.1", *ADD, "--lower").stdout
    assert "lower      delta >= " in about_delta
