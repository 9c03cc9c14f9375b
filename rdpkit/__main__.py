"""``python -m rdpkit``: the command line."""

from rdpkit.cli import main

if __name__ == "__main__":
    main()
