"""Moments of records under public features, released with noise: features, rounds and readers."""
