"""``python -m rdpkit.kernel certificate.json``, or ``python kernel certificate.json``."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

if __name__ == "__main__":
    folder = Path(__file__).resolve().parent
    if not __package__:
        # The folder itself was given to Python: it becomes a package under its own name.
        sys.path[0] = str(folder.parent)
    sys.exit(importlib.import_module(__package__ or folder.name).main(sys.argv[1:]))
