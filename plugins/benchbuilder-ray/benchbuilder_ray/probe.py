"""What a machine has installed. Travels to machines by its text: there this plugin may be missing."""

from __future__ import annotations

from collections.abc import Sequence


def installed(names: Sequence[str]) -> dict[str, str]:
    """The version of Python, and of each of these distributions; empty for one that is missing."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    found = {"Python": platform.python_version()}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = ""
    return found
