"""A record changes the releases that it is part of, and no bit of any other.

Everything is drawn from a fixed seed. One record is changed: one pixel, a norm far beyond the clip,
numbers that overflow, all pixels outside of their limits. Every release that the record is not part
of is compared bit for bit. Where every release depends on all records (a generator that is trained
on noisy sums, records that are learnt from noisy sums) the noisy pieces of other classes, or of
samples without the record, are compared instead.
"""

from functools import partial

import numpy as np
import pytest
import torch

import rdpkit
from rdpkit.mechanisms.algorithms import (
    class_wise_dpmix,
    dp_sinkhorn,
    dpcda,
    dpmix,
    gaussian_synthesis,
    ldpdc,
    local_perturbation,
    mechanism_names,
    ndpdc,
    noiseless_mixing,
    random_projection,
    scattering_dpsgd,
)
from rdpkit.mechanisms.algorithms.dp_hp import HermiteFeatures, HermiteKernel
from rdpkit.mechanisms.algorithms.dp_merf import RandomFourierFeatures
from rdpkit.mechanisms.parts import mixing
from rdpkit.mechanisms.parts.augmentation import draw_augmentation
from rdpkit.mechanisms.parts.labelled_images import labelled_images
from rdpkit.mechanisms.parts.marginals import rounds
from rdpkit.mechanisms.parts.marginals.rounds import pairs_of
from rdpkit.mechanisms.parts.moments.noisy import OF_CLASSES, CentredView, noisy_moments
from rdpkit.mechanisms.parts.networks import random_convnet
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.records import Records, public_scaling
from rdpkit.mechanisms.releases.mean_embedding import class_sums
from tests.events import of_papers

COUNT, WIDTH, CLASSES = 90, 12, 3
LABELS = np.arange(COUNT) % CLASSES
TOUCHED = 31  # of class 1
# Bytes, which cannot leave the limits; integers and floats, which can.
KINDS = (np.uint8, np.int16, np.float64)


def features(kind):
    rng = np.random.default_rng(4)
    if np.issubdtype(kind, np.integer):
        return rng.integers(0, 256, (COUNT, WIDTH)).astype(kind)
    return rng.random((COUNT, WIDTH)).astype(kind)


def scaling(kind):
    return public_scaling(factor=1 / 255 if np.issubdtype(kind, np.integer) else 1.0)


def one_pixel(rows):
    rows[TOUCHED, 3] = rows.dtype.type(0) if rows[TOUCHED, 3] else rows.dtype.type(1)


def far_away(rows):
    integers = np.issubdtype(rows.dtype, np.integer)
    rows[TOUCHED] = np.iinfo(rows.dtype).max if integers else 1e6


def overflowing(rows):
    integers = np.issubdtype(rows.dtype, np.integer)
    rows[TOUCHED] = np.iinfo(rows.dtype).min if integers else -0.9 * np.finfo(rows.dtype).max


CHANGES = (one_pixel, far_away, overflowing)


def neighbours(kind, change):
    before = features(kind)
    after = before.copy()
    change(after)
    assert (before != after).any(axis=1).sum() == 1
    return before, after


def records(rows, *, labels=LABELS, **changes):
    return Records(
        features=rows,
        labels=labels,
        classes=CLASSES,
        **{"scaling": scaling(rows.dtype.type), **changes},
    )


def assert_untouched(first, second, touched):
    """The pieces without the record are the same, bit for bit, and those with it are not."""
    others = np.delete(np.arange(len(first)), touched)
    np.testing.assert_array_equal(first[others], second[others])
    # So that the comparison can fail.
    assert (first[touched] != second[touched]).any()


