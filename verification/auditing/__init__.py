"""The audit of claims: recomputed numbers, verdicts, and what moved since a baseline."""
