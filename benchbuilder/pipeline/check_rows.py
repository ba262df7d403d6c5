"""Looks at the first rows of each source before a build: leftovers in texts, and what steps will not use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchbuilder.config import LoadedRecipe, display_path, parse_key
from benchbuilder.core import Passage, Problem, Row, StepContext, create_from_spec, show_invisible
from benchbuilder.pipeline.check_wiring import WiringCheck, accepts_row_class, step_class_of
from benchbuilder.pipeline.text_faults import MARK, TextFault, faults_of
from benchbuilder.sources import Source
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
        yield from _leftovers(name, spec, rows[name][:_TEXT_ROWS])
    yield from _unused_rows(loaded, rows)


def _leftovers(name: str, spec: Any, rows: Sequence[Row]) -> Iterator[Problem]:
    """A warning for each sort of leftover, with the first row that has it."""
    first: dict[TextFault, tuple[Row, str, str]] = {}
    counts: dict[TextFault, int] = {}
    for row in rows:
        for fault, (field, text) in _faults(row).items():
            first.setdefault(fault, (row, field, text))
            counts[fault] = counts.get(fault, 0) + 1
    for fault, (row, field, text) in first.items():
        yield Problem(
            f"texts hold {fault.what}: {counts[fault]} of the first {len(rows)} rows", key=f"sources.{name}",
            where=_place(spec, row), actual=show_invisible(text.replace("\n", " ")),
            hint=_advice(name, spec, field, fault),
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


def _advice(name: str, spec: Any, field: str, fault: TextFault) -> str:
    if fault is MARK:
        return r"sources.NAME.option_mark='[A-J][.]' reads them as keys".replace("NAME", name)
    columns: Any = getattr(spec, "columns", None)
    named = type(columns).model_fields if columns is not None else {}
    if fault.find and hasattr(spec, "clean") and (column := field if field in named else next(iter(named), "")):
        return f'sources.{name}.clean: {{{column}: [{{find: "{fault.find}", put: "{fault.put}"}}]}} replaces them'
    return "correct the file, if they are mistakes"


def _unused_rows(loaded: LoadedRecipe, rows: dict[str, list[Row]]) -> Iterator[Problem]:
    """What steps say of the first rows of the sources that they, or steps before them, read; each finding once."""
    wiring = WiringCheck(loaded)
    wiring.problems()
    told: set[str] = set()
    nowhere, recipe = Path(), loaded.recipe
    for name, spec in recipe.steps.items():
        step_class = step_class_of(loaded, name)
        above = [
            row for source in recipe.sources if source in wiring.above[name] for row in rows[source]
            if accepts_row_class(wiring.rows[source], step_class.ports["each"].row)
        ]  # fmt: skip
        if not above or step_class.remarks_on is Step.remarks_on:
            continue
        context = StepContext(seed=recipe.seed, language=recipe.language, step=name, cache=nowhere, workplace=nowhere)
        step: Step = create_from_spec("step", spec, context)
        for issue in step.remarks_on(above):
            if issue.message not in told:
                key = f"steps.{name}.{issue.key}"
                where = str(loaded.origins.origin_of(parse_key(key)))
                yield Problem(issue.message, key=key, where=where, actual=issue.actual, hint=", ".join(issue.allowed))
                told.add(issue.message)
