"""What the audit of a build found in its items: words that give the answer away, and items that are nearly the same."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchbuilder.core import open_given_file, read_json, read_sealed_json


@dataclass(frozen=True)
class TestedWord:
    """A word that the audit tested: in how many items it is, how often the answer is then yes, and if it leaks.

    `allowed` is the reason why the recipe lets it through.
    """

    text: str
    n: int
    yes: float
    z: float
    leaks: bool
    allowed: str


@dataclass(frozen=True)
class NearDuplicate:
    """Another item that is nearly the same, or contradicts it: its id, how alike they are, and what kind it is."""

    other: str
    kind: str
    similarity: float


@dataclass(frozen=True)
class AuditOfItems:
    """What the newest audit of a build says of single items. `items` is the number of items that it looked at.

    `duplicates` is ``None`` where it did not compare items with each other, as the audit within a build does not.
    """

    items: int
    words: tuple[TestedWord, ...]
    duplicates: Mapping[str, tuple[NearDuplicate, ...]] | None

    def words_in(self, texts: Sequence[str]) -> list[TestedWord]:
        """The tested words in some texts, those that leak first, then the strongest."""
        found = [word for word in self.words if any(word.text in text for text in texts)]
        return sorted(found, key=lambda word: (not word.leaks, -abs(word.z), word.text))


def audit_of_items(folder: Path, task: str) -> AuditOfItems | None:
    """The audit that a command wrote, else that of the build itself; none if there is none, or it cannot be read."""
    place = folder / "audit" / task if task else folder / "audit"
    kept = folder / "store" / "audits" / f"{task or 'benchmark'}.json"
    stamps = tuple(map(_stamp, (place / "audit.json", place / "duplicates.csv", kept)))
    return _read(place, kept, stamps) if any(stamps) else None


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        stat = path.stat()
    except OSError:
        return ()
    return stat.st_size, stat.st_mtime_ns, stat.st_ino


@lru_cache(maxsize=8)
def _read(place: Path, kept: Path, _stamps: tuple[tuple[int, ...], ...]) -> AuditOfItems | None:
    try:
        written = (place / "audit.json").exists()
        data: Any = read_json(place / "audit.json") if written else read_sealed_json(kept)["result"]
        words = {str(line["text"]): _tested_word(line) for line in sorted(data["words"], key=_strength)}
        items = int(data["items"])
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return AuditOfItems(items, tuple(words.values()), _duplicates(place / "duplicates.csv") if written else None)


def _strength(line: Mapping[str, Any]) -> tuple[bool, float]:
    """The findings of one word in several groups: the one that counts comes last."""
    return bool(line["leaks"]), abs(float(line["z"]))


def _tested_word(line: Mapping[str, Any]) -> TestedWord:
    return TestedWord(str(line["text"]), int(line["n"]), float(line["yes"]), float(line["z"]), bool(line["leaks"]),
                      str(line["allowed"]))  # fmt: skip


def _duplicates(path: Path) -> dict[str, tuple[NearDuplicate, ...]]:
    found: dict[str, list[NearDuplicate]] = {}
    try:
        with io.TextIOWrapper(open_given_file(path), encoding="utf-8", newline="") as file:
            for line in csv.DictReader(file):
                similarity = float(line["similarity"] or 0)
                found.setdefault(line["item"], []).append(NearDuplicate(line["other"], line["kind"], similarity))
                found.setdefault(line["other"], []).append(NearDuplicate(line["item"], line["kind"], similarity))
    except (OSError, ValueError, KeyError):
        return {}
    return {name: tuple(others) for name, others in found.items()}
