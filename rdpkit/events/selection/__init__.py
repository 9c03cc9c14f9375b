"""The choice of one out of several options, or of the first that is good enough."""
