"""``python -m rdpkit.kernel certificate.json``, or ``python kernel certificate.json``."""

import sys
from importlib import import_module
from pathlib import Path

folder = Path(__file__).resolve().parent
# If the folder itself was given to Python, it becomes a package under its own name.
sys.path[:1] = sys.path[:1] if __package__ else [str(folder.parent)]
sys.exit(import_module(__package__ or folder.name).main(sys.argv[1:]))
