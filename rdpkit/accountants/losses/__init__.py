"""Privacy loss distributions of compositions, enclosed: curves, grids, sums and their errors."""
