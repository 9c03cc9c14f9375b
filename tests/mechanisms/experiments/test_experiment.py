import pytest

from rdpkit import Adjacency
from rdpkit.mechanisms.algorithms import find_mechanism
from rdpkit.mechanisms.experiments.experiment import (
    find_experiment,
    load_experiment,
    shipped_names,
)
from rdpkit.mechanisms.parts.counts import NoisyCounts


def test_a_file_becomes_cells_and_runs(digits):
    found = load_experiment(digits())
    assert (found.name, found.title, found.seeds) == ("small", "Small", (0, 1))
    assert [cell.privacy.target_epsilon for cell in found.cells] == [5.0, 50.0]
    assert found.cells[0].privacy.adjacency is Adjacency.REPLACE_ONE
    assert [(c.privacy.target_epsilon, s) for c, s in found.runs()] == [
        (5.0, 0), (50.0, 0), (5.0, 1), (50.0, 1),
    ]  # fmt: skip


def test_keys_change_with_everything_that_a_result_depends_on(digits):
    cell = load_experiment(digits()).cells[0]
    keys = {cell.key(0), cell.key(1)}
    for change in (
        ("epochs = 5", "epochs = 6"),
        ("delta = 1e-5", "delta = 1e-6"),
        ("clip_norm = 1.0", "clip_norm = 2.0"),
        ('inputs = "standardised"', 'inputs = "as-released"'),
        ("[5.0, 50.0]", "[6.0, 50.0]"),
        ('noise = "seeded"', 'noise = "system"'),
        ('noise = "seeded"', 'noise = "seeded"\ncounts = "public"'),
        ('noise = "seeded"', 'noise = "seeded"\ncounts = [9, 9, 9, 9, 9, 9, 9, 9, 9, 9]'),
        ('noise = "seeded"', 'noise = "seeded"\ncounts_epsilon = 0.1'),
    ):
        keys.add(load_experiment(digits(change)).cells[0].key(0))
    assert len(keys) == 11
    # What is not part of the run does not make it run again.
    assert load_experiment(digits(("Small", "Other"))).cells[0].key(0) == cell.key(0)


