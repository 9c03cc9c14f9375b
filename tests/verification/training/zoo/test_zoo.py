"""The zoo of trainings: what entries and its page say, and that both sides can be trained."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("opacus")

import rdpkit
from rdpkit.verification.blackbox.mistakes import MistakeKind
from rdpkit.verification.training import batches, zoo
from rdpkit.verification.training.options import CHECKS
from rdpkit.verification.training.state import seed_everything
from rdpkit.verification.training.updates import observe

# torch says so of the hooks with which Opacus computes gradients of records.
pytestmark = pytest.mark.filterwarnings("ignore:Full backward hook:UserWarning")

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "training-zoo.md"


@pytest.mark.parametrize("name", list(zoo.ENTRIES))
def test_an_entry_says_what_it_is(name):
    entry = zoo.ENTRIES[name]
    assert entry.name == name
    assert entry.check in CHECKS
    assert entry.style in ("opacus", "torch", "numpy")
    assert entry.kinds
    assert set(entry.kinds) <= set(MistakeKind)
    assert entry.seen_in.startswith("after ")
    assert any(character.isdigit() for character in entry.seen_in)
    for text in (entry.mistake, entry.correction):
        assert text.endswith(".")


@pytest.mark.parametrize("name", zoo.names())
def test_a_training_makes_updates_from_batches_of_every_size(name):
    made = zoo.maker(name).fresh()
    batch = next(iter(made.loader))
    assert 20 <= batches.size(batch) <= 256
    seen = observe(made, batch)
    assert np.abs(seen.vector).max() > 0.0
    for which in ([0], []):
        assert np.isfinite(observe(made, batches.rows(batch, which)).vector).all()


@pytest.mark.parametrize("name", zoo.names())
def test_a_seed_makes_another_training_that_is_alike(name):
    maker, made, seen = zoo.maker(name), [], []
    assert maker.name == name
    for _ in range(2):
        seed_everything(3)
        made.append(maker.fresh())
        seen.append(observe(made[-1], next(iter(made[-1].loader))).vector)
    assert made[0].loader is not made[1].loader
    assert np.array_equal(*seen)


def test_the_claims_about_epsilon():
    claim = zoo.ENTRIES["claim-of-another-training"]
    broken, fixed = claim.broken(), claim.fixed()
    found = rdpkit.epsilon(fixed.event, delta=fixed.delta, adjacency=fixed.adjacency).epsilon
    assert broken.epsilon < 4.0 < found < fixed.epsilon


def test_every_check_has_entries():
    # The run is for what no other check sees, and has no entry of its own.
    assert {entry.check for entry in zoo.ENTRIES.values()} == {"step", "sampler", "accountant"}


def test_an_unknown_name_is_refused():
    with pytest.raises(KeyError):
        zoo.maker("no-such-training")


@pytest.mark.thorough
def test_records_can_be_added():
    made = zoo.maker("batch-clipping-fixed").fresh()
    extra = next(iter(made.loader))
    more = made.with_records(extra)
    assert len(more.records) == len(made.records) + batches.size(extra)
    assert sum(batches.size(batch) for batch in more.loader) > 0


def row(entry):
    kinds = ", ".join(f"`{kind.value}`" for kind in entry.kinds)
    texts = (entry.mistake, entry.correction, entry.check, kinds, entry.style, entry.seen_in)
    return f"| `{entry.name}` | " + " | ".join(texts) + " |"


def test_the_page_has_a_row_for_each_entry():
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    assert rows == [row(entry) for entry in zoo.ENTRIES.values()]


def test_the_page_counts_them():
    assert f"{len(zoo.ENTRIES)} mistakes" in PAGE.read_text()
