"""Experiments as TOML files: what is released, how it is judged, and how often."""
