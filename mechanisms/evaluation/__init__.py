"""What a release is worth: training on it, testing on real records, rows of results."""
