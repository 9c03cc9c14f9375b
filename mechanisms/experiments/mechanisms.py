"""The mechanisms that an experiment can name: what each takes, and what is calibrated.

A mechanism is looked up when it is needed and imported then. Its options are the keyword arguments
of its ``synthesize``; those that an experiment sets elsewhere are left out.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import MappingProxyType
from typing import Any, Literal

import rdpkit
from rdpkit import _validate

Options = Mapping[str, Any]
Sizes = tuple[int, ...]

ELSEWHERE = (
    "delta", "adjacency", "noise", "seed", "classes", "class_sizes", "population_size",
    "image_shape", "device", "checkpoint", "progress", "scaling", "dtype", "out", "initial",
)  # fmt: skip
"""Arguments of mechanisms that the data set, the seed or the privacy section decide, or nobody."""

PLAN = "plan"
"""What a file says instead of an order of mixture that :func:`rdpkit.plan` is to find."""

SCALING = "preprocessing"
"""The option of mechanisms that take a scaling: "public", or by name "exact-z-score"."""
_SCALINGS = ("public", "exact-z-score")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism:
    """One mechanism as experiments see it.

    Parameters
    ----------
    name : str
        Its name in files.
    module : str
        Where its function is, below ``mechanisms``.
    function : str
        The function's name.
    features : {"unit", "signed"}
        Whether records come scaled to [0, 1] or [-1, 1], by public constants.
    noise : tuple of str
        The options that are calibrated for a target epsilon, in the ratio of ``ratio``.
    event : callable, optional
        The event from options, class sizes and the number of features; needed to calibrate.
    ratio : callable, optional
        What the calibrated options are multiples of, from the other options; by default 1 each.
    factor : str, optional
        The event's parameter that all of them are proportional to, where it does not have them
        under their own names.
    fixed : mapping
        Options that the mechanism's name decides.
    mixed : str, optional
        The option that says how many records a release is made of, where it can be planned.
    """

    name: str
    module: str
    function: str = "synthesize"
    features: Literal["unit", "signed"] = "unit"
    noise: tuple[str, ...] = ()
    event: Callable[[Options, Sizes, int], rdpkit.Event] | None = None
    ratio: Callable[[Options], dict[str, float]] | None = None
    factor: str | None = None
    fixed: Mapping[str, Any] = field(default_factory=dict)
    mixed: str | None = None

    def call(self) -> Callable[..., Any]:
        """The function, imported now."""
        found: Callable[..., Any] = getattr(
            import_module(f"rdpkit.mechanisms.{self.module}"), self.function
        )
        return found

    def arguments(self) -> Mapping[str, inspect.Parameter]:
        """Every keyword argument of the function."""
        signature = inspect.signature(self.call()).parameters
        return {
            name: parameter
            for name, parameter in signature.items()
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY
        }

    def options(self) -> dict[str, inspect.Parameter]:
        """The arguments that a file may set."""
        arguments = self.arguments()
        found = {
            name: parameter
            for name, parameter in arguments.items()
            if name not in ELSEWHERE and name not in self.fixed
        }
        if "scaling" in arguments:
            found[SCALING] = inspect.Parameter(
                SCALING, inspect.Parameter.KEYWORD_ONLY, default=_SCALINGS[0]
            )
        return found

    def check(self, options: Options, *, calibrated: bool) -> dict[str, Any]:
        """Options with their defaults, or an error about one of them.

        Parameters
        ----------
        options : mapping
            What a file sets.
        calibrated : bool
            Whether the noise is chosen for a target epsilon.

        Raises
        ------
        ValueError
            If an option is unknown or missing, the noise is given and to be calibrated, or the
            order of mixture is to be planned and there is no target.
        """
        known = self.options()
        for name in options:
            if name not in known:
                raise ValueError(
                    f"unknown option {name!r} of {self.name!r}; accepted: "
                    f"{', '.join(sorted(known)) or 'none'}."
                )
        if calibrated:
            if not self.noise or self.event is None:
                raise ValueError(
                    f"Expected no target_epsilon: {self.name!r} has no noise that can be "
                    "calibrated here; state its parameters."
                )
            both = [name for name in self.noise if name in options]
            if both:
                raise ValueError(
                    f"Expected {both[0]} or target_epsilon, got both: one decides the other."
                )
        if self.mixed is not None:
            mixed = options.get(self.mixed)
            if isinstance(mixed, str) and mixed != PLAN:
                raise _validate.fail(self.mixed, f"to be a number or {PLAN!r}", mixed)
        if not calibrated and self.is_planned(options):
            raise ValueError(
                f"Expected target_epsilon with {self.mixed} = {PLAN!r}: it is what is planned for."
            )
        filled = {name: p.default for name, p in known.items() if p.default is not p.empty}
        filled.update(options)
        for name in known:
            if name not in filled and not (calibrated and name in self.noise):
                hint = " (or target_epsilon)" if name in self.noise else ""
                raise ValueError(f"Expected the option {name} of {self.name!r}{hint}: missing.")
        if SCALING in filled:
            _validate.choice(SCALING, filled[SCALING], _SCALINGS)
            if calibrated and filled[SCALING] != "public":
                raise ValueError(
                    f"Expected no target_epsilon with {SCALING} = {filled[SCALING]!r}: no sound "
                    "guarantee covers exact private statistics."
                )
        return filled

    def is_planned(self, options: Options) -> bool:
        """Whether the order of mixture is to be found by :func:`rdpkit.plan`."""
        return self.mixed is not None and options.get(self.mixed) == PLAN

    def calibrate(
        self,
        options: Options,
        *,
        class_sizes: Sizes,
        dimension: int,
        target_epsilon: float,
        delta: float,
        adjacency: rdpkit.Adjacency,
        bound: str,
    ) -> dict[str, Any]:
        """Options with the least noise for which ``rdpkit.calibrate`` shows the target.

        Where the order of mixture is to be planned, both are what ``rdpkit.plan`` finds, which
        needs no data.

        Parameters
        ----------
        options : mapping
            As :meth:`check` returns them, without the noise.
        class_sizes : tuple of int
            Records of each class.
        dimension : int
            Features of a record.
        target_epsilon, delta, adjacency, bound
            As for :func:`rdpkit.calibrate`.

        Raises
        ------
        ValueError
            If no noise meets the target, or the mechanism is not for that adjacency.
        """
        assert self.event is not None
        ratio = dict.fromkeys(self.noise, 1.0) if self.ratio is None else self.ratio(options)
        question: dict[str, Any] = {
            "target_epsilon": target_epsilon,
            "delta": delta,
            "adjacency": adjacency,
            "bound": bound,
        }
        if self.mixed is not None and self.is_planned(options):
            any_order = self.event({**options, **ratio, self.mixed: 1}, class_sizes, dimension)
            plan = rdpkit.plan(any_order, **question)
            noises = {name: _number(getattr(plan.event, name)) for name in self.noise}
            return {**options, self.mixed: plan.best.order_of_mixture, **noises}
        event = self.event({**options, **ratio}, class_sizes, dimension)
        parameters = [self.factor] if self.factor is not None else list(self.noise)
        if isinstance(event, rdpkit.Composed):
            # Beside a release of class counts, whose noise is an option of its own.
            parameters = [f"events[0].{name}" for name in parameters]
        found = rdpkit.calibrate(
            event,
            **question,
            parameter=parameters[0] if len(parameters) == 1 else parameters,
        )
        values = [_number(value) for value in found.values.values()]
        if self.factor is not None:
            return {**options, **{name: ratio[name] * values[0] for name in self.noise}}
        return {**options, **dict(zip(self.noise, values, strict=True))}


def _number(value: Any) -> float:
    """A calibrated noise; a tuple is none."""
    if not isinstance(value, (int, float)):
        raise _validate.fail("the calibrated noise", "to be a number", value)
    return float(value)


def _dpcda(options: Options, sizes: Sizes, dimension: int) -> rdpkit.Event:
    return rdpkit.DPCDA(
        class_sizes=sizes,
        samples_per_class=options["samples_per_class"],
        order_of_mixture=options["order_of_mixture"],
        clip_norm=options["clip_norm"],
        feature_noise=options["feature_noise"],
        label_noise=options.get("label_noise", 0.0),
    )


def _class_wise_dpmix(options: Options, sizes: Sizes, dimension: int) -> rdpkit.Event:
    return rdpkit.ClassWiseDPMix(
        class_sizes=sizes,
        samples_per_class=options["samples_per_class"],
        order_of_mixture=options["order_of_mixture"],
        feature_dimension=dimension,
        label_dimension=len(sizes),
        feature_noise=options["feature_noise"],
        label_noise=options.get("label_noise", 0.0),
    )


def _ldpdc(options: Options, sizes: Sizes, dimension: int) -> rdpkit.Event:
    return rdpkit.LDPDC(
        class_sizes=sizes,
        group_size=options["group_size"],
        samples_per_class=options["samples_per_class"],
        noise_std=options["noise_std"],
        value_bound=options["value_bound"],
        dimension=dimension,
    )


def _ndpdc(options: Options, sizes: Sizes, dimension: int) -> rdpkit.Event:
    return rdpkit.NDPDC(
        class_sizes=sizes,
        group_size=options["group_size"],
        iterations=options["iterations"],
        noise_std=options["noise_std"],
        clip_norm=options["clip_norm"],
    )


def _dpmix(options: Options, sizes: Sizes, dimension: int) -> rdpkit.Event:
    return rdpkit.DPMix(
        population_size=sum(sizes),
        releases=options["releases"],
        order_of_mixture=options["order_of_mixture"],
        feature_dimension=dimension,
        label_dimension=len(sizes),
        feature_noise=options["feature_noise"],
        label_noise=options["label_noise"],
    )


def _noisy_records(options: Options, sizes: Sizes, dimension: int) -> rdpkit.Event:
    event: rdpkit.Event = import_module(
        "rdpkit.mechanisms.algorithms.local_perturbation"
    ).record_event(
        clip_norm=options["clip_norm"],
        feature_noise=options["feature_noise"],
        label_noise=options["label_noise"],
    )
    return event


def _equal_shares(options: Options) -> dict[str, float]:
    """Noises at which a record's features and its label leak as much as each other."""
    return {"feature_noise": math.sqrt(2.0) * float(options["clip_norm"]), "label_noise": 1.0}


