"""``python -m rdpkit.kernel certificate.json``, or ``python kernel certificate.json``."""

import sys
from pathlib import Path

if __name__ == "__main__":
    folder = Path(__file__).resolve().parent
    # If the folder itself was given to Python, it becomes a package under its own name.
    sys.path[:1] = sys.path[:1] if __package__ else [str(folder.parent)]
    sys.exit(__import__(__package__ or folder.name, fromlist=["main"]).main(sys.argv[1:]))
