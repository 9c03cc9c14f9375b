"""Canaries of a run: how they join its steps, how they are scored, and what the scores show."""
