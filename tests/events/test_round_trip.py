"""Every event is what its own parameters, as a file would hold them, build."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit.events import MECHANISMS, parameters_of


def plain(event):
    """The parameters that describe an event, as a file would hold them."""
    found = {}
    for parameter in parameters_of(type(event)):
        value = getattr(event, parameter.name)
        if isinstance(value, rdpkit.Event):
            value = {"mechanism": value.mechanism, **plain(value)}
        elif parameter.kind == "events":
            value = [{"mechanism": part.mechanism, **plain(part)} for part in value]
        elif isinstance(value, tuple):
            value = list(value)
        if value is not None:
            found[parameter.name] = value
    return found


positive = st.floats(1e-6, 1e6)
count = st.integers(1, 10**6)
adjacency = st.sampled_from([member.value for member in rdpkit.Adjacency])
SIMPLE = {
    "gaussian": st.fixed_dictionaries({"noise_std": positive, "record_norm": positive}),
    "poisson_sampled_gaussian": st.fixed_dictionaries(
        {"noise_std": positive, "record_norm": positive, "sampling_probability": st.floats(0, 1)}
    ),
    "fixed_size_sampled_gaussian": st.fixed_dictionaries(
        {
            "noise_std": positive,
            "record_norm": positive,
            "sample_size": st.integers(1, 1000),
            "population_size": st.integers(1000, 10**6),
            "release": st.sampled_from(["sum", "mean"]),
        }
    ),
    "custom_rdp": st.builds(
        lambda curve, relation: {
            "orders": sorted(curve),
            "values": [curve[order] for order in sorted(curve)],
            "adjacency": relation,
        },
        st.dictionaries(st.floats(1.5, 1e4), st.floats(0, math.inf), min_size=1, max_size=5),
        adjacency,
    ),
    "custom_profile": st.builds(
        lambda epsilons, deltas, relation: {
            "epsilons": sorted(epsilons),
            "deltas": sorted(deltas[: len(epsilons)], reverse=True),
            "adjacency": relation,
        },
        st.lists(st.floats(0, 50), min_size=1, max_size=5, unique=True),
        st.lists(st.floats(0, 1), min_size=5, max_size=5),
        adjacency,
    ),
    "epsilon_delta": st.fixed_dictionaries(
        {"epsilon": st.floats(0, 1e3), "delta": st.floats(0, 0.999), "adjacency": adjacency}
    ),
    "mixture_of_gaussians": st.fixed_dictionaries(
        {
            "noise_std": positive,
            "sensitivities": st.tuples(positive, positive).map(list),
            "probabilities": st.floats(0.01, 0.99).map(lambda p: [p, 1.0 - p]),
        }
    ),
    "laplace": st.fixed_dictionaries({"noise_scale": positive, "record_norm": positive}),
    "discrete_laplace": st.fixed_dictionaries({"noise_scale": positive, "record_norm": count}),
    "discrete_gaussian": st.fixed_dictionaries(
        {"sigma": positive, "record_norm": positive, "dimension": st.integers(2, 100)}
    ),
    "randomized_response": st.fixed_dictionaries(
        {"noise_parameter": st.floats(1e-6, 1.0), "num_buckets": st.integers(2, 1000)}
    ),
    "exponential": st.fixed_dictionaries({"epsilon": positive, "monotone_scores": st.booleans()}),
    "permute_and_flip": st.fixed_dictionaries(
        {"epsilon": positive, "monotone_scores": st.booleans()}
    ),
    "report_noisy_max": st.fixed_dictionaries(
        {
            "noise_scale": positive,
            "sensitivity": positive,
            "noise": st.sampled_from(["laplace", "gumbel", "exponential"]),
            "monotone_scores": st.booleans(),
        }
    ),
    "distributed_discrete_gaussian": st.fixed_dictionaries(
        {"sigma": positive, "clients": count, "record_norm": positive, "dimension": count}
    ),
    "top_options": st.fixed_dictionaries(
        {
            "noise_scale": positive,
            "sensitivity": positive,
            "noise": st.sampled_from(["laplace", "gumbel"]),
            "options": count,
            "monotone_scores": st.booleans(),
        }
    ),
    "partition_selection": st.fixed_dictionaries(
        {"epsilon": positive, "delta": st.floats(1e-300, 0.999), "max_partitions": count}
    ),
    "thresholded_counts": st.fixed_dictionaries(
        {
            "noise_scale": positive,
            "noise": st.sampled_from(["laplace", "gaussian"]),
            "threshold": st.floats(0, 1e6),
            "max_partitions": count,
            "max_per_partition": positive,
        }
    ),
    "teacher_votes": st.fixed_dictionaries(
        {
            "noise_scale": positive,
            "noise": st.sampled_from(["laplace", "gaussian"]),
            "queries": st.integers(1, 100),
            "screening_noise_std": positive,
            "screened": st.integers(100, 1000),
        }
    ),
    "canonical_noise": st.fixed_dictionaries({"epsilon": positive, "delta": st.floats(0, 0.999)}),
    "custom_tradeoff": st.fixed_dictionaries(
        {
            "false_positive_rates": st.floats(0.1, 0.5).map(lambda a: [0.0, a]),
            "false_negative_rates": st.floats(0.1, 0.5).map(lambda a: [1.0 - a, a]),
            "adjacency": adjacency,
        }
    ),
    "skellam": st.fixed_dictionaries(
        {
            "variance": positive,
            "record_norm": positive,
            "dimension": count,
            "record_l1_norm": positive,
        }
    ),
    "bounded_laplace": st.fixed_dictionaries(
        {
            "noise_scale": positive,
            "minimum": st.floats(-1e3, 0.0),
            "maximum": positive,
            "sensitivity": positive,
        }
    ),
    "staircase": st.fixed_dictionaries({"epsilon": positive, "gamma": st.floats(0, 1)}),
    "truncated_laplace": st.fixed_dictionaries(
        {"noise_scale": positive, "noise_limit": positive, "record_norm": positive}
    ),
    "sampled_with_replacement_gaussian": st.fixed_dictionaries(
        {
            "noise_std": positive,
            "record_norm": positive,
            "draws": count,
            "largest_share": st.floats(0, 1),
        }
    ),
    "gaussian_above_threshold": st.fixed_dictionaries(
        {
            "threshold_noise_std": positive,
            "query_noise_std": positive,
            "sensitivity": positive,
            "queries": count,
            "most_above": st.integers(1, 100),
            "monotone_queries": st.booleans(),
        }
    ),
    "above_threshold": st.fixed_dictionaries(
        {
            "threshold_noise_scale": positive,
            "query_noise_scale": positive,
            "sensitivity": positive,
            "most_above": st.integers(1, 100),
            "monotone_queries": st.booleans(),
        }
    ),
    "zero_concentrated": st.fixed_dictionaries(
        {
            "rho": st.floats(0, 1e6),
            "adjacency": adjacency,
            "xi": st.floats(0, 1e6),
            "delta": st.floats(0, 0.9),
        }
    ),
    "dpmix": st.fixed_dictionaries(
        {
            "population_size": st.integers(100, 10**6),
            "releases": count,
            "order_of_mixture": st.integers(1, 100),
            "feature_dimension": count,
            "label_dimension": count,
            "feature_noise": positive,
            "label_noise": positive,
        }
    ),
    "gaussian_synthesis": st.fixed_dictionaries(
        {
            "records": st.integers(2, 10**6),
            "outputs": count,
            "dimension": count,
            "min_eigenvalue": st.floats(1e-6, 1.0),
        }
    ),
    "regularised_synthesis": st.fixed_dictionaries(
        {
            "records": st.integers(2, 10**6),
            "outputs": count,
            "dimension": count,
            "added_variance": positive,
        }
    ),
    "dpsgd": st.fixed_dictionaries(
        {
            "noise_multiplier": positive,
            "dataset_size": st.integers(1000, 10**6),
            "batch_size": st.integers(1, 500),
            "epochs": st.floats(0.1, 100),
            "sampling": st.sampled_from(["poisson", "fixed-size", "shuffle"]),
            "microbatch_size": st.integers(1, 8),
            "accumulation_steps": st.integers(1, 2),
        }
    ),
    "tree_aggregation": st.fixed_dictionaries(
        {
            "noise_std": positive,
            "record_norm": positive,
            "steps": st.one_of(count, st.lists(count, min_size=1, max_size=3)),
            "completed": st.booleans(),
        }
    ),
    "matrix_factorization": st.fixed_dictionaries(
        {
            "noise_std": positive,
            "record_norm": positive,
            "steps": count,
            "coefficients": st.lists(st.floats(0.1, 1.0), min_size=1, max_size=4),
            "min_separation": st.integers(4, 10),
            "sampling_probability": st.one_of(st.none(), st.floats(0.0, 1.0)),
        }
    ),
    "user_sampled_gaussian": st.fixed_dictionaries(
        {
            "noise_std": positive,
            "record_norm": positive,
            "sampling_probability": st.floats(0, 1),
            "records_per_user": st.integers(1, 1000),
        }
    ),
    "random_allocation_gaussian": st.fixed_dictionaries(
        {"noise_std": positive, "record_norm": positive, "batches": st.integers(1, 10**5)}
    ),
    "truncated_poisson_gaussian": st.fixed_dictionaries(
        {
            "noise_std": positive,
            "record_norm": positive,
            "sampling_probability": st.floats(0, 1),
            "max_batch_size": st.integers(1, 1000),
            "population_size": st.integers(1, 10**6),
        }
    ),
    "class_moments": st.fixed_dictionaries(
        {
            "noise_std": positive,
            "sum_weight": positive,
            "pooled_weight": st.floats(0.0, 1e3),
            "nonnegative": st.booleans(),
        }
    ),
    "shuffled_gaussian": st.fixed_dictionaries(
        {
            "noise_std": positive,
            "record_norm": positive,
            "batch_size": st.integers(1, 1000),
            "dataset_size": st.integers(1000, 10**6),
        }
    ),
}


def classes(**others):
    return st.lists(st.integers(100, 10**5), min_size=1, max_size=4).flatmap(
        lambda sizes: st.fixed_dictionaries(
            {
                "class_sizes": st.just(sizes),
                **{
                    name: st.one_of(
                        count, st.lists(count, min_size=len(sizes), max_size=len(sizes))
                    )
                    if strategy == "per class"
                    else strategy
                    for name, strategy in others.items()
                },
            }
        )
    )


PER_CLASS = {
    "class_wise_dpmix": classes(
        samples_per_class="per class",
        order_of_mixture=st.integers(1, 100),
        feature_dimension=count,
        label_dimension=count,
        feature_noise=positive,
        label_noise=st.floats(0, 10),
    ),
    "dpcda": classes(
        samples_per_class="per class",
        order_of_mixture=st.integers(1, 100),
        clip_norm=positive,
        feature_noise=positive,
        label_noise=st.floats(0, 10),
        preprocessing=st.sampled_from(["public", "exact-z-score"]),
    ),
    "ldpdc": classes(
        group_size=st.floats(0.1, 100),
        samples_per_class=count,
        noise_std=positive,
        value_bound=positive,
        dimension=count,
    ),
    "ndpdc": classes(
        group_size=st.floats(0.1, 100), iterations=count, noise_std=positive, clip_norm=positive
    ),
}
leaf = st.one_of(
    *(
        strategy.map(lambda p, name=name: (name, p))
        for name, strategy in {**SIMPLE, **PER_CLASS}.items()
    )
)
table = leaf.map(lambda pair: {"mechanism": pair[0], **pair[1]})
# What states sizes of its data is refused in a sample.
on_a_sample = st.one_of(
    *(
        SIMPLE[name].map(lambda given, name=name: {"mechanism": name, **given})
        for name in ("gaussian", "laplace", "epsilon_delta")
    )
)
NESTED = {
    "repeated": st.fixed_dictionaries(
        {"event": table, "count": count}, optional={"same_partition": st.booleans()}
    ),
    "group": st.fixed_dictionaries(
        {
            "event": SIMPLE["gaussian"].map(lambda given: {"mechanism": "gaussian", **given}),
            "size": st.integers(1, 100),
        }
    ),
    "poisson_sampled": st.fixed_dictionaries(
        {"event": on_a_sample, "sampling_probability": st.floats(0, 1)}
    ),
    "fixed_size_sampled": st.fixed_dictionaries(
        {
            "event": on_a_sample,
            "sample_size": st.integers(1, 1000),
            "population_size": st.integers(1000, 10**6),
        }
    ),
    "first_above_threshold": st.fixed_dictionaries(
        {"event": table, "stopping_probability": st.floats(1e-6, 1.0)}
    ),
    "repeat_and_select": st.fixed_dictionaries(
        {
            "event": table,
            "mean": st.floats(1.0, 1e6),
            "shape": st.one_of(st.floats(-0.9, 100.0), st.just(math.inf)),
        }
    ),
    "composed": st.fixed_dictionaries({"events": st.lists(table, min_size=1, max_size=3)}),
    "parallel": st.fixed_dictionaries(
        {
            "events": st.lists(table, min_size=1, max_size=3),
            "record_keeps_its_part": st.booleans(),
            "fixed_partition": st.booleans(),
        }
    ),
}
ALL = {**SIMPLE, **PER_CLASS, **NESTED}


@pytest.mark.thorough
@pytest.mark.parametrize("mechanism", sorted(MECHANISMS))
@settings(max_examples=50)
@given(data=st.data())
def test_an_event_is_rebuilt_from_its_own_parameters(mechanism, data):
    event = rdpkit.event_from_parameters(mechanism, data.draw(ALL[mechanism]))
    again = rdpkit.event_from_parameters(mechanism, plain(event))
    assert again == event
    assert hash(again) == hash(event)
