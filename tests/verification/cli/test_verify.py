"""``rdpkit verify``."""

import json
import shlex
from functools import partial

import numpy as np
import pytest

from rdpkit.verification.blackbox import zoo
from tests.cli import commands
from tests.processes import loaded

MODULE = """
import numpy as np

import rdpkit

_KEPT = np.random.default_rng(7)


def total(dataset):
    norms = np.linalg.norm(dataset.features, axis=1, keepdims=True)
    return (dataset.features / np.maximum(1.0, norms)).sum(axis=0)


def unclipped(dataset, rng):
    return dataset.features.sum(axis=0) + rng.normal(0.0, 2.0, dataset.dimension)


def weak(dataset, rng):
    return total(dataset) + rng.normal(0.0, 0.6, dataset.dimension)


def good(dataset, rng):
    return total(dataset) + rng.normal(0.0, 2.0, dataset.dimension)


def kept(dataset, rng):
    return total(dataset) + _KEPT.normal(0.0, 2.0, dataset.dimension)


def breaks(dataset, rng):
    raise RuntimeError("no such\\nluck")


class Described:
    # It says what it claims.

    event = rdpkit.Gaussian(noise_std=2.0, record_norm=1.0)
    adjacency = "add_or_remove_one"

    def __init__(self, std):
        self.std = std

    def __call__(self, dataset, rng):
        return total(dataset) + rng.normal(0.0, self.std, dataset.dimension)

    def neighbours(self):
        one = np.array([[1.0, 0.0], [0.0, 0.0]])
        return (one, [0, 0]), (one[1:], [0])


sound, unsound = Described(2.0), Described(0.8)


class Holder:
    @staticmethod
    def inner(dataset, rng):
        print("a mechanism may talk")
        return good(dataset, rng)
"""
EVENT = """
mechanism = "gaussian"
noise_std = 2.0
record_norm = 1.0
"""
ADD = ["--adjacency", "add_or_remove_one"]
WORST = ["--event", "event.toml", *ADD, "--dimension", "2", "--score", "linear"]
QUICK = ["--samples", "4000", "--jobs", "1"]


@pytest.fixture
def folder(tmp_path, own_module):
    """A directory of one's own with a mechanism and an event; the name of its module."""
    (tmp_path / "event.toml").write_text(EVENT)
    return own_module(MODULE)


invoke = partial(commands.run, "verify")


def as_json(*arguments):
    result = invoke(*arguments, "--format", "json")
    assert result.exit_code in (0, 1), result.output
    return json.loads(result.stdout), result.exit_code


def test_a_broken_mechanism():
    found, status = as_json("half-sensitivity", "--seed", "1", "--jobs", "1")
    assert status == 1
    assert found["verdict"] == "rejected"
    assert found["test"]["false_alarm_rate"] == 0.05
    assert found["adjacency"] == "replace_one"


def test_a_fixed_one():
    found, status = as_json("half-sensitivity-fixed", "--seed", "1", *QUICK)
    assert status == 0
    assert found["verdict"] == "not rejected"


@pytest.mark.thorough
def test_text_for_people():
    result = invoke("seeded-generator", "--seed", "1", "--jobs", "1")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0] == "target      seeded-generator"
    assert "verdict     rejected (false-alarm rate 0.05)" in lines
    assert any(line.startswith("mistake     fixed_seed: All 171 runs on D") for line in lines)
    assert lines[-2] == "seed        1"
    assert lines[-1].startswith("replay      rdpkit verify seeded-generator")
    passed = invoke("seeded-generator-fixed", "--seed", "1", *QUICK).stdout
    assert "a claim that is not rejected is not proven" in passed


@pytest.mark.thorough
@pytest.mark.parametrize("target", ["subset-once", "noise-reused", "float32-noise-fixed"])
def test_the_replay_gives_the_identical_result(target):
    first = invoke(target, "--samples", "30000", "--jobs", "1", "--format", "json")
    found = json.loads(first.stdout)
    words = shlex.split(found["replay"])
    assert words[:3] == ["rdpkit", "verify", target]
    assert str(found["seed"]) in words
    again = invoke(*words[2:], "--format", "json")
    assert again.stdout == first.stdout
    assert again.exit_code == first.exit_code


