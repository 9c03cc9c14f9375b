"""Mechanisms that release data, one a file."""
