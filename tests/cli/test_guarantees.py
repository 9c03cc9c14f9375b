"""Questions about one event: rdpkit epsilon, delta and tradeoff, and claims about them."""

import csv
import functools
import io
import json
import shlex

import pytest
from scipy.stats import norm

import rdpkit
from rdpkit import analysis
from rdpkit.cli.option_types import dashed, option_name
from rdpkit.events import MECHANISMS, parameters_of
from tests.cli.commands import ADD, EVENTS, GAUSSIAN, answer, options, run, under
from tests.events import unit

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
    text = run(question, *options(name), *QUESTIONS[question], *under(name), status=0)
    assert by_options["bound"] in text.output
    for assumption in by_options["assumptions"]:
        assert assumption in text.output


@pytest.mark.thorough
@pytest.mark.parametrize("name", EVENTS)
def test_compare_begins_with_what_is_published_and_has_the_best_bound(monkeypatch, name):
    monkeypatch.setattr(analysis, "compare", functools.cache(analysis.compare))
    question = [*options(name), "--delta", "1e-5", *under(name)]
    bounds = answer("epsilon", *question, "--bound", "all")["bounds"]
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
    done = run("epsilon", *question, "--bound", "all", status=0)
    assert "\x1b" not in done.output


def test_a_table_of_all_bounds_rounds_to_the_safe_side_and_judges_a_claim():
    question = ["epsilon", *options("ldpdc"), "--delta", "1e-5", *ADD, "--bound", "all"]
    exact = {bound["bound"]: bound for bound in answer(*question)["bounds"]}
    done = run(*question, "--claimed-epsilon", "0.001", "--format", "csv", status=1)
    assert done.stderr.startswith("claim      refuted: epsilon = 0.001 ")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["bound"] for row in rows] == list(exact)
    for row in rows:
        sign = -1 if row["kind"] == "lower" else 1
        assert sign * float(row["epsilon"]) >= sign * exact[row["bound"]]["epsilon"]
        assert (row["delta"], row["adjacency"]) == ("1e-05", "add-or-remove-one")
        assert row["assumes"] == "; ".join(exact[row["bound"]]["assumptions"])
    refuted = run(*question, "--claimed-epsilon", "0.001")
    assert (refuted.exit_code, done.stderr in refuted.stdout) == (1, True)


def test_a_table_of_all_bounds_has_an_infinite_one_only_if_no_other_is_known():
    pure = options("randomized_response")
    question = ["epsilon", *pure, "--delta", 0, "--adjacency", "replace", "--bound", "all"]
    assert [one["bound"] for one in answer(*question)["bounds"]] == ["pld-upper", "pair-lower"]
    question[-1] = "best-rdp"
    assert answer(*question)["notes"] == ["this bound gives no finite epsilon at this delta"]
    nothing = ["--delta", 0, *ADD, "--bound", "all"]
    first, _ = answer("epsilon", *GAUSSIAN, *nothing)["bounds"]
    assert (first["epsilon"], "conversion" in first) == ("inf", False)
    shown = run("epsilon", *GAUSSIAN, *nothing).stdout
    assert "note     no epsilon is known to hold with delta = 0" in shown


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
    assert answer("epsilon", path, "--delta", "1e-5", *ADD, "--bound", "all")["bounds"]


@pytest.mark.parametrize("name", ["composed", "repeated", "parallel"])
def test_events_made_of_events_have_no_options(name):
    done = run("epsilon", name, "--delta", "1e-5", *ADD, status=2)
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


@pytest.mark.parametrize("command", [[], ["epsilon"], ["delta"]])
def test_help(command):
    done = run(*command, "--help", status=0)
    assert done.stdout.startswith("Usage: ")


@pytest.mark.parametrize("name", EVENTS)
def test_the_help_of_a_mechanism_names_every_parameter(name):
    done = run("epsilon", name, "--help", status=0)
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
@pytest.mark.parametrize("command", ["epsilon", "delta", "calibrate", "sweep", "plan"])
@pytest.mark.parametrize("name", EVENTS)
def test_the_example_in_the_help_is_a_command_that_is_understood(command, name):
    if command == "plan" and MECHANISMS[name].mixing is None:
        return
    shown = run(command, name, "--help").output.partition("Example:")[2].partition("Options:")[0]
    program, *words = shlex.split(shown.replace("\\\n", " "))
    assert (program, words[:2]) == ("rdpkit", [command, name.replace("_", "-")])
    # The option that comes last counts: a value that is refused shows that all others were read.
    refused = {"delta": "--epsilon", "sweep": "--delta"}.get(command, "--delta")
    done = run(*words, refused, "-1", status=2)
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