SIZES = (COUNT // CLASSES,) * CLASSES
MIXTURES = {
    "dpcda": (
        dpcda.batches,
        {"norm": 1.0},
        of_papers.dpcda(SIZES, 20, 5, noise=0.5, label_noise=0.5),
    ),
    "class-wise-dpmix": (
        class_wise_dpmix.batches,
        {"box": (0.0, 1.0)},
        of_papers.class_wise_dpmix(
            SIZES, 20, 5, noise=0.5, label_noise=0.5, shape=(WIDTH, CLASSES)
        ),
    ),
    "dpmix": (
        dpmix.batches,
        {"box": (0.0, 1.0)},
        of_papers.dpmix(COUNT, 60, 5, noise=0.5, shape=(WIDTH, CLASSES)),
    ),
}
MIXTURES["dpcda-algorithm-1"] = MIXTURES["dpcda"]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MIXTURES)
def test_means_without_the_record_keep_every_bit(monkeypatch, name, kind, change):
    batches, limits, event = MIXTURES[name]
    drawn = []

    class Recording(mixing.Mixer):
        __slots__ = ()

        def means(self, chosen):
            drawn.append(chosen)
            return super().means(chosen)

    for module in (mixing, dpmix):
        monkeypatch.setattr(module, "Mixer", Recording)
    found = []
    for rows in neighbours(kind, change):
        made = list(batches(records(rows, **limits), event=event, noise=NoiseSource.seeded(6)))
        found.append([np.concatenate(parts) for parts in zip(*made, strict=True)])
    half = len(drawn) // 2
    chosen, again = np.concatenate(drawn[:half]), np.concatenate(drawn[half:])
    np.testing.assert_array_equal(chosen, again)
    touched = np.flatnonzero((chosen == TOUCHED).any(axis=1))
    assert 0 < len(touched) < len(chosen) - 20
    (first, labels), (second, other_labels) = found
    assert_untouched(first, second, touched)
    others = np.delete(np.arange(len(labels)), touched)
    np.testing.assert_array_equal(labels[others], other_labels[others])


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("limits", [{}, {"norm": 1.0}, {"box": (0.0, 1.0)}])
def test_means_keep_every_bit_when_a_record_goes_or_changes_its_class(kind, change, limits):
    """A class's subsets depend on its size, so the same subsets are taken of both data sets."""
    before, after = neighbours(kind, change)
    there = np.delete(np.arange(COUNT), TOUCHED)
    chosen = np.random.default_rng(1).choice(there, (40, 7))
    other_class = LABELS.copy()
    other_class[TOUCHED] = 2
    expected = mixing.Mixer(records(before, **limits)).means(chosen)
    moved = mixing.Mixer(records(after, labels=other_class, **limits)).means(chosen)
    np.testing.assert_array_equal(moved, expected)
    gone = records(np.delete(after, TOUCHED, axis=0), labels=LABELS[there], **limits)
    renumbered = np.where(chosen > TOUCHED, chosen - 1, chosen)
    np.testing.assert_array_equal(mixing.Mixer(gone).means(renumbered), expected)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", KINDS)
def test_poisson_sums_without_the_record_keep_every_bit(monkeypatch, kind, change):
    event = of_papers.ldpdc(SIZES, 20, 4.0, noise=1.0, dimension=WIDTH)
    drawn = []

    def recorded(population, probability, *, noise):
        drawn.append(original(population, probability, noise=noise))
        return drawn[-1]

    original = ldpdc.poisson_sample
    monkeypatch.setattr(ldpdc, "poisson_sample", recorded)
    found = []
    for rows in neighbours(kind, change):
        data = records(rows, box=(-1.0, 1.0))
        made = ldpdc.batches(data, event=event, noise=NoiseSource.seeded(6))
        found.append(np.concatenate([part for part, _ in made]))
    place = int(np.flatnonzero(data.members[1] == TOUCHED)[0])
    touched = [t for t in range(20, 40) if place in drawn[t]]
    assert 0 < len(touched) < 20
    assert_untouched(*found, touched)
    assert (found[0][touched] != found[1][touched]).any(axis=1).all()