def _embedding(options: Options, sizes: Sizes, dimension: int) -> rdpkit.Event:
    counts = import_module("rdpkit.mechanisms.parts.mean_embedding").Counts.of(
        options["public_counts"], options["count_noise_std"], classes=len(sizes)
    )
    event: rdpkit.Event = counts.event(noise_std=options["noise_std"])
    return event


def _sinkhorn(options: Options, sizes: Sizes, dimension: int) -> rdpkit.Event:
    width = 2.0 * float(options["clip_norm"])
    return rdpkit.Repeated(
        event=rdpkit.PoissonSampledGaussian(
            noise_std=options["noise_std"],
            record_norm=width,
            record_diameter=width,
            sampling_probability=float(options["batch_size"]) / sum(sizes),
        ),
        count=options["iterations"],
    )


_ALL = (
    Mechanism(name="original", module="evaluation.original"),
    Mechanism(name="noiseless-mixing", module="evaluation.noiseless_mixing"),
    Mechanism(
        name="dpcda",
        module="algorithms.dpcda",
        noise=("feature_noise",),
        event=_dpcda,
        fixed={"label_noise": 0.0},
        mixed="order_of_mixture",
    ),
    Mechanism(name="dpcda-algorithm-1", module="algorithms.dpcda"),
    Mechanism(
        name="class-wise-dpmix",
        module="algorithms.dpmix",
        function="synthesize_class_wise",
        noise=("feature_noise",),
        event=_class_wise_dpmix,
        mixed="order_of_mixture",
    ),
    Mechanism(
        name="dpmix",
        module="algorithms.dpmix",
        noise=("feature_noise", "label_noise"),
        event=_dpmix,
        mixed="order_of_mixture",
    ),
    Mechanism(
        name="ldpdc",
        module="algorithms.ldpdc",
        features="signed",
        noise=("noise_std",),
        event=_ldpdc,
        mixed="group_size",
    ),
    Mechanism(
        name="ndpdc",
        module="algorithms.ndpdc",
        features="signed",
        noise=("noise_std",),
        event=_ndpdc,
        mixed="group_size",
    ),
    Mechanism(name="gaussian-synthesis", module="algorithms.gaussian_synthesis", features="signed"),
    Mechanism(
        name="local-perturbation",
        module="algorithms.local_perturbation",
        noise=("feature_noise", "label_noise"),
        event=_noisy_records,
        ratio=_equal_shares,
        factor="noise_std",
    ),
    Mechanism(
        name="random-projection",
        module="algorithms.random_projection",
        noise=("feature_noise", "label_noise"),
        event=_noisy_records,
        ratio=_equal_shares,
        factor="noise_std",
    ),
    Mechanism(
        name="distribution-matching", module="algorithms.distribution_matching", features="signed"
    ),
    Mechanism(
        name="dp-merf",
        module="algorithms.dp_merf",
        features="signed",
        noise=("noise_std",),
        event=_embedding,
    ),
    Mechanism(
        name="dp-sinkhorn",
        module="algorithms.dp_sinkhorn",
        features="signed",
        noise=("noise_std",),
        event=_sinkhorn,
    ),
    Mechanism(
        name="dp-hp",
        module="algorithms.dp_hp",
        features="signed",
        noise=("noise_std",),
        event=_embedding,
    ),
)
MECHANISMS: Mapping[str, Mechanism] = MappingProxyType({m.name: m for m in _ALL})
"""Every mechanism by the name that experiments use."""


def find_mechanism(name: str) -> Mechanism:
    """A mechanism by name.

    Raises
    ------
    ValueError
        If there is none; the error lists them.
    """
    return MECHANISMS[_validate.choice("mechanism", name, MECHANISMS)]
