"""Names of parameters, and the one number that moves them."""

from fractions import Fraction

import pytest

import rdpkit
from rdpkit.calibration.search_variable import (
    matching,
    paths,
    search_variable,
    value_at,
    with_value,
)
from tests.events import of_papers, unit

GAUSSIAN = unit.gaussian(5.0)
POISSON = unit.poisson(2.0, 0.1)
TREE = rdpkit.Composed(events=(GAUSSIAN, rdpkit.Parallel(events=(POISSON, GAUSSIAN)) * 7))
CDA = of_papers.dpcda([300, 100, 200], [30, 7, 20], 8, noise=0.2, label_noise=0.1)


def test_every_path_of_a_tree():
    found = paths(TREE)
    assert "events[0].noise_std" in found
    assert "events[1].count" in found
    assert "events[1].event.events[0].sampling_probability" in found
    for path in found:
        changed = with_value(TREE, path, value_at(TREE, path))
        assert changed == TREE
    assert value_at(TREE, "events[1].event.events[1].noise_std") == 5.0
    changed = with_value(TREE, "events[1].event.events[0].noise_std", 3.0)
    assert value_at(changed, "events[1].event.events[0].noise_std") == 3.0
    assert value_at(changed, "events[0].noise_std") == 5.0


def test_a_sum_and_a_mean_differ():
    event = unit.fixed_size(1.0, 5, 50)
    mean = with_value(event, "release", "mean")
    assert event.free_parameters()["sample_size"].private == -1
    assert mean.free_parameters()["sample_size"].private == 0
    found = search_variable(mean, "sample_size")
    least = found.least_within(10, 20)
    assert (least.sample_size, least.noise_multiplier) == (10, found.at(20).noise_multiplier)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("events[0].noise_std", ("events[0].noise_std",)),
        ("sampling_probability", ("events[1].event.events[0].sampling_probability",)),
        ("count", ("events[1].count",)),
        (
            "events[*].noise_std",
            (
                "events[0].noise_std",
                "events[1].event.events[0].noise_std",
                "events[1].event.events[1].noise_std",
            ),
        ),
        (
            "event.events[*].noise_std",
            ("events[1].event.events[0].noise_std", "events[1].event.events[1].noise_std"),
        ),
    ],
)
def test_names_stand_for_paths(name, expected):
    assert matching(TREE, name) == expected


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("noise_std", "may be 'events\\[0\\].noise_std', 'events\\[1\\].event.events\\[0\\]"),
        ("noise", "Expected parameter to be one of 'events\\[0\\].noise_std', "),
        ("oise_std", "Expected parameter to be one of"),
        ("events[2].noise_std", "Expected parameter to be one of"),
        ("release", "Expected parameter to be one of"),
        (3, "Expected parameter to be one of"),
    ],
)
def test_names_that_stand_for_nothing(name, message):
    with pytest.raises(ValueError, match=message):
        matching(TREE, name)


def test_an_event_without_parameters_says_so():
    custom = rdpkit.CustomRdp(orders=[2.0], values=[0.1], adjacency="replace_one")
    with pytest.raises(ValueError, match="A custom_rdp has no parameter that can be calibrated"):
        search_variable(custom, "orders")
    assert search_variable(custom * 2, "count").whole


def test_one_number():
    found = search_variable(TREE, "events[1].event.events[1].noise_std")
    assert (found.private, found.whole, found.start) == (1, False, 5.0)
    assert found.values(0.3) == {"events[1].event.events[1].noise_std": 0.3}
    assert value_at(found.at(0.3), "events[1].event.events[1].noise_std") == 0.3


def test_lists_keep_their_proportions_and_round_towards_privacy():
    samples = search_variable(CDA, "samples_per_class")
    assert (samples.private, samples.start, samples.lowest) == (-1, 30, 1)
    assert samples.values(30)["samples_per_class"] == (30, 7, 20)
    assert samples.values(31)["samples_per_class"] == (31, 7, 20)
    assert samples.values(1)["samples_per_class"] == (1, 1, 1)
    sizes = search_variable(CDA, "class_sizes")
    assert (sizes.private, sizes.start) == (1, 300)
    assert sizes.values(301)["class_sizes"] == (301, 101, 201)
    assert sizes.at(10).class_sizes == (10, 8, 8)


def test_several_keep_the_ratio_of_the_event():
    found = search_variable(CDA, ("feature_noise", "label_noise"))
    assert found.values(1.0) == {"feature_noise": 1.0, "label_noise": 0.5}
    assert found.start == 0.2
    stated = search_variable(CDA, {"feature_noise": 1.0, "label_noise": 3.0})
    assert stated.values(2.0) == {"feature_noise": 2.0, "label_noise": 6.0}
    silent = search_variable(with_value(CDA, "label_noise", 0.0), ("label_noise", "feature_noise"))
    assert silent.values(0.7) == {"label_noise": 0.0, "feature_noise": 0.7}
    counts = search_variable(
        rdpkit.Composed(events=(GAUSSIAN * 10, POISSON * 4)), "events[*].count"
    )
    assert counts.moved[1].weights == (Fraction(2, 5),)
    assert counts.values(7) == {"events[0].count": 7, "events[1].count": 2}
    assert counts.values(1) == {"events[0].count": 1, "events[1].count": 1}


def test_ranges_of_several_meet():
    event = rdpkit.Composed(events=(POISSON, with_value(POISSON, "sampling_probability", 0.05)))
    found = search_variable(event, "events[*].sampling_probability")
    assert found.highest == 1.0
    found = search_variable(
        event, {"events[0].sampling_probability": 1.0, "events[1].sampling_probability": 4}
    )
    assert found.highest == 0.25


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        (("feature_noise", "clip_norm"), "all make the event more private in the same direction"),
        (("feature_noise", "samples_per_class"), "all be numbers or all be integers"),
        ((), "Expected parameter to be a name, several names, or a mapping"),
        ({"feature_noise": 0.0}, "Expected parameter to map names of parameters to numbers >= 0"),
        ({"feature_noise": "1"}, r"Expected parameter\['feature_noise'\] to be a finite number"),
        ({"feature_noise": 1.0, "nothing": 1.0}, "Expected parameter to be one of"),
        (None, "Expected parameter to be a name"),
    ],
)
def test_what_cannot_be_moved(parameter, message):
    with pytest.raises(ValueError, match=message):
        search_variable(CDA, parameter)


def test_a_ratio_of_what_is_not_given():
    event = rdpkit.Composed(events=(GAUSSIAN, GAUSSIAN))
    with pytest.raises(ValueError, match=r"Expected events\[0\].record_diameter to be given"):
        search_variable(event, "events[*].record_diameter")
