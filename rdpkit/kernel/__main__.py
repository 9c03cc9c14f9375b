"""``python -m rdpkit.kernel certificate.json``, or ``python kernel certificate.json``."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

if __name__ == "__main__":
    package = __package__ or Path(__file__).resolve().parent.name
    if not __package__:
        # The folder itself was given to Python: it becomes a package under its own name.
        sys.path[0] = str(Path(__file__).resolve().parent.parent)
    sys.exit(importlib.import_module(".checking", package).main(sys.argv[1:]))
