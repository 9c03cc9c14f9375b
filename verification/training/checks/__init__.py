"""The four checks of a training; each is a function of a training and options."""
