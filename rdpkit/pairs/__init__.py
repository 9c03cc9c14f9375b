"""Neighbouring data sets that attain lower bounds."""
