"""Finds the files of a recipe's path, or of a Hugging Face dataset, and imports the libraries that read them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any

import regex

from benchbuilder.config import FileRef, expand_pattern, has_wildcard
from benchbuilder.core import SPECIAL_FILE_HINT, DataError, imports_of, public_path, read_json, special_file

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
    with imports_of(extra, "this source", where=where):
        return import_module(name)


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
    _refuse_special(path, key)
    if path.is_file():
        return [SourceFile(public_path(ref.path), path, _labels(pattern, path.name) or {})]
    if path.is_dir():
        expected = f"expected files named {pattern}" if pattern else f"expected files ending in {', '.join(suffixes)}"
        if files := _folder_files(ref, path, suffixes, pattern):
            for file in files:
                _refuse_special(file.path, key)
            return files
        raise _missing_error(key, ref, f"{expected}; found {_folder_listing(path)}")
    if has_wildcard(ref.path):
        if files := _glob_files(ref, path, pattern):
            for file in files:
                _refuse_special(file.path, key)
            return files
        raise _missing_error(key, ref, "no file matches the pattern")
    raise _missing_error(key, ref, f"there is no file or folder {path}")


def _folder_files(ref: FileRef, path: Path, suffixes: Sequence[str], pattern: str) -> list[SourceFile]:
    below = path.rglob("*") if "/" in pattern else path.iterdir()
    files: list[SourceFile] = []
    for file in sorted(below):
        if file.is_dir() or file.name.startswith("."):
            continue
        relative = file.relative_to(path).as_posix()
        labels = _labels(pattern, relative) if pattern else {}
        if labels is not None and (pattern or file.suffix.lower() in suffixes):
            files.append(SourceFile(f"{public_path(ref.path)}/{relative}", file, labels))
    return files


def _glob_files(ref: FileRef, path: Path, pattern: str) -> list[SourceFile]:
    root, written, found = expand_pattern(ref.path, path)
    named = PurePosixPath(public_path(written))
    return [
        SourceFile((named / file.relative_to(root).as_posix()).as_posix(), file, _labels(pattern, file.name) or {})
        for file in found
        if not file.is_dir()
    ]


def _refuse_special(path: Path, key: str) -> None:
    """DataError for a device, a pipe or a socket, before anything opens it."""
    if kind := special_file(path):
        raise DataError(f"{key}: {path.name} is {kind}, not a file", where=str(path), next=SPECIAL_FILE_HINT)


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


_SAVED = ("dataset_dict.json", "state.json")


@dataclass(frozen=True)
class HubDataset:
    """The data files of a dataset, each with its split as a label, and the `features` that its README declares."""

    files: tuple[SourceFile, ...]
    features: Mapping[str, Any] = field(default_factory=dict[str, Any])


def download_dataset(repository: str, revision: str, pattern: str, key: str) -> Path:
    """The folder of a dataset on the Hub at one commit, downloaded into the user's cache if necessary.

    DataError if the download fails.
    """
    hub = import_library("huggingface_hub", "datasets", key)
    try:
        patterns = ["README.md", pattern] if pattern else None
        return Path(hub.snapshot_download(repository, repo_type="dataset", revision=revision, allow_patterns=patterns))
    # the library of HTTP differs between versions of the hub's client, so its error is taken from there
    except (OSError, ValueError, hub.errors.HTTPError) as error:
        raise DataError(
            f"{key}: the dataset {repository} cannot be downloaded",
            where=f"{repository} at {revision}",
            why=f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')[:200]}",
            next="check its name, revision and the network, or download it and set path to its folder",
        ) from error


def read_saved_dataset(folder: Path, name: str, key: str) -> HubDataset | None:
    """The files of a folder written by ``save_to_disk``; ``None`` for other folders."""
    if not any((folder / mark).is_file() for mark in _SAVED):
        return None
    try:
        if not (folder / _SAVED[0]).is_file():
            return HubDataset(tuple(_shards(folder, name, "")))
        splits = [str(split) for split in read_json(folder / _SAVED[0])["splits"]]
        return HubDataset(tuple(file for split in splits for file in _shards(folder / split, f"{name}/{split}", split)))
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise wrong_shape(
            key, name, expected="a folder written by save_to_disk", found=f"{type(error).__name__}: {error}",
            next="save the dataset again",
        ) from error  # fmt: skip


def _shards(folder: Path, name: str, split: str) -> list[SourceFile]:
    if split and Path(split).name != split:
        raise LookupError(f"the split {split!r} is outside the folder")
    state = read_json(folder / "state.json")
    labels = {"split": split} if split else {}
    files = [Path(str(file["filename"])).name for file in state["_data_files"]]
    for file in files:
        if not (folder / file).is_file():
            raise LookupError(f"{file} is missing")
    return [SourceFile(f"{name}/{file}", folder / file, labels) for file in files]


def read_dataset_folder(folder: Path, name: str, subset: str, key: str) -> HubDataset:
    """The files of a folder as on the Hub, split by split, by its README or the names of its files.

    No code of the dataset is executed: the library reads only files of known formats.
    """
    datasets = import_library("datasets", "datasets", key)
    try:
        with tempfile.TemporaryDirectory() as cache:
            builder = datasets.load_dataset_builder(str(folder), name=subset or None, cache_dir=cache)
        splits: Mapping[str, list[str]] = builder.config.data_files or {}
        root = folder.absolute()
        sources = [
            SourceFile(f"{name}/{_relative_name(Path(file), root)}", Path(file), {"split": str(split)})
            for split, files in splits.items()
            for file in files
        ]
    except (OSError, ValueError, LookupError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        raise wrong_shape(
            key, name, expected="a dataset as on the Hub, or one written by save_to_disk",
            found=f"{type(error).__name__}: {' '.join(str(error).split())[:300]}",
            next=f"set {key.rpartition('.')[0]}.files to the files, or .subset to one of its subsets",
        ) from error  # fmt: skip
    return HubDataset(tuple(sources), dict(builder.info.features or {}))


def _relative_name(file: Path, root: Path) -> str:
    plain = Path(os.path.normpath(file))
    for base in (root, root.resolve()):
        if plain.is_relative_to(base):
            return plain.relative_to(base).as_posix()
    raise LookupError(f"{file.name} is outside the folder")
