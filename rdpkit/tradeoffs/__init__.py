"""What an attack achieves at most, and guarantees of one number: mu-GDP and zCDP."""

from rdpkit.tradeoffs.concentrated import ConcentratedDP, zcdp
from rdpkit.tradeoffs.curve import SMALLEST_DELTA, TradeoffCurve, tradeoff
from rdpkit.tradeoffs.gaussian import GaussianDP, gdp

__all__ = [
    "SMALLEST_DELTA",
    "ConcentratedDP",
    "GaussianDP",
    "TradeoffCurve",
    "gdp",
    "tradeoff",
    "zcdp",
]
