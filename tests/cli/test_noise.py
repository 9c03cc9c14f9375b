"""How much noise it takes: rdpkit calibrate and rdpkit plan."""

import csv
import io
import json

import pytest

import rdpkit
from rdpkit.events import MECHANISMS, event_from_parameters
from tests.cli.commands import ADD, EVENTS, answer, options, run, under, words
from tests.events import unit
from tests.events.examples import WITHOUT_RENYI

TARGET = ["--target-epsilon", "1", "--delta", "1e-5"]
# Certified loss distributions take fifteen times as long; a test of what is printed asks for them.
QUICK = ["--bound", "best-rdp"]
POISSON = ["poisson_sampled_gaussian", "--record-norm", "1", "--sampling-probability", "0.01"]


def first_parameter(name):
    """The parameter of a mechanism that is calibrated first: its noise, where it has one."""
    own = "adjacency" in MECHANISMS[name].__dataclass_fields__
    extra = {"adjacency": "add_or_remove_one"} if own else {}
    rules = event_from_parameters(name, {**EVENTS[name], **extra}).free_parameters()
    known = sorted(rules, key=lambda key: (rules[key].private <= 0, "feature" not in key, key))
    return known[0] if known else None


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in EVENTS if first_parameter(name)])
def test_what_is_calibrated_may_be_left_out(name):
    parameter = first_parameter(name)
    quick = [] if name in WITHOUT_RENYI else QUICK
    ask = ["--parameter", parameter.replace("_", "-"), *TARGET, *under(name), *quick]
    given = answer("calibrate", *options(name), *ask)
    left_out = [parameter] if parameter not in ("class_sizes",) else []
    found = answer("calibrate", *options(name, left_out), *ask)
    assert found["certified"]
    assert found["guarantee"]["epsilon"] <= 1.0
    assert found["values"].keys() == {parameter}
    # Where the search begins hardly matters.
    if isinstance(found["values"][parameter], float):
        rel = 1e-3 if name in WITHOUT_RENYI else 1e-6
        assert found["values"][parameter] == pytest.approx(given["values"][parameter], rel=rel)
    else:
        assert found["values"] == given["values"]


@pytest.mark.thorough
def test_what_it_prints_is_what_the_library_finds():
    training = unit.poisson(1.0, 0.01) * 100
    expected = rdpkit.calibrate(
        training,
        target_epsilon=1.0,
        delta=1e-5,
        adjacency="add_or_remove_one",
        parameter="event.noise_std",
    )
    arguments = [*POISSON, "--count", "100", "--parameter", "noise_std", *TARGET, *ADD]
    found = answer("calibrate", *arguments)
    assert found["values"] == {"event.noise_std": expected.value}
    assert found["misses"] == dict(expected.misses)
    text = run("calibrate", *arguments, status=0)
    # All digits: a rounded noise might miss the target.
    assert f"event.noise_std {expected.value!r}\n" in text.output
    assert "certified       yes" in text.output
    assert "pld-upper (upper)" in text.output
    assert "target          1, of which" in text.output


@pytest.mark.thorough
def test_how_often():
    arguments = [*POISSON, "--noise-std", "1", "--parameter", "count", *TARGET, *ADD]
    found = answer("calibrate", *arguments)
    assert found["values"] == {"count": found["misses"]["count"] - 1}
    text = run("calibrate", *arguments)
    assert f"misses     count = {found['misses']['count']}" in text.output


def test_several_and_ratios():
    mix = options("dpmix", ["feature_noise", "label_noise"])
    ask = [*TARGET, *ADD, *QUICK]
    ratio = answer("calibrate", *mix, "--parameter", "feature_noise=1,label_noise=2", *ask)
    values = ratio["values"]
    assert values["label_noise"] == pytest.approx(2.0 * values["feature_noise"], rel=1e-15)
    both = [*options("dpmix"), "--parameter", "feature_noise", "--parameter", "label_noise"]
    kept = answer("calibrate", *both, *ask)["values"]
    assert kept["label_noise"] == kept["feature_noise"]
    missing = run("calibrate", *mix, "--parameter", "feature_noise,label_noise", *ask, status=2)
    assert "Missing option '--feature-noise'" in missing.stderr


@pytest.mark.parametrize(
    ("inner", "parameter", "path"),
    [
        ("noise_std = 2.0, record_norm = 1.0", "events[1].count", "events[1].count"),
        ("record_norm = 1.0", "event.noise_std", "events[1].event.noise_std"),
        ("record_norm = 1.0", "events[1].event.noise_std", "events[1].event.noise_std"),
    ],
)
def test_files(tmp_path, inner, parameter, path):
    file = tmp_path / "event.toml"
    count = "" if "count" in parameter else ", count = 3"
    file.write_text(
        'mechanism = "composed"\n'
        'events = [{mechanism = "gaussian", noise_std = 9.0, record_norm = 1.0}, '
        f'{{mechanism = "repeated"{count}, event = {{mechanism = "gaussian", {inner}}}}}]\n'
    )
    found = answer("calibrate", file, "--parameter", parameter, *TARGET[:1], "5", *TARGET[2:], *ADD)
    assert list(found["values"]) == [path]
    assert found["guarantee"]["epsilon"] <= 5.0


