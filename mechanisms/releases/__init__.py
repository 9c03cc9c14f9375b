"""A release on the disk: arrays, the manifest with their guarantee, checkpoints."""
