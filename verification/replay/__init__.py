"""Record a program on one data set, replay it on a neighbouring one, and compare the two."""
