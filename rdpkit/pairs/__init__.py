"""Neighbouring data sets that attain a lower bound."""
