"""What an attack achieves at most: trade-off curves, advantage, Gaussian differential privacy."""

from rdpkit.tradeoffs.curve import SMALLEST_DELTA, TradeoffCurve, tradeoff
from rdpkit.tradeoffs.gaussian import GaussianDP, gdp

__all__ = ["SMALLEST_DELTA", "GaussianDP", "TradeoffCurve", "gdp", "tradeoff"]
