"""The files that a recipe's path stands for, under the names that the recipe gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import regex

from benchbuilder.config import FileRef
from benchbuilder.core import DataError, public_path

_GLOB = frozenset("*?[")
_PLACEHOLDER = regex.compile(r"\{([a-z]+)\}|(\*)")


@dataclass(frozen=True)
class SourceFile:
    """A file that exists: `name` for people (see `public_path`), `at` where it lies, `labels` what its name says."""

    name: str
    path: Path
    labels: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def ref(self) -> FileRef:
        """The file as a reference that can be hashed."""
        return FileRef(path=self.name, resolved_path=str(self.path))


def find_files(ref: FileRef, key: str, suffixes: Sequence[str], pattern: str = "") -> list[SourceFile]:
    """The files of `ref`, sorted by name: the file itself, the files of a folder, or the matches of a glob.

    Of a folder, those that match `pattern` whole (a path below the folder, with ``*`` and with ``{label}`` for parts
    that become labels, the first as long as it can be); without a pattern, those directly in it that end in one of
    `suffixes`. DataError names `key` if there is none.
    """
    path = ref.file
    if path.is_file():
        return [SourceFile(public_path(ref.path), path, _labels(pattern, path.name) or {})]
    if path.is_dir():
        found = _folder_files(ref, path, suffixes, pattern)
        why = f"expected files named {pattern}" if pattern else f"expected files ending in {', '.join(suffixes)}"
        if not found:
            raise _missing_error(key, ref, f"{why}; found {_folder_listing(path)}")
        return found
    if _GLOB & set(ref.path):
        found = _glob_files(ref, path, pattern)
        if not found:
            raise _missing_error(key, ref, "no file matches the pattern")
        return found
    raise _missing_error(key, ref, f"there is no file or folder {path}")


def _folder_files(ref: FileRef, path: Path, suffixes: Sequence[str], pattern: str) -> list[SourceFile]:
    below = path.rglob("*") if "/" in pattern else path.iterdir()
    found: list[SourceFile] = []
    for at in sorted(below):
        if not at.is_file() or at.name.startswith("."):
            continue
        relative = at.relative_to(path).as_posix()
        labels = _labels(pattern, relative) if pattern else {}
        if labels is None or (not pattern and at.suffix.lower() not in suffixes):
            continue
        found.append(SourceFile(f"{public_path(ref.path)}/{relative}", at, labels))
    return found


def _glob_files(ref: FileRef, path: Path, pattern: str) -> list[SourceFile]:
    written = PurePosixPath(ref.path)
    first = next(i for i, part in enumerate(written.parts) if _GLOB & set(part))
    tail = written.parts[first:]
    root, named = path.parents[len(tail) - 1], public_path(str(PurePosixPath(*written.parts[:first])))
    return [
        SourceFile(
            (PurePosixPath(named) / at.relative_to(root).as_posix()).as_posix(), at, _labels(pattern, at.name) or {}
        )
        for at in sorted(root.glob("/".join(tail)))
        if at.is_file()
    ]


def _labels(pattern: str, name: str) -> dict[str, str] | None:
    """What `pattern` reads out of `name`, or ``None`` if it does not match."""
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
    names = sorted(at.name for at in path.iterdir())
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return (", ".join(names[:5]) + more) or "an empty folder"


def _missing_error(key: str, ref: FileRef, why: str) -> DataError:
    return DataError(
        f"{key}: {ref.path} is missing",
        where=str(ref.file),
        why=why,
        next=f"put the file there, or set {key} to where it is",
    )


def wrong_shape(key: str, file: str, *, expected: str, found: str, next: str) -> DataError:
    """The error for a file that exists but is not what the recipe says."""
    return DataError(
        f"{key}: {file} has the wrong shape", where=file, why=f"expected {expected}; found {found}", next=next
    )
