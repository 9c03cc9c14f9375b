"""Releases of experiments, tables and images, and drafts of schemas, on the command line."""

import json
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

from rdpkit.mechanisms import Ledger
from rdpkit.mechanisms.data.images import ImageSet, to_image_folder
from rdpkit.mechanisms.data.tables.files import write
from rdpkit.mechanisms.data.tables.schema import load_schema
from rdpkit.mechanisms.experiments.runner import Runner
from rdpkit.mechanisms.releases.computation import Checkpoint
from rdpkit.mechanisms.releases.manifest import load_manifest
from rdpkit.mechanisms.releases.release import check_arrays, load_release
from tests.cli import commands
from tests.mechanisms.conftest import NOISELESS, one_target


def run(command, *arguments, status=0):
    result = commands.run(command, *arguments)
    assert result.exit_code == status, result.output
    return result.output


@pytest.mark.thorough
def test_evaluate_runs_resumes_and_writes(digits, tmp_path):
    path = digits(*NOISELESS)
    common = (path, "--results", tmp_path / "r", "--device", "cpu")
    done = commands.run("evaluate", *common, "--format", "json")
    assert done.stderr == ""  # no progress in a pipe
    first = json.loads(done.stdout)
    assert (first["runs"], first["resumed"]) == (4, 0)
    table = tmp_path / "t.csv"
    again = json.loads(run("evaluate", *common, "--format", "json", "--output", table))
    assert (again["runs"], again["resumed"]) == (4, 4)
    assert again["settings"] == first["settings"]
    assert len(table.read_text().splitlines()) == 5
    text = run("evaluate", *common)
    assert "noiseless-mixing" in text
    assert "order_of_mixture=16" in text
    fewer = json.loads(run("evaluate", *common, "--seeds", 1, "--format", "json"))
    assert fewer["runs"] == 2
    where = ("--where", "order_of_mixture=16", "--where", "mechanism.order_of_mixture=16")
    one = json.loads(run("evaluate", *common, *where, "--format", "json"))
    assert (one["runs"], one["resumed"]) == (2, 2)
    assert one["settings"] == [first["settings"][1]]


def test_synthesize_saves_a_release_that_can_be_checked_and_evaluated(digits, tmp_path):
    path = digits(*one_target(5.0))
    out = tmp_path / "made.npz"
    made = json.loads(
        run("synthesize", path, "--output", out, "--noise", "system", "--format", "json")
    )
    assert made["private"] is True
    assert made["guarantee"]["epsilon"] <= 5.0
    assert check_arrays(out.with_suffix(".json")) == ()
    assert load_manifest(out.with_suffix(".json")).private
    text = run("synthesize", path, "--output", tmp_path / "seeded.npz", "--seed", 3)
    assert "NOT PRIVATE" in text
    assert "Warning" not in text
    text = run("synthesize", path, "--output", tmp_path / "seeded.npz", "--seed", 3)
    assert "seeded.json is of an earlier release, which this one replaces" in text
    judged = json.loads(
        run("evaluate", path, "--release", out.with_suffix(".json"), "--format", "json")
    )
    assert judged["seeds"] == 2
    assert 0.0 <= judged["mean_accuracy"] <= 1.0


