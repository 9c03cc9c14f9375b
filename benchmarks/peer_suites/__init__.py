"""The tests of other libraries, run with our accountants in place of theirs.

    python -m benchmarks.peer_suites dp-accounting PATH

PATH is a checkout (or an unpacked source distribution) of the library. Its own test files are run
where they are, by pytest in a process of its own; nothing of theirs is copied. Before they are
imported, their accountants are replaced by ours, and packages that are not installed and that the
tests hardly need (jax, tensorflow) by empty ones.

A test that fails is explained: by the numbers in its message, by the question that our accountant
was asked, and by the error. It counts as passed, with a note, only where a proof says that ours is
right: our number is smaller than theirs, certified, and at least what is known to be attained; or
theirs is below what is certainly attained; or theirs refuses what ours answers with a certified
number that lies above what is attained.
"""
