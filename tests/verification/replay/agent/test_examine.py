"""One record is changed, and all that differs with the same noise is named with its line."""

from __future__ import annotations

import dataclasses
import logging
import random
import secrets
import warnings

import numpy as np
import pytest

from rdpkit.verification.replay.agent.examine import examined, parts_at
from rdpkit.verification.replay.agent.runs import ExaminedData, Taps


def data(*values, labels=None):
    return ExaminedData(
        {"x": list(values), "label": list(labels or [0] * len(values))}, numbers=["x"]
    )


PAIR = (data(0.5, 0.25, 1.0, labels=[0, 0, 1]), data(0.5, 0.25, labels=[0, 0]))


@pytest.fixture(autouse=True)
def without_taps_afterwards():
    yield
    Taps.close()


def found(target, pair=PAIR, **given):
    return examined(target, *pair, seed=1, **given)


def kinds(target, pair=PAIR):
    return sorted({one["kind"] for one in found(target, pair)["differences"]})


def raising(data, rng):
    if len(data) > 2:
        raise ValueError("too many")
    return 0


def warning(data, rng):
    warnings.warn(f"{len(data)} records", stacklevel=1)


def printing(data, rng):
    print(len(data), "records")


def logging_it(data, rng):
    logging.getLogger("mine").warning("%d records", len(data))


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        (lambda data, rng: len(data), "value"),
        (lambda data, rng: data.features, "structure"),
        (lambda data, rng: {str(one) for one in data.labels}, "structure"),
        (lambda data, rng: np.zeros(1, dtype="f4" if len(data) > 2 else "f8"), "structure"),
        (lambda data, rng: data.features.sum() + rng.laplace(scale=len(data)), "parameter"),
        (lambda data, rng: [len(data) + rng.normal() for _ in range(len(data))], "calls"),
        (lambda data, rng: print(len(data)), "message"),
        (warning, "message"),
        (logging_it, "message"),
        (raising, "error"),
    ],
)
def test_what_differs(target, kind):
    assert kind in kinds(target)


@pytest.mark.parametrize(
    "target",
    [
        lambda data, rng: data.features.sum() + rng.laplace(scale=1.0),
        lambda data, rng: int(rng.integers(10)),
        lambda data, rng: random.random(),
        lambda data, rng: secrets.randbelow(10**9) + secrets.randbits(30),
        lambda data, rng: rng.permutation(5).tolist(),
        lambda data, rng: np.random.default_rng().random(),
        lambda data, rng: object(),
    ],
)
def test_what_does_not_differ(target):
    assert kinds(target) == []


def test_the_record_moves_the_value_and_the_rest_is_known():
    def target(data, rng):
        return data.features.sum() + rng.laplace(scale=4.0)

    answer = found(target)
    (call,) = [one for one in answer["calls"] if one["hides"]]
    assert call["moved"] == [1.0, 1.0, 1.0]
    assert call["relative"] == [0.25, 0.25]
    assert answer["released"][-1]
    assert call["code"].startswith("return data.features.sum()")


def test_a_missing_value_is_hidden_by_no_noise():
    pair = (data(0.5, float("nan")), data(0.5))
    assert kinds(lambda data, rng: data.features.sum() + rng.laplace(), pair) == ["sensitivity"]


def test_lines_are_named():
    def target(data, rng):
        size = len(data)
        scale = 1.0 / size
        kind = "few"
        if size > 2:
            kind = "many"
        return kind, data.features.sum() + rng.laplace(scale=scale)

    differences = found(target, traced=True)["differences"]
    value = next(one for one in differences if one["kind"] == "value")
    assert value["code"] in (
        'kind = "many"',
        "return kind, data.features.sum() + rng.laplace(scale=scale)",
    )
    assert "if size > 2" in value["branch"]
    parameter = next(one for one in differences if one["kind"] == "parameter")
    assert "scale = 1.0 / size" in parameter["source"]


