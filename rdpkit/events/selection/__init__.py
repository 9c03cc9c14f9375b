"""The choice of one out of several options, or of the first that is good enough."""

from rdpkit.events.selection.above_threshold import AboveThreshold
from rdpkit.events.selection.exponential import Exponential
from rdpkit.events.selection.permute_and_flip import PermuteAndFlip
from rdpkit.events.selection.repeat_and_select import RepeatAndSelect
from rdpkit.events.selection.report_noisy_max import ReportNoisyMax

SELECTION_EVENTS = (Exponential, PermuteAndFlip, ReportNoisyMax, AboveThreshold, RepeatAndSelect)

__all__ = [
    "SELECTION_EVENTS",
    "AboveThreshold",
    "Exponential",
    "PermuteAndFlip",
    "RepeatAndSelect",
    "ReportNoisyMax",
]