@pytest.mark.thorough
def test_synthesize_takes_counts_from_the_command_line(digits, tmp_path):
    path = digits(("[5.0, 50.0]", "[50.0]"))
    verdicts = {}
    for counts in ("noisy", "public", ",".join(["100"] * 10)):
        out = tmp_path / f"{counts[:3]}.npz"
        done = run("synthesize", path, "--output", out, "--noise", "system", "--counts", counts,
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
    refused = run(*where, "--dataset", "strict", status=1)
    assert "exceeds" in refused
    assert not list(tmp_path.glob("made*"))
    run(*where, "--dataset", "digits")
    (one,) = ledger.account("digits").releases
    assert one.path == "made.json"
    assert ledger.problems("digits") == ()
    assert not list(tmp_path.glob("*.unfinished.npz"))
    alone = run(*where, status=2)
    assert "--ledger and --dataset together" in alone


@pytest.mark.thorough
def test_synthesize_prints_the_verdict_and_its_reasons_the_worst_first(digits, tmp_path):
    path = digits(*one_target(5.0), ("delta = 1e-5", "delta = 0.01"))
    out = tmp_path / "made.npz"
    lines = run("synthesize", path, "--output", out, "--seed", 3).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("verdict"))
    assert lines[start].split() == ["verdict", "NOT", "PRIVATE"]
    assert lines[start + 1].startswith("  fails    secret noise: the noise was drawn from a seed")
    assert any(line.startswith("  fails    delta: delta = 0.01 is not below") for line in lines)
    out = tmp_path / "again.npz"
    made = json.loads(
        run("synthesize", path, "--output", out, "--noise", "system", "--format", "json")
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
    path = digits(*one_target(50.0, stated))
    out = tmp_path / "made.npz"
    text = run("synthesize", path, "--output", out, "--noise", "system")
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
    run("synthesize", long, "--output", out, status=1)
    assert (tmp_path / "made.unfinished.npz").exists()
    refused = run("synthesize", long, "--output", out, "--seed", 1, status=2)
    assert "made.unfinished.npz: the checkpoint is of a run with other parameters" in refused
    run("synthesize", long, "--output", out)
    assert saved == [1, 2, 3, 4, 5, 6]
    assert check_arrays(out.with_suffix(".json")) == ()
    assert not (tmp_path / "made.unfinished.npz").exists()


def test_a_wrong_ending_is_found_out_before_the_work(long, tmp_path, monkeypatch):
    monkeypatch.setattr(Runner, "synthesize", lambda *given, **named: pytest.fail("too late"))
    refused = run("synthesize", long, "--output", tmp_path / "made.pt", status=2)
    assert "Expected path to end in .npz or .safetensors" in refused
    (tmp_path / "made.safetensors").touch()
    refused = run("synthesize", long, "--output", tmp_path / "made.npz", status=2)
    assert "is there already" in refused


@pytest.mark.parametrize("command", ["evaluate", "synthesize"])
def test_the_experiments_of_the_package_are_listed(command):
    names = json.loads(run(command, "--list", "--format", "json"))
    assert "digits-dpcda" in names
    assert run(command, "--list").split() == names


@pytest.mark.parametrize(
    ("command", "arguments", "message"),
    [
        ("evaluate", (), "Expected EXPERIMENT: a TOML file"),
        ("evaluate", ("no-such",), "Expected EXPERIMENT to be a TOML file or one of"),
        ("evaluate", ("no-such.toml",), "no-such.toml"),
        ("evaluate", ("digits-dpcda", "--seeds", 9), "Expected --seeds to be at most 5, got 9"),
        (
            "evaluate",
            ("digits-dpcda", "--where", "target_epsilon=2"),
            "Expected where to be KEY=VALUE with one of 1, 10, 3, 30, got 'target_epsilon=2'",
        ),
        (
            "evaluate",
            ("digits-dpcda", "--where", "epochs"),
            "Expected where to be KEY=VALUE with a key among privacy.target_epsilon, got 'epochs'",
        ),
        (
            "evaluate",
            ("digits-dpcda", "--where", "target_epsilo=1"),
            "Did you mean 'target_epsilon'?",
        ),
        ("evaluate", ("digits-dpcda", "--output", "x.txt"), "to end in .csv or .parquet"),
        ("synthesize", ("digits-dpcda",), "Expected --output: a release that is not kept"),
        (
            "synthesize",
            ("digits-dpcda", "--setting", "1", "--output", "x.npz", "--counts", "9,x"),
            "expected --counts to be 'noisy', 'public', or a list of public integers, got '9,x'",
        ),
        (
            "synthesize",
            ("digits-dpcda", "--setting", "1", "--output", "x.npz", "--counts", "0"),
            "--counts[0] to be an integer >= 1",
        ),
        ("synthesize", ("digits-dpcda", "--output", "x.npz"), "Expected --setting, one of 1: "),
        (
            "synthesize",
            ("digits-dpcda", "--output", "x.npz", "--setting", 9),
            "Expected --setting to be in [1, 4], got 9",
        ),
    ],
)
def test_bad_usage_is_one_line_and_status_2(command, arguments, message):
    output = run(command, *arguments, status=2)
    assert message in output.replace("\n", " ")
    assert "Traceback" not in output


@pytest.mark.slow
def test_the_digits_experiment_of_the_package_runs_from_end_to_end(tmp_path):
    got = json.loads(run("evaluate", "digits-dpcda", "--results", tmp_path, "--format", "json"))
    accuracies = [entry["mean_accuracy"] for entry in got["settings"]]
    assert [entry["target_epsilon"] for entry in got["settings"]] == [1.0, 3.0, 10.0, 30.0]
    assert all(e["epsilon"] <= e["target_epsilon"] for e in got["settings"])
    assert accuracies[0] < accuracies[2]
    assert accuracies[2] > 0.8


run_images = partial(commands.run, "synthesize")


def said(found):
    return f"{found.output} {found.exception}"


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    images = ImageSet(
        name="small",
        features=rng.integers(0, 256, (80, 16), dtype=np.uint8),
        labels=np.arange(80) % 2,
        classes=("cat", "dog"),
        image_shape=(1, 4, 4),
    )
    return to_image_folder(
        images, tmp_path / "images", classes=images.classes, image_shape=images.image_shape
    )


@pytest.mark.thorough
def test_a_folder_of_images_becomes_a_release(folder, tmp_path):
    options = ("samples_per_class=3", "order_of_mixture=8", "clip_norm=1.0")
    found = run_images(
        folder, "--mechanism", "dpcda", "--epsilon", 8, "--delta", 1e-4, "--adjacency",
        "replace_one", "--counts", "40,40", "--classes", "cat,dog", "--image-size", "4x4",
        "--channels", 1, "--dataset", "pets",
        *(part for option in options for part in ("--option", option)),
        "-o", tmp_path / "synth.npz",
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    assert "6 records in" in found.output
    manifest = load_release(tmp_path / "synth.npz").manifest
    assert manifest.dataset == "pets"
    assert manifest.guarantee.epsilon <= 8.0
    assert manifest.parameters["class_names"] == ["cat", "dog"]
    assert manifest.private
    assert "verdict    PRIVATE" in found.output


def test_a_folder_that_nobody_described_is_not_private(folder, tmp_path):
    (folder / "9_HIV_John_Smith").mkdir()
    (folder / "cat" / "000000.png").rename(folder / "9_HIV_John_Smith" / "John_Smith.png")
    found = run_images(
        folder, "--mechanism", "moments", "--epsilon", 1, "--delta", 1e-4, "--adjacency",
        "replace_one", "--option", "rows=6", "-o", tmp_path / "synth.npz",
    )  # fmt: skip
    written = (tmp_path / "synth.json").read_text() if (tmp_path / "synth.json").exists() else ""
    assert "John" not in found.output + written
    assert "verdict    PRIVATE" not in found.output
    # A name that is not among the stated ones is not quoted, and neither is a file.
    (folder / "cat" / "Jane.png").write_text("no image")
    for classes in ("cat,dog", "cat,dog,9_HIV_John_Smith"):
        found = run_images(
            folder, "--mechanism", "moments", "--epsilon", 1, "--delta", 1e-4, "--adjacency",
            "replace_one", "--classes", classes, "-o", tmp_path / "other.npz",
        )  # fmt: skip
        assert found.exit_code != 0
        assert "Jane" not in f"{found.output} {found.exception}"
        assert "John" not in f"{found.output} {found.exception}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--mechanism, --epsilon, --delta, --adjacency for images"),
        (("--seed", 1), "an experiment for --seed, got images"),
    ],
)
def test_what_is_missing_is_named(folder, arguments, message):
    found = run_images(folder, *arguments)
    assert found.exit_code != 0
    assert message in f"{found.output} {found.exception}"


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:too few records")
def test_a_person_of_a_folder_is_protected_and_named_nowhere(folder, tmp_path):
    """By names of files, by folders, and by a list; a ledger of persons takes the release."""
    listed = ["file,person"]
    for number, file in enumerate(sorted(folder.glob("*/*.png"))):
        (file.parent / f"Zebulon{number // 8}").mkdir(exist_ok=True)
        moved = file.parent / f"Zebulon{number // 8}" / f"Zebulon{number // 8}-{number}.png"
        file.rename(moved)
        listed.append(f"{moved.relative_to(folder).as_posix()},Zebulon{number // 8}")
    (tmp_path / "whose.csv").write_text("\n".join(listed))
    ledger = Ledger.create(tmp_path / "l.jsonl")
    ledger.open("pets", adjacency="replace_one", delta=1e-4, epsilon=30.0, of_persons=True)
    command = (
        folder, "--mechanism", "moments", "--epsilon", 5, "--delta", 1e-4, "--adjacency",
        "replace_one", "--classes", "cat,dog", "--image-size", 4, "--channels", 1, "--option",
        "basis=cosines", "--dataset", "pets", "--ledger", tmp_path / "l.jsonl",
        "--counts", 80, "-o", tmp_path / "synth.npz",
    )  # fmt: skip
    assert "single record" in said(run_images(*command))
    for rule in (r"/(\w+)-\d+\.png$", r"^\w+/(\w+)/", tmp_path / "whose.csv"):
        found = run_images(*command, "--person", rule, "--most-per-person", 2)
        assert found.exit_code == 0, said(found)
        assert "all records of one person, of which at most 2" in found.output
        everything = found.output + "".join(
            (tmp_path / name).read_text() for name in ("synth.json", "l.jsonl")
        )
        assert "Zebulon" not in everything
        assert b"Zebulon" not in (tmp_path / "synth.npz").read_bytes()
    for wrong, message in {
        "\n".join(listed[:-1]): "expected person to say whose it is",
        "\n".join([*listed, "Zebulon,x,y"]): "expected rows of file and person",
        "Zebulon,1": "expected rows of file and person",
        "file,person\n" + "Zebulon" * 40_000: "expected rows of file and person",
    }.items():
        (tmp_path / "whose.csv").write_text(wrong)
        found = run_images(*command, "--person", tmp_path / "whose.csv", "--most-per-person", 2)
        assert message in said(found)
        assert "Zebulon" not in said(found)
    for wrong, message in {"(": "regular expression", "a": "one group"}.items():
        assert message in said(run_images(*command, "--person", wrong, "--most-per-person", 2))
    assert "together" in said(run_images(*command, "--most-per-person", 2))


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.parquet"
    write(pa.table({"age": [31, 47, None] * 5, "job": ["clerk", "boss", "clerk"] * 5}), path)
    return path


