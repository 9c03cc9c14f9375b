"""Common events about records of norm 1, in one line each."""

from __future__ import annotations

import rdpkit


def gaussian(noise, **more):
    """A sum with Gaussian noise."""
    return rdpkit.Gaussian(noise_std=noise, record_norm=1.0, **more)


def laplace(noise, **more):
    """A sum with Laplace noise."""
    return rdpkit.Laplace(noise_scale=noise, record_norm=1.0, **more)


def poisson(noise, q, **more):
    """A sum over a Poisson sample with Gaussian noise."""
    return rdpkit.PoissonSampledGaussian(
        noise_std=noise, record_norm=1.0, sampling_probability=q, **more
    )


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
