"""How the theorems' integrals and sums are computed. Nothing here is a statement about privacy."""
