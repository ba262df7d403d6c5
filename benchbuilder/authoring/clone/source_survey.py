"""What the sources of a recipe hold: which words of its lists hit them, and which relations have no sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from benchbuilder.authoring.clone.text_lines import ScriptCounts
from benchbuilder.config import LoadedRecipe
from benchbuilder.core import (
    DataError,
    Kept,
    Passage,
    SourceUnit,
    Triple,
    WordFinder,
    create_from_spec,
    fold_text,
    load_words,
)
from benchbuilder.steps import RelationTables

MOST_UNITS = 20_000
"""How many units of each source are looked at."""
_MOST_LETTERS = 200_000


@dataclass(slots=True)
class SourceSurvey:
    """`relations_without_sentence` maps (table, relation) to how many triples it has and the first of them;
    `unmatched_words` the word lists to those of their words, with lines, that no step which reads the list would find
    in a unit; `list_sizes` to how many words they have. `is_complete` says that every source was read to its end.
    """

    relations_without_sentence: dict[tuple[str, str], tuple[int, str]] = field(
        default_factory=dict[tuple[str, str], tuple[int, str]]
    )
    unmatched_words: dict[Path, dict[str, int]] = field(default_factory=dict[Path, dict[str, int]])
    list_sizes: dict[Path, int] = field(default_factory=dict[Path, int])
    whole_word_lists: set[Path] = field(default_factory=set[Path])
    """The word lists of which only whole words count, nowhere parts of words."""
    scripts: ScriptCounts = field(default_factory=ScriptCounts)
    is_complete: bool = True


def survey_sources(loaded: LoadedRecipe) -> SourceSurvey:
    """Read the first units of every source. A source that cannot be read is left out: the check tells of it."""
    seen = SourceSurvey()
    words = {file: load_words(file) for file in sorted({file for file, _ in _list_readers(loaded)})}
    searches = [_ListSearch(file, words[file], spec) for file, spec in _list_readers(loaded)]
    counts = Counter[tuple[str, str]]()
    tables, files = _tables(loaded)
    for name, unit in _units(loaded, seen):
        row: Any = unit.outcome.row if isinstance(unit.outcome, Kept) else None
        for search in searches:
            search.search(row)
        if seen.scripts.letters.total() < _MOST_LETTERS:
            for text in (text for texts in _texts(row).values() for text in texts):
                seen.scripts.add(text)
        triple = getattr(row, "payload", None)
        if tables is None or not isinstance(triple, Triple):
            continue
        if tables.find(name, triple.relation, triple.head, triple.tail) is None:
            key = files.get(name, files.get("default", "")), triple.relation
            counts[key] += 1
            seen.relations_without_sentence[key] = (
                counts[key],
                seen.relations_without_sentence.get(key, (0, f"{unit.file}:{unit.line}"))[1],
            )
    seen.list_sizes = {file: len(found) for file, found in words.items()}
    for file, found in words.items():
        hits = {word for search in searches if search.file == file for word in search.matches}
        seen.unmatched_words[file] = _word_lines(file, [word for word in found if word not in hits])
    seen.whole_word_lists = {
        file for file in words if all(s.spec.match != "contains" for s in searches if s.file == file)
    }
    return seen


class _ListSearch:
    """What a step finds of a word list: by its own rule, in the texts that it looks at."""

    def __init__(self, file: Path, words: tuple[str, ...], spec: Any) -> None:
        self.file, self.spec, self.matches = file, spec, set[str]()
        self._left, self._fold = len(words), spec.fold
        self._exact = {fold_text(word, spec.fold): word for word in words} if spec.match == "exact" else {}
        tokenizer = create_from_spec("tokenizer", spec.tokenizer) if spec.match == "words" and spec.tokenizer else None
        if tokenizer is not None:
            tokenizer.open()
        self._finder = WordFinder(words, spec.fold, tokenizer.tokens if tokenizer is not None else None)

    def search(self, row: Any) -> None:
        """Look for the words in a row, if it is one that the step may get."""
        groups: dict[str, tuple[str, ...]] | None = getattr(self.spec, "groups", None)
        if len(self.matches) == self._left or (groups is None and not isinstance(row, Passage)):
            return
        texts = _texts(row)
        fields = {name for names in groups.values() for name in names} if groups is not None else set(texts)
        for text in (text for name in fields for text in texts.get(name, ())):
            if self.spec.match == "exact":
                self.matches |= {self._exact[key]} if (key := fold_text(text, self._fold)) in self._exact else set()
            else:
                self.matches |= self._finder.find(text)


def _list_readers(loaded: LoadedRecipe) -> list[tuple[Path, Any]]:
    """The word lists with the settings of each step that looks for their words in texts."""
    steps = loaded.recipe.steps
    lists = [(ref.file, key) for key, ref in loaded.files if key.startswith("steps.") and key.endswith(".words")]
    found = [(file, steps[key.split(".")[1]]) for file, key in lists if file.is_file()]
    return [
        (file, spec) for file, spec in found if hasattr(spec, "groups") or getattr(spec, "filter_bases", None)
    ]  # fmt: skip


def _units(loaded: LoadedRecipe, survey: SourceSurvey) -> Iterator[tuple[str, SourceUnit]]:
    for name, spec in loaded.recipe.sources.items():
        units = (unit for unit in _read(loaded, name, spec) if isinstance(unit, SourceUnit))
        for number, unit in enumerate(islice(units, MOST_UNITS + 1)):
            if number == MOST_UNITS:
                survey.is_complete = False
                break
            yield name, unit


def _read(loaded: LoadedRecipe, name: str, spec: Any) -> Iterator[Any]:
    try:
        yield from create_from_spec("source", spec, name, loaded.recipe.language).read()
    except DataError:
        return


def _tables(loaded: LoadedRecipe) -> tuple[RelationTables | None, Mapping[str, str]]:
    """The relation tables by partition, and the file of each."""
    for spec in loaded.recipe.steps.values():
        refs = getattr(spec, "relations", None)
        if isinstance(refs, dict) and refs:
            files: dict[str, Any] = refs
            read = RelationTables.read({name: ref.file for name, ref in files.items()})
            return read, {name: str(ref.file) for name, ref in files.items()}
    return None, {}


def _texts(row: Any) -> Mapping[str, tuple[str, ...]]:
    if row is None:
        return {}
    return {"title": (row.title,), "text": (row.text,)} if isinstance(row, Passage) else row.payload.texts()


def _word_lines(file: Path, words: list[str]) -> dict[str, int]:
    """The line of each word in its list."""
    places: dict[str, int] = {}
    for number, line in enumerate(file.read_text(encoding="utf-8-sig").splitlines(), start=1):
        places.setdefault(" ".join(line.partition("\t")[0].split()), number)
    return {word: places.get(word, 1) for word in words}