def test_count_is_understood_by_every_question():
    question = ["delta", *GAUSSIAN, "--epsilon", "1", *ADD]
    assert answer(*question, "--count", 1) == answer(*question)
    assert answer(*question, "--count", 50) != answer(*question)


def test_a_count_is_at_least_one():
    done = run("epsilon", *GAUSSIAN, "--count", "0", "--delta", "1e-5", *ADD, status=2)
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


QUESTION = ["epsilon", *GAUSSIAN, "--delta", "1e-5", *ADD, "--claimed-epsilon"]


def test_a_sound_claim_is_status_0():
    done = run(*QUESTION, "0.73", status=0)
    assert "claim      sound: epsilon = 0.73 at delta = 1e-05 (add-or-remove-one; " in done.stdout
    assert answer(*QUESTION, "0.73")["claim"]["soundness"] == "sound"


def test_a_refuted_claim_is_status_1_with_its_reasons(tmp_path):
    done = run(*QUESTION, "0.7", status=1)
    assert done.stderr == ""
    assert "claim      refuted: epsilon = 0.7 " in done.stdout
    assert "because    D : 1 record" in done.stdout
    path = tmp_path / "claim.json"
    done = run(*QUESTION, "0.7", "-o", path)
    assert (done.exit_code, done.stderr) == (1, f"wrote {path}\n")
    found = json.loads(path.read_text())
    assert found["claim"]["claimed_epsilon"] == 0.7
    assert found["bound"] == "pld-upper"


