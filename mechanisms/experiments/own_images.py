"""A release of images of the user's own by any mechanism, with noise for a target epsilon."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from rdpkit import Adjacency, _validate
from rdpkit.mechanisms.algorithms import find_mechanism
from rdpkit.mechanisms.algorithms.specification import SCALING
from rdpkit.mechanisms.data.images import ImageSet, load_images
from rdpkit.mechanisms.data.images.image_set import CLASSES
from rdpkit.mechanisms.experiments.preparation import calibrated, scales_itself
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.parts.records import public_scaling
from rdpkit.mechanisms.parts.sampling import some_of_each
from rdpkit.mechanisms.releases.computation import Computation
from rdpkit.mechanisms.releases.release import Release

_BYTES = public_scaling(factor=1 / 255)


def synthesize_images(
    source: Any,
    *,
    mechanism: str,
    epsilon: float,
    delta: float,
    adjacency: Adjacency | str,
    counts: Any = "noisy",
    options: Mapping[str, Any] = MappingProxyType({}),
    noise: NoiseSource | None = None,
    dataset: str | None = None,
    seed: int = 0,
    computation: Computation | None = None,
    reading: Mapping[str, Any] = MappingProxyType({}),
) -> Release:
    """Release synthetic records of labelled images.

    Guarantee
    ---------
    That of the mechanism's event, at most ``epsilon`` at ``delta``, an upper bound; the manifest
    states it. What noisy counts of records cost is part of it.

    Assumes
    -------
    The classes, the size and the channels of images are public knowledge, where they are stated.
    A release with one that nobody stated is not private, and the manifest does not name classes
    that nobody stated.

    Parameters
    ----------
    source : ImageSet, or what :func:`load_images` takes
        The private images.
    mechanism : str
        A mechanism of :mod:`rdpkit.mechanisms.algorithms` whose noise can be calibrated.
    epsilon : float
        The largest epsilon that is wanted, in nats; > 0.
    delta : float
        In (0, 1), far below one over the number of images.
    adjacency : Adjacency or str
        When two data sets are neighbours.
    counts : "noisy", "public", or sequence of int
        How numbers of records become known: see :class:`Privacy`.
    options : mapping
        Options of the mechanism, apart from its noise.
    noise : NoiseSource, optional
        By default system entropy. With a seeded source the release is not private.
    dataset : str, optional
        Your name for the private images, which the manifest states.
    seed : int
        Of randomness that need not be secret, such as weights.
    computation : Computation, optional
        Device, progress and type of the results.
    reading : mapping
        Further arguments of :func:`load_images`: classes, image_size, channels, part, columns,
        person. With persons, so many images of each are used, chosen at random, and neighbours
        differ in all of them. Images of nobody are left out.

    Returns
    -------
    Release
        Its parameters have the names of the classes, where these are stated, and the shape.

    Raises
    ------
    ValueError
        If an argument is not accepted, or the mechanism's noise cannot be calibrated.
    """
    spec = find_mechanism(mechanism)
    if not spec.calibrated:
        raise ValueError(
            "Expected mechanism to be one whose noise can be calibrated: "
            f"{spec.name!r} has none, {spec.why_not_calibrated}."
        )
    _validate.positive("epsilon", epsilon)
    drawn = NoiseSource.system() if noise is None else noise
    checked = spec.check(options, calibrated=True)
    images = source if isinstance(source, ImageSet) else load_images(source, **reading)
    privacy = Privacy(
        delta=delta,
        adjacency=adjacency,
        noise=drawn,
        counts=counts,
        public={**images.public, "options": "stated"},
        most_per_person=images.most_per_person,
    )
    images = _bounded(images, drawn)
    if checked.get(SCALING, "public") != "public":
        raise _validate.fail("options", f"to have {SCALING} 'public'", dict(options))
    values, privacy = calibrated(
        spec,
        checked,
        privacy,
        tuple(np.bincount(images.labels, minlength=len(images.classes)).tolist()),
        dimension=images.features.shape[1],
        target_epsilon=epsilon,
    )
    values.pop(SCALING, None)
    given: dict[str, Any] = {
        "scaling": _BYTES if scales_itself(spec) else public_scaling(),
        "options": spec.build(values),
        "privacy": privacy,
        "noise": drawn,
        "seed": seed,
        "classes": len(images.classes),
        "image_shape": images.image_shape,
        "computation": computation or Computation(),
    }
    features: Any = images.features
    if not scales_itself(spec):
        features = features.astype(np.float32) / np.float32(255.0)
        if spec.features == "signed":
            features = features * np.float32(2.0) - np.float32(1.0)
    made = spec.run(features, images.labels, given)
    stated = {
        **made.manifest.parameters,
        "class_names": None if CLASSES in images.assumed else list(images.classes),
        "image_shape": list(images.image_shape),
    }
    return replace(made, manifest=replace(made.manifest, parameters=stated, dataset=dataset))


def _bounded(images: ImageSet, noise: NoiseSource) -> ImageSet:
    """No more images of a person than are used."""
    persons, most = images.persons, images.most_per_person
    if persons is None and most is None:
        return images
    if persons is None or most is None:
        raise ValueError("Expected images with persons and most_per_person, or neither.")
    kept = some_of_each(persons, most, noise)
    features, labels = images.features[kept], images.labels[kept]
    return replace(images, features=features, labels=labels, persons=None, most_per_person=None)
