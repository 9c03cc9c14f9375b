"""Training with noisy gradients: DP-SGD by its settings, and the ways in which batches are made."""