@pytest.mark.parametrize("target", [printing, warning, logging_it])
def test_messages_are_named_with_their_lines_and_reach_nobody(target, capfd, caplog):
    (difference,) = found(target)["differences"]
    assert difference["kind"] == "message"
    assert difference["code"].startswith(("print(", "warnings.warn(", "logging."))
    assert caplog.text == "".join(capfd.readouterr()) == ""


def test_a_step_that_divides_by_the_size_of_its_sample_differs():
    def step(data, rng):
        taken = rng.random(len(data)) < 0.9
        total = data.features[taken].sum() + rng.normal(scale=1.0)
        return total / (taken.sum() if private else 3)

    private = True
    (difference,) = found(step, traced=True)["differences"]
    assert difference["kind"] == "value"
    assert difference["code"].startswith("return total /")
    private = False
    assert found(step)["differences"] == []


def test_noise_from_elsewhere_accuses_nobody():
    import itertools

    count = itertools.count()
    answer = found(lambda data, rng: next(count))
    assert answer["differences"] == []
    assert any("not the same again on the same data" in one for one in answer["unseen"])


def test_generators_are_as_before_afterwards():
    before = (np.random.default_rng, np.random.normal, random.Random.random)
    found(lambda data, rng: 0)
    assert np.random.default_rng is not before[0]
    Taps.close()
    assert (np.random.default_rng, np.random.normal, random.Random.random) == before
    assert type(np.random.default_rng(0)) is np.random.Generator


@pytest.mark.parametrize("labels", [([1, 0, 0], [0, 0, 1]), ([1, 0, 2], [1, 1, 2]), ([0, 1], [0])])
def test_noise_may_be_drawn_in_the_order_in_which_records_name_groups(labels):
    def counted(data, rng):
        groups = dict.fromkeys([*data.labels.tolist(), 0, 1, 2])
        found = {one: (data.labels == one).sum() + rng.laplace(scale=1.0) for one in groups}
        return [found[one] for one in (0, 1, 2)]

    pair = [data(*[0.5] * len(one), labels=one) for one in labels]
    assert kinds(counted, pair) == []


def choosing(seed):
    """A target that chooses one of two, 30 times, with a generator of this seed."""

    def target(data, rng):
        own = rng if seed is None else np.random.default_rng(seed)
        return [int(own.choice(2, p=[0.5, 0.5])) for _ in range(30)]

    return target


def test_choices_with_a_fixed_seed_are_found_and_those_without_are_not():
    assert "seed" not in {one["kind"] for one in found(choosing(None))["differences"]}
    assert "seed" in {one["kind"] for one in found(choosing(7))["differences"]}


def test_a_choice_of_one_candidate_is_no_seed():
    def target(data, rng):
        return int(rng.choice(1, p=[1.0]))

    assert found(target)["differences"] == []


def summed(data, rng):
    return noisy_total(float(np.clip(data.features, 0.0, 0.75).sum()) / 3.0, rng)


def noisy_total(total, rng):
    total = float(total)
    return bare(total)


def bare(total):
    return total


def test_a_number_that_is_computed_in_an_argument_is_of_the_line_that_calls():
    (difference,) = found(summed, traced=True)["differences"]
    assert "np.clip(data.features, 0.0, 0.75)" in difference["source"] + difference["code"]


@dataclasses.dataclass
class Settings:
    """What a noise is made with."""

    epsilon: float
    sensitivity: float


def test_the_line_that_makes_a_dataclass_is_named_where_too_much_is_spent():
    def target(data, rng):
        settings = Settings(epsilon=3.0, sensitivity=1.0)
        return len(data) + rng.laplace(scale=settings.sensitivity / settings.epsilon)

    (call,) = [one for one in found(target, traced=True)["calls"] if one["relative"]]
    assert any("Settings(epsilon=3.0" in line for line in call["budget"])


def test_a_chain_of_data_sets_parts_between_two_neighbours():
    def target(data, rng):
        return len(data) > 5 or rng.laplace(scale=1.0) + len(data)

    chain = [data(*([0.5] * size)) for size in range(2, 12)]
    assert len(chain[parts_at(target, chain, seed=1)]) == 5
    assert parts_at(lambda data, rng: rng.laplace(scale=1.0) + len(data), chain, seed=1) == 0