def mixed_without_noise(rows):
    options = noiseless_mixing.NoiselessMixingOptions(
        samples_per_class=20, order_of_mixture=5, clip_norm=1.0
    )
    return noiseless_mixing.synthesize(
        rows, LABELS, classes=CLASSES, options=options, seed=3, scaling=public_scaling(),
        noise=NoiseSource.seeded(0),
    ).features  # fmt: skip


def draws_of_classes(rows):
    event = rdpkit.RegularisedSynthesis(
        records=SIZES[0], outputs=10, dimension=WIDTH, added_variance=1e-3
    )
    made = gaussian_synthesis.batches(
        records(rows, box=(-1.0, 1.0)), events=(event,) * CLASSES, noise=NoiseSource.seeded(6)
    )
    return np.concatenate([part for part, _ in made])


def noisy_rows(rows, *, projected):
    options = local_perturbation.SMALL
    matrix = random_projection.projection_matrix(WIDTH, 5, seed=2) if projected else None
    norm = {} if projected else {"norm": options.clip_norm}
    made = local_perturbation.batches(
        records(rows, **norm), options=options, noise=NoiseSource.seeded(6), projection=matrix
    )
    found = np.concatenate([np.column_stack(part) for part in made])
    assert np.isfinite(found).all()
    return found


# Which rows of what is released the record is part of.
OF_CLASSES_OR_ROWS = {
    "noiseless-mixing": (mixed_without_noise, slice(20, 40), KINDS[-1:]),
    "gaussian-synthesis": (draws_of_classes, slice(10, 20), KINDS),
    "local-perturbation": (partial(noisy_rows, projected=False), [TOUCHED], KINDS),
    "random-projection": (partial(noisy_rows, projected=True), [TOUCHED], KINDS),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name, row in OF_CLASSES_OR_ROWS.items() for kind in row[2]]
)
def test_other_classes_and_rows_keep_every_bit(name, kind, change):
    release, touched, _ = OF_CLASSES_OR_ROWS[name]
    assert_untouched(*map(release, neighbours(kind, change)), touched)


def images(change):
    """Two neighbouring data sets of 4 x 3 pixels."""
    return [
        labelled_images(rows, LABELS, classes=CLASSES, image_shape=(1, 4, 3))
        for rows in neighbours(np.float64, change)
    ]


def embeddings(data, *, make):
    """DP-MERF and DP-HP: the generator depends on all classes, each sum on one."""
    features = make(dimension=WIDTH, generator=torch.Generator().manual_seed(1))
    return [(class_sums(data, features, device="cpu"), 1)]


def representations(data, *, operation):
    """NDPDC: the learnt records depend on all classes, each representation on one record."""
    extractor = random_convnet(1, shape=(1, 4, 3), width=8, depth=1)
    generator = torch.Generator().manual_seed(2)
    augmentation = operation and draw_augmentation(generator, operations=(operation,))
    batch = torch.from_numpy(data.images)
    rows = extractor.embed(augmentation(batch) if augmentation else batch)
    given = {"extractor": extractor, "augmentation": augmentation, "clip_norm": 1.0}
    sums = [ndpdc.clipped_sum(data.of_class(label), **given) for label in range(CLASSES)]
    return [
        (ndpdc.clip_representations(rows, clip_norm=1.0).numpy(), TOUCHED), (np.array(sums), 1)
    ]  # fmt: skip


def moments_of_classes(data):
    """Moments: what is seen depends on all records, each class sum on one class."""
    made = noisy_moments(
        data.images.reshape(COUNT, WIDTH), LABELS,
        CentredView(offset=np.full(WIDTH, 0.5), radius=2.0), classes=CLASSES, block=WIDTH,
        records=COUNT, plan=OF_CLASSES, std=1.0, noise=NoiseSource.seeded(3),
    )  # fmt: skip
    return [(np.column_stack([made.sums, made.counts]), 1), (made.by_class, 1)]