def test_tables_of_keys_vary_together(digits):
    pairs = (
        'mechanism = [{name = "ldpdc", samples_per_class = 2, group_size = 5.0, value_bound = 1.0},'
        '{name = "dpcda", samples_per_class = 4, order_of_mixture = 8, clip_norm = 2.0}]'
    )
    path = digits(
        ("[5.0, 50.0]", f"[5.0, 50.0]\n{pairs}"),
        ('[mechanism]\nname = "dpcda"\nsamples_per_class = 30\norder_of_mixture = 16', ""),
        ("clip_norm = 1.0\n", ""),
    )
    cells = load_experiment(path).cells
    assert [c.mechanism for c in cells] == ["ldpdc", "dpcda"] * 2
    assert cells[1].options == {"samples_per_class": 4, "order_of_mixture": 8, "clip_norm": 2.0}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('name = "digits"', 'name = "minst"'), r"\[dataset\]: expected name to be one of 'dig"),
        (('name = "dpcda"', 'name = "dpcd"'), r"\[mechanism\]: Expected mechanism to be one of"),
        (("clip_norm = 1.0", "clipnorm = 1.0"), r"unknown option 'clipnorm' of 'dpcda'; accepted:"),
        (("clip_norm = 1.0", ""), "Expected the option clip_norm of 'dpcda': missing"),
        (('name = "mlp"', 'name = "reader"'), r"expected a mechanism with a reader .* 'dpcda'"),
        (("delta = 1e-5", "delta = 1.5"), r"\[privacy\]: expected delta in \(0, 1\), got 1\.5"),
        (("delta = 1e-5", ""), r"\[privacy\]: expected the key delta, which is missing"),
        (('adjacency = "replace_one"', ""), "expected the key adjacency, which is missing"),
        (('noise = "seeded"', 'noise = "weak"'), "expected noise to be one of 'seeded', 'system'"),
        (
            ('noise = "seeded"', 'noise = "seeded"\ncounts = "exact"'),
            r"\[privacy\]: expected counts to be 'noisy', 'public', or a list of public integers",
        ),
        (('noise = "seeded"', 'noise = "seeded"\ncounts = [0]'), r"\[privacy\]: .*counts\[0\]"),
        (
            ('noise = "seeded"', 'noise = "seeded"\ncounts_epsilon = 0.0'),
            "expected counts_epsilon to be a finite number > 0",
        ),
        (('name = "mlp"', 'name = "mpl"'), r"\[model\]: expected name to be one of 'dpcda-cnn'"),
        (("epochs = 5", "epochs = 0"), r"\[training\]: Expected epochs to be an integer >= 1"),
        (("epochs = 5", "epoch = 5"), r"unknown key 'epoch'; accepted are .*Did you mean 'epochs'"),
        (("batch_size = 32", ""), r"\[training\]: expected the key batch_size, which is missing"),
        (("[5.0, 50.0]", "[]"), r"\[vary\]: expected privacy.target_epsilon to be a list"),
        (("[5.0, 50.0]", "[5.0, -1.0]"), "expected target_epsilon to be a finite number > 0"),
        (("seeds = [0, 1]", "seeds = [0, 0]"), r"expected seeds to be different, got \[0, 0\]"),
        (("seeds = [0, 1]", "seeds = true"), "expected seeds to be an integer or a list"),
        (('title = "Small"', "seed = 3"), "unknown key 'seed'; .*Did you mean 'seeds'"),
        (("[model]", "[modle]"), "unknown key 'modle'; .*Did you mean 'model'"),
        (("[model]", "[model.x]"), r"\[model\]: expected the key name, which is missing"),
        (("[model]", "[model"), "not a TOML file"),
        (("clip_norm = 1.0", "clip_norm = 1.0\nfeature_noise = 1.0"), "noise or target_eps"),
        (
            ("order_of_mixture = 16", 'order_of_mixture = "planned"'),
            r"\[mechanism\]: Expected order_of_mixture to be a number or 'plan', got 'planned'",
        ),
        (
            ('"privacy.target_epsilon" = [5.0, 50.0]', '"mechanism.order_of_mixture" = ["plan"]'),
            "Expected target_epsilon with order_of_mixture = 'plan'",
        ),
        (('"privacy.target_epsilon"', '"privacy.delta.x"'), "lead to a value"),
        (('"privacy.target_epsilon"', "privacy"), "expected every key to name a table and a key"),
        (
            ("clip_norm = 1.0", 'clip_norm = 1.0\npreprocessing = "exact-z-score"'),
            "no sound guarantee covers",
        ),
    ],
)  # fmt: skip
def test_a_bad_file_is_one_error_with_file_key_and_what_is_accepted(digits, change, message):
    path = digits(change)
    with pytest.raises(ValueError, match=message) as error:
        load_experiment(path)
    assert str(path) in str(error.value)


def test_what_noisy_counts_may_cost_is_a_share_of_the_target(digits):
    cells = load_experiment(digits()).cells
    assert [cell.privacy.counts_policy() for cell in cells] == [
        NoisyCounts(epsilon=0.25), NoisyCounts(epsilon=2.5),
    ]  # fmt: skip
    said = digits(('noise = "seeded"', 'noise = "seeded"\ncounts_epsilon = 0.1'))
    assert load_experiment(said).cells[0].privacy.counts_policy() == NoisyCounts(epsilon=0.1)


@pytest.mark.thorough
@pytest.mark.parametrize("name", shipped_names())
def test_experiments_of_the_package_are_accepted_and_take_sizes_of_public_data_as_public(name):
    """So that their numbers are those that were published before counts could be noisy.

    Experiments with moments are later, and pay for their counts.
    """
    found = find_experiment(name)
    assert found.title
    assert found.source
    assert len({cell.key(0) for cell in found.cells}) == len(found.cells)
    for cell in found.cells:
        needed = find_mechanism(cell.mechanism).counts_needed(cell.options) is not None
        moments = name.startswith("moments-")
        assert cell.privacy.counts == ("noisy" if moments else "public") or not (needed or moments)
