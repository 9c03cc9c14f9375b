"""How good a release is: models, marginals, pictures and a membership test, as one report."""

from rdpkit.mechanisms.evaluation.utility.evaluate import evaluate_release
from rdpkit.mechanisms.evaluation.utility.private import Budget
from rdpkit.mechanisms.evaluation.utility.report import UtilityReport
from rdpkit.mechanisms.evaluation.utility.trained import ROWS

__all__ = ["ROWS", "Budget", "UtilityReport", "evaluate_release"]
