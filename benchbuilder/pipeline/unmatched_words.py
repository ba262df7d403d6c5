"""Finds the words of a recipe's lists that match nothing in the rows of its sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchbuilder.config import LoadedRecipe, display_path, installed_folders
from benchbuilder.core import Passage, Problem, Row, WordFinder, create_from_spec, fold_text, word_lines

_MOST = 3
"""The number of words that a warning names."""


def unmatched_words(loaded: LoadedRecipe, above: Mapping[str, Sequence[Row]]) -> Iterator[Problem]:
    """A warning for each list with words that no step which searches for them finds in the rows `above` it.

    Lists that came with the program are left out: they are made for whole sources.
    """
    readers: dict[Path, list[tuple[Any, Sequence[Row]]]] = {}
    for key, ref in loaded.files:
        step = key.split(".")[1]
        if key == f"steps.{step}.words" and above.get(step) and not _is_installed(ref.file):
            spec: Any = loaded.recipe.steps[step]
            if getattr(spec, "groups", None) or getattr(spec, "filter_bases", None):
                readers.setdefault(ref.file, []).append((spec, above[step]))
    for file, searches in readers.items():
        lines = word_lines(file)
        found = set[str]().union(*(_matched(tuple(lines), spec, rows) for spec, rows in searches))
        count = len({row.id for _, rows in searches for row in rows})
        missing = [word for word in lines if word not in found]
        if missing:
            rest = f", and {len(missing) - _MOST} more" if len(missing) > _MOST else ""
            whole = all(spec.match != "contains" for spec, _ in searches)
            plural = "; only whole words count, so a plural is a word of its own" if whole else ""
            yield Problem(
                f"{len(missing)} of the {len(lines)} words of the list match nothing in the {count} rows that it reads",
                where=f"{display_path(file)}:{lines[missing[0]]}",
                actual=", ".join(f"{word} (line {lines[word]})" for word in missing[:_MOST]) + rest,
                hint=f"write them as the sources do, or remove them{plural}",
            )


def _matched(words: Sequence[str], spec: Any, rows: Iterable[Row]) -> set[str]:
    """The words that a step finds in `rows`, by its rule and in the texts that it searches."""
    tokenizer = create_from_spec("tokenizer", spec.tokenizer) if spec.match == "words" and spec.tokenizer else None
    if tokenizer is not None:
        tokenizer.open()
    finder = WordFinder(words, spec.fold, tokenizer.tokens if tokenizer is not None else None)
    texts = {text for row in rows for text in _searched(spec, row)}
    if spec.match == "exact":
        keys = {fold_text(text, spec.fold) for text in texts}
        return {word for word in words if fold_text(word, spec.fold) in keys}
    return set[str]().union(*map(finder.find, texts))


def _searched(spec: Any, row: Any) -> Iterator[str]:
    """The texts of a row that a step searches."""
    groups: Mapping[str, Sequence[str]] | None = getattr(spec, "groups", None)
    if groups is None and row.base not in spec.filter_bases:
        return
    texts = {"title": (row.title,), "text": (row.text,)} if isinstance(row, Passage) else row.payload.texts()
    names = texts if groups is None else {name for fields in groups.values() for name in fields}
    yield from (text for name in names for text in texts.get(name, ()))


def _is_installed(file: Path) -> bool:
    return any(file.is_relative_to(folder) for folder in installed_folders())