@pytest.mark.thorough
@pytest.mark.usefixtures("one_process")
@pytest.mark.parametrize("mechanism", ["weak", "good", "Holder.inner"])
def test_the_replay_of_ones_own_mechanism(folder, mechanism):
    # With a time budget, how many runs are made depends on the machine; the replay does not.
    options = [*WORST, "--records", "3", "--alpha", "0.01", "--time-budget", "2"]
    first = invoke(f"{folder}:{mechanism}", *options, "--format", "json")
    found = json.loads(first.stdout)
    assert "--time-budget" not in found["replay"]
    again = invoke(*shlex.split(found["replay"])[2:], "--format", "json")
    assert json.loads(again.stdout) == found


@pytest.mark.thorough
@pytest.mark.usefixtures("one_process")
@pytest.mark.parametrize("mechanism", ["weak", "good", "Holder.inner"])
def test_the_verdict_on_ones_own_mechanism(folder, mechanism):
    options = [*WORST, "--records", "3", "--samples", "20000", "--seed", "1", "--format", "json"]
    found = json.loads(invoke(f"{folder}:{mechanism}", *options).stdout)
    assert found["verdict"] == ("rejected" if mechanism == "weak" else "not rejected")


@pytest.mark.thorough
@pytest.mark.usefixtures("one_process")
def test_random_pairs(folder):
    options = ["--epsilon", "0.5", "--delta", "0.01", *ADD, "--dimension", "2"]
    options += ["--record-norm", "1", "--records", "4", "--pairs", "5", "--score", "linear"]
    options += ["--neighbours", "random"]
    found, status = as_json(f"{folder}:weak", *options, "--samples", "12000", "--seed", "3")
    assert (status, found["verdict"]) == (1, "rejected")
    assert any("random pair" in line for line in found["pair"])
    again, _ = as_json(*shlex.split(found["replay"])[2:])
    assert again == found


@pytest.mark.thorough
@pytest.mark.usefixtures("one_process")
def test_records_beyond_the_norm_are_tried_unless_there_are_none(folder):
    options = ["--event", "event.toml", *ADD, "--score", "linear", *QUICK, "--seed", "1"]
    found, status = as_json(f"{folder}:unclipped", *options)
    assert (status, found["verdict"]) == (1, "rejected")
    assert any("say so with --record-norm 1" in line for line in found["pair"])
    found, status = as_json(f"{folder}:unclipped", *options, "--record-norm", "1")
    assert (status, found["verdict"]) == (0, "not rejected")


@pytest.mark.usefixtures("one_process")
def test_data_sets_of_ones_own(folder, tmp_path):
    np.savez(tmp_path / "pair.npz", features=np.ones((1, 2)), features_prime=np.zeros((0, 2)))
    options = ["--epsilon", "0.5", "--delta", "0.01", *ADD, "--score", "linear"]
    found, status = as_json(f"{folder}:weak", *options, "--neighbours", "pair.npz", *QUICK)
    assert status == 1
    assert "from pair.npz" in found["pair"]
    same = invoke(
        f"{folder}:weak",
        "--epsilon",
        "0.5",
        "--delta",
        "0.01",
        "--adjacency",
        "replace_one",
        "--neighbours",
        "pair.npz",
    )
    assert same.exit_code == 2
    assert "to be neighbours under replace_one" in same.stderr


@pytest.mark.thorough
@pytest.mark.usefixtures("one_process")
def test_a_mechanism_with_a_claim_of_its_own(folder):
    options = ["--score", "linear", "--samples", "8000", "--seed", "1"]
    assert invoke(f"{folder}:sound", *options).exit_code == 0
    found, status = as_json(f"{folder}:unsound", *options)
    assert (status, found["verdict"], found["adjacency"]) == (1, "rejected", "add_or_remove_one")
    assert "the target's own pair" in found["pair"]
    again, _ = as_json(*shlex.split(found["replay"])[2:])
    assert again == found


@pytest.mark.usefixtures("one_process")
@pytest.mark.parametrize(
    ("options", "claim", "pair"),
    [
        # Its event at one point; another claim on its own data sets.
        (["--delta", "0.01"], "-DP of gaussian, by ", "own pair"),
        (["--epsilon", "1", "--delta", "0.1", *ADD], "(1, 0.1)-DP", "own pair"),
        # Its own claim on other data sets: under another relation its own are no neighbours.
        (["--adjacency", "replace_one", "--dimension", "2"], "gaussian: DP at", "replace_one"),
        *(
            pytest.param(*more, marks=pytest.mark.thorough)
            for more in (
                (["--view", "rdp"], "gaussian: RDP", "own pair"),
                (["--event", "event.toml", *ADD], "gaussian: DP at", "own pair"),
                (["--dimension", "3"], "gaussian: DP at", "of 3 features"),
                (["--neighbours", "worst", "--dimension", "2"], "gaussian: DP at", "of 2 features"),
            )
        ),
    ],
)
def test_its_own_claim_and_data_sets_give_way_to_options(folder, options, claim, pair):
    found, _ = as_json(f"{folder}:sound", *options, "--score", "linear", *QUICK, "--seed", "1")
    assert found["claim"].find(claim) >= 0, found["claim"]
    assert any(pair in line for line in found["pair"]), found["pair"]


