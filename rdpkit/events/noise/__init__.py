"""Noise other than Gaussian, added to numbers or put in their place."""
