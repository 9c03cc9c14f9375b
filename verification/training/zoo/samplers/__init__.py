"""Mistakes in how batches are made."""
