"""DP-SGD by the settings that people know: noise multiplier, batch, data set, epochs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar, Literal, get_args

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events import free_parameters
from rdpkit.events.base import Event
from rdpkit.events.composition import Repeated
from rdpkit.events.fields import choice, declared, event_class, integer, noise, positive
from rdpkit.events.free_parameters import COUNT, NOISE, FreeParameter, number
from rdpkit.events.sampled.contributions import UserSampledGaussian
from rdpkit.events.sampled.fixed_size import FixedSizeSampledGaussian
from rdpkit.events.sampled.poisson import PoissonSampledGaussian
from rdpkit.events.training.epochs import RandomAllocationGaussian, ShuffledGaussian
from rdpkit.events.training.truncated_poisson_gaussian import TruncatedPoissonGaussian

Sampling = Literal["poisson", "fixed-size", "shuffle", "truncated-poisson", "random-allocation"]
SAMPLINGS: tuple[str, ...] = get_args(Sampling)

_IN_EPOCHS = ("shuffle", "random-allocation")

_SAMPLED = {
    "poisson": "every record joins each batch independently, with probability batch size / data "
    "set size (Poisson sampling)",
    "fixed-size": "each batch is a fresh uniform sample of fixed size, without replacement",
    "shuffle": "records are shuffled anew before each epoch and cut into full batches; what is "
    "left over is not used in that epoch, and both neighbours have equally many full batches",
    "truncated-poisson": "every record joins each batch independently, with probability batch size "
    "/ data set size, and a batch above the largest size is cut to a uniformly random part of it",
    "random-allocation": "in each epoch every record is put into one batch, uniformly and "
    "independently of all others",
}


@event_class
class DPSGD(Event):
    """DP-SGD: noisy sums of clipped gradients over batches, for a number of epochs or steps.

    Released, at each step: the sum over a batch of gradients clipped to an L2 norm of C, plus
    N(0, (noise_multiplier * C)^2 I). Dividing by the batch size, momentum, Adam and learning rates
    are post-processing and do not matter.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.DPSGD(noise_multiplier=1.1, dataset_size=60000, batch_size=256, epochs=60)
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    2.382
    """

    mechanism: ClassVar[str] = "dpsgd"
    of_whole_data: ClassVar[str] = "it states how many records there are"
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)
    expansion_is_attained = True

    noise_multiplier: float = noise(
        "Standard deviation of the noise on the sum of clipped gradients, divided by the clipping "
        "norm"
    )
    dataset_size: int = integer(
        "Number of training examples, in the larger of two neighbours",
        accepted="at least batch_size",
    )
    batch_size: int = integer(
        "Number of examples in a batch, or their expected number for Poisson sampling"
    )
    epochs: float | None = positive(
        "Passes over the data. With Poisson sampling and samples of fixed size there are epochs * "
        "dataset_size / batch_size steps, rounded up. Give epochs or steps",
        default=None,
    )
    steps: int | None = integer("Noisy updates. Give epochs or steps", default=None)
    sampling: Sampling = choice(
        "How batches are made. poisson: every example joins each batch independently. fixed-size: "
        "a fresh uniform sample without replacement. shuffle: a random order, cut into batches, "
        "anew in each epoch. truncated-poisson: as poisson, with batches cut at max_batch_size. "
        "random-allocation: in each epoch every example is put into one batch, independently. "
        "poisson is the default",
        Sampling,
        default="poisson",
    )
    max_batch_size: int | None = declared(
        "The largest batch for truncated-poisson, where it is needed",
        accepted="at least 1",
        default=None,
    )
    microbatch_size: int = integer(
        "Number of gradients that are averaged before clipping. By default each is clipped on its "
        "own. With more, one example may turn a clipped average around, so that the sensitivity is "
        "twice the clipping norm",
        default=1,
    )
    accumulation_steps: int = integer(
        "Number of batches whose clipped gradients are summed before noise is added once. The "
        "batch of one noisy update is accumulation_steps * batch_size. Samples are of that size, "
        "and cut into parts: parts that are sampled each on its own can share an example, and leak "
        "more",
        default=1,
    )
    examples_per_user: int = integer(
        "Largest number of examples of one user. With more than one, neighbours differ by a user. "
        "For Poisson sampling without microbatches",
        maximum=1000,
        default=1,
    )

    def _check_together(self) -> None:
        if self.logical_batch > self.dataset_size:
            name = "batch_size" if self.accumulation_steps == 1 else "accumulated batch"
            raise _validate.fail(
                name, f"to be at most dataset_size = {self.dataset_size}", self.logical_batch
            )
        if (self.epochs is None) == (self.steps is None):
            raise ValueError(
                f"Expected steps or epochs, exactly one of the two, got steps={self.steps!r} and "
                f"epochs={self.epochs!r}."
            )
        if self.sampling == "truncated-poisson":
            if self.max_batch_size is None:
                raise ValueError("Expected max_batch_size >= 1 with truncated-poisson.")
            _validate.integer("max_batch_size", self.max_batch_size)
        elif self.max_batch_size is not None:
            raise _validate.fail(
                "max_batch_size",
                "to be None without sampling='truncated-poisson'",
                self.max_batch_size,
            )
        if self.examples_per_user > 1 and (self.sampling != "poisson" or self.microbatch_size > 1):
            raise _validate.fail(
                "examples_per_user",
                "to be 1 without Poisson sampling, or with microbatches",
                self.examples_per_user,
            )

    @property
    def logical_batch(self) -> int:
        """Number of examples in the batch of one noisy update."""
        return self.batch_size * self.accumulation_steps

    @property
    def sampling_probability(self) -> float:
        """The probability with which one example is in a batch."""
        return self.logical_batch / self.dataset_size

    @property
    def updates(self) -> int:
        """Number of noisy updates."""
        if self.steps is not None:
            return self.steps
        assert self.epochs is not None
        if self.sampling in _IN_EPOCHS:
            return self.passes * self.batches
        return math.ceil(Fraction(self.epochs) * self.dataset_size / self.logical_batch)

    @property
    def passes(self) -> int:
        """Number of epochs, rounded up; in a shuffled one an example is in one batch at most."""
        if self.epochs is not None:
            return math.ceil(self.epochs)
        assert self.steps is not None
        return math.ceil(Fraction(self.steps, self.batches))

    @property
    def batches(self) -> int:
        """Number of batches in an epoch, rounded down."""
        return self.dataset_size // self.logical_batch

    @property
    def record_norm(self) -> float:
        """How far an example that comes or goes moves the sum, in clipping norms."""
        return 1.0 if self.microbatch_size == 1 else 2.0

    def expand(self) -> Event:
        """What is released at each step, or in each epoch, and how often."""
        sums: dict[str, Any] = {
            "noise_std": self.noise_multiplier,
            "record_norm": self.record_norm,
            "record_diameter": 2.0,
        }
        q, batch, size = self.sampling_probability, self.logical_batch, self.dataset_size
        made: Event
        if self.examples_per_user > 1:
            made = UserSampledGaussian(
                noise_std=self.noise_multiplier,
                record_norm=1.0,
                sampling_probability=q,
                records_per_user=self.examples_per_user,
            )
            return Repeated(event=made, count=self.updates)
        match self.sampling:
            case "poisson":
                made = PoissonSampledGaussian(**sums, sampling_probability=q)
            case "fixed-size":
                made = FixedSizeSampledGaussian(
                    **sums, sample_size=batch, population_size=size, release="sum"
                )
            case "shuffle":
                made = ShuffledGaussian(**sums, batch_size=batch, dataset_size=size)
            case "truncated-poisson":
                assert self.max_batch_size is not None
                made = TruncatedPoissonGaussian(
                    **sums,
                    sampling_probability=q,
                    max_batch_size=self.max_batch_size,
                    population_size=size,
                )
            case "random-allocation":
                made = RandomAllocationGaussian(**sums, batches=self.batches)
        count = self.passes if self.sampling in _IN_EPOCHS else self.updates
        return Repeated(event=made, count=count)

    def free_parameters(self) -> Mapping[str, FreeParameter]:
        """More noise is more private; fewer steps are, too, and smaller batches at equal steps."""
        found = {"noise_multiplier": NOISE}
        if self.steps is None:
            return {**found, "epochs": number(-1, role="count")}
        largest = self.dataset_size // self.accumulation_steps
        batch = free_parameters.integer(-1, highest=largest, role="batch")
        return {**found, "steps": COUNT, "batch_size": batch}

    def assumptions(self) -> tuple[str, ...]:
        """How batches are made, and how gradients are clipped."""
        found = [_SAMPLED[self.sampling]]
        if self.accumulation_steps > 1 and self.sampling not in _IN_EPOCHS:
            found.append(
                f"the batch of an update is one sample of {self.logical_batch}, cut into "
                f"{self.accumulation_steps} parts, so that no example is in two of them"
            )
        if self.examples_per_user > 1:
            found.append(
                f"neighbours differ by a user with {self.examples_per_user} examples at most"
            )
        if self.microbatch_size > 1:
            found.append(
                "one example changes one microbatch alone, whose average is clipped, so that the "
                "sensitivity is twice the clipping norm"
            )
        return tuple(found)
