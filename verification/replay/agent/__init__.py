"""What runs beside the code that is examined, in whatever environment that code needs.

These modules import nothing of rdpkit and nothing that is not in Python's standard library, except
numpy, torch and the examined library where these are installed. So the folder runs in an
environment whose versions conflict with those of rdpkit, and talks in JSON.
"""
