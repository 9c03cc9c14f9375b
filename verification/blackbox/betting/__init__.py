"""Bets against a claim: on scores, on pairs of data sets, and what they show when they end."""
