"""Broken trainings, each with a mistake that somebody made, beside the same code without it.

``batch-clipping`` is broken, and ``batch-clipping-fixed`` is not. To add a mistake, write its file
and list it here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rdpkit.verification.training.trainer import TrainingMaker
from rdpkit.verification.training.zoo.accountants import (
    claim_of_another_training,
    large_delta,
    not_told,
    one_step_too_many,
    updates_of_a_batch,
    virtual_steps,
)
from rdpkit.verification.training.zoo.base import TrainingZooEntry
from rdpkit.verification.training.zoo.samplers import (
    fixed_size,
    held_out,
    last_batch,
    rate_of_a_worker,
    repeated,
    shuffled,
    truncated,
    weighted,
    with_replacement,
)
from rdpkit.verification.training.zoo.steps import (
    actual_batch_size,
    batch_clipping,
    batch_normalisation,
    embedding_without_noise,
    fixed_seed,
    gradient_left_over,
    layer_thresholds,
    microbatch_averages,
    model_beside_opacus,
    noise_of_a_mean,
    noise_of_a_part,
    norm_from_batch,
    one_worker,
    same_noise_for_all_parameters,
    seed_of_a_step,
    seed_of_workers,
    unclipped_biases,
)

FIXED = "-fixed"

ENTRIES: Mapping[str, TrainingZooEntry] = MappingProxyType(
    {
        module.ENTRY.name: module.ENTRY
        for module in (
            batch_clipping,
            microbatch_averages,
            gradient_left_over,
            unclipped_biases,
            layer_thresholds,
            norm_from_batch,
            actual_batch_size,
            batch_normalisation,
            noise_of_a_part,
            noise_of_a_mean,
            one_worker,
            embedding_without_noise,
            same_noise_for_all_parameters,
            seed_of_workers,
            seed_of_a_step,
            fixed_seed,
            model_beside_opacus,
            shuffled,
            fixed_size,
            last_batch,
            truncated,
            with_replacement,
            repeated,
            weighted,
            rate_of_a_worker,
            held_out,
            virtual_steps,
            updates_of_a_batch,
            one_step_too_many,
            not_told,
            large_delta,
            claim_of_another_training,
        )
    }
)
"""All entries by their names."""


def names() -> tuple[str, ...]:
    """Names of all trainings; each broken one comes before the fixed one."""
    return tuple(name + suffix for name in ENTRIES for suffix in ("", FIXED))


def maker(name: str) -> TrainingMaker:
    """The maker of a training of the zoo.

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Raises
    ------
    KeyError
        If there is no such entry.
    """
    entry = ENTRIES[name.removesuffix(FIXED)]
    return TrainingMaker(make=entry.fixed if name.endswith(FIXED) else entry.broken, name=name)


__all__ = ["ENTRIES", "FIXED", "TrainingZooEntry", "maker", "names"]
