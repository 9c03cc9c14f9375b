"""One of several noisy sums, at random: what it reveals that a record is in it."""
