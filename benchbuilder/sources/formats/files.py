"""Finds the files of a recipe's path, with the names from the recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any

import regex

from benchbuilder.config import FileRef
from benchbuilder.core import DataError, InstallationError, public_path

_GLOB = frozenset("*?[")
_PLACEHOLDER = regex.compile(r"\{([a-z]+)\}|(\*)")


@dataclass(frozen=True)
class SourceFile:
    """An existing file: `name` for people (see `public_path`), its `path`, and the `labels` in its name."""

    name: str
    path: Path
    labels: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def ref(self) -> FileRef:
        """The file as a reference, for hashes."""
        return FileRef(path=self.name, resolved_path=str(self.path))


def import_library(name: str, extra: str, where: str) -> Any:
    """Import an optional library; InstallationError names the extra of benchbuilder that installs it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise InstallationError(
            f"this source needs the library {name.partition('.')[0]}, which is not installed", where=where,
            why=str(error), next=f"pip install 'benchbuilder[{extra}]'",
        ) from error  # fmt: skip


def find_files(ref: FileRef, key: str, suffixes: Sequence[str], pattern: str = "") -> list[SourceFile]:
    """The files of `ref`, sorted by name: the file itself, the files of a folder, or the matches of a glob.

    Args:
        ref: The path in the recipe.
        key: The recipe key of the path, for messages.
        suffixes: Without a pattern, the suffixes of files to read directly in a folder.
        pattern: The complete path below a folder, with ``*``, and with ``{label}`` for parts that become labels (the
            first as long as possible).

    Raises:
        DataError: There is no such file.
    """
    path = ref.file
    if path.is_file():
        return [SourceFile(public_path(ref.path), path, _labels(pattern, path.name) or {})]
    if path.is_dir():
        expected = f"expected files named {pattern}" if pattern else f"expected files ending in {', '.join(suffixes)}"
        if files := _folder_files(ref, path, suffixes, pattern):
            return files
        raise _missing_error(key, ref, f"{expected}; found {_folder_listing(path)}")
    if _GLOB & set(ref.path):
        if files := _glob_files(ref, path, pattern):
            return files
        raise _missing_error(key, ref, "no file matches the pattern")
    raise _missing_error(key, ref, f"there is no file or folder {path}")


def _folder_files(ref: FileRef, path: Path, suffixes: Sequence[str], pattern: str) -> list[SourceFile]:
    below = path.rglob("*") if "/" in pattern else path.iterdir()
    files: list[SourceFile] = []
    for file in sorted(below):
        if not file.is_file() or file.name.startswith("."):
            continue
        relative = file.relative_to(path).as_posix()
        labels = _labels(pattern, relative) if pattern else {}
        if labels is not None and (pattern or file.suffix.lower() in suffixes):
            files.append(SourceFile(f"{public_path(ref.path)}/{relative}", file, labels))
    return files


def _glob_files(ref: FileRef, path: Path, pattern: str) -> list[SourceFile]:
    written = PurePosixPath(ref.path)
    first = next(i for i, part in enumerate(written.parts) if _GLOB & set(part))
    tail = written.parts[first:]
    root = path.parents[len(tail) - 1]
    named = PurePosixPath(public_path(str(PurePosixPath(*written.parts[:first]))))
    return [
        SourceFile((named / file.relative_to(root).as_posix()).as_posix(), file, _labels(pattern, file.name) or {})
        for file in sorted(root.glob("/".join(tail)))
        if file.is_file()
    ]


def _labels(pattern: str, name: str) -> dict[str, str] | None:
    """The labels that `pattern` finds in `name`, or ``None`` if it does not match."""
    if not pattern:
        return None
    parts: list[str] = []
    end = 0
    for match in _PLACEHOLDER.finditer(pattern):
        parts.append(regex.escape(pattern[end : match.start()]))
        parts.append(f"(?P<{match[1]}>[^/]+)" if match[1] else "[^/]*")
        end = match.end()
    matched = regex.fullmatch("".join([*parts, regex.escape(pattern[end:])]), name)
    return matched.groupdict() if matched else None


def _folder_listing(path: Path) -> str:
    names = sorted(file.name for file in path.iterdir())
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return (", ".join(names[:5]) + more) or "an empty folder"


def _missing_error(key: str, ref: FileRef, why: str) -> DataError:
    advice = f"put the file there, or set {key} to where it is"
    return DataError(f"{key}: {ref.path} is missing", where=str(ref.file), why=why, next=advice)


def wrong_shape(key: str, file: str, *, expected: str, found: str, next: str) -> DataError:
    """The error for an existing file that is not what the recipe says."""
    return DataError(
        f"{key}: {file} has the wrong shape", where=file, why=f"expected {expected}; found {found}", next=next
    )
