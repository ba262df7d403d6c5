"""Looks at the first rows of each source before a build: leftovers in texts, and what steps will not use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchbuilder.config import LoadedRecipe, display_path, parse_key
from benchbuilder.core import (
    DataError,
    Passage,
    Problem,
    Row,
    StepContext,
    create_from_spec,
    language_name,
    show_invisible,
    truncate_text,
)
from benchbuilder.pipeline.check_relations import relation_warnings
from benchbuilder.pipeline.check_wiring import WiringCheck, accepts_row_class, step_class_of
from benchbuilder.pipeline.other_language import other_language
from benchbuilder.pipeline.text_faults import MARK, TextFault, faults_of
from benchbuilder.pipeline.unmatched_words import unmatched_words
from benchbuilder.sources import CleanRule, Source, TableSpec
from benchbuilder.steps import Step

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
