import json

import pytest
from click.testing import CliRunner

from rdpkit.cli import main
from rdpkit.mechanisms import Ledger
from rdpkit.mechanisms.cli.evaluate import evaluate
from rdpkit.mechanisms.cli.synthesize import synthesize
from rdpkit.mechanisms.experiments.runner import Runner
from rdpkit.mechanisms.releases.computation import Checkpoint
from rdpkit.mechanisms.releases.manifest import load_manifest
from rdpkit.mechanisms.releases.release import check_arrays

NOISELESS = (
    ('name = "dpcda"', 'name = "noiseless-mixing"'),
    ('"privacy.target_epsilon" = [5.0, 50.0]', '"mechanism.order_of_mixture" = [1, 16]'),
    ("order_of_mixture = 16", "order_of_mixture = 8"),
)


def run(command, *arguments, status=0):
    result = CliRunner().invoke(command, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == status, result.output
    return result.output


@pytest.mark.thorough
def test_evaluate_runs_resumes_and_writes(digits, tmp_path):
    path = digits(*NOISELESS)
    common = (path, "--results", tmp_path / "r", "--device", "cpu")
    first = json.loads(run(evaluate, *common, "--format", "json"))
    assert (first["runs"], first["resumed"]) == (4, 0)
    table = tmp_path / "t.csv"
    again = json.loads(run(evaluate, *common, "--format", "json", "--output", table))
    assert (again["runs"], again["resumed"]) == (4, 4)
    assert again["settings"] == first["settings"]
    assert len(table.read_text().splitlines()) == 5
    text = run(evaluate, *common)
    assert "noiseless-mixing" in text
    assert "order_of_mixture=16" in text
    fewer = json.loads(run(evaluate, *common, "--seeds", 1, "--format", "json"))
    assert fewer["runs"] == 2
    where = ("--where", "order_of_mixture=16", "--where", "mechanism.order_of_mixture=16")
    one = json.loads(run(evaluate, *common, *where, "--format", "json"))
    assert (one["runs"], one["resumed"]) == (2, 2)
    assert one["settings"] == [first["settings"][1]]


def test_synthesize_saves_a_release_that_can_be_checked_and_evaluated(digits, tmp_path):
    path = digits(('[vary]\n"privacy.target_epsilon" = [5.0, 50.0]', ""),
                  ("delta = 1e-5", "delta = 1e-5\ntarget_epsilon = 5.0"))  # fmt: skip
    out = tmp_path / "made.npz"
    made = json.loads(
        run(synthesize, path, "--output", out, "--noise", "system", "--format", "json")
    )
    assert made["private"] is True
    assert made["guarantee"]["epsilon"] <= 5.0
    assert check_arrays(out.with_suffix(".json")) == ()
    assert load_manifest(out.with_suffix(".json")).private
    text = run(synthesize, path, "--output", tmp_path / "seeded.npz", "--seed", 3)
    assert "NOT PRIVATE" in text
    assert "Warning" not in text
    text = run(synthesize, path, "--output", tmp_path / "seeded.npz", "--seed", 3)
    assert "seeded.json is of an earlier release, which this one replaces" in text
    judged = json.loads(
        run(evaluate, path, "--release", out.with_suffix(".json"), "--format", "json")
    )
    assert judged["seeds"] == 2
    assert 0.0 <= judged["mean_accuracy"] <= 1.0


@pytest.mark.thorough
def test_synthesize_takes_counts_from_the_command_line(digits, tmp_path):
    path = digits(("[5.0, 50.0]", "[50.0]"))
    verdicts = {}
    for counts in ("noisy", "public", ",".join(["100"] * 10)):
        out = tmp_path / f"{counts[:3]}.npz"
        done = run(
            synthesize, path, "--output", out, "--noise", "system", "--counts", counts,
            "--format", "json",
        )  # fmt: skip
        checks = json.loads(done)["checks"]
        found = [check for check in checks if check["name"] == "public_parameters"]
        verdicts[counts[:3]] = [check["status"] for check in found]
        assert any(check["sentence"].startswith("classes, shapes") for check in found)
    assert verdicts == {
        "noi": ["depends", "holds", "holds"],
        "pub": ["fails", "depends", "holds"],
        "100": ["depends", "depends", "holds"],
    }


@pytest.mark.thorough
def test_synthesize_charges_a_ledger_before_it_saves(digits, tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.jsonl")
    ledger.open("strict", adjacency="replace_one", delta=1e-4, epsilon=0.5, delta_for_events=9e-5)
    ledger.open("digits", adjacency="replace_one", delta=1e-4, epsilon=9.0, delta_for_events=9e-5)
    where = (digits(), "--setting", 1, "--noise", "system", "-o", tmp_path / "made.npz")
    where = ("synthesize", *where, "--ledger", ledger.path)
    refused = run(main, *where, "--dataset", "strict", status=1)
    assert "exceeds" in refused
    assert not list(tmp_path.glob("made*"))
    run(main, *where, "--dataset", "digits")
    (one,) = ledger.account("digits").releases
    assert one.path == "made.json"
    assert ledger.problems("digits") == ()
    assert not list(tmp_path.glob("*.unfinished.npz"))
    alone = run(main, *where, status=2)
    assert "--ledger and --dataset together" in alone


@pytest.mark.thorough
def test_synthesize_prints_the_verdict_and_its_reasons_the_worst_first(digits, tmp_path):
    path = digits(('[vary]\n"privacy.target_epsilon" = [5.0, 50.0]', ""),
                  ("delta = 1e-5", "delta = 0.01\ntarget_epsilon = 5.0"))  # fmt: skip
    out = tmp_path / "made.npz"
    lines = run(synthesize, path, "--output", out, "--seed", 3).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("verdict"))
    assert lines[start].split() == ["verdict", "NOT", "PRIVATE"]
    assert lines[start + 1].startswith("  fails    secret noise: the noise was drawn from a seed")
    assert any(line.startswith("  fails    delta: delta = 0.01 is not below") for line in lines)
    out = tmp_path / "again.npz"
    made = json.loads(
        run(synthesize, path, "--output", out, "--noise", "system", "--format", "json")
    )
    assert made["private"] is False
    said = {check["name"]: check for check in made["checks"]}
    assert said["delta"]["status"] == "fails"
    assert said["secret_noise"]["status"] == "holds"
    assert made["checks"] == json.loads(out.with_suffix(".json").read_text())["checks"]


@pytest.mark.thorough
@pytest.mark.parametrize("accepted", [None, 25.0, 60.0])
def test_a_large_target_is_private_only_if_it_is_accepted(digits, tmp_path, accepted):
    stated = "" if accepted is None else f"\naccept_epsilon = {accepted}"
    path = digits(('[vary]\n"privacy.target_epsilon" = [5.0, 50.0]', ""),
                  ("delta = 1e-5", f"delta = 1e-5\ntarget_epsilon = 50.0{stated}"))  # fmt: skip
    out = tmp_path / "made.npz"
    text = run(synthesize, path, "--output", out, "--noise", "system")
    found = load_manifest(out.with_suffix(".json"))
    assert found.accept_epsilon == accepted
    said = [check.status for check in found.checks if check.name == "epsilon"]
    assert said == ["depends" if accepted == 60.0 else "fails"]
    assert ("protects almost nobody" in text) is (accepted != 60.0)


def test_a_killed_release_goes_on_and_leaves_no_checkpoint(long, tmp_path, monkeypatch):
    monkeypatch.setattr(Checkpoint, "is_due", lambda self: True)
    out = tmp_path / "made.npz"
    save = Checkpoint.save
    saved = []

    def killed(self, arrays):
        save(self, arrays)
        saved.append(arrays["iteration"].item())
        if saved == [1, 2, 3]:
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoint, "save", killed)
    run(synthesize, long, "--output", out, status=1)
    assert (tmp_path / "made.unfinished.npz").exists()
    refused = run(synthesize, long, "--output", out, "--seed", 1, status=2)
    assert "made.unfinished.npz: the checkpoint is of a run with other parameters" in refused
    run(synthesize, long, "--output", out)
    assert saved == [1, 2, 3, 4, 5, 6]
    assert check_arrays(out.with_suffix(".json")) == ()
    assert not (tmp_path / "made.unfinished.npz").exists()


