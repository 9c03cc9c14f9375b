"""Releases from a random sample of the records."""
