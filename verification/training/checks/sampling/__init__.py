"""Which records are in which batch: draws that are counted, and tests of them."""
