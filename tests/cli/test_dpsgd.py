"""``rdpkit dpsgd``: one line for one question, and what was assumed."""

import json
import re
from functools import partial

import pytest

import rdpkit
from tests.browser import assert_usable
from tests.cli import commands

BASIC = ["--batch-size", "256", "--dataset-size", "60000", "--epochs", "5"]
NOISE = ["--noise-multiplier", "1.1"]


run = partial(commands.run, "dpsgd")


def as_json(*words):
    found = run(*words, "--format", "json", status=0)
    return json.loads(found.output)


@pytest.mark.thorough
def test_one_line_answers_and_says_what_was_assumed():
    found = run(*BASIC, *NOISE, status=0)
    event = rdpkit.DPSGD(noise_multiplier=1.1, batch_size=256, dataset_size=60000, epochs=5)
    upper = rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one").epsilon
    (shown,) = [line.split()[2] for line in found.output.splitlines() if line.startswith("epsilon")]
    assert upper <= float(shown) <= upper * 1.002
    wanted = ("assumed        delta = 1e-05", "add-or-remove-one", "Poisson", "opacus:", "mu <=")
    for word in wanted:
        assert word in found.output
    assert len(found.output.splitlines()) < 30


@pytest.mark.thorough
def test_what_is_given_is_not_assumed():
    given = ["--delta", "1e-6", "--adjacency", "replace", "--sampling", "fixed-size"]
    table = as_json(*BASIC, *NOISE, *given)
    assert table["assumed"] == []
    assert table["upper"]["delta"] == 1e-6
    assert table["upper"]["adjacency"] == "replace_one"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("words", "name"),
    [
        (BASIC, "noise_multiplier"),
        ([*BASIC[:4], *NOISE], "steps"),
        ([*BASIC[2:], *NOISE], "batch_size"),
        ([*BASIC[2:4], *NOISE, "--steps", "100"], "batch_size"),
    ],
)
def test_a_target_finds_what_is_left_out(words, name):
    table = as_json(*words, "--target-epsilon", "1.5")
    assert table["found"] == name
    assert 1.4 < table["upper"]["epsilon"] <= 1.5


def test_too_little_or_too_much_is_one_helpful_line():
    for words, message in [
        (BASIC, "Missing option '--noise-multiplier'. To find it, give '--target-epsilon'."),
        ([*BASIC[:4], *NOISE], "Missing option '--epochs' or '--steps'"),
        ([*BASIC, *NOISE, "--target-epsilon", "1"], "leave out exactly one"),
        (["--dataset-size", "10", "--target-epsilon", "1"], "leave out exactly one"),
    ]:
        found = run(*words, status=2)
        assert message in found.output


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("claim", "verdict", "status"), [("1.0", "sound", 0), ("0.5", "refuted", 1)]
)
def test_a_claim_gets_a_verdict(claim, verdict, status):
    found = run(*BASIC, *NOISE, "--claimed-epsilon", claim)
    assert found.exit_code == status
    assert f"is {verdict}" in " ".join(found.output.split())


@pytest.mark.thorough
def test_a_claim_for_poisson_samples_is_refuted_if_batches_are_shuffled():
    found = run(*BASIC, *NOISE, "--sampling", "shuffle", "--claimed-epsilon", "0.9", status=1)
    assert "refuted" in found.output
    found = run(*BASIC, *NOISE, "--sampling", "shuffle", "--claimed-epsilon", "5.1", status=0)
    assert "is sound" in " ".join(found.output.split())


def test_a_target_out_of_reach_is_a_failed_check():
    words = ["--dataset-size", "100", "--batch-size", "100", "--noise-multiplier", "0.1"]
    run(*words, "--target-epsilon", "0.01", status=1)


@pytest.mark.thorough
def test_every_way_of_making_batches_is_compared_on_request():
    words = ["--batch-size", "50", "--dataset-size", "1050", "--epochs", "10", *NOISE]
    found = run(*words, "--compare-sampling", "--claimed-epsilon", "1e3", status=0)
    assert "How batches are made, zero-out" in found.output
    assert "a claim of 1E+3" in found.output
    assert "refuted" not in found.output
    rows = as_json(*words, "--compare-sampling")["samplings"]
    assert {row["sampling"]: row["claim_for_poisson"] for row in rows}["shuffle"] == "refuted"


def test_truncated_batches_need_their_size():
    found = run(*BASIC, *NOISE, "--sampling", "truncated-poisson", status=2)
    assert "max_batch_size" in found.output


@pytest.mark.thorough
@pytest.mark.parametrize(("delta", "warned"), [("1e-3", True), ("2e-5", True), ("1e-5", False)])
def test_a_delta_that_promises_nothing_is_warned_of(delta, warned):
    told = run(*BASIC, *NOISE, "--delta", delta)
    assert ("warning" in told.stdout) is warned
    assert "who accuses 1 in 100" in told.stdout
    assert bool(as_json(*BASIC, *NOISE, "--delta", delta)["warnings"]) is warned


