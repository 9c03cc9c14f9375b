"""Commands to run inside of this process, about one event of every mechanism."""

import json
import math

from click.testing import CliRunner

from rdpkit.cli import main
from rdpkit.cli.option_types import dashed, option_name
from rdpkit.events import MECHANISMS

ADD = ["--adjacency", "add_or_remove_one"]
GAUSSIAN = ["gaussian", "--noise-std", "5", "--record-norm", "1"]
EVENTS = {
    "gaussian": {"noise_std": 5.0, "record_norm": 1.0, "record_diameter": 1.5},
    "poisson_sampled_gaussian": {
        "noise_std": 2.0,
        "record_norm": 1.0,
        "sampling_probability": 0.01,
    },
    "fixed_size_sampled_gaussian": {
        "noise_std": 4.0,
        "record_norm": 1.0,
        "sample_size": 10,
        "population_size": 1000,
        "release": "sum",
    },
    "custom_rdp": {"orders": [2.0, 8.0, 32.0], "values": [0.1, 0.2, math.inf]},
    "custom_profile": {"epsilons": [0.25, 0.5], "deltas": [0.01, 0.0]},
    "zero_concentrated": {"rho": 0.1, "xi": 0.01},
    "epsilon_delta": {"epsilon": 0.5, "delta": 0.0},
    "mixture_of_gaussians": {
        "noise_std": 4.0,
        "sensitivities": [0.0, 1.0, 2.0],
        "probabilities": [0.9, 0.09, 0.01],
    },
    "laplace": {"noise_scale": 5.0, "record_norm": 1.0},
    "discrete_laplace": {"noise_scale": 5.0, "record_norm": 1},
    "discrete_gaussian": {"sigma": 5.0, "record_norm": 1.0},
    "randomized_response": {"noise_parameter": 0.5, "num_buckets": 4},
    "exponential": {"epsilon": 0.5},
    "permute_and_flip": {"epsilon": 0.5},
    "report_noisy_max": {"noise_scale": 5.0, "sensitivity": 1.0, "noise": "laplace"},
    "distributed_discrete_gaussian": {"sigma": 5.0, "clients": 10, "record_norm": 1.0},
    "top_options": {
        "noise_scale": 5.0,
        "noise": "gumbel",
        "sensitivity": 1.0,
        "options": 3,
    },
    "partition_selection": {"epsilon": 1.0, "delta": 1e-6},
    "thresholded_counts": {"noise_scale": 5.0, "noise": "laplace", "threshold": 80.0},
    "teacher_votes": {"noise_scale": 40.0, "noise": "gaussian", "queries": 100},
    "canonical_noise": {"epsilon": 0.5, "delta": 1e-8},
    "custom_tradeoff": {
        "false_positive_rates": [0.0, 0.5],
        "false_negative_rates": [0.75, 0.25],
    },
    "skellam": {"variance": 25.0, "record_norm": 1.0},
    "bounded_laplace": {"noise_scale": 5.0, "minimum": -1.0, "maximum": 9.0, "sensitivity": 1.0},
    "staircase": {"epsilon": 0.5},
    "truncated_laplace": {"noise_scale": 5.0, "noise_limit": 80.0, "record_norm": 1.0},
    "sampled_with_replacement_gaussian": {
        "noise_std": 2.0,
        "record_norm": 1.0,
        "draws": 10,
        "largest_share": 0.01,
    },
    "gaussian_above_threshold": {
        "threshold_noise_std": 20.0,
        "query_noise_std": 40.0,
        "sensitivity": 1.0,
        "queries": 50,
    },
    "above_threshold": {
        "threshold_noise_scale": 5.0,
        "query_noise_scale": 10.0,
        "sensitivity": 1.0,
    },
    "dpmix": {
        "population_size": 60000,
        "releases": 10,
        "order_of_mixture": 256,
        "feature_dimension": 784,
        "label_dimension": 10,
        "feature_noise": 0.5,
        "label_noise": 0.5,
    },
    "class_wise_dpmix": {
        "class_sizes": [6000, 6000],
        "samples_per_class": [5, 5],
        "order_of_mixture": 128,
        "feature_dimension": 784,
        "label_dimension": 10,
        "feature_noise": 0.7,
        "label_noise": 0.7,
    },
    "dpcda": {
        "class_sizes": [6000, 6000],
        "samples_per_class": [5, 7],
        "order_of_mixture": 128,
        "clip_norm": 1.0,
        "feature_noise": 0.1,
        "label_noise": 0.1,
    },
    "ldpdc": {
        "class_sizes": [5421, 6742],
        "group_size": 50,
        "samples_per_class": 50,
        "noise_std": 28.0,
        "value_bound": 1.0,
        "dimension": 784,
    },
    "ndpdc": {
        "class_sizes": [5421, 6742],
        "group_size": 50,
        "iterations": 100,
        "noise_std": 2.0,
        "clip_norm": 1.0,
    },
    "gaussian_synthesis": {
        "records": 1000000,
        "outputs": 1000,
        "dimension": 6,
        "min_eigenvalue": 0.5,
    },
    "regularised_synthesis": {
        "records": 1000000,
        "outputs": 1000,
        "dimension": 6,
        "added_variance": 0.5,
    },
    "dpsgd": {
        "noise_multiplier": 2.0,
        "dataset_size": 1000,
        "batch_size": 10,
        "steps": 50,
        "sampling": "fixed-size",
    },
    "tree_aggregation": {"noise_std": 9.0, "record_norm": 1.0, "steps": [100, 20]},
    "matrix_factorization": {
        "noise_std": 9.0,
        "record_norm": 1.0,
        "steps": 100,
        "coefficients": [1.0, 0.5],
        "min_separation": 10,
    },
    "user_sampled_gaussian": {
        "noise_std": 2.0,
        "record_norm": 1.0,
        "sampling_probability": 0.01,
        "records_per_user": 3,
    },
    "random_allocation_gaussian": {"noise_std": 2.0, "record_norm": 1.0, "batches": 20},
    "truncated_poisson_gaussian": {
        "noise_std": 2.0,
        "record_norm": 1.0,
        "sampling_probability": 0.01,
        "max_batch_size": 15,
        "population_size": 1000,
    },
    "class_moments": {
        "noise_std": 4.0,
        "sum_weight": 0.5,
        "pooled_weight": 0.6,
        "class_weight": 0.6,
        "count_weight": 0.1,
    },
    "shuffled_gaussian": {
        "noise_std": 4.0,
        "record_norm": 1.0,
        "batch_size": 10,
        "dataset_size": 1000,
    },
}


def under(name):
    """Add-or-remove-one as an option, or another relation if the mechanism does not know it."""
    known = [adjacency.value for adjacency in MECHANISMS[name].adjacencies]
    return ADD if ADD[1] in known else ["--adjacency", known[-1]]


def run(*arguments):
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return done


def answer(*arguments):
    """The JSON that a command prints, read as strictly as any parser may."""

    def refuse(constant):
        raise AssertionError(f"not JSON: {constant}")

    done = run(*arguments, "--format", "json")
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    return json.loads(done.stdout, parse_constant=refuse)


def options(name):
    """A mechanism and its parameters as options."""
    words = [name]
    for key, value in EVENTS[name].items():
        shown = ",".join(map(str, value)) if isinstance(value, list) else value
        words += ["--" + dashed(option_name(key)), shown]
    return words
