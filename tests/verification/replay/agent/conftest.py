"""A tape on which draws are, and what it has of noise that was put on values."""

from __future__ import annotations

import numpy as np
import pytest

from rdpkit.verification.replay.agent.runs import Taps
from rdpkit.verification.replay.agent.tape import Tape, recording


@pytest.fixture
def tape():
    Taps.open()
    with recording(Tape()) as found:
        yield found
    Taps.close()


@pytest.fixture
def put(tape):
    """The families, scales and values of noise that was seen to be put on a value."""

    def of_values():
        # A location of 0 is written down as well: it may be a value.
        calls = [one for one in tape.calls if one.value is not None and np.any(one.value)]
        return [(c.family, float(np.max(c.scale)), np.ravel(c.value).tolist()) for c in calls]

    return of_values
