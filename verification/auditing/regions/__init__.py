"""What an underspecified claim would need: for which values of what is missing it would be true."""
