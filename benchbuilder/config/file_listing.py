"""What the path of a recipe means: one file, a folder, or every match of a pattern."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

_GLOB = frozenset("*?[")


def real_path(path: Path) -> Path:
    """`path` without links; of a link that leads in a circle, the place where the circle was found."""
    return Path(os.path.realpath(path))  # `Path.resolve` raises RuntimeError for circles in Python before 3.13


def has_wildcard(written: str) -> bool:
    """Whether a path as written in a recipe is a pattern."""
    return bool(_GLOB & set(written))


def expand_pattern(written: str, at: Path) -> tuple[Path, str, list[Path]]:
    """What a path with ``*``, ``?`` or ``[`` finds, sorted: files and folders.

    Args:
        written: The path as in the recipe.
        at: The same path, absolute.

    Returns:
        The folder above the first part with such a character, that folder as written, and what is below it.
    """
    parts = PurePosixPath(written).parts
    first = next(index for index, part in enumerate(parts) if has_wildcard(part))
    folder = at.parents[len(parts) - first - 1]
    return folder, str(PurePosixPath(*parts[:first])), sorted(folder.glob("/".join(parts[first:])))


def outward_link(written: str, at: Path, root: Path) -> Path | None:
    """A link that leads out of `root` on the way to what a path means; ``None`` if there is none.

    Args:
        written: The path as in the recipe.
        at: The same path, absolute, below `root`.
        root: A folder without links in its own path.
    """
    if at.is_dir():
        return _link_below(at, root)
    found = [at] if at.exists() or not has_wildcard(written) else expand_pattern(written, at)[2]
    outside = next((path for path in found if not real_path(path).is_relative_to(root)), None)
    if outside is None:
        return None
    ways = (*reversed(outside.parents), outside)
    return next(way for way in ways if way.is_symlink() and not real_path(way).is_relative_to(root))


def _link_below(folder: Path, root: Path) -> Path | None:
    """The first link below `folder` that leads out of `root`; other links are followed."""
    waiting, seen = [folder], {real_path(folder)}
    while waiting:
        try:
            entries = sorted(os.scandir(waiting.pop()), key=lambda entry: entry.name)
        except OSError:  # the reader of the folder reports it
            continue
        for entry in entries:
            path = Path(entry.path)
            if entry.is_symlink():
                target = real_path(path)
                if not target.is_relative_to(root):
                    return path
                if target in seen:
                    continue
                seen.add(target)
            if path.is_dir():  # unlike that of the entry, it raises no error for a circle
                waiting.append(path)
    return None
