"""What one run with many canaries tells: in three forms, from the fewest assumptions on.

:mod:`guesses <rdpkit.verification.estimators.one_run.guesses>` is the bound on epsilon of Steinke,
Nasr and Jagielski, :mod:`tradeoff <rdpkit.verification.estimators.one_run.tradeoff>` the bound by a
whole trade-off curve of Mahloujifar, Melis and Chaudhuri, and
:mod:`independent <rdpkit.verification.estimators.one_run.independent>` a bound by ranks for
canaries whose scores do not depend on each other.
"""
