"""Surveys the sources of a recipe: the script of their texts, and which relations have no sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from benchbuilder.config import LoadedRecipe
from benchbuilder.core import (
    DataError,
    Kept,
    Passage,
    ScriptCounts,
    SourceUnit,
    Triple,
    create_from_spec,
)
from benchbuilder.steps import RelationTables

_MOST_UNITS = 20_000
"""How many units of each source are read."""
_MOST_LETTERS = 200_000


@dataclass(slots=True)
class SourceSurvey:
    """What the first units of the sources hold.

    Attributes:
        relations_without_sentence: For (table, relation), the number of triples and the place of the first.
        scripts: The letters of the texts.
    """

    relations_without_sentence: dict[tuple[str, str], tuple[int, str]] = field(
        default_factory=dict[tuple[str, str], tuple[int, str]]
    )
    scripts: ScriptCounts = field(default_factory=ScriptCounts)


def survey_sources(loaded: LoadedRecipe) -> SourceSurvey:
    """Read the first units of every source; sources that cannot be read are left to the check of the recipe."""
    survey = SourceSurvey()
    counts, first_places = Counter[tuple[str, str]](), dict[tuple[str, str], str]()
    tables, files = _relation_tables(loaded)
    for name, unit in _units(loaded):
        row: Any = unit.outcome.row if isinstance(unit.outcome, Kept) else None
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
    return survey


def _units(loaded: LoadedRecipe) -> Iterator[tuple[str, SourceUnit]]:
    for name, spec in loaded.recipe.sources.items():
        units = (unit for unit in _read(loaded, name, spec) if isinstance(unit, SourceUnit))
        yield from ((name, unit) for unit in islice(units, _MOST_UNITS))


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
