"""Common events about records of norm 1, in one line each."""

import rdpkit


def gaussian(noise=1.0, **more):
    """A sum with Gaussian noise."""
    return rdpkit.Gaussian(noise_std=noise, record_norm=1.0, **more)


def laplace(noise, **more):
    """A sum with Laplace noise."""
    return rdpkit.Laplace(noise_scale=noise, record_norm=1.0, **more)


def poisson(noise=1.0, q=0.1, **more):
    """A sum over a Poisson sample with Gaussian noise."""
    return rdpkit.PoissonSampledGaussian(
        noise_std=noise, record_norm=1.0, sampling_probability=q, **more
    )


def training(q, noise, steps=1):
    """Steps of DP-SGD."""
    return poisson(noise, q) * steps


def fixed_size(noise, sample, population, *, record_norm=1.0, **more):
    """A sum over a sample of fixed size with Gaussian noise."""
    return rdpkit.FixedSizeSampledGaussian(
        noise_std=noise,
        record_norm=record_norm,
        sample_size=sample,
        population_size=population,
        release="sum",
        **more,
    )


def truncated(noise, q, largest, population, **more):
    """A sum over a Poisson sample that is cut at a size."""
    return rdpkit.TruncatedPoissonGaussian(
        noise_std=noise,
        record_norm=1.0,
        sampling_probability=q,
        max_batch_size=largest,
        population_size=population,
        **more,
    )


def allocated(noise, batches, **more):
    """Sums over batches, in one of which a record is."""
    return rdpkit.RandomAllocationGaussian(
        noise_std=noise, record_norm=1.0, batches=batches, **more
    )


def shuffled(noise, batch, size, **more):
    """Sums over the batches of a shuffled epoch."""
    return rdpkit.ShuffledGaussian(
        noise_std=noise, record_norm=1.0, batch_size=batch, dataset_size=size, **more
    )


def sparse_vector(threshold, query, **more):
    """Queries that move by 1, asked until one is above a threshold."""
    return rdpkit.AboveThreshold(
        threshold_noise_scale=threshold, query_noise_scale=query, sensitivity=1.0, **more
    )


def noisy_maximum(scale, noise, **more):
    """The option whose noisy score is the largest, of scores that move by 1."""
    return rdpkit.ReportNoisyMax(noise_scale=scale, sensitivity=1.0, noise=noise, **more)


def synthesis(records, outputs, dimension, eigenvalue):
    """Draws from the normal law with the data's mean and covariance."""
    return rdpkit.GaussianSynthesis(
        records=records, outputs=outputs, dimension=dimension, min_eigenvalue=eigenvalue
    )
