"""Events of papers in one line each, with the parameters in which tests seldom differ left out."""

import rdpkit


def dpcda(sizes, samples, order, *, noise, label_noise=0.0, clip_norm=1.0):
    """Means of ``order`` records of a class, ``samples`` of each class."""
    return rdpkit.DPCDA(
        class_sizes=sizes,
        samples_per_class=samples,
        order_of_mixture=order,
        clip_norm=clip_norm,
        feature_noise=noise,
        label_noise=label_noise,
    )


def dpmix(population, releases, order, *, noise, label_noise=None, shape):
    """Means of ``order`` records of all; ``shape`` holds the numbers of features and of classes."""
    return rdpkit.DPMix(
        population_size=population,
        releases=releases,
        order_of_mixture=order,
        feature_dimension=shape[0],
        label_dimension=shape[1],
        feature_noise=noise,
        label_noise=noise if label_noise is None else label_noise,
    )


def class_wise_dpmix(sizes, samples, order, *, noise, label_noise=0.0, shape):
    """As :func:`dpcda`, of records in the unit cube."""
    return rdpkit.ClassWiseDPMix(
        class_sizes=sizes,
        samples_per_class=samples,
        order_of_mixture=order,
        feature_dimension=shape[0],
        label_dimension=shape[1],
        feature_noise=noise,
        label_noise=label_noise,
    )


def ldpdc(sizes, samples, group, *, noise, dimension, value_bound=1.0):
    """Sums over Poisson samples of ``group`` records on average, ``samples`` of each class."""
    return rdpkit.LDPDC(
        class_sizes=sizes,
        samples_per_class=samples,
        group_size=group,
        noise_std=noise,
        dimension=dimension,
        value_bound=value_bound,
    )


def ndpdc(sizes, iterations, group, *, noise, clip_norm=1.0):
    """Sums over Poisson samples of ``group`` clipped gradients on average, of each class."""
    return rdpkit.NDPDC(
        class_sizes=sizes,
        iterations=iterations,
        group_size=group,
        noise_std=noise,
        clip_norm=clip_norm,
    )
