"""Correct and broken mechanisms, and what ``rdpkit verify`` says about each of them.

The mechanisms are written as users of the command write them, without any of its code, and with no
regard to how it tests. :mod:`benchmarks.verdicts.correct` holds those whose claim is true, most of
them exactly at the boundary, and :mod:`benchmarks.verdicts.broken` those whose claim is false.
"""