@pytest.mark.thorough
def test_a_target_out_of_reach_is_status_1_and_one_line():
    arguments = ["gaussian", "--record-norm", "1", "--parameter", "noise_std", "--conversion"]
    asked = ["mironov2017", "--target-epsilon", "1e-5", *TARGET[2:], *ADD]
    done = run("calibrate", *arguments, *asked, status=1)
    assert done.stdout == ""
    assert done.stderr.startswith("Error: target_epsilon 1e-05 cannot be reached by raising")
    assert done.stderr.count("\n") == 1
    effect = run(
        "calibrate", *options("dpcda"), "--parameter", "label_noise", *TARGET, *ADD, status=1
    )
    assert "does not depend on label_noise" in effect.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gaussian", "--record-norm", "1", "--parameter", "noise"], "Did you mean 'noise_std'?"),
        ([*POISSON, "--noise-std", "1", "--parameter", "nothing"], "Expected parameter to be one"),
        ([*POISSON, "--parameter", "noise_std=1,record_norm"], "is not NAME, NAME,NAME"),
        ([*POISSON, "--parameter", "noise_std=x"], "is not a ratio like"),
        ([*POISSON, "--parameter", "noise_std", "--bound", "nothing"], "Expected bound to be"),
        (
            [*POISSON, "--parameter", "noise_std", "--prefer", "largest"],
            "Expected prefer to be None",
        ),
        ([*POISSON, "--parameter", ""], "is not NAME"),
        (["gaussian", "--record-norm", "1", "--count", "0"], "Expected count to be an integer"),
        (["repeated"], "repeated is made of other events"),
    ],
)
def test_bad_input_is_status_2(arguments, message):
    done = run("calibrate", *arguments, *TARGET, *ADD, status=2)
    assert done.stdout == ""
    assert message in done.stderr


@pytest.mark.parametrize("missing", ["--target-epsilon", "--delta", "--adjacency"])
def test_nothing_has_a_default_that_should_not(missing):
    words = [*POISSON, "--parameter", "noise_std", *TARGET, *ADD]
    place = words.index(missing)
    done = run("calibrate", *words[:place], *words[place + 2 :], status=2)
    assert f"Missing option '{missing}'" in done.stderr


def test_the_parameter_that_is_left_out_is_found(tmp_path):
    question = [*TARGET, *ADD, "--format", "json"]
    named = run(
        "calibrate", "gaussian", "--record-norm", "1", "--parameter", "noise_std", *question
    )
    inferred = run("calibrate", "gaussian", "--record-norm", "1", *question, status=0)
    assert inferred.stdout == named.stdout
    file = tmp_path / "event.toml"
    file.write_text(
        "mechanism = 'repeated'\ncount = 1\n[event]\nmechanism = 'gaussian'\nrecord_norm = 1.0\n"
    )
    assert json.loads(run("calibrate", file, *question).stdout)["values"].keys() == {
        "event.noise_std"
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "leave out the one that is to be found; --noise-std, --record-norm are left out."),
        (["--noise-std", "1", "--record-norm", "1"], "to be found; all are given."),
    ],
)
def test_what_to_find_is_no_guess(given, message):
    done = run("calibrate", "gaussian", *given, *TARGET, *ADD, status=2)
    assert message in done.stderr


def test_files_that_describe_nothing(tmp_path):
    file = tmp_path / "event.toml"
    for content, message in [
        ("mechanism = 3", "expected a key 'mechanism'"),
        ('mechanism = "gaussian"\nnoise = 1.0', "Unknown parameter 'noise'"),
        ('mechanism = "repeated"\ncount = 2\nevent = 3', "to be a table"),
        ("= 1", "not a TOML file"),
    ]:
        file.write_text(content)
        done = run("calibrate", file, "--parameter", "noise_std", *TARGET, *ADD, status=2)
        assert message in done.stderr
        assert done.stderr.count("\n") == 1


def test_help_lists_the_mechanisms():
    listed = run("calibrate", "--help").output
    assert all(name.replace("_", "-") in listed for name in MECHANISMS if name in EVENTS)
    assert "out of reach" in listed


CDA = ["dpcda", "--class-sizes", "600,700", "--clip-norm", "1"]
ORDERS = ["--orders-of-mixture", "4,16,64"]
# Certified loss distributions take fifteen times as long; one test asks for them.


