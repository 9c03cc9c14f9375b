"""Translations to and from other libraries, each imported when it is first asked for.

``to_dp_event`` and ``from_dp_event`` translate events to and from dp-accounting's; an
``RdpkitAccountant`` can be used in place of dp-accounting's accountants. ``from_mechanisms`` reads
mechanisms of autodp and prv_accountant.
:mod:`rdpkit.interop.opacus` holds an accountant for Opacus, which has to be installed; importing
that module registers the accountant.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from rdpkit.interop.dp_accounting_accountant import RdpkitAccountant
    from rdpkit.interop.events_from_dp_accounting import from_dp_event
    from rdpkit.interop.events_to_dp_accounting import to_dp_event
    from rdpkit.interop.mechanisms import from_mechanisms
    from rdpkit.interop.noise_reading import UnconvertibleEventError

__all__ = [
    "RdpkitAccountant",
    "UnconvertibleEventError",
    "from_dp_event",
    "from_mechanisms",
    "to_dp_event",
]

_HOMES = {
    "RdpkitAccountant": "dp_accounting_accountant",
    "UnconvertibleEventError": "noise_reading",
    "from_dp_event": "events_from_dp_accounting",
    "from_mechanisms": "mechanisms",
    "to_dp_event": "events_to_dp_accounting",
}


def __getattr__(name: str) -> object:
    """A public name, imported now (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'rdpkit.interop' has no attribute {name!r}")
    try:
        value = getattr(_import_module(f"rdpkit.interop.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name != "dp_accounting":
            raise
        from rdpkit.extensions import install_line  # noqa: PLC0415 - only for errors

        raise ImportError(
            f"rdpkit.interop.{name} needs dp-accounting: {install_line('interop')}", name=error.name
        ) from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, imported or not."""
    return sorted({*globals(), *__all__})
