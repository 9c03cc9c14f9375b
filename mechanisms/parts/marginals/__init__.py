"""Synthetic tables from noisy marginals: counting, measuring, choosing pairs, a model, and rows."""

__all__: list[str] = []
