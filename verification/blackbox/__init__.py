"""Tests of a privacy claim against the code that makes the releases."""
