"""Mechanisms, one a file: its options, its function ``synthesize`` and its ``SPEC``.

Add a mechanism by writing its file and adding the file's name to :data:`MODULES`. A package outside
adds one by an entry point of the group ``rdpkit.mechanisms`` that leads to its ``SPEC``. Names of
mechanisms have dashes where names of files have underscores; both are accepted. A mechanism is
imported when it is first looked up, because some of them need torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from rdpkit.extensions import declared
from rdpkit.formats.records import did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from rdpkit.mechanisms.algorithms.specification import Mechanism

MODULES = (
    "original",
    "noiseless_mixing",
    "dpcda",
    "dpcda_algorithm_1",
    "class_wise_dpmix",
    "dpmix",
    "ldpdc",
    "ndpdc",
    "gaussian_synthesis",
    "local_perturbation",
    "random_projection",
    "distribution_matching",
    "dp_merf",
    "dp_sinkhorn",
    "dp_hp",
    "marginals",
    "scattering_dpsgd",
    "moments",
)
"""Files of this folder that hold a mechanism."""

GROUP = "rdpkit.mechanisms"
"""Entry points of this group are mechanisms of other packages."""


def mechanism_names() -> tuple[str, ...]:
    """Names of all mechanisms, those of other packages last. Nothing is imported."""
    own = [module.replace("_", "-") for module in MODULES]
    return (*own, *(name for name in sorted(_outside()) if name not in own))


def find_mechanism(name: str) -> Mechanism:
    """Import a mechanism and return its specification.

    Parameters
    ----------
    name : str
        One of :func:`mechanism_names`, with dashes or underscores.

    Raises
    ------
    ValueError
        If there is none of that name, or an entry point does not lead to a specification. The
        message lists the names and suggests the nearest one.
    """
    from rdpkit.mechanisms.algorithms.specification import Mechanism  # noqa: PLC0415 (it imports numpy)

    wanted = name.replace("_", "-") if isinstance(name, str) else name
    names = mechanism_names()
    if wanted not in names:
        raise ValueError(
            f"Expected mechanism to be one of {', '.join(names)}, got {name!r}."
            f"{did_you_mean(wanted, names)}"
        )
    module = wanted.replace("-", "_")
    if module in MODULES:
        found = import_module(f"{__name__}.{module}").SPEC
    else:
        found = _loaded(_outside()[wanted])
    assert isinstance(found, Mechanism)
    return found


def _outside() -> dict[str, EntryPoint]:
    return {point.name.replace("_", "-"): point for point in declared(GROUP)}


def _loaded(point: EntryPoint) -> object:
    from rdpkit.mechanisms.algorithms.specification import Mechanism  # noqa: PLC0415

    try:
        found = point.load()
    except Exception as error:
        raise ValueError(
            f"The mechanism {point.name!r} of another package ({point.value}) could not be "
            f"imported: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(found, Mechanism):
        raise ValueError(
            f"Expected the entry point {point.name!r} = {point.value!r} of the group {GROUP!r} to "
            f"be a Mechanism of rdpkit.mechanisms.algorithms.specification, got {found!r:.100}."
        )
    return found


__all__ = ["GROUP", "MODULES", "find_mechanism", "mechanism_names"]
