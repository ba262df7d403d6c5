"""Surveys the sources of a recipe: which words of its lists match, and which relations have no sentence."""

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
    read_given_text,
)
from benchbuilder.steps import RelationTables

MOST_UNITS = 20_000
"""How many units of each source are read."""
_MOST_LETTERS = 200_000


@dataclass(slots=True)
class SourceSurvey:
    """What the first units of the sources hold.

    Attributes:
        relations_without_sentence: For (table, relation), the number of triples and the place of the first.
        unmatched_words: For each word list, the words (with their lines) that no step which uses it finds in a unit.
        list_sizes: The number of words of each list.
        whole_word_lists: The word lists that match whole words only.
        scripts: The letters of the texts.
        is_complete: Whether every source was read to its end.
    """

    relations_without_sentence: dict[tuple[str, str], tuple[int, str]] = field(
        default_factory=dict[tuple[str, str], tuple[int, str]]
    )
    unmatched_words: dict[Path, dict[str, int]] = field(default_factory=dict[Path, dict[str, int]])
    list_sizes: dict[Path, int] = field(default_factory=dict[Path, int])
    whole_word_lists: set[Path] = field(default_factory=set[Path])
    scripts: ScriptCounts = field(default_factory=ScriptCounts)
    is_complete: bool = True


def survey_sources(loaded: LoadedRecipe) -> SourceSurvey:
    """Read the first units of every source; sources that cannot be read are left to the check of the recipe."""
    survey = SourceSurvey()
    readers = _list_readers(loaded)
    words = {file: load_words(file) for file in sorted({file for file, _ in readers})}
    searches = [_ListSearch(file, words[file], spec) for file, spec in readers]
    counts, first_places = Counter[tuple[str, str]](), dict[tuple[str, str], str]()
    tables, files = _relation_tables(loaded)
    for name, unit in _units(loaded, survey):
        row: Any = unit.outcome.row if isinstance(unit.outcome, Kept) else None
        for search in searches:
            search.search(row)
        if survey.scripts.letters.total() < _MOST_LETTERS:
            for text in (text for texts in _texts(row).values() for text in texts):
                survey.scripts.add(text)
        triple = getattr(row, "payload", None)
        if tables is None or not isinstance(triple, Triple):
            continue
        if tables.find(name, triple.relation, triple.head, triple.tail) is None:
            key = files.get(name, files.get("default", "")), triple.relation
            counts[key] += 1
            first_places.setdefault(key, f"{unit.file}:{unit.line}")
    survey.relations_without_sentence = {key: (counts[key], place) for key, place in first_places.items()}
    for file, listed in words.items():
        own = [search for search in searches if search.file == file]
        matches = set[str]().union(*(search.matches for search in own))
        survey.list_sizes[file] = len(listed)
        survey.unmatched_words[file] = _word_lines(file, [word for word in listed if word not in matches])
        if all(search.spec.match != "contains" for search in own):
            survey.whole_word_lists.add(file)
    return survey


class _ListSearch:
    """Finds the words of a list as one step does: by its rule, in the texts that it searches."""

    def __init__(self, file: Path, words: tuple[str, ...], spec: Any) -> None:
        self.file, self.spec, self.matches = file, spec, set[str]()
        self._size, self._fold = len(words), spec.fold
        self._exact = {fold_text(word, spec.fold): word for word in words} if spec.match == "exact" else {}
        tokenizer = create_from_spec("tokenizer", spec.tokenizer) if spec.match == "words" and spec.tokenizer else None
        if tokenizer is not None:
            tokenizer.open()
        self._finder = WordFinder(words, spec.fold, tokenizer.tokens if tokenizer is not None else None)

    def search(self, row: Any) -> None:
        """Search a row, if the step may get it."""
        groups: dict[str, tuple[str, ...]] | None = getattr(self.spec, "groups", None)
        if len(self.matches) == self._size or (groups is None and not isinstance(row, Passage)):
            return
        texts = _texts(row)
        fields = {name for names in groups.values() for name in names} if groups is not None else set(texts)
        for text in (text for name in fields for text in texts.get(name, ())):
            if self.spec.match == "exact":
                self.matches |= {self._exact[key]} if (key := fold_text(text, self._fold)) in self._exact else set()
            else:
                self.matches |= self._finder.find(text)


def _list_readers(loaded: LoadedRecipe) -> list[tuple[Path, Any]]:
    """The word lists, with the settings of each step that searches texts for their words."""
    steps = loaded.recipe.steps
    lists = [(ref.file, key) for key, ref in loaded.files if key.startswith("steps.") and key.endswith(".words")]
    readers = [(file, steps[key.split(".")[1]]) for file, key in lists if file.is_file()]
    return [(file, spec) for file, spec in readers if hasattr(spec, "groups") or getattr(spec, "filter_bases", None)]


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


def _relation_tables(loaded: LoadedRecipe) -> tuple[RelationTables | None, Mapping[str, str]]:
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
    for number, line in enumerate(read_given_text(file, "utf-8-sig").splitlines(), start=1):
        places.setdefault(" ".join(line.partition("\t")[0].split()), number)
    return {word: places.get(word, 1) for word in words}
