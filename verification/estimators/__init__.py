"""Estimators of privacy loss and tests of privacy claims, one a file."""
