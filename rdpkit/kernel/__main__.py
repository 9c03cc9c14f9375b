"""``python -m rdpkit.kernel certificate.json``, or ``python kernel certificate.json``."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

if not __package__:
    # The folder itself was given to Python: it becomes a package under its own name.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    __package__ = Path(__file__).resolve().parent.name

sys.exit(importlib.import_module(".checking", __package__).main(sys.argv[1:]))
