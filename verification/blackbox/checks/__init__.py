"""Checks of what a test of code assumes: that runs are alike and independent."""
