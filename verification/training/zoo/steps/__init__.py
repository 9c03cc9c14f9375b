"""Mistakes in one step: clipping, noise, and what a batch is divided by."""
