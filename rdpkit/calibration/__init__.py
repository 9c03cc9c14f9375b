"""Choosing a parameter for a target: the last value that meets (epsilon, delta), with its proof."""

from __future__ import annotations

from rdpkit.calibration.attacks import AttackCalibration, calibrate_attack
from rdpkit.calibration.calibrator import calibrate
from rdpkit.calibration.outcome import (
    Calibration,
    CalibrationError,
    NoEffectError,
    UnreachableTargetError,
)

__all__ = [
    "AttackCalibration",
    "Calibration",
    "CalibrationError",
    "NoEffectError",
    "UnreachableTargetError",
    "calibrate",
    "calibrate_attack",
]
