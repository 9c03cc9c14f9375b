"""Any number of claims, all different, as TOML: what a large audit is measured with."""

import random

_KINDS = ("gaussian", "poisson", "repeated", "composed", "ldpdc", "fixed-size", "dpcda")
_REPLACE_ONE = ("fixed-size", "dpcda")


def many_claims(count, *, seed=0):
    """``count`` claims in one text; of every kind in turn, with epsilons right, wrong and loose."""
    draw = random.Random(seed)
    return "".join(_claim(k, _KINDS[k % len(_KINDS)], draw) for k in range(count))


def _claim(number, kind, draw):
    noise = round(10.0 ** draw.uniform(-0.1, 1.0), 4)
    probability = round(10.0 ** draw.uniform(-3.5, -1.0), 7)
    count = draw.randint(10, 5000)
    delta = draw.choice(["1e-5", "1e-6", "3e-7"])
    sampled = (
        f'mechanism = "poisson_sampled_gaussian", noise_std = {noise}, record_norm = 1.0, '
        f"sampling_probability = {probability}"
    )
    mechanism, parameters = {
        "gaussian": ("gaussian", f"noise_std = {noise}\nrecord_norm = 1.{number:06}"),
        "poisson": (
            "poisson_sampled_gaussian",
            f"noise_std = {noise}\nrecord_norm = 1.0\nsampling_probability = {probability}",
        ),
        "repeated": ("repeated", f"count = {count}\nevent = {{ {sampled} }}"),
        "composed": (
            "composed",
            f'events = [{{ {sampled} }}, {{ mechanism = "gaussian", noise_std = {noise + 3.0}, '
            "record_norm = 1.0 }]",
        ),
        "ldpdc": (
            "ldpdc",
            f"class_sizes = [{5000 + number}, {6000 + number}]\ngroup_size = 50\n"
            f"samples_per_class = {draw.randint(10, 100)}\nnoise_std = {20.0 + noise}\n"
            "value_bound = 1.0\ndimension = 784",
        ),
        "fixed-size": (
            "fixed_size_sampled_gaussian",
            f"noise_std = {noise}\nrecord_norm = 0.5\nsample_size = {draw.randint(5, 500)}\n"
            f'population_size = {5000 + number}\nrelease = "sum"',
        ),
        "dpcda": (
            "dpcda",
            f"class_sizes = [{5000 + number}, {6000 + number}]\nsamples_per_class = {count}\n"
            f"order_of_mixture = {draw.randint(5, 500)}\nclip_norm = 1.0\n"
            f"feature_noise = {noise / 10.0:.5f}\nlabel_noise = {noise / 5.0:.5f}",
        ),
    }[kind]
    adjacency = "replace_one" if kind in _REPLACE_ONE else "add_or_remove_one"
    epsilon = round(10.0 ** draw.uniform(-1.5, 1.5), 3) + 0.001
    return (
        f'[[claim]]\nid = "{kind}-{number}"\nsource = "generated"\nmechanism = "{mechanism}"\n'
        f'adjacency = "{adjacency}"\ndelta = {delta}\nepsilon = {epsilon:.3f}\n'
        f"[claim.parameters]\n{parameters}\n\n"
    )
