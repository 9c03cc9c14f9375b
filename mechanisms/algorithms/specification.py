"""What the rest of the program knows of a mechanism: its options, its event and its noise."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import rdpkit
from rdpkit import _validate
from rdpkit.formats.records import did_you_mean
from rdpkit.mechanisms.parts.counts import CountsUse, KnownCounts, Sizes
from rdpkit.mechanisms.parts.verify_target import VerifyTarget
from rdpkit.mechanisms.releases.release import Release
from rdpkit.planning import plan

PLAN = "plan"
"""The order of mixture in a file that asks for the order that :func:`rdpkit.plan` finds."""

SCALING = "preprocessing"
"""Name of the option that chooses a scaling. Its values are :data:`SCALINGS`."""
SCALINGS = ("public", "exact-z-score")


def option_defaults(
    kind: type[Any],  # The options. Fields of a field that is itself a dataclass are options, too.
) -> dict[str, Any]:
    """Names of a mechanism's options with their defaults; MISSING where there is none."""
    found: dict[str, Any] = {}
    for one in fields(kind):
        if is_dataclass(one.default):
            found |= {inner.name: getattr(one.default, inner.name) for inner in fields(one.default)}
        else:
            found[one.name] = one.default
    return found


def options_from(
    kind: type[Any],  # The options
    values: Mapping[str, Any],  # Values by the names that :func:`option_defaults` lists
) -> Any:
    """Options of a mechanism from one flat mapping, as files have them."""
    found: dict[str, Any] = {}
    for one in fields(kind):
        if is_dataclass(one.default) and not isinstance(one.default, type):
            inner = {part.name for part in fields(one.default)} & values.keys()
            found[one.name] = replace(one.default, **{name: values[name] for name in inner})
        elif one.name in values:
            found[one.name] = values[one.name]
    return kind(**found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism:
    """A mechanism as experiments, ``rdpkit synthesize`` and ``rdpkit verify`` see it.

    ``synthesize(features, labels, ...)`` takes those of these arguments that it needs, and returns
    a :class:`Release`. A ValueError says that one is not accepted, or that arrays do not fit
    together; an ArithmeticError, that a number is not finite.

    * ``features``, shape (n, ...): private records of any real type, perhaps memory-mapped;
    * ``labels``, shape (n,): their classes, integers in [0, ``classes``);
    * ``options``: those of the mechanism;
    * ``scaling``: takes features to the numbers that the mechanism works with, see
      :mod:`rdpkit.mechanisms.parts.records`. Without it they are in [-1, 1] or [0, 1], as
      ``features`` below says, scaled by constants;
    * ``privacy``: delta and adjacency of the guarantee, the source of subsets and noise, and how
      numbers of records become known;
    * ``noise``: of a baseline without guarantee, the source that the manifest states, of which
      nothing is drawn;
    * ``seed``: of public randomness, such as the initial weights of a network;
    * ``image_shape``: channels, height and width of flat records that are images;
    * ``computation``: device, type of the features, file and progress.
    """

    name: str  #: What people call it, with dashes
    synthesize: Callable[..., Release]
    """Makes a release, from those of the arguments above that it takes."""
    options: type[Any]  #: What a file may set; ``synthesize`` takes it as ``options``
    features: Literal["unit", "signed"] = "unit"
    """Whether records come scaled to [0, 1] or [-1, 1], by public constants."""
    event: Callable[[Any, Sizes, int], rdpkit.Event] | None = None
    """The event from options, class sizes and the number of features."""
    calibrated: tuple[str, ...] = ()
    """The options of noise that are calibrated for a target epsilon. All are multiplied by one
    number, the smallest with which the event meets the target.
    """
    ratio: Callable[[Mapping[str, Any]], dict[str, float]] | None = None
    """Where the event does not have the calibrated options as parameters: computes from the other
    options the values of which they are multiples. The ``noise_std`` of the event, or of each of
    its parts, is proportional to them, and is calibrated instead.
    """
    choose: Callable[..., dict[str, Any]] | None = None
    """Fills in options that were left open, before the noise is calibrated for the event that they
    decide: ``choose(values, class_sizes, **question)``, by public or noisy numbers alone.
    """
    fixed: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """Options that a file cannot set, because the mechanism's name decides them."""
    counts: CountsUse | None = None
    """What the mechanism needs numbers of records for, where it needs any."""
    sample_size: str | None = None
    """The option that says how many records are drawn, or are drawn on average; by default
    ``planned``.
    """
    own_counts: tuple[str, ...] = ()
    """Options each of which says how these numbers become known, so that ``Privacy.counts`` does
    not.
    """
    planned: str | None = None
    """The option that says how many records a release is made of, where it can be planned."""
    prepare: Callable[[NDArray[np.float64], Mapping[str, Any]], NDArray[np.float64]] | None = None
    """Does to scaled rows what the mechanism does to each record before it releases anything. It
    takes the rows and the options that :meth:`check` returns, and prepares test records, too.
    """
    verify: VerifyTarget | None = None
    """The mechanism with small parameters, for ``rdpkit verify``."""
    kind: Literal["synthetic records", "statistics", "classifier", "real records"] = (
        "synthetic records"
    )
    """What a release is, as leaderboards show it."""
    reader: Callable[[Release, NDArray[np.float32]], NDArray[np.int64]] | None = None
    """Predicts labels from a release alone, without training a network: ``reader(release, rows)``.
    The rows, shape (n, d), are scaled as ``features`` says, and the result has shape (n,).
    Experiments use it with ``model.name = "reader"``.
    """

    def __post_init__(self) -> None:
        if self.sample_size is None:
            object.__setattr__(self, "sample_size", self.planned)

    def arguments(self) -> frozenset[str]:
        """Names of the arguments that ``synthesize`` takes."""
        return frozenset(inspect.signature(self.synthesize).parameters)

    def accepted(self) -> dict[str, Any]:
        """The options that a file may set, with their defaults."""
        found = {k: v for k, v in option_defaults(self.options).items() if k not in self.fixed}
        if "scaling" in self.arguments():
            found[SCALING] = SCALINGS[0]
        return found

    def build(self, values: Mapping[str, Any]) -> Any:
        """The options of ``synthesize``, from all values that :meth:`check` returned."""
        return options_from(self.options, {**values, **self.fixed})

    def check(self, values: Mapping[str, Any], *, calibrated: bool) -> dict[str, Any]:
        """The options that a file sets, with defaults for the others.

        Parameters
        ----------
        values : mapping
            What a file sets.
        calibrated : bool
            Whether the noise is chosen for a target epsilon.

        Raises
        ------
        ValueError
            If an option is unknown or missing, the noise is given and to be calibrated, or the
            order of mixture is to be planned and there is no target.
        """
        known = self.accepted()
        for name in values:
            if name not in known:
                accepted = ", ".join(sorted(known)) or "none"
                raise ValueError(
                    f"unknown option {name!r} of {self.name!r}; accepted: {accepted}."
                    f"{did_you_mean(name, known)}"
                )
        if calibrated:
            self._check_calibration(values)
        if self.planned is not None:
            planned = values.get(self.planned)
            if isinstance(planned, str) and planned != PLAN:
                raise _validate.fail(self.planned, f"to be a number or {PLAN!r}", planned)
        if not calibrated and self.is_planned(values):
            raise ValueError(
                f"Expected target_epsilon with {self.planned} = {PLAN!r}, which plans for it."
            )
        filled = {name: value for name, value in known.items() if value is not MISSING}
        filled |= values
        for name in known:
            if name not in filled and not (calibrated and name in self.calibrated):
                hint = " (or target_epsilon)" if name in self.calibrated else ""
                raise ValueError(f"Expected the option {name} of {self.name!r}{hint}: missing.")
        if SCALING in filled:
            _validate.choice(SCALING, filled[SCALING], SCALINGS)
            if calibrated and filled[SCALING] != SCALINGS[0]:
                raise ValueError(
                    f"Expected no target_epsilon with {SCALING} = {filled[SCALING]!r}: no sound "
                    "guarantee covers exact private statistics."
                )
        if not calibrated:
            self.build(filled)
        return filled

    def _check_calibration(self, values: Mapping[str, Any]) -> None:
        if not self.calibrated or self.event is None:
            raise ValueError(
                f"Expected no target epsilon: {self.name!r} has no noise that can be calibrated, "
                f"{self.why_not_calibrated}."
            )
        both = [name for name in self.calibrated if name in values]
        if both:
            raise ValueError(
                f"Expected {both[0]} or target_epsilon, got both: one decides the other."
            )

    @property
    def why_not_calibrated(self) -> str:
        """Why no noise can be found that meets a target epsilon, in words."""
        if self.event is None:
            return "because it adds none: it is a baseline without any guarantee"
        return "because its guarantee follows from other options: state these"

    def counts_needed(self, values: Mapping[str, Any]) -> CountsUse | None:
        """What ``Privacy.counts`` has to find out for a mechanism with these options."""
        own = any(values.get(name) is not None for name in self.own_counts)
        return None if own else self.counts

    def is_planned(self, values: Mapping[str, Any]) -> bool:
        """Whether the order of mixture is to be found by :func:`rdpkit.plan`."""
        return self.planned is not None and values.get(self.planned) == PLAN

    def run(self, features: Any, labels: Any, given: Mapping[str, Any]) -> Release:
        """Make a release with those of the given arguments that ``synthesize`` takes."""
        wanted = self.arguments()
        taken = {name: value for name, value in given.items() if name in wanted}
        return self.synthesize(features, labels, **taken)

    def of_persons(self, most: int) -> Mechanism:
        """The same for neighbours that differ in all records of a person, at most ``most``.

        What is chosen by numbers of records is chosen as if each person had one.
        """
        own, choose = self.event, self.choose
        assert own is not None

        def event(options: Any, class_sizes: Sizes, dimension: int) -> rdpkit.Event:
            return rdpkit.Group(event=own(options, class_sizes, dimension), size=most).expand()

        def chosen(values: Any, class_sizes: Sizes, **question: Any) -> dict[str, Any]:
            assert choose is not None
            return choose(values, tuple(-(-size // most) for size in class_sizes), **question)

        return replace(self, event=event, choose=None if choose is None else chosen)

    def calibrate_with(
        self,
        values: Mapping[str, Any],
        known: KnownCounts | None,  # Numbers of records, where the mechanism needs some
        *,
        classes: int,
        target_epsilon: float,
        delta: float,
        **question: Any,
    ) -> dict[str, Any]:
        """As :meth:`calibrate`, for what noisy counts leave of the target."""
        sizes: Sizes = (1,) * classes  # the event of a mechanism that needs none only counts them
        if known is not None:
            target_epsilon, delta = known.remaining(epsilon=target_epsilon, delta=delta)
            drawn = values.get(self.sample_size or "")
            if isinstance(drawn, (int, float)):
                known = known.for_samples_of(drawn)
            sizes = known.of_classes(classes)
        return self.calibrate(
            values, class_sizes=sizes, target_epsilon=target_epsilon, delta=delta, **question
        )

    def calibrate(
        self, values: Mapping[str, Any], *, class_sizes: Sizes, dimension: int, **question: Any
    ) -> dict[str, Any]:
        """Options with the least noise for which ``rdpkit.calibrate`` shows the target.

        Where the order of mixture is to be planned, ``rdpkit.plan`` finds both the order and the
        noise. It needs no data.

        Parameters
        ----------
        values : mapping
            As :meth:`check` returns them, without the noise.
        class_sizes : tuple of int
            Records of each class: public or noisy numbers, because the noise depends on them.
        dimension : int
            Features of a record.
        **question
            ``target_epsilon``, ``delta``, ``adjacency`` and ``bound`` of :func:`rdpkit.calibrate`.

        Raises
        ------
        ValueError
            If no noise meets the target, or the mechanism is not for that adjacency.
        """
        assert self.event is not None
        if self.choose is not None:
            values = self.choose(values, class_sizes, **question)
        ratio = dict.fromkeys(self.calibrated, 1.0) if self.ratio is None else self.ratio(values)
        if self.planned is not None and self.is_planned(values):
            one_record = self.build({**values, **ratio, self.planned: 1})
            planned = plan(self.event(one_record, class_sizes, dimension), **question)
            noises = {name: _number(getattr(planned.event, name)) for name in self.calibrated}
            return {**values, self.planned: planned.best.order_of_mixture, **noises}
        event = self.event(self.build({**values, **ratio}), class_sizes, dimension)
        names = self.calibrated if self.ratio is None else ("noise_std",)
        parts = event.parts() if isinstance(event, (rdpkit.Composed, rdpkit.Parallel)) else ()
        if self.ratio is None and isinstance(event, rdpkit.Composed):
            # The second event is the release of class counts, whose noise is an option of its own.
            parts = parts[:1]
        # All parts get the same noise, or in the same proportion.
        paths = [f"{path}.{name}" for name in names for path, _ in parts] or list(names)
        found = rdpkit.calibrate(
            event, **question, parameter=paths[0] if len(paths) == 1 else paths
        )
        noise = [_number(value) for value in found.values.values()][:: len(paths) // len(names)]
        if self.ratio is not None:
            scale = noise[0] / _number(getattr(parts[0][1] if parts else event, names[0]))
            # Rounding of a quotient must not make the noise smaller than what was found.
            scale *= 1.0 + 1e-12 if parts else 1.0
            noise = [ratio[name] * scale for name in self.calibrated]
        return {**values, **dict(zip(self.calibrated, noise, strict=True))}


def _number(value: Any) -> float:
    if not isinstance(value, (int, float)):
        raise _validate.fail("the calibrated noise", "to be one number", value)
    return float(value)
