import math

import numpy as np
import pytest
import torch

from rdpkit.mechanisms.parts.augmentation import (
    OPERATIONS,
    Augmentation,
    augment_each,
    check_operations,
    draw_augmentation,
)


def _images(n=4, channels=3, side=8, seed=0):
    return torch.rand(n, channels, side, side, generator=torch.Generator().manual_seed(seed)) - 0.5


def _with(operation, *uniforms):
    rows = torch.tensor([list(uniforms) + [0.5] * (3 - len(uniforms))])
    return Augmentation(operation=operation, uniforms=rows)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_happens_to_a_record_does_not_depend_on_the_batch(operation):
    # The sensitivity of a sum over records rests on this.
    images = _images()
    augmentation = Augmentation(
        operation=operation, uniforms=torch.rand(1, 3, generator=torch.Generator().manual_seed(3))
    )
    together = augmentation(images)
    alone = torch.cat([augmentation(images[i : i + 1]) for i in range(len(images))])
    # Single precision: another order of summation in a mean may change the last digits.
    torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-6)


@pytest.mark.thorough
@pytest.mark.parametrize("operation", OPERATIONS)
def test_gradients_reach_the_pixels(operation):
    images = _images().double().requires_grad_()
    augmentation = Augmentation(
        operation=operation,
        uniforms=torch.tensor([[0.3, 0.6, 0.7]], dtype=torch.float64),
    )
    assert torch.autograd.gradcheck(augmentation, (images,), eps=1e-6, atol=1e-6)


def test_rows_of_their_own_change_records_differently():
    images = _images(1).expand(5, -1, -1, -1)
    uniforms = torch.rand(5, 3, generator=torch.Generator().manual_seed(1))
    for operation in ("color", "scale", "rotate", "crop"):
        changed = Augmentation(operation=operation, uniforms=uniforms)(images)
        one = [
            Augmentation(operation=operation, uniforms=uniforms[i : i + 1])(images[i : i + 1])
            for i in range(5)
        ]
        torch.testing.assert_close(changed, torch.cat(one), rtol=1e-5, atol=1e-6)
        assert not torch.allclose(changed[:1].expand_as(changed), changed)


def test_the_middle_of_every_range_leaves_images_as_they_are():
    images = _images()
    # Brightness +0, saturation 1, contrast 1; no shift; no turn.
    torch.testing.assert_close(_with("color", 0.5, 0.5, 0.5)(images), images)
    torch.testing.assert_close(_with("crop", 0.5, 0.5)(images), images, rtol=0, atol=0)
    torch.testing.assert_close(_with("rotate", 0.5)(images), images, rtol=0, atol=1e-5)
    torch.testing.assert_close(_with("flip", 0.5)(images), images, rtol=0, atol=0)


def test_crop_moves_and_fills_with_zeros():
    images = torch.arange(1.0, 65.0).reshape(1, 1, 8, 8)
    moved = _with("crop", 0.0, 0.5)(images)
    # An eighth of 8 pixels: the content moves down by one row.
    assert (moved[0, 0, 0] == 0.0).all()
    torch.testing.assert_close(moved[0, 0, 1:], images[0, 0, :-1], rtol=0, atol=0)


def test_flip_mirrors():
    images = _images()
    torch.testing.assert_close(_with("flip", 0.1)(images), images.flip(3), rtol=0, atol=0)


@pytest.mark.parametrize(("u", "pixels"), [(0.5, 16), (0.0, 4)])
def test_cutout_cuts_a_quarter_or_what_of_it_is_inside(u, pixels):
    cut = _with("cutout", u, u)(torch.ones(1, 2, 8, 8))
    assert int((cut == 0.0).sum()) == 2 * pixels


def test_rotation_turns_by_at_most_15_degrees():
    # A quarter turn cannot happen: the pixel above the centre stays in the upper half.
    images = torch.zeros(1, 1, 33, 33)
    images[0, 0, 4, 16] = 1.0
    for u in (0.0, 1.0 - 1e-6):
        turned = _with("rotate", u)(images)[0, 0]
        row, column = divmod(int(turned.argmax()), 33)
        angle = math.degrees(math.atan2(column - 16, 16 - row))
        # One pixel at a distance of 12 is about 5 degrees.
        assert abs(abs(angle) - 15.0) < 5.0


def test_every_operation_is_drawn_and_only_those_asked_for():
    generator = torch.Generator().manual_seed(0)
    drawn = {draw_augmentation(generator).operation for _ in range(200)}
    assert drawn == set(OPERATIONS)
    digits = [name for name in OPERATIONS if name != "flip"]
    drawn = {draw_augmentation(generator, operations=digits).operation for _ in range(200)}
    assert drawn == set(digits)
    assert draw_augmentation(generator, operations=()) is None


def test_augment_each_is_decided_by_the_generator():
    images = _images()
    first = augment_each(images, torch.Generator().manual_seed(5))
    second = augment_each(images, torch.Generator().manual_seed(5))
    torch.testing.assert_close(first, second, rtol=0, atol=0)
    assert first.shape == images.shape
    assert augment_each(images[:0], torch.Generator()).shape == images[:0].shape
    assert augment_each(images, torch.Generator(), operations=()) is images


def test_errors_name_what_is_accepted():
    with pytest.raises(ValueError, match=r"operations to be one of 'color'.*'blur'"):
        check_operations(["blur"])
    with pytest.raises(ValueError, match="operations not to repeat"):
        check_operations(["flip", "flip"])
    with pytest.raises(ValueError, match="images to be 2"):
        Augmentation(operation="flip", uniforms=torch.rand(2, 3))(_images(3))


def test_the_images_of_one_channel_keep_their_saturation():
    images = _images(channels=1)
    expected = _with("color", 0.5, 0.5, 0.5)(images)
    np.testing.assert_allclose(_with("color", 0.5, 0.9, 0.5)(images), expected, atol=1e-6)
