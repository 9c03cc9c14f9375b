"""What is collected where an optional library is not installed."""

from __future__ import annotations

from importlib.util import find_spec

# Examples in docstrings run by importing their modules.
collect_ignore = [] if find_spec("opacus") else ["rdpkit/interop/opacus.py"]
