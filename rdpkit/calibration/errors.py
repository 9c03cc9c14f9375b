"""Why a calibration has no answer."""

from __future__ import annotations


class CalibrationError(ValueError):
    """A target that no value of the parameter meets, or that every value does.

    Parameters
    ----------
    message : str
        What was asked for, and why there is no answer.
    limit : float
        The epsilon at the end of the parameter's range, certified or rounded as the bound is; inf
        where no theorem bounds it.
    """

    def __init__(self, message: str, *, limit: float) -> None:
        super().__init__(message)
        self.limit = limit


class UnreachableTargetError(CalibrationError):
    """No value of the parameter meets the target.

    Parameters
    ----------
    message : str
        Why not, and how far it is out of reach.
    limit : float
        The smallest epsilon that the parameter gives.
    """


class NoEffectError(CalibrationError):
    """The bound does not depend on the parameter.

    Parameters
    ----------
    message : str
        What was tried.
    limit : float
        The bound's epsilon.
    """