def test_a_verdict_is_wrapped_and_stands_apart(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    _, verdict = run(*QUESTION, "0.7").stdout.split("\n\n")
    assert verdict.startswith("claim      refuted: epsilon = 0.7 at")
    assert max(map(len, verdict.splitlines())) <= 40
    assert max(map(len, run("epsilon", "gausian").stderr.splitlines()[1:-1])) <= 40


@pytest.mark.parametrize("value", ["x", "-1", "nan"])
def test_a_claim_is_a_number(value):
    done = run(*QUESTION, value, status=2)
    assert "Expected --claimed-epsilon to be a number >= 0" in done.stderr


def test_digits_are_kept_and_explained():
    done = run(*QUESTION, "0.720")
    assert "epsilon = 0.720 at" in done.stdout
    assert "last printed digit" not in done.stdout
    assert "last printed digit" in run(*QUESTION, "0.72").stdout


POISSON = options("poisson_sampled_gaussian")


@pytest.mark.parametrize(
    "name", ["gaussian", "poisson_sampled_gaussian", "custom_profile", "dpcda"]
)
def test_every_kind_of_event_has_an_answer(name):
    found = answer("tradeoff", *options(name), *ADD, "--fpr", "0.01")
    (row,) = found["curve"]
    assert 0.01 <= row["tpr"][0] <= row["tpr"][1] <= 1.0
    mu = found["gdp"]
    assert EVENTS[name]
    assert mu["enclosure"][0] <= (mu["mu"] if mu["mu"] != "inf" else float("inf"))


@pytest.mark.thorough
def test_the_command_says_what_the_library_says():
    event = unit.poisson(2.0, 0.01) * 500
    adjacency = "add_or_remove_one"
    found = answer("tradeoff", *POISSON, "--count", 500, *ADD, "--fpr", "0.01,1/4")
    assert found.pop("gdp") == rdpkit.gdp(event, adjacency=adjacency).as_dict()
    assert found == rdpkit.tradeoff(event, adjacency=adjacency).as_dict([0.01, 0.25])
    closer = answer("tradeoff", *POISSON, "--count", 500, *ADD, "--smallest-delta", "1e-6")
    expected = rdpkit.gdp(event, adjacency=adjacency, smallest_delta=1e-6)
    assert closer["gdp"] == expected.as_dict()


@pytest.mark.thorough
def test_the_mu_of_an_event_that_leaks_very_little_is_for_smaller_deltas():
    words = ("poisson-sampled-gaussian", "--noise-std", 10, "--record-norm", 1)
    found = answer("tradeoff", *words, "--sampling-probability", "1e-7", *ADD)
    assert 0.0 < found["advantage"][1] < 1e-7
    assert found["gdp"]["smallest_delta"] < 1e-16


def test_text():
    text = run("tradeoff", *GAUSSIAN, *ADD, "--fpr", "0.01").output
    tpr = norm.sf(norm.isf(0.01) - 0.2)
    assert f"{tpr:.5f}"[:6] in text
    assert "advantage   0.07966 at most" in text
    assert "mu          0.2000 at most" in text
    assert "delta >= 1e-10" in text
    text = run("tradeoff", *options("custom_profile"), *ADD).output
    assert "no pair of data sets is known" in text


def test_columns_and_files(tmp_path):
    path = tmp_path / "curve.csv"
    run("tradeoff", *GAUSSIAN, *ADD, "--fpr", "0.1,0.2", "-o", path)
    rows = list(csv.DictReader(io.StringIO(path.read_text())))
    assert [float(row["fpr"]) for row in rows] == [0.1, 0.2]
    for row in rows:
        low, high = float(row["tpr_attained"]), float(row["tpr_proven"])
        assert low <= norm.sf(norm.isf(float(row["fpr"])) - 0.2) <= high


@pytest.mark.thorough
@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_drawings_are_the_same_each_time(tmp_path, suffix):
    files = [tmp_path / f"{k}.{suffix}" for k in "ab"]
    for file in files:
        assert run("tradeoff", *GAUSSIAN, *ADD, "--plot", file).exit_code == 0
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("ending", "begins"),
    [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF"), ("tex", b"\\begin{tabular}")],
)
def test_the_end_of_a_name_says_what_is_written(tmp_path, ending, begins):
    path = tmp_path / f"curve.{ending}"
    assert run("tradeoff", *GAUSSIAN, *ADD, "-o", path).exit_code == 0
    assert path.read_bytes().startswith(begins)


def test_bad_input(tmp_path):
    done = run("tradeoff", *GAUSSIAN, *ADD, "--plot", tmp_path / "curve.eps", status=2)
    assert "Expected --plot to end in .svg, .png or .pdf" in done.output
    done = run("tradeoff", *GAUSSIAN, *ADD, "--fpr", "2", status=2)
    assert "Expected fpr in [0, 1], got 2.0." in done.output
    done = run("tradeoff", *GAUSSIAN, *ADD, "--smallest-delta", "0", status=2)
    assert "Expected smallest_delta in (0, 1), got 0.0." in done.output


class TestCalibrate:
    def test_targets_of_attacks(self):
        event = unit.gaussian(1.0)
        found = answer(
            *("calibrate", "gaussian", "--record-norm", "1", "--parameter", "noise_std"),
            *("--target-tpr", "0.05", "--at-fpr", "0.01", *ADD),
        )
        expected = rdpkit.calibrate_attack(
            event, adjacency=ADD[1], parameter="noise_std", target_tpr=0.05, at_fpr=0.01
        )
        assert found == expected.as_dict()

    def test_in_words(self):
        text = run(
            *("calibrate", "gaussian", "--record-norm", "1", "--parameter", "noise_std"),
            *("--target-advantage", "0.1", *ADD),
        ).output
        assert "target     advantage <= 0.1" in text

    def test_an_epsilon_or_an_attack(self):
        words = ["calibrate", "gaussian", "--record-norm", "1", "--parameter", "noise_std", *ADD]
        assert "Missing option '--target-epsilon'" in run(*words).output
        assert "Missing option '--delta'" in run(*words, "--target-epsilon", "1").output
        both = run(*words, "--target-mu", "1", "--delta", "1e-5", status=2)
        assert "Expected --target-mu without --delta" in both.output
        bound = run(*words, "--target-mu", "1", "--bound", "pld-upper")
        assert "Expected --target-mu without --bound." in bound.output
        two = run(*words, "--target-mu", "1", "--target-advantage", "0.1")
        assert "exactly one of" in two.output
