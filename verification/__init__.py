"""Claims and their audit, on top of :mod:`rdpkit`."""
