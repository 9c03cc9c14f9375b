"""A mechanism called with all of its settings in one flat mapping, for tests that change some."""

from rdpkit.mechanisms.algorithms.specification import option_defaults, options_from
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.releases.computation import Computation

_PRIVACY = ("delta", "adjacency", "noise", "counts")
_COMPUTATION = ("device", "checkpoint", "progress", "dtype", "out")


def _taken(flat, names):
    return {name: flat.pop(name) for name in names if name in flat}


def synthesize(module, features, labels, **flat):
    """A release of a mechanism, its values made of flat settings; noise may be its seed."""
    if isinstance(flat.get("noise"), int):
        flat["noise"] = NoiseSource.seeded(flat["noise"])
    spec = module.SPEC
    arguments = spec.arguments()
    values = {
        "options": options_from(spec.options, _taken(flat, option_defaults(spec.options))),
    }
    computation = _taken(flat, _COMPUTATION)
    if computation:
        values["computation"] = Computation(**computation)
    if "privacy" in arguments:
        values["privacy"] = Privacy(**_taken(flat, _PRIVACY))
    return spec.synthesize(features, labels, **values, **flat)
