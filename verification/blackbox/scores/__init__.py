"""Scores, which turn an output into one number, learnt from outputs of past runs.

A score may be any function that does not depend on the runs that it is tested on. Several scores
are tested together. Each family of scores sees one kind of leak
(:mod:`rdpkit.verification.blackbox.scores.library`).
"""
