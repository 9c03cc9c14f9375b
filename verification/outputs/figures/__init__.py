"""Figures of the papers, drawn again, with proven upper and lower bounds beside what was published.

To add a figure, write a module whose function ``figure`` returns a
:class:`rdpkit.verification.outputs.figures.model.Figure`, and add an entry to
:mod:`rdpkit.verification.outputs.figures.catalogue`. Only
:mod:`rdpkit.verification.outputs.figures.drawing` draws
and needs matplotlib.
"""
