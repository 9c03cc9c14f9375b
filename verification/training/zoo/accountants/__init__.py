"""Mistakes in what the accountant is told, and in what is claimed."""