@pytest.mark.thorough
@pytest.mark.usefixtures("one_process")
def test_a_number_of_features_that_nobody_states_is_found(folder):
    options = ["--event", "event.toml", *ADD, "--score", "linear", *QUICK, "--seed", "1"]
    found, _ = as_json(f"{folder}:good", *options)
    assert any("5 features, because the code runs on them" in line for line in found["pair"])
    # A mechanism of the zoo runs on as many as its own pair has.
    found, _ = as_json("half-sensitivity", "--neighbours", "worst", *QUICK, "--seed", "1")
    assert any("of 2 features" in line for line in found["pair"])


@pytest.mark.thorough
def test_a_generator_seeded_at_import(folder):
    # At a false-alarm rate of 0.2 it takes fewer new processes, which saves time.
    options = ["--epsilon", "1", "--delta", "0.001", *ADD, "--dimension", "2", "--alpha", "0.2"]
    found, status = as_json(f"{folder}:kept", *options, "--score", "linear", *QUICK, "--seed", "1")
    assert status == 1
    assert [mistake["kind"] for mistake in found["mistakes"]] == ["seed_at_import"]
    # The releases of the new processes.
    assert found["runs"] > 0
    assert any("does not come from rng" in note for note in found["notes"])


@pytest.mark.thorough
def test_a_sound_one_in_fresh_processes(folder):
    found, status = as_json(f"{folder}:Holder.inner", *WORST, *QUICK, "--seed", "1")
    assert (status, found["mistakes"], found["notes"]) == (0, [], [])


@pytest.mark.usefixtures("one_process")
def test_strict_counts_diagnostics(folder):
    options = [*WORST, "--samples", "200", "--training", "20", "--jobs", "1", "--seed", "1"]
    found, status = as_json(f"{folder}:good", *options)
    assert found["diagnostics"]
    assert status == 0
    assert invoke(f"{folder}:good", *options, "--strict").exit_code == 1


@pytest.mark.thorough
@pytest.mark.usefixtures("one_process")
def test_an_event_with_a_delta(folder):
    found, _ = as_json(f"{folder}:good", *WORST, "--delta", "0.01", *QUICK)
    assert found["claim"].endswith("-DP of gaussian, by pld-upper")
    found, _ = as_json(f"{folder}:good", *WORST, "--epsilon", "1", *QUICK)
    assert found["claim"].startswith("(1, ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Expected exactly one of TARGET, --library, --zoo and --list"),
        (["--zoo", "--list"], "Expected exactly one of"),
        (["nonsense"], "Expected TARGET to be module:callable, or one of subset-once"),
        (["json:dumps"], "Expected a claim: --event FILE.toml, or --epsilon and --delta"),
        (["json:dumps", "--epsilon", "1", "--delta", "0.1"], "Expected --adjacency, one of add"),
        (["json:dumps", "--epsilon", "1", *ADD], "Expected both --epsilon and --delta"),
        (
            ["json:dumps", "--epsilon", "1", "--delta", "0.1", *ADD],
            "each of 16 numbers of features from 1 to 3072. With 5 features: json:dumps raised",
        ),
        (
            ["json:dumps", "--epsilon", "1", "--delta", "0.1", *ADD, "--neighbours", "worst"],
            "Expected an event with worst neighbours",
        ),
        (
            ["json:dumps", "--epsilon", "1", "--delta", "0.1", *ADD, "--neighbours", "some.txt"],
            "to be adversarial, worst, random, own or a file FILE.npz, got 'some.txt'",
        ),
        (["half-sensitivity", "--alpha", "2"], "Expected --alpha in (0, 1), got 2.0"),
        (["half-sensitivity", "--backend", "nonsense"], "--backend nonsense"),
        (["json:dumps", "--event", "missing.toml", *ADD], "missing.toml"),
        (["--zoo", "--epsilon", "1"], "Expected no --epsilon with --zoo"),
        (["json:dumps", "--epsilon", "-1", "--delta", "0.1", *ADD], "Expected epsilon"),
    ],
)
def test_bad_usage(arguments, message):
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


