"""Theorems about synthesis from a mean and a covariance."""
