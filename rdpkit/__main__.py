"""The program ``rdpkit``, which ``python -m rdpkit`` starts as well."""

import signal

# What a command needs takes a while to be imported, and an interrupt of that is no fault of the
# program: it ends without a traceback until the command listens for signals itself.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from rdpkit.cli import main

if __name__ == "__main__":
    main()
