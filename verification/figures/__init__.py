"""Figures of the papers, drawn again: what was published between what is true.

Each figure has a module that computes it as plain data, a
:class:`~rdpkit.verification.figures.model.Figure`; :mod:`rdpkit.verification.figures.drawing` alone
draws, and alone needs matplotlib.
"""
