"""Why the verdict at one value of a parameter decides all values on one side of it.

A boundary is a statement about all values beyond it, of which none was computed. It holds because a
mechanism is no less private there, which must be a theorem. Events say in which direction they are
more private (:class:`rdpkit.events.free_parameters.FreeParameter`); this module adds why, for the
parameters for which the theory page "Regions" proves it. Of other parameters no region is given.

Guarantee
---------
For a parameter that is named here, an event is at least as private, at every delta and for every
pair of data sets that it accepts, as the same event with a value on the side that is less private.
A claim that is true at one value is then true at all that are more private, and a claim that is
refuted at one value is refuted at all that are less private.

Assumes
-------
What the event's own guarantee assumes.

Source
------
rdpkit, theory page "Regions"; post-processing and mixtures: Dwork and Roth 2014, Proposition 2.1,
and joint convexity of the hockey-stick divergence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rdpkit import Event
from rdpkit.calibration.search_variable import SearchVariable, search_variable, value_at

_NOISE = (
    "more noise is the same release with independent noise added to it, which is post-processing"
)
_MORE = "fewer releases are a part of more releases, and leaving some out is post-processing"
_RATE = (
    "with a smaller sampling rate, the loss of a release is that at the larger rate with some of "
    "the samples drawn from the other data set, which is post-processing"
)
_NORM = "whatever data sets a smaller bound allows, a larger one allows, too"

_GAUSSIAN = (
    *("gaussian", "poisson_sampled_gaussian", "fixed_size_sampled_gaussian"),
    *("mixture_of_gaussians", "shuffled_gaussian", "random_allocation_gaussian"),
    *("truncated_poisson_gaussian", "user_sampled_gaussian", "tree_aggregation"),
    *("matrix_factorization", "dpsgd", "dpmix", "class_wise_dpmix", "dpcda", "ldpdc", "ndpdc"),
    "class_moments",
)
_NOISES = ("noise_std", "noise_multiplier", "feature_noise", "label_noise")
_OTHERS: Mapping[tuple[str, str], str] = {
    ("repeated", "count"): _MORE,
    ("dpmix", "releases"): _MORE,
    ("class_wise_dpmix", "samples_per_class"): _MORE,
    ("dpcda", "samples_per_class"): _MORE,
    ("ldpdc", "samples_per_class"): _MORE,
    ("ndpdc", "iterations"): _MORE,
    ("dpsgd", "steps"): _MORE,
    ("dpsgd", "epochs"): _MORE,
    ("poisson_sampled_gaussian", "sampling_probability"): _RATE,
    ("ldpdc", "group_size"): _RATE,
    ("ndpdc", "group_size"): _RATE,
    ("dpsgd", "batch_size"): _RATE,
    ("gaussian", "record_norm"): _NORM,
    ("gaussian", "record_diameter"): _NORM,
    ("poisson_sampled_gaussian", "record_norm"): _NORM,
    ("dpcda", "clip_norm"): _NORM,
    ("ndpdc", "clip_norm"): _NORM,
    ("ldpdc", "value_bound"): _NORM,
    ("ldpdc", "dimension"): _NORM,
    ("class_wise_dpmix", "feature_dimension"): _NORM,
}

FORMULAS = {
    "dpcda-theorem1": "its value grows with the number of releases and falls with the noise, so "
    "that it never asks for less noise for more releases",
    "dpcda-theorem1-class": "its value grows with the number of releases and falls with the noise, "
    "so that it never asks for less noise for more releases",
}
"""Published formulas, and why they ask for no less noise where more is released."""


def why(
    event: Event,  # The event, with any value of the parameter
    path: str,  # The parameter, as calibration names it
) -> str | None:
    """Why an event is monotone in a parameter; None where that is not proven."""
    inside, _, name = path.rpartition(".")
    owner: Any = value_at(event, inside) if inside else event
    if owner.mechanism in _GAUSSIAN and name in _NOISES:
        return _NOISE
    if (owner.mechanism, name) == ("dpsgd", "batch_size") and (
        owner.sampling != "poisson" or owner.examples_per_user > 1
    ):
        return None
    return _OTHERS.get((owner.mechanism, name))


def variable_of(
    event: Event,  # The event, with any values of the parameters
    names: tuple[str, ...],  # One parameter, or several that are equal
) -> tuple[SearchVariable, str]:
    """What is searched for, and why the event is monotone in it."""
    wanted: Any = names[0] if len(names) == 1 else dict.fromkeys(names, 1.0)
    variable = search_variable(event, wanted)
    reasons = []
    for moved in variable.moved:
        reason = why(event, moved.path)
        if reason is None or variable.private == 0:
            raise ValueError(
                f"Expected search to name parameters in which a {event.mechanism} is proven to be "
                f"monotone, such as its noise or its number of releases, got {moved.path!r}."
            )
        reasons.append(reason)
    return variable, "; ".join(dict.fromkeys(reasons))