# Noise, batch, data set, epochs or steps, delta: rates of 1e-4 to 1, epsilons of .02 to 40.
_RUNS = """
1.1   256    60000   --epochs 3      1e-5
0.7   500    50000   --steps 90      1e-6
4     900    900     --epochs 12     1e-5
0.4   10     100000  --steps 1       1e-5
8     10     100000  --steps 1       1e-10
0.4   100    100000  --steps 1000    1e-5
0.5   600    60000   --steps 100     1e-7
0.6   64     60000   --epochs 10     1e-5
0.8   1      10000   --steps 100000  1e-5
1.0   100    1000000 --steps 10000   1e-10
1.0   512    50000   --epochs 40     1e-8
1.3   2048   50000   --steps 2000    1e-5
2.0   5000   10000   --steps 500     1e-5
2.5   4096   1281167 --steps 28000   8e-7
3     16384  50000   --steps 1000    1e-5
5     5000   50000   --steps 20000   1e-6
6     1000   10000   --steps 2000    1e-9
8     25000  50000   --steps 1       1e-5
8     5000   50000   --steps 5000    1e-10
1.5   300    3000    --epochs 30     1e-6
"""
_NAMES = ("--noise-multiplier", "--batch-size", "--dataset-size")
RUNS = [
    [
        *(word for pair in zip(_NAMES, row, strict=False) for word in pair),
        *row[3:5],
        "--delta",
        row[5],
    ]
    for row in map(str.split, _RUNS.split("\n")[1:-1])
]


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "words",
    [
        pytest.param(one, marks=[pytest.mark.slow] if place in (1, 3) or place > 4 else [])
        for place, one in enumerate(RUNS)
    ],
)
def test_other_accountants_are_quoted_as_they_print(words):
    """Each number is computed here by the library itself, in the form in which its users do."""
    opacus = pytest.importorskip("opacus.accountants")
    dp_accounting = pytest.importorskip("dp_accounting")
    table = as_json(*words, "--compare-accountants")
    delta = table["upper"]["delta"]
    noise, steps = table["settings"]["noise_multiplier"], table["updates"]
    rate = table["sampling_probability"]
    found = {}
    for one in table["other_accountants"]:
        found.setdefault((one["library"].split()[0], one["accountant"]), one["epsilon"])
    for name, kind in (("PRV", opacus.PRVAccountant), ("RDP", opacus.RDPAccountant)):
        accountant = kind()
        for _ in range(steps):
            accountant.step(noise_multiplier=noise, sample_rate=rate)
        assert found["opacus", name] == accountant.get_epsilon(delta=delta)
    step = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise))
    event = dp_accounting.SelfComposedDpEvent(step, steps)
    for name, kind in (
        ("PLD", dp_accounting.pld.PLDAccountant),
        ("RDP", dp_accounting.rdp.RdpAccountant),
    ):
        accountant = kind()
        accountant.compose(event)
        assert found["dp-accounting", name] == accountant.get_epsilon(delta)
    if "--epochs" in words:
        assert found["TensorFlow", "Poisson sampling"] == found["dp-accounting", "RDP"]


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
def test_other_accountants_say_what_they_print_of_a_loader():
    found = run(*RUNS[0], "--compare-accountants")
    assert "705 steps at 1/235" in found.output
    nothing = run(*RUNS[0], "--compare-accountants", "--sampling", "fixed-size")
    assert "No other accountant that is installed can be told this run." in nothing.output


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
def test_an_accountant_that_takes_too_long_is_not_asked():
    """Opacus's PRV takes 5 GB here; what dp-accounting logs of orders is no part of the answer."""
    settings = ("--noise-multiplier", "5", "--batch-size", "500", "--dataset-size", "1000")
    found = run(*settings, "--steps", "100000", "--delta", "1e-5", "--compare-accountants")
    assert "no number  opacus 1.6.0, PRV (not asked: its 144 million points" in found.output
    assert "659.048  opacus 1.6.0, RDP" in found.output
    assert "failed to converge" not in found.output + found.stderr


@pytest.mark.thorough
def test_a_page_for_people_who_do_not_compute(tmp_path, browser):
    path = tmp_path / "page.html"
    found = run(*BASIC, *NOISE, "--claimed-epsilon", "9", "-o", str(path), status=0)
    text = path.read_text()
    for part in ("Claim: epsilon 9", "who accuses 1 in 100", "Poisson sampling", "<svg"):
        assert part in text
    assert "Warnings" not in text
    # All points of a drawing are there, however busy the machine is.
    lines = re.findall('polyline points="([^"]*)"', text)
    assert [one.count(",") for one in lines].count(7) == 2
    # The headings of the picture stand beside its lines, and axe-core cannot tell.
    found = assert_usable(browser, path, name="dpsgd", without=("color-contrast",))
    assert len(found) == 6
    browser.open(path, scheme="dark")
    assert [one for one in browser.violations() if "could not be determined" not in one] == []


@pytest.mark.parametrize(
    ("option", "meant"),
    [
        ("--noise", "noise-multiplier"),
        ("--sigma", "noise-multiplier"),
        ("--batch", "batch-size"),
        ("--n", "dataset-size"),
        ("--eps", "target-epsilon"),
    ],
)
def test_other_names_of_options_are_answered(option, meant):
    found = run(option, "1", status=2)
    assert f"No such option '{option}'. Did you mean '--{meant}'?" in found.output


def test_a_missing_option_is_explained():
    assert "Missing option '--dataset-size': number of training examples" in run().output


@pytest.mark.thorough
def test_a_claim_is_a_number_with_the_digits_that_were_typed():
    found = run(*BASIC, *NOISE, "--claimed-epsilon", "nan", status=2)
    assert "Expected --claimed-epsilon to be a number >= 0, got 'nan'" in found.output
    above = as_json(*BASIC, *NOISE)["upper"]["epsilon"]
    short = f"{above - 5e-3:.2f}"
    text = " ".join(run(*BASIC, *NOISE, "--claimed-epsilon", short).output.split())
    below = as_json(*BASIC, *NOISE)["lower"]["epsilon"]
    near = f"{below - 2e-5:.5f}"
    said = run(*BASIC, *NOISE, "--claimed-epsilon", near).output.partition("attained       >= ")[2]
    assert float(near) < float(said.split()[0]) <= below
    assert f"epsilon {short} at delta" in text
    assert f"rounded up to {float(short) + 0.01:.2f}, it would be proven" in text
