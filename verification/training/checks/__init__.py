"""The checks of a training without a run of it; each is a function of a training and options."""