def test_a_wrong_ending_is_found_out_before_the_work(long, tmp_path, monkeypatch):
    monkeypatch.setattr(Runner, "synthesize", lambda *given, **named: pytest.fail("too late"))
    refused = run(synthesize, long, "--output", tmp_path / "made.pt", status=2)
    assert "Expected path to end in .npz or .safetensors" in refused
    (tmp_path / "made.safetensors").touch()
    refused = run(synthesize, long, "--output", tmp_path / "made.npz", status=2)
    assert "is there already" in refused


@pytest.mark.parametrize("command", [evaluate, synthesize])
def test_the_experiments_of_the_package_are_listed(command):
    names = json.loads(run(command, "--list", "--format", "json"))
    assert "digits-dpcda" in names
    assert run(command, "--list").split() == names


@pytest.mark.parametrize(
    ("command", "arguments", "message"),
    [
        (evaluate, (), "Expected EXPERIMENT: a TOML file"),
        (evaluate, ("no-such",), "Expected EXPERIMENT to be a TOML file or one of"),
        (evaluate, ("digits-dpcda", "--seeds", 9), "Expected --seeds to be at most 5, got 9"),
        (
            evaluate,
            ("digits-dpcda", "--where", "target_epsilon=2"),
            "Expected where to be KEY=VALUE with one of 1, 10, 3, 30, got 'target_epsilon=2'",
        ),
        (
            evaluate,
            ("digits-dpcda", "--where", "epochs"),
            "Expected where to be KEY=VALUE with a key among privacy.target_epsilon, got 'epochs'",
        ),
        (
            evaluate,
            ("digits-dpcda", "--where", "target_epsilo=1"),
            "Did you mean 'target_epsilon'?",
        ),
        (evaluate, ("digits-dpcda", "--output", "x.txt"), "to end in .csv or .parquet"),
        (synthesize, ("digits-dpcda",), "Expected --output: a release that is not kept"),
        (
            synthesize,
            ("digits-dpcda", "--setting", "1", "--output", "x.npz", "--counts", "9,x"),
            "expected --counts to be 'noisy', 'public', or a list of public integers, got '9,x'",
        ),
        (
            synthesize,
            ("digits-dpcda", "--setting", "1", "--output", "x.npz", "--counts", "0"),
            "--counts[0] to be an integer >= 1",
        ),
        (synthesize, ("digits-dpcda", "--output", "x.npz"), "Expected --setting, one of 1: "),
        (
            synthesize,
            ("digits-dpcda", "--output", "x.npz", "--setting", 9),
            "Expected --setting to be in [1, 4], got 9",
        ),
    ],
)
def test_bad_usage_is_one_line_and_status_2(command, arguments, message):
    output = run(command, *arguments, status=2)
    assert message in output.replace("\n", " ")
    assert "Traceback" not in output


def test_a_bad_file_is_one_line(digits):
    output = run(evaluate, digits(("epochs = 5", "epochs = 0")), status=2)
    assert "small.toml: [training]: Expected epochs to be an integer >= 1, got 0." in output


def test_no_progress_in_a_pipe(digits, tmp_path):
    result = CliRunner().invoke(
        evaluate, [str(digits(*NOISELESS)), "--results", str(tmp_path), "--format", "json"]
    )
    json.loads(result.stdout)
    assert result.stderr == ""


@pytest.mark.slow
def test_the_digits_experiment_of_the_package_runs_from_end_to_end(tmp_path):
    got = json.loads(run(evaluate, "digits-dpcda", "--results", tmp_path, "--format", "json"))
    accuracies = [entry["mean_accuracy"] for entry in got["settings"]]
    assert [entry["target_epsilon"] for entry in got["settings"]] == [1.0, 3.0, 10.0, 30.0]
    assert all(e["epsilon"] <= e["target_epsilon"] for e in got["settings"])
    assert accuracies[0] < accuracies[2]
    assert accuracies[2] > 0.8