@pytest.mark.usefixtures("one_process")
def test_a_mechanism_that_fails_is_bad_input(folder):
    result = invoke(f"{folder}:breaks", *WORST)
    assert result.exit_code == 2
    assert "raised RuntimeError: no such luck" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("event", "options", "message"),
    [
        (
            'mechanism = "ldpdc"\nclass_sizes = [6, 6]\ngroup_size = 2\nsamples_per_class = 1\n'
            "noise_std = 9.0\nvalue_bound = 1.0\ndimension = 3\n",
            ["--dimension", "4"],
            "Expected dimension (--dimension) to be 3, as the event says, got 4",
        ),
        (
            'mechanism = "custom_rdp"\norders = [2.0]\nvalues = [0.1]\n'
            'adjacency = "add_or_remove_one"\n',
            ["--dimension", "2", "--neighbours", "worst"],
            "is known for the mechanism 'custom_rdp'",
        ),
    ],
)
def test_worst_pairs_that_there_are_not(folder, tmp_path, event, options, message):
    (tmp_path / "other.toml").write_text(event)
    result = invoke(f"{folder}:good", "--event", "other.toml", *ADD, *options)
    assert result.exit_code == 2
    assert message in result.stderr


def test_the_list():
    text = invoke("--list")
    assert text.exit_code == 0
    found, _ = as_json("--list")
    assert [entry["name"] for entry in found["zoo"]] == list(zoo.ENTRIES)
    for name in zoo.ENTRIES:
        assert f"{name}, {name}-fixed" in text.stdout


@pytest.mark.thorough
def test_the_zoo(monkeypatch):
    few = ("half-sensitivity", "half-sensitivity-fixed", "noise-reused")
    monkeypatch.setattr(zoo, "NAMES", few)
    options = ["--zoo", "--repeats", "3", "--seed", "1", "--samples", "20000", "--jobs", "1"]
    found, status = as_json(*options)
    assert status == 0
    assert [row["name"] for row in found["zoo"]] == list(few)
    assert [row["caught"] for row in found["zoo"]] == [3, 0, 3]
    assert [row["named"] for row in found["zoo"]] == [0, 0, 3]
    # Clopper-Pearson with 3 of 3 and confidence 0.95: the lower end solves p^3 = 0.025.
    assert found["zoo"][0]["interval"]["lower"] == pytest.approx(0.025 ** (1 / 3), rel=1e-12)
    assert found["zoo"][1]["interval"]["lower"] == 0.0
    assert found["replay"] == "rdpkit verify --zoo --repeats 3 --seed 1 --samples 20000"
    text = invoke(*options)
    assert "3 of 3" in text.stdout


@pytest.mark.thorough
def test_a_mechanism_of_the_zoo_that_gets_away_is_a_failed_check(monkeypatch):
    monkeypatch.setattr(zoo, "NAMES", ("subset-once",))
    # With so few runs it is not caught.
    result = invoke("--zoo", "--repeats", "2", "--seed", "1", "--samples", "100", "--jobs", "1")
    assert result.exit_code == 1


def test_help_loads_no_library_for_numbers():
    found = loaded("from rdpkit.cli import main\nmain(['verify', '--help'], standalone_mode=False)")
    assert not found & {"numpy", "scipy", "sklearn", "joblib", "matplotlib", "torch"}


@pytest.mark.thorough
def test_an_event_that_is_released_several_times(folder):
    quick = [*WORST, "--delta", "1e-3", "--samples", "2000", "--seed", "1", "--format", "json"]
    done = invoke(f"{folder}:good", *quick, "--count", "4")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    once = json.loads(invoke(f"{folder}:good", *quick).stdout)
    assert found["claim"].endswith("-DP of repeated, by pld-upper")
    assert once["claim"].endswith("-DP of gaussian, by pld-upper")
    assert '"mechanism": "repeated"' in found["replay"]


def test_a_count_is_that_of_an_event(folder):
    done = invoke(f"{folder}:good", *ADD, "--epsilon", "1", "--delta", "1e-3", "--count", "4")
    assert done.exit_code == 2
    assert "Expected --event with --count" in done.stderr
