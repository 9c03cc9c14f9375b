"""Events and theorems that other installed packages add, found by their entry points.

A package joins by its ``pyproject.toml``::

    [project.entry-points."rdpkit.events"]
    laplace = "my_package.laplace:Laplace"

    [project.entry-points."rdpkit.bounds"]
    laplace = "my_package.laplace_rdp:BOUND"
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

EVENTS, BOUNDS = "rdpkit.events", "rdpkit.bounds"


class ExtensionError(ImportError):
    """What an installed package adds to rdpkit cannot be used."""


@lru_cache(maxsize=1)
def _declared() -> tuple[EntryPoint, ...]:
    """Reading the metadata of all installed packages takes a moment, so all groups share it."""
    from importlib.metadata import entry_points  # noqa: PLC0415

    found = entry_points()
    groups = [group for group in sorted(found.groups) if group.startswith("rdpkit.")]
    return tuple(entry for group in groups for entry in found.select(group=group))


def declared(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group, as they were when any group was asked for first."""
    return tuple(entry for entry in _declared() if entry.group == group)


def install_line(extra: str) -> str:
    """What installs an extra, in the way in which this copy was installed.

    A copy from a folder or a repository names it again. Of any other nobody knows where it came
    from, so the libraries of the extra are named, and not whoever has this name on an index.
    """
    # Only errors need these.
    import json  # noqa: PLC0415
    import re  # noqa: PLC0415
    import shlex  # noqa: PLC0415
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415
    from urllib.parse import unquote, urlsplit  # noqa: PLC0415

    try:
        found = distribution("rdpkit")
    except PackageNotFoundError:
        return "install what pyproject.toml lists there"
    came = json.loads(found.read_text("direct_url.json") or "{}")
    url = came.get("url", "")
    if "dir_info" in came:
        target = f"{unquote(urlsplit(url).path)}[{extra}]"
        option = "-e " if came["dir_info"].get("editable") else ""
        return f"pip install {option}{shlex.quote(target)}"
    if "vcs_info" in came:
        target = f"rdpkit[{extra}] @ {came['vcs_info']['vcs']}+{url}"
        return f"pip install {shlex.quote(target)}"
    wanted = re.compile(rf"""([\w.-]+).*extra\s*==\s*['"]{re.escape(extra)}['"]""")
    names = [named[1] for text in found.requires or () if (named := wanted.match(text))]
    return f"pip install {shlex.join(names)}"


def extensions(group: str) -> dict[str, object]:
    """What installed packages add to a group, by name; imported by this call.

    Parameters
    ----------
    group : str
        :data:`EVENTS` or :data:`BOUNDS`.

    Raises
    ------
    ExtensionError
        If an entry point cannot be imported, or two have the same name.
    """
    found: dict[str, object] = {}
    for entry in declared(group):
        if entry.name in found:
            raise problem(group, entry.name, "two installed packages use this name")
        try:
            found[entry.name] = entry.load()
        except Exception as error:
            raise problem(group, entry.name, f"{type(error).__name__}: {error}") from error
    return found


def problem(group: str, name: str, reason: str) -> ExtensionError:
    """The error for one entry point, with what to do about it."""
    owners = [
        entry.dist.name
        for entry in declared(group)
        if entry.name == name and entry.dist is not None
    ]
    package = " and ".join(dict.fromkeys(owners)) or "an installed package"
    return ExtensionError(
        f"The entry point {name!r} of the group {group!r} cannot be used: {reason}. Repair or "
        f"uninstall {package}."
    )
