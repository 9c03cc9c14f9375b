"""Figures of the papers, drawn again, with proven upper and lower bounds beside what was published.

To add a figure, write a module whose function ``figure`` returns a
:class:`paper_figures.model.Figure`, and add an entry to
:mod:`paper_figures.catalogue`. Only
:mod:`paper_figures.drawing` draws
and needs matplotlib.
"""
