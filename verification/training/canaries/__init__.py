"""The check of a run: how canaries join its steps, how they are scored, and what scores show."""
