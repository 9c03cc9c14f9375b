import numpy as np
import pytest

from rdpkit.mechanisms.parts.labelled_images import balanced_labels, labelled_images


def test_flat_records_become_images_and_come_back_flat():
    flat = np.linspace(-1, 1, 24).reshape(2, 12)
    data = labelled_images(flat, [0, 1], classes=2, image_shape=(3, 2, 2))
    assert data.images.shape == (2, 3, 2, 2)
    assert data.shape == (3, 2, 2)
    assert data.class_sizes() == (1, 1)
    assert data.of_class(1).shape == (1, 3, 2, 2)
    assert data.as_given(np.zeros((7, 3, 2, 2))).shape == (7, 12)


def test_images_keep_their_shape():
    data = labelled_images(np.zeros((2, 1, 4, 5)), [0, 1], classes=3)
    assert data.as_given(np.zeros((7, 1, 4, 5))).shape == (7, 1, 4, 5)
    assert data.class_sizes() == (1, 1, 0)


def test_there_may_be_no_record():
    data = labelled_images(np.zeros((0, 1, 2, 2)), np.zeros(0, dtype=int), classes=2)
    assert data.class_sizes() == (0, 0)


@pytest.mark.parametrize(
    ("features", "labels", "options", "message"),
    [
        (np.zeros((2, 4)), [0, 1], {}, "image_shape for records of shape"),
        (np.zeros((2, 4)), [0, 1], {"image_shape": (1, 3, 2)}, "features to have 6 pixels"),
        (np.zeros((2, 4)), [0, 1], {"image_shape": (4,)}, "image_shape to be"),
        (np.full((2, 1, 2, 2), 255), [0, 1], {}, r"floating-point numbers in \[-1, 1\], scaled"),
        (np.full((2, 1, 2, 2), np.nan), [0, 1], {}, "features to be finite"),
        (np.zeros((2, 1, 0, 2)), [0, 1], {}, "features to be numbers"),
        (np.zeros((2, 1, 2, 2)), [0, 2], {}, r"labels in 0, ..., 1, got 'values from 0 to 2"),
        (np.zeros((2, 1, 2, 2)), [0], {}, r"labels to be integers of shape \(2,\)"),
        (np.zeros((2, 1, 2, 2)), [0.0, 1.0], {}, "labels to be integers"),
    ],
)
def test_what_does_not_fit_is_refused(features, labels, options, message):
    with pytest.raises(ValueError, match=message):
        labelled_images(features, labels, classes=2, **options)


@pytest.mark.parametrize("far", [1.5, -300.0, 1e300])
def test_pixels_outside_are_cut_and_their_neighbours_are_not_told_apart(far):
    inside = np.linspace(-1, 1, 8).reshape(2, 1, 2, 2)
    outside = inside.copy()
    outside[1, 0, 0, 0] = far
    data = labelled_images(outside, [0, 1], classes=2)
    inside[1, 0, 0, 0] = np.sign(far)
    np.testing.assert_array_equal(data.images, inside.astype(np.float32))


def test_balanced_labels():
    assert balanced_labels(3, 2).tolist() == [0, 0, 1, 1, 2, 2]
