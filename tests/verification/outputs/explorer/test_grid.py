"""Sliders and their numbers: each is an upper bound at its own setting, and none is a guess."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit import DPSGD, Adjacency, Gaussian, PoissonSampledGaussian, Repeated
from rdpkit.calibration.parameters import paths
from rdpkit.verification.auditing.audit import audit
from rdpkit.verification.claims.reading import load_files, register_files, shipped_files
from rdpkit.verification.outputs.explorer import grid as module
from rdpkit.verification.outputs.explorer.grid import (
    GridCache,
    SliderQuestion,
    grid_about,
    grids_about,
    question_about,
)
from rdpkit.verification.outputs.explorer.sliders import ROLES, sliders_of
from tests.verification.finding_examples import claim

ADD = Adjacency.ADD_OR_REMOVE_ONE
GAUSSIAN = Gaussian(noise_std=4.0, record_norm=1.0)
TRAINING = DPSGD(noise_multiplier=1.0, dataset_size=1000, batch_size=10, steps=100)


def question(event, *, delta=1e-5, upper=None, adjacency=ADD):
    if upper is None:
        upper = rdpkit.epsilon(event, delta=delta, adjacency=adjacency).epsilon
    return SliderQuestion(event=event, adjacency=adjacency, delta=delta, order=None, upper=upper)


def wrong_numbers(asked, grid, *, every=1):
    """Settings whose number the accountant does not confirm, one of ``every``."""
    wrong = []
    for place, (event, shown) in enumerate(zip(grid.sliders.events(), grid.values)):
        if place % every or event is None:
            continue
        best = rdpkit.epsilon(event, delta=asked.delta, adjacency=asked.adjacency).epsilon
        if shown is None or shown < best:
            wrong.append((event, shown, best))
    return wrong


def test_every_number_is_an_upper_bound_that_the_accountant_confirms():
    asked = question(GAUSSIAN)
    grid = grid_about(asked)
    assert len(grid.values) == 16
    assert wrong_numbers(asked, grid) == []
    assert grid.certified
    # A test that can fail: numbers of another delta are refused.
    smaller = question(GAUSSIAN, delta=1e-9)
    assert wrong_numbers(smaller, grid)


def test_sliders_of_training_are_noise_batch_and_steps():
    found = sliders_of(TRAINING)
    assert [one.role for one in found.sliders] == ["noise", "batch", "count"]
    assert [one.key for one in found.sliders] == ["noise_multiplier", "batch_size", "steps"]
    assert [one.private for one in found.sliders] == [1, -1, -1]
    assert found.sliders[1].texts() == ("2", "5", "10", "20")
    assert list(found.events())[found.own] == TRAINING


def test_epochs_are_given_as_sampling_and_steps_which_leak_as_much():
    event = DPSGD(noise_multiplier=1.0, dataset_size=1000, batch_size=10, epochs=2)
    found = sliders_of(event)
    assert [one.key for one in found.sliders] == ["noise_std", "sampling_probability", "count"]
    assert found.event == event.expand()


def test_the_claims_own_setting_has_the_number_of_the_audit():
    asked = question(Repeated(event=GAUSSIAN, count=10))
    grid = grid_about(asked)
    assert grid.sliders.shape == (16, 9)
    own = grid.values[grid.sliders.own]
    assert asked.upper <= own <= asked.upper * 1.001
    # At more noise or fewer steps the claim's own number holds, too, and so never more is shown.
    shape = grid.sliders.shape
    numbers = [math.inf if one is None else one for one in grid.values]
    for axis, slider in enumerate(grid.sliders.sliders):
        stride = math.prod(shape[axis + 1 :])
        for place, number in enumerate(numbers):
            if place // stride % shape[axis] + 1 < shape[axis]:
                step = (numbers[place + stride] - number) * slider.private
                assert step <= 0 or math.isnan(step)


def test_settings_that_the_event_refuses_have_no_number():
    event = PoissonSampledGaussian(noise_std=1.0, record_norm=1.0, sampling_probability=0.4)
    found = sliders_of(event)
    assert max(found.sliders[1].values) <= 1.0
    # More batch than data is outside of the range that the event states for itself.
    small = DPSGD(noise_multiplier=1.0, dataset_size=15, batch_size=10, steps=10)
    assert sliders_of(small).sliders[1].texts() == ("2", "5", "10")


def test_claims_without_numbers_have_no_sliders():
    (found,) = audit([claim(event=None, missing=("noise",))])
    assert question_about(found) is None
    stated = rdpkit.EpsilonDelta(epsilon=1.0, delta=1e-6, adjacency=ADD)
    assert sliders_of(stated) is None


@pytest.mark.slow
def test_a_bound_that_renyi_divergences_hardly_see_is_asked_for_at_every_setting():
    event = DPSGD(
        noise_multiplier=2.0,
        dataset_size=1000,
        batch_size=10,
        steps=200,
        sampling="random-allocation",
    )
    asked = question(event)
    grid = grid_about(asked)
    renyi = rdpkit.epsilon(event, delta=1e-5, adjacency=ADD, bound="best-rdp").epsilon
    assert asked.upper < 0.5 * renyi
    assert max(len(one.values) for one in grid.sliders.sliders) <= 5
    noisier = grid.values[grid.sliders.own + 1]
    assert noisier < 0.5 * renyi


def test_equal_questions_are_asked_once_and_kept(tmp_path, monkeypatch):
    asked = [question(GAUSSIAN), question(GAUSSIAN), question(GAUSSIAN, delta=1e-6)]
    cache = GridCache(tmp_path / "grids")
    first = dict(grids_about(asked, cache=cache))
    assert len(first) == 2

    def refuse(_):
        raise AssertionError("computed again")

    monkeypatch.setattr(module, "grid_about", refuse)
    again = dict(grids_about(asked, cache=GridCache(tmp_path / "grids")))
    assert again == first
    with pytest.raises(AssertionError, match="computed again"):
        list(grids_about([question(GAUSSIAN, delta=1e-7)], cache=cache))


def test_a_damaged_grid_is_computed_again(tmp_path):
    path = tmp_path / "grids"
    (found,) = grids_about([question(GAUSSIAN)], cache=GridCache(path))
    path.write_bytes(path.read_bytes().replace(b'"certified":true', b'"certified":frue'))
    cache = GridCache(path)
    assert cache.damaged
    (again,) = grids_about([question(GAUSSIAN)], cache=cache)
    assert again == found
    other = tmp_path / "other"
    other.write_text("my notes\n")
    with pytest.raises(ValueError, match="it holds something else"):
        GridCache(other)


@given(
    st.floats(0.05, 1e4),
    st.sampled_from([1e-100, 1e-12, 1e-5, 0.1]),
    st.sampled_from(list(Adjacency)[:2]),
)
@settings(max_examples=3)
def test_numbers_of_any_gaussian_are_confirmed(noise, delta, adjacency):
    asked = question(Gaussian(noise_std=noise, record_norm=1.0), delta=delta, adjacency=adjacency)
    assert wrong_numbers(asked, grid_about(asked), every=8) == []


def test_roles_are_those_of_the_calibration_for_every_shipped_claim():
    claims = [one for one in load_files([*shipped_files(), *register_files()]) if one.event]
    kinds = {(type(one.event), type(one.event.expand())): one for one in claims}
    assert len(kinds) > 10
    for one in kinds.values():
        known = paths(one.event)
        assert {parameter.role for parameter in known.values()} <= {*ROLES, ""}
        found = sliders_of(one.event)
        if found is None:
            continue
        own = found.event
        free = paths(own)
        for slider in found.sliders:
            moved = [free[part.path] for part in slider.variable.moved]
            assert {parameter.role for parameter in moved} == {slider.role}
            assert {parameter.private for parameter in moved} == {slider.private}
            assert slider.private != 0
        assert next(e for k, e in enumerate(found.events()) if k == found.own) == own


@pytest.mark.slow
def test_numbers_of_shipped_claims_are_confirmed():
    claims = [one for one in load_files([*shipped_files(), *register_files()]) if one.event]
    seen = {}
    for one in claims:
        seen.setdefault((type(one.event), one.adjacency), one)
    checked = 0
    for found in audit(list(seen.values()), bounds="needed", workers=2):
        asked = question_about(found)
        if asked is None or asked.delta is None or found.claim.epsilon is None:
            continue
        grid = grid_about(asked)
        assert wrong_numbers(asked, grid, every=23) == []
        checked += 1
    assert checked > 10
