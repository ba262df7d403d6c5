"""The data files of a Hugging Face dataset: in a saved folder, in a folder as on the Hub, or on the Hub."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchbuilder.core import DataError
from benchbuilder.sources.formats.files import SourceFile, import_library, wrong_shape

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
    except (OSError, ValueError, import_library("httpx", "datasets", key).HTTPError) as error:
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
        splits = [str(split) for split in json.loads((folder / _SAVED[0]).read_text(encoding="utf-8"))["splits"]]
        return HubDataset(tuple(file for split in splits for file in _shards(folder / split, f"{name}/{split}", split)))
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise wrong_shape(
            key, name, expected="a folder written by save_to_disk", found=f"{type(error).__name__}: {error}",
            next="save the dataset again",
        ) from error  # fmt: skip


def _shards(folder: Path, name: str, split: str) -> list[SourceFile]:
    if split and Path(split).name != split:
        raise LookupError(f"the split {split!r} is outside the folder")
    state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
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