# Noisy pieces, and which of them the record is part of.
PIECES = {
    "dp-merf": partial(
        embeddings, make=partial(RandomFourierFeatures, size=20, squared_length_scale=10.0)
    ),
    "dp-hp": partial(embeddings, make=partial(HermiteFeatures, HermiteKernel())),
    **{
        f"ndpdc, {operation}": partial(representations, operation=operation)
        for operation in (None, "color", "rotate")
    },
    "moments": moments_of_classes,
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", PIECES)
def test_pieces_of_other_classes_keep_every_bit(name, change):
    for first, second in zip(*map(PIECES[name], images(change)), strict=True):
        assert_untouched(first[0], second[0], first[1])


@pytest.mark.parametrize("change", CHANGES)
def test_gradients_of_samples_without_the_record_keep_every_bit(change):
    """DP-Sinkhorn: the generator depends on all samples, each gradient on one."""
    generated = torch.linspace(-1.0, 1.0, 5 * WIDTH).reshape(5, 1, 4, 3)
    wanted = torch.tensor([0, 1, 2, 0, 1])
    for sample, same in ((np.arange(20), True), (np.arange(20, 40), False)):
        found = [
            dp_sinkhorn.noisy_gradient(
                generated,
                wanted,
                data.images[sample],
                data.labels[sample],
                clip_norm=0.5,
                noise_std=1.0,
                noise=NoiseSource.seeded(3),
                transport=dp_sinkhorn.Transport(
                    regularisation=0.05, sinkhorn_steps=5, label_weight=1.0
                ),
            )
            for data in images(change)
        ]
        assert np.array_equal(*found) is same


@pytest.mark.parametrize("change", CHANGES)
def test_gradients_of_a_classifier_without_the_record_keep_every_bit(change):
    """DP-SGD on scattering: the classifier depends on all samples, each sum on one."""
    options = scattering_dpsgd.ScatteringDPSGDOptions(
        steps=1, batch_size=20, noise_multiplier=1.0, scales=1, angles=2, group_channels=1
    )
    found = []
    for data in images(change):
        rows = scattering_dpsgd.scattering_rows(data.images, options)
        gradients = scattering_dpsgd.Gradients(rows, data.labels, clip_norm=1.0)
        weights = torch.linspace(-1.0, 1.0, CLASSES * (rows.shape[1] + 1)).double()
        found.append((gradients, weights.reshape(CLASSES, -1)))
    for sample, same in ((np.arange(20), True), (np.arange(20, 40), False)):
        sums = [gradients.clipped_sum(sample, weights).numpy() for gradients, weights in found]
        assert np.array_equal(*sums) is same


def test_noisy_marginals_of_other_columns_keep_every_bit():
    """Marginals: each number of the release depends on one column or on two."""
    codes = np.random.default_rng(0).integers(0, 3, (30, 4))
    changed = codes.copy()
    changed[7, 1] = (changed[7, 1] + 1) % 3
    domain = (3, 3, 3, 3)
    pairs = dict.fromkeys(pairs_of(domain), 1.0)
    found = []
    for table in (codes, changed):
        noise = NoiseSource.seeded(3)
        singles = rounds.measure_one_way(table, domain, std=2.0, noise=noise)
        together = rounds.measure_chosen(table, domain, pairs, std=2.0, noise=noise)
        found.append({(j,): one.counts for j, one in enumerate(singles)})
        found[-1] |= {pair: one.counts for pair, one in together.items()}
    for columns, counts in found[0].items():
        assert np.array_equal(counts, found[1][columns]) is (1 not in columns)


def test_every_mechanism_is_compared():
    """A new mechanism needs a comparison above, or a reason here."""
    named = {name.partition(",")[0] for name in (*MIXTURES, *OF_CLASSES_OR_ROWS, *PIECES)}
    compared = named | {"ldpdc", "dp-sinkhorn", "scattering-dpsgd", "marginals"}
    # The records themselves, and a baseline without noise that matches exact means.
    without_privacy = {"original", "distribution-matching"}
    assert compared | without_privacy == set(mechanism_names())
