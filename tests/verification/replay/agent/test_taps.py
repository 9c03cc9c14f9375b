"""Taps: records are sampled user by user, and noise is that which is drawn on a zero."""

from __future__ import annotations

import sys
import types
from collections import defaultdict
from contextlib import ExitStack

import numpy as np
import pytest

from rdpkit.verification.replay.agent import tape as tapes
from rdpkit.verification.replay.agent import taps
from rdpkit.verification.replay.agent.examine import examined
from rdpkit.verification.replay.agent.runs import ExaminedData, Taps
from rdpkit.verification.replay.agent.taps import of_noise_functions


class Backend:
    """As the local backend of PipelineDP samples and maps."""

    def group_by_key(self, col):
        found = defaultdict(list)
        for key, value in col:
            found[key].append(value)
        return list(found.items())

    def sample_fixed_per_key(self, col, n, stage_name=None):
        return [(key, self.some(values, n)) for key, values in self.group_by_key(col)]

    @staticmethod
    def some(values, n):
        if len(values) <= n:
            return values
        drawn = np.random.choice(len(values), n, replace=False)  # noqa: NPY002
        return [values[place] for place in drawn]


@pytest.fixture
def backend(monkeypatch):
    names = ("pipeline_dp", "pipeline_dp.pipeline_backend", "pipeline_dp.sampling_utils")
    for name in names:
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    module = sys.modules["pipeline_dp.pipeline_backend"]
    module.LocalBackend, module.ReiterableLazyIterable = Backend, list
    utils = sys.modules["pipeline_dp.sampling_utils"]
    utils.choose_from_list_without_replacement = Backend.some
    sys.modules["pipeline_dp"].sampling_utils = utils
    monkeypatch.setattr(taps, "_TAPPED", {"pipeline_dp": "pipeline_dp"})
    yield Backend()
    Taps.close()


def _pair(rows):
    """The records of three users, and those of two of them."""
    sides = [rows, [row for row in rows if row[0] != "a"]]
    return [
        ExaminedData({"who": [one for one, _ in side], "x": [x for _, x in side]}, numbers=["x"])
        for side in sides
    ]


ROWS = [(who, float(place)) for place, who in enumerate("abcabcabcabc")]


def _differences(target):
    return [one["kind"] for one in examined(target, *_pair(ROWS), seed=1)["differences"]]


def test_another_user_has_the_same_sample(backend):
    def sums(data, rng):
        rows = zip(data.table["who"], data.table["x"], strict=True)
        sampled = dict(backend.sample_fixed_per_key(rows, 2))
        return {who: sum(sampled[who]) for who in "bc"}

    assert _differences(sums) == []


def test_a_released_sample_is_a_difference(backend):
    def released(data, rng):
        rows = zip(data.table["who"], data.table["x"], strict=True)
        return sorted(backend.sample_fixed_per_key(rows, 2))

    assert "structure" in _differences(released)


def test_without_a_tape_nothing_changes(backend):
    with ExitStack() as stack:
        taps.tap_libraries(stack)
        assert len(dict(backend.sample_fixed_per_key(ROWS, 2))["a"]) == 2


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
