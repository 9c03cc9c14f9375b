"""What is collected without the optional libraries, and how many threads a test may use."""

from __future__ import annotations

import os
from importlib.util import find_spec

# The suite runs in one process per core. Libraries that start a thread per core in each process
# spend most of their time waiting for each other. The processes that tests start inherit this.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# Examples in docstrings run by importing their modules.
collect_ignore = [] if find_spec("opacus") else ["rdpkit/interop/opacus.py"]
