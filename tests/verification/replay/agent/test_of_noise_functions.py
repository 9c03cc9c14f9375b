"""Noise that a library draws on a zero, to be added to a value later."""

import sys
import types
from contextlib import ExitStack

import numpy as np
import pytest

from rdpkit.verification.replay.agent import tape as tapes
from rdpkit.verification.replay.agent.taps import of_noise_functions


@pytest.fixture
def library():
    """A module with a function of noise, as dpmm and SmartNoise's synthesizers have."""
    module = types.ModuleType("a_library_of_noise")

    def gaussian_noise(sigma, size=None):
        return [sigma * one for one in np.random.standard_normal(size)]  # noqa: NPY002

    module.gaussian_noise = gaussian_noise
    sys.modules[module.__name__] = module
    yield module
    del sys.modules[module.__name__]


def _measured(library, values, numpy):
    return values + numpy.array(library.gaussian_noise(2.0, len(values)))


@pytest.mark.parametrize("sums", [[3.0, 4.0], [0.0, 0.0]])
def test_the_value_and_the_scale_are_seen(library, sums):
    tape = tapes.Tape()
    with ExitStack() as stack, tapes.recording(tape):
        of_noise_functions.tap_noise_functions(stack, library, "a_library")
        _measured(library, np.array(sums), of_noise_functions.KeepingNumpy())
    call = tape.calls[-1]
    assert (call.family, call.scale, call.value.tolist()) == ("normal", 2.0, sums)


def test_a_neighbour_gets_the_same_noise(library):
    runs = []
    for sums in ([3.0, 4.0], [2.0, 4.0]):
        tape = tapes.Tape(earlier=runs[0][0] if runs else None)
        with ExitStack() as stack, tapes.recording(tape):
            of_noise_functions.tap_noise_functions(stack, library, "a_library")
            found = _measured(library, np.array(sums), of_noise_functions.KeepingNumpy())
        runs.append((tape, np.asarray(found).tolist()))
    assert runs[0][1] == runs[1][1]


def test_the_function_is_back_afterwards(library):
    before = library.gaussian_noise
    with ExitStack() as stack:
        of_noise_functions.tap_noise_functions(stack, library, "a_library")
    assert library.gaussian_noise is before
