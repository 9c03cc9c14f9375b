"""Algorithms that release data together with their guarantee.

The layer between :mod:`rdpkit`, which it may use, and :mod:`verification`, which may use it.
"""
