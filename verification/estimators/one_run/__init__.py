"""What one run with many canaries tells: by counting right guesses, and by a trade-off curve.

:mod:`guesses <rdpkit.verification.estimators.one_run.guesses>` is the bound on epsilon of Steinke,
Nasr and Jagielski, and :mod:`tradeoff <rdpkit.verification.estimators.one_run.tradeoff>` the bound
by a whole trade-off curve of Mahloujifar, Melis and Chaudhuri.
"""
