"""Guarantees of the papers as printed, to compare with; never part of an upper bound."""
