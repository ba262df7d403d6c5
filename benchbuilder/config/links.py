"""Links in the working folder: whoever made it does not choose what is written over elsewhere."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from benchbuilder.config.search_path import display_path
from benchbuilder.config.trust import trusted_folders
from benchbuilder.core import StoreError, is_abandoned, special_file


def check_links(folder: Path) -> None:
    """StoreError if a link in the working folder leads what is written into `folder` out of it, unless it is trusted.

    Archives and version control bring links along, so whoever made the working folder would choose what is written
    over. Looks at the folders above `folder` as far as they are in the working folder (`check_way`), and at all that is
    in it (`check_content`).
    """
    check_way(folder)
    check_content(folder)


def check_way(place: Path) -> None:
    """StoreError if a link in the working folder leads a file or folder out of it that is to be written there."""
    here = Path.cwd()
    path = here / place
    for above in reversed((path, *path.parents)):
        if above.is_relative_to(here) and above != here and above.is_symlink():
            _check_link(above, here, path)


def check_content(folder: Path) -> None:
    """StoreError if anything below a folder is a link that leads out of it, a device or a pipe.

    What killed processes left there half written is removed.
    """
    path = Path.cwd() / folder
    for entry in _entries(path):
        if entry.is_symlink():
            _check_link(Path(entry.path), path, path)
        elif not entry.is_file(follow_symlinks=False):
            raise StoreError(
                f"{display_path(found := Path(entry.path))} is {special_file(found)}, not a file",
                where=display_path(folder), why="whoever reads it may wait for ever", next="remove it",
            )  # fmt: skip
        elif entry.name.endswith(".tmp") and is_abandoned(found := Path(entry.path)):
            found.unlink()


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    """All that is in a folder and those below; links are not followed."""
    try:
        entries = list(os.scandir(folder))
    except (FileNotFoundError, NotADirectoryError):  # it is new, or another message says that it is a file
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _entries(Path(entry.path))
        else:
            yield entry


def _check_link(link: Path, inside: Path, folder: Path) -> None:
    """StoreError if a link leads out of `inside`, and neither the place nor the working folder is trusted."""
    target = Path(os.path.realpath(link))
    trusted = trusted_folders(os.environ)
    if target.is_relative_to(inside.resolve()) or any(
        place.is_relative_to(root) for place in (target, Path.cwd()) for root in trusted
    ):
        return
    own = folder.is_relative_to(link)  # else the link lies in the folder
    instead = f"build with run.dir={target / folder.relative_to(link)}, or " if own else ""
    trust = f"; if you made it yourself: benchbuild trust {shlex.quote(str(target))}" if target.is_dir() else ""
    raise StoreError(
        f"{display_path(link)} is a link that leads out of this folder",
        where=display_path(folder),
        why=f"it leads to {target}; whoever made it would choose what is read or written over there",
        next=f"{instead}remove it{trust}",
    )
