"""Records what a program does to a folder, and makes the folders that a power cut may leave behind.

A file system promises little. Until a file is synced, its content may be older, empty, cut or full of zeros. Until a
folder is synced, any of its new, renamed and removed names may be missing. Folders keep what they had at the start.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import threading
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlite_recorder import record_sqlite


@dataclass(frozen=True)
class Name:
    """A change of the names in folders: `was` loses the node, `now` gets it; each is a folder's node and a name."""

    node: int
    was: tuple[int, str] | None
    now: tuple[int, str] | None


@dataclass(frozen=True)
class Write:
    """New content of a file from `start`; all of it where `whole`, else as far as `data` goes."""

    node: int
    start: int
    data: bytes
    whole: bool = False


@dataclass(frozen=True)
class Sync:
    """A file or folder is on disk."""

    node: int


@dataclass(frozen=True)
class Mark:
    """Something that the program reported."""

    text: str


Operation = Name | Write | Sync | Mark
_ROOT = 0


@dataclass
class Recorder:
    """What happened below `root` since the recording began, and what was there before.

    Contents are read at each event, so it does not matter how a file was written; SQLite's files are reported.
    """

    root: Path
    operations: list[Operation] = field(default_factory=list[Operation])
    start: int = 0
    folders: set[int] = field(default_factory=lambda: {_ROOT})
    _nodes: dict[Path, int] = field(default_factory=dict[Path, int])
    _stamps: dict[Path, tuple[int, ...]] = field(default_factory=dict[Path, tuple[int, ...]])
    _turn: Any = field(default_factory=threading.RLock)
    _count: int = 0
    _begun: bool = False
    _looking: bool = False

    def begin(self) -> None:
        """Take what is there as being on disk."""
        self._nodes[self.root] = _ROOT
        self._look()
        self.start, self._begun = len(self.operations), True

    def mark(self, text: str) -> None:
        """Record that the program reported `text`."""
        with self._turn:
            self._look()
            self.operations.append(Mark(text))

    def event(self, name: str, arguments: tuple[Any, ...]) -> None:
        """An audit event of Python, before the action."""
        if name not in ("os.rename", "os.link", "os.remove", "os.rmdir", "open", "os.mkdir"):
            return
        with self._turn:
            if self._looking:  # what the recorder itself opens
                return
            if name == "os.rename":
                self._rename(_path(arguments[0], arguments[2]), _path(arguments[1], arguments[3]))
            elif name == "os.link":
                self._link(_path(arguments[0], arguments[2]), _path(arguments[1], arguments[3]))
            elif name in ("os.remove", "os.rmdir"):
                self._remove(_path(*arguments))
            elif isinstance(arguments[0], str | Path) and self._holds(Path(arguments[0])):
                self._look()  # the content before it is written over

    def synced(self, path: Path) -> None:
        """A file or folder was synced."""
        with self._turn:
            if self._holds(path):
                self._look()
                if path in self._nodes:
                    self.operations.append(Sync(self._nodes[path]))

    def wrote(self, path: Path, start: int, data: bytes | None) -> None:
        """SQLite wrote `data` from `start`, or cut the file there."""
        with self._turn:
            if self._holds(path):
                self._look()
                self.operations.append(Write(self._nodes[path], start, data or b"", whole=data is None))

    def removed(self, path: Path) -> None:
        """SQLite is about to remove a file."""
        with self._turn:
            self._remove(path)

    def _holds(self, path: Path) -> bool:
        return path.is_relative_to(self.root)

    def _rename(self, old: Path, new: Path) -> None:
        if not self._holds(old):
            return
        self._look()
        if (node := self._nodes.get(old)) is None:
            return
        self.operations.append(Name(node, self._place(old), self._place(new)))
        for known in [path for path in self._nodes if path.is_relative_to(old)]:
            moved = new / known.relative_to(old)
            self._nodes[moved] = self._nodes.pop(known)
            self._stamps[moved] = self._stamps.pop(known, ())

    def _link(self, old: Path, new: Path) -> None:
        if self._holds(old):
            self._look()
            if old in self._nodes and not new.exists():
                self._nodes[new] = self._nodes[old]
                self.operations.append(Name(self._nodes[new], None, self._place(new)))

    def _remove(self, path: Path) -> None:
        if self._holds(path):
            self._look()
            if path in self._nodes and (path.is_symlink() or path.exists()):
                self.operations.append(Name(self._nodes.pop(path), self._place(path), None))
                self._stamps.pop(path, None)

    def _place(self, path: Path) -> tuple[int, str]:
        return self._nodes[path.parent], path.name

    def _look(self) -> None:
        """Record new files and folders, and new contents."""
        self._looking = True
        try:
            for folder, names, files in os.walk(self.root):
                for name in sorted(names):
                    self._enter(Path(folder, name))
                    self.folders.add(self._nodes[Path(folder, name)])
                for path in (Path(folder, name) for name in sorted(files)):
                    self._enter(path)
                    if ".sqlite" not in path.name or not self._begun:
                        self._read(path)
        finally:
            self._looking = False

    def _enter(self, path: Path) -> None:
        if path not in self._nodes:
            self._count += 1
            self._nodes[path] = self._count
            self.operations.append(Name(self._count, None, self._place(path)))

    def _read(self, path: Path) -> None:
        try:
            stat = path.stat()
            stamp = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
            if self._stamps.get(path) != stamp:
                self._stamps[path] = stamp
                self.operations.append(Write(self._nodes[path], 0, path.read_bytes(), whole=True))
        except FileNotFoundError:  # another thread has renamed it since, which was recorded before
            self.operations.append(Name(self._nodes.pop(path), self._place(path), None))
            self._stamps.pop(path, None)


