"""Differentiable siamese augmentation: one random change of real and synthetic records."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import torch
from torch.nn import functional

from rdpkit import _validate

OPERATIONS = ("color", "crop", "cutout", "flip", "scale", "rotate")
"""All operations. Leave out ``"flip"`` for digits, which it turns into other signs."""

_SHIFT = 0.125  # largest shift, as a share of the side
_HOLE = 0.5  # side of the hole, as a share of the image's side
_LARGEST_SCALE = 1.2  # and its inverse is the smallest
_LARGEST_ANGLE = 15.0  # degrees
_UNIFORMS = 3  # random numbers that one operation needs at most


def _per_record(uniform: torch.Tensor) -> torch.Tensor:
    return uniform.reshape(-1, 1, 1, 1)


def _color(images: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    """Brightness, saturation and contrast; means are taken within one record."""
    brighter = images + (_per_record(u[:, 0]) - 0.5)
    grey = brighter.mean(dim=1, keepdim=True)
    saturated = (brighter - grey) * (2.0 * _per_record(u[:, 1])) + grey
    level = saturated.mean(dim=(1, 2, 3), keepdim=True)
    return (saturated - level) * (_per_record(u[:, 2]) + 0.5) + level


def _picks(u: torch.Tensor, count: int) -> torch.Tensor:
    """Uniform integers in 0, ..., count - 1."""
    return (u * count).long().clamp(max=count - 1)


def _crop(images: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    """Move the image by up to an eighth of its side; zeros come in."""
    n, _, height, width = images.shape
    down, right = int(height * _SHIFT + 0.5), int(width * _SHIFT + 0.5)
    padded = functional.pad(images, (right, right, down, down))
    tops = _picks(u[:, 0], 2 * down + 1).expand(n)
    lefts = _picks(u[:, 1], 2 * right + 1).expand(n)
    rows = tops[:, None] + torch.arange(height, device=images.device)
    columns = lefts[:, None] + torch.arange(width, device=images.device)
    records = torch.arange(n, device=images.device)[:, None, None]
    # Indexing with tensors on both sides of a slice puts the channels last.
    moved = padded[records, :, rows[:, :, None], columns[:, None, :]]
    return moved.permute(0, 3, 1, 2)


def _cutout(images: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    """Zeros in a rectangle of half a side, around a random pixel."""
    height, width = images.shape[2:]

    def inside(side: int, uniform: torch.Tensor) -> torch.Tensor:
        hole = max(int(side * _HOLE + 0.5), 1)
        first = _picks(uniform, side)[:, None] - hole // 2
        pixels = torch.arange(side, device=images.device)
        return (pixels >= first) & (pixels < first + hole)

    hole = inside(height, u[:, 0])[:, :, None] & inside(width, u[:, 1])[:, None, :]
    return images * (~hole)[:, None].to(images.dtype)


def _flip(images: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    """Mirror left and right, with probability a half."""
    return torch.where(_per_record(u[:, 0]) < 0.5, images.flip(3), images)


def _affine(images: torch.Tensor, matrices: torch.Tensor) -> torch.Tensor:
    """Resample images on a grid moved by 2 x 3 matrices of shape (1 or n, 2, 3); zeros outside."""
    matrices = matrices.to(images.dtype).expand(len(images), 2, 3)
    grid = functional.affine_grid(matrices, list(images.shape), align_corners=False)
    return functional.grid_sample(images, grid, align_corners=False)


def _scale(images: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    """Stretch height and width, each by a factor in [1/1.2, 1.2]."""
    factors = u[:, :2] * (_LARGEST_SCALE - 1.0 / _LARGEST_SCALE) + 1.0 / _LARGEST_SCALE
    zero = torch.zeros_like(factors[:, 0])
    first = torch.stack((factors[:, 0], zero, zero), dim=1)
    second = torch.stack((zero, factors[:, 1], zero), dim=1)
    return _affine(images, torch.stack((first, second), dim=1))


def _rotate(images: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    """Turn by up to 15 degrees."""
    angle = (u[:, 0] - 0.5) * 2.0 * math.radians(_LARGEST_ANGLE)
    zero = torch.zeros_like(angle)
    first = torch.stack((angle.cos(), -angle.sin(), zero), dim=1)
    second = torch.stack((angle.sin(), angle.cos(), zero), dim=1)
    return _affine(images, torch.stack((first, second), dim=1))


_APPLY: Mapping[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = MappingProxyType(
    {
        "color": _color,
        "crop": _crop,
        "cutout": _cutout,
        "flip": _flip,
        "scale": _scale,
        "rotate": _rotate,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Augmentation:
    """One operation whose random parameters have been drawn, so that it is deterministic.

    It does the same to every batch ("siamese"): real and synthetic records of a class are compared
    after the same change. Each record is changed independently of the rest of its batch, so a
    clipped sum over records keeps its sensitivity.
    """

    operation: str  # One of :data:`OPERATIONS`
    uniforms: torch.Tensor
    """Numbers in [0, 1) that the operation turns into its parameters: one row for all records, or a
    row for each record; shape (1, 3) or (n, 3).
    """

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        """Images of shape (n, channels, height, width), changed; differentiable in the pixels."""
        if len(self.uniforms) not in (1, len(images)):
            raise _validate.fail(
                "images", f"to be {len(self.uniforms)} (as uniforms has rows)", len(images)
            )
        return _APPLY[self.operation](images, self.uniforms.to(images.device))


def check_operations(operations: Sequence[str]) -> tuple[str, ...]:
    """Names of operations, without repetition; none at all is allowed."""
    names = tuple(_validate.choice("operations", name, OPERATIONS) for name in operations)
    if len(set(names)) != len(names):
        raise _validate.fail("operations", "not to repeat a name", operations)
    return names


def draw_augmentation(
    generator: torch.Generator,  # Randomness that need not be secret, on the CPU
    *,
    # Names of :data:`OPERATIONS` to choose from, each as likely as the other.
    operations: Sequence[str] = OPERATIONS,
    rows: int = 1,  # 1 for the same parameters for every record, or the number of records
) -> Augmentation | None:
    """Draw one operation of several, and its parameters; None where there are no operations.

    Source
    ------
    Zhao and Bilen, Dataset Condensation with Differentiable Siamese Augmentation (ICML 2021); the
    ranges of the parameters are those of its public code.
    """
    names = check_operations(operations)
    if not names:
        return None
    rows = _validate.integer("rows", rows)
    pick = int(torch.randint(len(names), (), generator=generator))
    return Augmentation(
        operation=names[pick], uniforms=torch.rand(rows, _UNIFORMS, generator=generator)
    )


def augment_each(
    images: torch.Tensor,  # Shape (n, channels, height, width)
    generator: torch.Generator,  # On the CPU
    *,
    operations: Sequence[str] = OPERATIONS,  # Names of :data:`OPERATIONS` to choose from
) -> torch.Tensor:
    """Apply one random operation to a batch, with other random parameters for each record.

    Classifiers that are trained on released records use it.
    """
    if len(images) == 0:
        return images
    drawn = draw_augmentation(generator, operations=operations, rows=len(images))
    return images if drawn is None else drawn(images)