def test_three_formats_say_the_same():
    arguments = [*CDA, "--samples-per-class", "50", *ORDERS, *TARGET, *ADD, *QUICK]
    found = answer("plan", *arguments)
    assert found["best"]["order_of_mixture"] == 16
    assert found["guarantee"]["rigorous"]
    rows = list(csv.DictReader(io.StringIO(run("plan", *arguments, "--format", "csv").stdout)))
    assert [int(row["order_of_mixture"]) for row in rows] == [4, 16, 64]
    assert [float(row["noise"]) for row in rows] == [c["noise"] for c in found["choices"]]
    text = run("plan", *arguments, status=0)
    assert text.stderr == ""
    assert "order of mixture 16\n" in text.stdout
    assert f"noise            {found['best']['noise']!r}\n" in text.stdout
    assert "16 *" in text.stdout
    assert "signal-to-noise ratio of a release" in text.stdout


@pytest.mark.thorough
def test_releases_are_listed_instead_of_given():
    arguments = [*CDA, *ORDERS, *TARGET, *ADD, *QUICK]
    listed = answer("plan", *arguments, "--releases", "10,50", "--objective", "total-variation")
    assert [c["releases"] for c in listed["choices"]] == [10, 10, 10, 50, 50, 50]
    assert listed["best"]["releases"] == 50
    one = answer("plan", *arguments, "--samples-per-class", "50")
    for key in ("noise", "variation"):
        assert [c[key] for c in one["choices"]] == pytest.approx(
            [c[key] for c in listed["choices"][3:]], rel=1e-6
        )
    done = run("plan", *arguments, status=2)
    assert "Missing option '--releases' or '--samples-per-class'" in done.stderr


@pytest.mark.thorough
def test_soft_labels(tmp_path):
    arguments = words("--population-size 1000 --feature-dimension 50 --label-dimension 10")
    ask = [*ORDERS, *TARGET, *ADD, *QUICK]
    done = answer(
        *("plan", "dpmix", *arguments, "--releases", "20", "--label-shares", "0.2,0.5", *ask)
    )
    assert done["best"]["label_share"] == 0.5
    assert len(done["choices"]) == 6
    missing = run("plan", "dpmix", *arguments, *ask, status=2)
    assert "Missing option '--releases'" in missing.stderr
    text = run("plan", "dpmix", *arguments, "--releases", "20", *ask)
    assert "label share" in text.stdout
    file = tmp_path / "event.toml"
    file.write_text(
        'mechanism = "dpmix"\npopulation_size = 1000\nfeature_dimension = 50\n'
        "label_dimension = 10\nreleases = 20\n"
    )
    best = answer("plan", file, *ask)["best"]
    assert best["order_of_mixture"] == done["best"]["order_of_mixture"]
    # Where a search begins changes its last digits.
    assert best["noise"] == pytest.approx(done["best"]["noise"], rel=1e-6)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["class_wise_dpmix", "ldpdc", "ndpdc"])
def test_other_mechanisms(name):
    found = answer("plan", *options(name), "--orders-of-mixture", "16", *TARGET, *ADD)
    assert found["mechanism"] == name
    assert found["guarantee"]["epsilon"] <= 1.0


def test_out_of_reach_is_status_1():
    arguments = [*CDA, "--samples-per-class", "5", "--preprocessing", "exact-z-score"]
    done = run("plan", *arguments, "--orders-of-mixture", "4", *TARGET, *ADD, status=1)
    assert done.stdout == ""
    assert done.stderr.startswith("Error: No choice meets the target. ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gaussian"], "Expected EVENT to be one of dpmix, class-wise-dpmix, dpcda, ldpdc, ndpdc"),
        ([*CDA, "--releases", "5", "--orders-of-mixture", "x"], "'x' is not a list of integers"),
        ([*CDA, "--releases", "5", "--orders-of-mixture", "601"], "Expected orders_of_mixture"),
        ([*CDA, "--releases", "5", "--label-shares", "0.5"], "Expected label_shares to be None"),
        ([*CDA, "--releases", "5", "--label-shares", "x"], "'x' is not a list of numbers"),
        (["dpcda", "--class-sizes", "600", "--releases", "5"], "Missing option '--clip-norm'"),
    ],
)
def test_bad_input_of_a_plan_is_status_2(arguments, message):
    done = run("plan", *arguments, *TARGET, *ADD, status=2)
    assert done.stdout == ""
    assert message in done.stderr


def test_a_file_of_another_kind_is_refused(tmp_path):
    file = tmp_path / "event.toml"
    file.write_text('mechanism = "gaussian"\nnoise_std = 1.0\nrecord_norm = 1.0\n')
    done = run("plan", file, "--releases", "5", *TARGET, *ADD, status=2)
    assert "which can be planned, got 'gaussian'" in done.stderr
