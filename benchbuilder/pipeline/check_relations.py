"""Says what the relations of a graph look like, where the recipe does not say it or says otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from benchbuilder.config import LoadedRecipe, RecipeIndex, parse_key
from benchbuilder.core import Fact, Problem, Row, Triple, compose_characters, count_phrase, create_from_spec
from benchbuilder.pipeline.wiring import source_row_class
from benchbuilder.sources import Source
from benchbuilder.steps import LISTED_KINDS, RelationNature, RelationWords, relation_natures

_ROWS = 20_000
"""So many rows of a source tell what its relations look like."""
_NAMED = 8
_SURE, _SINGLE = 20, 0.9
"""In so many triples, a `functional` relation has one end for at least this share of its concepts."""


def relation_words(index: RecipeIndex, language: str) -> RelationWords:
    """The words for relations in a language: those for all, and its own if there are any."""
    names = ("relations/standard", f"relations/{language.partition('-')[0]}")
    return RelationWords.read(path for name in names for path, _ in index.paths_of(name)[:1])


def relation_lines(loaded: LoadedRecipe) -> Iterator[str]:
    """Lines about the relations that the recipe does not list, by source: what each looks like, and what to write."""
    recipe = loaded.recipe
    for step, spec in recipe.steps.items():
        for name, source_spec in recipe.sources.items() if spec.kind == "swap_triple" else ():
            if source_row_class(recipe, name) is Fact[Triple]:
                source: Source = create_from_spec("source", source_spec, name, recipe.language)
                found = [n for n in _natures(loaded, source.first_rows(_ROWS)) if not _is_told(n.relation, spec)]
                yield from _lines(name, found, f"steps.{step}.relations")


def relation_warnings(loaded: LoadedRecipe, rows: Mapping[str, Sequence[Row]]) -> Iterator[Problem]:
    """For each source, relations that the recipe calls functional and of which its `rows` show several ends."""
    for step, spec in loaded.recipe.steps.items():
        settings: Any = spec
        functional: tuple[str, ...] = settings.relations.functional if spec.kind == "swap_triple" else ()
        key = f"steps.{step}.relations.functional"
        for source, read in rows.items() if functional else ():
            wrong = [
                nature
                for nature in _natures(loaded, read)
                if nature.relation in functional and nature.triples >= _SURE and nature.single < _SINGLE
            ]
            if wrong:
                message = f"{count_phrase(len(wrong), 'relation')} of {source} should have one right end a concept"
                shares = ", ".join(f"{nature.relation} ({nature.single:.0%} of its concepts)" for nature in wrong)
                yield Problem(message, key=key, where=str(loaded.origins.origin_of(parse_key(key))), actual=shares,
                              hint="take it out of this list: a false statement about it might be true")  # fmt: skip


def _natures(loaded: LoadedRecipe, rows: Iterable[Row]) -> list[RelationNature]:
    triples = [row.payload for row in rows if isinstance(row, Fact) and isinstance(row.payload, Triple)]
    words = relation_words(RecipeIndex(loaded.roots), loaded.recipe.language) if triples else RelationWords()
    return relation_natures(triples, words)


def _is_told(relation: str, spec: Any) -> bool:
    """Whether the recipe lists a relation, or lists all that are swapped."""
    lists: list[tuple[str, ...]] = [getattr(spec.relations, name) for name in type(spec.relations).model_fields]
    name = compose_characters(relation)
    names = {name, name.removesuffix(spec.inverse_suffix)}
    return bool(spec.relations.checkable) or not names.isdisjoint(
        compose_characters(n) for known in lists for n in known
    )


def _lines(source: str, natures: Sequence[RelationNature], key: str) -> Iterator[str]:
    if natures:
        yield f"{source}, relations that the recipe does not list, as they look:"
    for kind in (*LISTED_KINDS, "checkable"):
        found = [nature for nature in natures if nature.kind == kind]
        if found and kind != "checkable":
            yield f"  {kind}; if that is so, write {key}.{kind}: [{', '.join(nature.relation for nature in found)}]"
        elif found:
            yield "  checkable: their facts exchange answers"
        yield from (f"    {nature}" for nature in found[:_NAMED])
        if len(found) > _NAMED:
            yield f"    and {len(found) - _NAMED} more"
