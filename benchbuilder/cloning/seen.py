"""What the sources of a recipe hold: which words of its lists hit them, and which relations have no sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from benchbuilder import kinds
from benchbuilder.cloning.wording import Scripts
from benchbuilder.errors import DataError
from benchbuilder.loading import Loaded
from benchbuilder.records.fact import Triple
from benchbuilder.records.fates import Kept, Unit
from benchbuilder.records.passage import Passage
from benchbuilder.text.relations import RelationTables
from benchbuilder.text.wordlist import WordFinder, load_words

MOST_UNITS = 20_000
"""How many units of each source are looked at."""
_MOST_LETTERS = 200_000


@dataclass(slots=True)
class Seen:
    """`missing` maps (table, relation) to how many triples it has and the first of them; `unhit` the word lists to
    those of their words, with lines, that no unit holds; `listed` to how many words they have. `whole` says that every
    source was read to its end.
    """

    missing: dict[tuple[str, str], tuple[int, str]] = field(default_factory=dict[tuple[str, str], tuple[int, str]])
    unhit: dict[Path, dict[str, int]] = field(default_factory=dict[Path, dict[str, int]])
    listed: dict[Path, int] = field(default_factory=dict[Path, int])
    scripts: Scripts = field(default_factory=Scripts)
    whole: bool = True


def look(loaded: Loaded) -> Seen:
    """Read the first units of every source. A source that cannot be read is left out: the check tells of it."""
    seen = Seen()
    lists = {ref.file for key, ref in loaded.files if key.rpartition(".")[2] == "words" and ref.file.is_file()}
    words = {file: load_words(file) for file in sorted(lists)}
    finder = WordFinder(word.casefold() for found in words.values() for word in found)
    hits, counts = set[str](), Counter[tuple[str, str]]()
    tables, files = _tables(loaded)
    for name, unit in _units(loaded, seen):
        row: Any = unit.fate.row if isinstance(unit.fate, Kept) else None
        texts = [text.casefold() for text in _texts(row)]
        for text in texts:
            hits |= finder.find(text)
        if seen.scripts.letters.total() < _MOST_LETTERS:
            for text in texts:
                seen.scripts.add(text)
        triple = getattr(row, "payload", None)
        if tables is None or not isinstance(triple, Triple):
            continue
        if tables.find(name, triple.relation, triple.head, triple.tail) is None:
            key = files.get(name, files.get("default", "")), triple.relation
            counts[key] += 1
            seen.missing[key] = counts[key], seen.missing.get(key, (0, f"{unit.file}:{unit.line}"))[1]
    seen.listed = {file: len(found) for file, found in words.items()}
    seen.unhit = {file: _lines(file, [word for word in found if word.casefold() not in hits])
                  for file, found in words.items()}  # fmt: skip
    return seen


def _units(loaded: Loaded, seen: Seen) -> Iterator[tuple[str, Unit]]:
    for name, spec in loaded.recipe.sources.items():
        units = (unit for unit in _read(loaded, name, spec) if isinstance(unit, Unit))
        for number, unit in enumerate(islice(units, MOST_UNITS + 1)):
            if number == MOST_UNITS:
                seen.whole = False
                break
            yield name, unit


def _read(loaded: Loaded, name: str, spec: Any) -> Iterator[Any]:
    try:
        yield from kinds.create("source", spec, name, loaded.recipe.language).read()
    except DataError:
        return


def _tables(loaded: Loaded) -> tuple[RelationTables | None, Mapping[str, str]]:
    """The relation tables by partition, and the file of each."""
    for spec in loaded.recipe.steps.values():
        refs = getattr(spec, "relations", None)
        if isinstance(refs, dict) and refs:
            files: dict[str, Any] = refs
            read = RelationTables.read({name: ref.file for name, ref in files.items()})
            return read, {name: str(ref.file) for name, ref in files.items()}
    return None, {}


def _texts(row: Any) -> list[str]:
    if row is None:
        return []
    if isinstance(row, Passage):
        return [row.title, row.text]
    return [text for texts in row.payload.texts().values() for text in texts]


def _lines(file: Path, words: list[str]) -> dict[str, int]:
    """The line of each word in its list."""
    places: dict[str, int] = {}
    for number, line in enumerate(file.read_text(encoding="utf-8-sig").splitlines(), start=1):
        places.setdefault(" ".join(line.partition("\t")[0].split()), number)
    return {word: places.get(word, 1) for word in words}