def _path(path: Any, folder: Any) -> Path:
    """A path of an audit event, which may be relative to an open folder."""
    return _opened(folder) / path if isinstance(folder, int) and folder >= 0 else Path(path)


def _opened(handle: int) -> Path:
    """The path of an open file or folder."""
    return Path(f"/proc/self/fd/{handle}").readlink()


_listeners: list[Recorder] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    for recorder in list(_listeners):
        recorder.event(event, arguments)


@contextmanager
def record(root: Path) -> Generator[Recorder]:
    """Record what this process does below `root`."""
    if not _hooked:
        sys.addaudithook(_hook)
        _hooked.append(True)
    recorder = Recorder(root.resolve())
    recorder.begin()

    def synced(handle: int) -> None:
        recorder.synced(_opened(handle))

    with pytest.MonkeyPatch.context() as patch, record_sqlite(recorder.wrote, recorder.synced, recorder.removed):
        patch.setattr(os, "fsync", synced)
        _listeners.append(recorder)
        try:
            yield recorder
        finally:
            _listeners.remove(recorder)
            recorder.mark("end")


_hooked: list[bool] = []


@dataclass(frozen=True)
class Cut:
    """A power cut after the first `count` operations; `loss` names what happens to what was not synced."""

    count: int
    loss: str
    seed: int = 0


LOSSES = ("nothing", "names", "contents", "zeros", "everything", "some")
"""What is lost of all that was not synced; "some" draws it, and tears writes."""


def all_cuts(recorder: Recorder, seeds: int = 2) -> Iterator[Cut]:
    """A cut after each operation with each loss; `seeds` draws of what is lost where it is only a part."""
    for count in range(recorder.start, len(recorder.operations) + 1):
        for loss in LOSSES:
            for seed in range(seeds if loss == "some" else 1):
                yield Cut(count, loss, seed)


def marks_before(recorder: Recorder, cut: Cut) -> list[str]:
    """What the program had reported before a cut."""
    return [operation.text for operation in recorder.operations[: cut.count] if isinstance(operation, Mark)]


def restore(recorder: Recorder, cut: Cut) -> None:
    """Leave in the folder what a power cut leaves."""
    done = recorder.operations[: cut.count]
    synced = _last_syncs(done, recorder.start)
    chance = random.Random(f"{cut.count} {cut.seed}")
    lost_names, lost_contents = cut.loss in ("names", "everything"), cut.loss in ("contents", "zeros", "everything")
    names: dict[int, dict[str, int]] = {}
    contents: dict[int, bytes] = {}
    zeroed: set[int] = set()
    for position, operation in enumerate(done):
        if isinstance(operation, Name):
            places = [place for place in (operation.was, operation.now) if place is not None]
            safe = any(synced.get(folder, recorder.start) > position for folder, _ in places)
            if safe or not (lost_names or (cut.loss == "some" and chance.random() < 0.5)):
                _apply(names, operation)
        elif isinstance(operation, Write):
            safe = synced.get(operation.node, recorder.start) > position
            if safe or not (lost_contents or (cut.loss == "some" and chance.random() < 0.5)):
                contents[operation.node] = _written(contents.get(operation.node, b""), operation)
            elif cut.loss == "zeros" and operation.whole:
                zeroed.add(operation.node)
                contents[operation.node] = b"\0" * len(operation.data)
            elif cut.loss == "some" and chance.random() < 0.5:  # torn
                torn = Write(
                    operation.node, operation.start, operation.data[: len(operation.data) // 2], operation.whole
                )
                contents[operation.node] = _written(contents.get(operation.node, b""), torn)
    shutil.rmtree(recorder.root)
    _write_folder(recorder.root, _ROOT, names, contents, recorder.folders)


def _last_syncs(done: list[Operation], start: int) -> dict[int, int]:
    """Up to which operation a file or folder is on disk."""
    return {operation.node: position for position, operation in enumerate(done)
            if isinstance(operation, Sync) and position >= start}  # fmt: skip


def _apply(names: dict[int, dict[str, int]], change: Name) -> None:
    if change.was is not None:
        folder, name = change.was
        if names.get(folder, {}).get(name) == change.node:
            del names[folder][name]
    if change.now is not None:
        folder, name = change.now
        names.setdefault(folder, {})[name] = change.node


def _written(content: bytes, write: Write) -> bytes:
    if write.whole and not write.start:
        return write.data
    kept = content[: write.start].ljust(write.start, b"\0")
    return kept + write.data + (b"" if write.whole else content[write.start + len(write.data) :])


def _write_folder(
    path: Path, node: int, names: Mapping[int, Mapping[str, int]], contents: Mapping[int, bytes], folders: set[int]
) -> None:
    path.mkdir()
    for name, inner in names.get(node, {}).items():
        if inner in folders:
            _write_folder(path / name, inner, names, contents, folders)
        else:
            (path / name).write_bytes(contents.get(inner, b""))
