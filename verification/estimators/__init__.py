"""Estimators of privacy loss and tests of privacy claims, one in each file.

They are statistics of scores and densities, and know nothing of events or mechanisms. To add one,
write its file with a function that takes and returns the types of
:mod:`rdpkit.verification.estimators.base`, and add its line to docs/reference/api/estimators.md.
"""