def draft(*args):
    return commands.run("synthesize", *args, "--draft-schema")


def test_a_draft_is_written_and_says_what_was_read(data, tmp_path):
    out = tmp_path / "schema.toml"
    found = draft(data, "-o", out)
    assert found.exit_code == 0, found.output
    assert "age: a range, rounded outwards; values are missing" in found.output
    assert "clerk" not in found.output
    assert "private records" in found.output
    assert load_schema(out).unconfirmed == ("age", "job")


def test_without_a_file_the_draft_is_the_output(data, tmp_path):
    found = draft(data)
    (tmp_path / "s.toml").write_text(found.output)
    assert load_schema(tmp_path / "s.toml").names == ("age", "job")


def test_json_has_the_schema_and_what_was_read(data):
    found = json.loads(draft(data, "--drop", "job", "--format", "json").output)
    assert found["dropped"] == ["job"]
    assert found["schema"]["column"][0]["name"] == "age"
    assert list(found["read_from_the_records"]) == ["age"]


def test_what_is_no_table_is_an_error(tmp_path):
    found = draft(tmp_path / "no.csv")
    assert found.exit_code == 2
    assert "no such file" in found.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--draft-schema", "--epsilon", 1), "Expected a release for --epsilon, got a draft."),
        (("--paid",), "Expected --draft-schema for --paid."),
    ],
)
def test_options_of_a_release_and_of_a_draft_are_told_apart(data, options, message):
    done = commands.run("synthesize", data, *options)
    assert done.exit_code == 2
    assert message in done.output


def test_the_command_of_earlier_versions_says_what_does_the_same():
    done = commands.run("schema", "data.csv")
    assert "rdpkit schema is now 'rdpkit synthesize DATA --draft-schema'" in done.output
