"""Looks at the first rows of each source before a build: leftovers in texts, and what steps will not use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from itertools import chain, combinations
from pathlib import Path
from typing import Any, Literal

from benchbuilder.config import LoadedRecipe, RecipeIndex, display_path, installed_folders, parse_key
from benchbuilder.core import (
    DataError,
    Fact,
    FrozenModel,
    Passage,
    Problem,
    Row,
    StepContext,
    Triple,
    WordFinder,
    compose_characters,
    count_phrase,
    create_from_spec,
    fold_text,
    language_name,
    show_invisible,
    truncate_text,
    word_lines,
)
from benchbuilder.pipeline.check_wiring import WiringCheck, accepts_row_class, step_class_of
from benchbuilder.pipeline.other_language import other_language
from benchbuilder.pipeline.wiring import source_row_class
from benchbuilder.sources import TEXT_FIXES, CleanRule, Source, TableSpec, TextFix
from benchbuilder.steps import LISTED_KINDS, RelationNature, RelationWords, Step, relation_natures

_TEXT_ROWS = 200
"""So many rows of each source are read for leftovers."""
_ROWS = 5_000
"""So many rows of each source are shown to the steps."""


def row_warnings(loaded: LoadedRecipe) -> Iterator[Problem]:
    """Warnings about the first rows of the sources of a recipe that was checked.

    Sources that must read a whole file for its first row are left out.
    """
    rows: dict[str, list[Row]] = {}
    for name, spec in loaded.recipe.sources.items():
        source: Source = create_from_spec("source", spec, name, loaded.recipe.language)
        rows[name] = source.first_rows(_ROWS)
        yield from _leftovers(name, spec, rows[name][:_TEXT_ROWS], loaded.recipe.language)
    above = _rows_above(loaded, rows)
    yield from _unused_rows(loaded, above)
    yield from unmatched_words(loaded, above)
    yield from relation_warnings(loaded, rows)


def check_language(source: Source) -> None:
    """DataError if the first rows of a source are clearly in another language than the source is said to be in."""
    rows = source.first_rows(_TEXT_ROWS)
    texts = list(dict.fromkeys(filter(None, map(_main_text, rows))))
    found = other_language(texts, source.language)
    if found is None:
        return
    code, script = found
    seen = f"are like {language_name(code) or code}" if code else f"are in {script} letters"
    key, said = f"sources.{source.name}.language", code or "CODE"
    raise DataError(
        f"is this the right file? {source.name} is taken for {language_name(source.language)}, and its texts {seen}",
        where=_place(source.spec, rows[0]),
        why=f"for instance {truncate_text(texts[0], 80)!r}",
        next=f"give the file that is meant; or set {key}={said} if this source alone is in another language, or "
        f"language={said} if the whole recipe is, with sentences and rules in that language",
    )


def _main_text(row: Any) -> str:
    """The longest texts of a row, without short options and names."""
    payload: Any = getattr(row, "payload", None)
    named = {"text": (row.text,)} if isinstance(row, Passage) else {} if payload is None else payload.texts()
    texts = [text for parts in named.values() for text in parts]
    longest = max(map(len, texts), default=0)
    return " ".join(text for text in texts if 2 * len(text) >= longest)


def _leftovers(name: str, spec: Any, rows: Sequence[Row], language: str) -> Iterator[Problem]:
    """A warning for each sort of leftover, with the first row that has it."""
    first: dict[TextFault, tuple[Row, str]] = {}
    counts: dict[TextFault, int] = {}
    for row in rows:
        for fault, (_, text) in _faults(row).items():
            first.setdefault(fault, (row, text))
            counts[fault] = counts.get(fault, 0) + 1
    for fault, (row, text) in first.items():
        yield Problem(
            f"texts hold {fault.what}: {counts[fault]} of the first {len(rows)} rows", key=f"sources.{name}",
            where=_place(spec, row), actual=show_invisible(text.replace("\n", " ")),
            hint=_advice(name, spec, fault, language),
        )  # fmt: skip


def _faults(row: Row) -> dict[TextFault, tuple[str, str]]:
    if isinstance(row, Passage):
        return faults_of({"title": (row.title,), "text": (row.text,)}, whole=False)
    payload: Any = getattr(row, "payload", None)
    return {} if payload is None else faults_of(payload.texts(), whole=True)


def _place(spec: Any, row: Row) -> str:
    """The file and line of a row."""
    origin = row.origin
    path: Any = getattr(spec, "path", None)
    file = Path(path.file) if path is not None else Path()
    shown = display_path(file) if file.name == origin.file else origin.file
    return f"{shown}:{origin.line}"


def _advice(name: str, spec: Any, fault: TextFault, language: str) -> str:
    """What mends the leftovers of a source, tried on its first rows."""
    columns: Any = getattr(spec, "columns", None)
    if fault is MARK and hasattr(spec, "option_mark"):
        for mark in _OPTION_MARKS:
            if _mended(name, spec.model_copy(update={"option_mark": mark}), fault, language):
                return f"sources.{name}.option_mark='{mark}' reads them as keys"
    elif fault.fix and isinstance(spec, TableSpec) and columns is not None:
        named = [column for column in type(columns).model_fields if getattr(columns, column) is not None]
        rules = {column: (*spec.clean.get(column, ()), CleanRule(fix=fault.fix)) for column in named}
        if (source := _mended(name, spec.model_copy(update={"clean": rules}), fault, language)) is not None:
            key, changed = f"sources.{name}.clean", source.tallies()
            needed = [column for column in named if changed.get(f"{key}.{column}[{len(rules[column]) - 1}]")]
            return f"{key}: {{{', '.join(f'{column}: [{{fix: {fault.fix}}}]' for column in needed)}}} mends them"
    return "correct the file, if they are mistakes"


_OPTION_MARKS = ("[A-J][.]", "[(（]?[A-Ja-j1-9]\\s*[.．、:：)）]")


def _mended(name: str, spec: Any, fault: TextFault, language: str) -> Any:
    """The source with other settings, if its first rows no longer have a fault; else ``None``."""
    source: Source = create_from_spec("source", spec, name, language)
    rows = source.first_rows(_TEXT_ROWS)
    return None if not rows or any(fault in _faults(row) for row in rows) else source


def _rows_above(loaded: LoadedRecipe, rows: dict[str, list[Row]]) -> dict[str, list[Row]]:
    """For each step, the first rows of the sources that it, or a step before it, reads."""
    wiring = WiringCheck(loaded)
    wiring.problems()
    return {
        name: [
            row for source, read in rows.items() if source in wiring.above[name] for row in read
            if accepts_row_class(wiring.rows[source], step_class_of(loaded, name).ports["each"].row)
        ] for name in loaded.recipe.steps
    }  # fmt: skip


def _unused_rows(loaded: LoadedRecipe, above: dict[str, list[Row]]) -> Iterator[Problem]:
    """What steps say of the rows `above` them; each finding once."""
    told: set[str] = set()
    nowhere, recipe = Path(), loaded.recipe
    for name, rows in above.items():
        spec = recipe.steps[name]
        if not rows or step_class_of(loaded, name).remarks_on is Step.remarks_on:
            continue
        context = StepContext(seed=recipe.seed, language=recipe.language, step=name, cache=nowhere, workplace=nowhere)
        step: Step = create_from_spec("step", spec, context)
        for issue in step.remarks_on(rows):
            if issue.message not in told:
                key = f"steps.{name}.{issue.key}"
                where = str(loaded.origins.origin_of(parse_key(key)))
                yield Problem(issue.message, key=key, where=where, actual=issue.actual, hint=", ".join(issue.allowed))
                told.add(issue.message)


_RELATION_ROWS = 20_000
"""So many rows of a source tell what its relations look like."""
_NAMED = 8
_MISSPELT, _NEAR = 0.85, 0.5
"""How like the name of a relation one must be that was meant to be it."""
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
                found = [
                    n for n in _natures(loaded, source.first_rows(_RELATION_ROWS)) if not _is_told(n.relation, spec)
                ]
                yield from _lines(name, found, f"steps.{step}.relations")


def relation_warnings(loaded: LoadedRecipe, rows: Mapping[str, Sequence[Row]]) -> Iterator[Problem]:
    """Relations that two lists name, or whose names are near misses of those in `rows`; and those with several ends
    that the recipe calls functional."""
    for step, spec in loaded.recipe.steps.items():
        settings: Any = spec
        if spec.kind == "swap_triple":
            whole = chain(*rows.values()) if all(len(read) < _ROWS for read in rows.values()) else ()
            yield from _misplaced(loaded, settings.relations, f"steps.{step}.relations", whole)
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


def _misplaced(loaded: LoadedRecipe, lists: FrozenModel, key: str, rows: Iterable[Row]) -> Iterator[Problem]:
    where = str(loaded.origins.origin_of(parse_key(key)))
    named = {kind: list(getattr(lists, kind)) for kind in LISTED_KINDS}
    for one, other in combinations(LISTED_KINDS, 2):
        if both := [name for name in named[one] if name in named[other]]:
            what, hint = f"relations are listed as {one} and as {other}", "leave each in one of the lists"
            yield Problem(what, key=key, where=where, actual=", ".join(both), hint=hint)
    known = {
        compose_characters(row.payload.relation)
        for row in rows
        if isinstance(row, Fact) and isinstance(row.payload, Triple)
    }
    said = {kind for kind in LISTED_KINDS if loaded.origins.origin_of(parse_key(f"{key}.{kind}")).override}
    own = {name for kind in said for name in named[kind]}  # other lists may be of other graphs, too
    for name in dict.fromkeys(chain(*named.values())) if known else ():
        near = get_close_matches(name, sorted(known), n=1, cutoff=_NEAR if name in own else _MISSPELT)
        if compose_characters(name) not in known and (near or name in own):
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(sorted(known)[:_NAMED])}"
            kind = next(kind for kind in LISTED_KINDS if name in named[kind])
            place = str(loaded.origins.origin_of(parse_key(f"{key}.{kind}")))
            yield Problem("no row that was read has this relation", key=key, where=place, actual=name, hint=hint)


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


_POINT = re.compile(r"(?:^|[\s;,，；、。：:])[0-9A-Za-z]{1,3}\Z")
"""What stands before the bracket of a mark in a list, which need not open: ``a)``."""
_MARK = re.compile(r"\s*[(（]?([A-Za-z0-9])\s*[.．、:：)）](?![0-9])")
_CLOSERS = {")": "(", "]": "[", "}": "{", "】": "【", "》": "《", "」": "「"}
_WIDE = str.maketrans("（）［］｛｝", "()[]{}")


@dataclass(frozen=True)
class TextFault:
    """A sort of leftover: `what` it is, and the clean-up that mends it (empty: none)."""

    what: str
    fix: TextFix | Literal[""] = ""


CONTROL = TextFault("invisible control characters", "invisible")
ESCAPE = TextFault("written escapes such as \\n", "escapes")
TAG = TextFault("HTML tags", "tags")
ENTITY = TextFault("HTML entities", "entities")
MOJIBAKE = TextFault("UTF-8 that was read in another encoding", "mojibake")
LOOKALIKE = TextFault("letters of another script inside Latin words", "lookalikes")
BRACKET = TextFault("brackets without their partner")
MARK = TextFault("the letters of options")
_FIXED = (CONTROL, ESCAPE, TAG, ENTITY, MOJIBAKE, LOOKALIKE)


def faults_of(texts: Mapping[str, tuple[str, ...]], *, whole: bool) -> dict[TextFault, tuple[str, str]]:
    """The leftovers in the texts of a row, each with the name of a text and the part around the leftover.

    What a clean-up changes is a leftover. Without `whole`, the texts are parts of longer ones: brackets may close
    elsewhere.

    >>> found = faults_of({"question": ("Is it <b>so</b> (or not?",)}, whole=True)
    >>> [fault.what for fault in found]
    ['HTML tags', 'brackets without their partner']
    """
    tests: dict[TextFault, Callable[[str], int]] = {fault: partial(_changed_at, fault) for fault in _FIXED}
    if whole:
        tests[BRACKET] = _odd_bracket_at
    found: dict[TextFault, tuple[str, str]] = {}
    for name, text in ((name, part) for name, parts in texts.items() for part in parts):
        for fault, test in tests.items():
            if fault not in found and (at := test(text)) >= 0:
                found[fault] = name, _around(text, at)
    if _are_marked(options := texts.get("options", ())):
        found[MARK] = "options", _around(options[0], 0)
    return found


def _changed_at(fault: TextFault, text: str) -> int:
    """The position of the first character that the clean-up of a fault changes; -1 if it changes none."""
    fixed = TEXT_FIXES[fault.fix](text) if fault.fix else text
    if fixed == text:
        return -1
    pairs = enumerate(zip(text, fixed, strict=False))
    return next((at for at, (old, new) in pairs if old != new), min(len(text), len(fixed)))


def _odd_bracket_at(text: str) -> int:
    """The position of the first bracket without a partner; -1 if all have one."""
    open_at: dict[str, list[int]] = {}
    for at, mark in enumerate(text.translate(_WIDE)):
        if mark in _CLOSERS.values():
            open_at.setdefault(mark, []).append(at)
        elif mark in _CLOSERS:
            if opened := open_at.get(_CLOSERS[mark]):
                opened.pop()
            elif _POINT.search(text[max(at - 5, 0) : at]) is None:
                return at
    return min((at for places in open_at.values() for at in places), default=-1)


def _around(text: str, at: int) -> str:
    start, end = max(at - 40, 0), at + 40
    return f"{'... ' if start else ''}{text[start:end]}{' ...' if end < len(text) else ''}"


def _are_marked(options: tuple[str, ...]) -> bool:
    """Whether each option begins with its own letter or number."""
    marks = [match[1].upper() for option in options if (match := _MARK.match(option)) is not None]
    return len(marks) == len(options) > 1 and "".join(marks) in ("ABCDEFGHIJ"[: len(marks)], "1234567890"[: len(marks)])


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
