"""Theorems about Gaussians on samples: Poisson samples, and samples of a fixed size."""
