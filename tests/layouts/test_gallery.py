"""Layouts of well-known data sets: what `new` writes for them reads every key right, or it asks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from gallery import GALLERY, QUESTIONS

from benchbuilder.authoring import CloneRequest, start_recipe
from benchbuilder.authoring.starter.read_back import read_back
from benchbuilder.config import read_kind_spec
from benchbuilder.core import Kept, SourceUnit, create_from_spec

WRONG = {question: wrong for question, _, wrong in QUESTIONS}


def started(name: str, folder: Path) -> tuple[dict[str, Any], str]:
    """The source that `new` writes for a layout, and what it warns of."""
    layout = GALLERY[name]
    file = folder / layout.file
    file.write_bytes(layout.content)
    clone = start_recipe(CloneRequest("lay", "", "en", (f"q:{layout.kind}={file}",), ()))
    clone.write(folder)
    recipe = yaml.safe_load((folder / "recipes/recipe/lay.yaml").read_text("utf-8"))
    warnings = [str(warning) for warning in clone.warnings if not warning.message.startswith("no step")]
    return recipe["sources"]["q"], " ".join(warnings)


def rows_of(data: dict[str, Any], folder: Path) -> tuple[list[Any], list[Any]]:
    """The rows that a build reads, and what it drops."""
    path = folder / "recipes/recipe" / data["path"]
    given = {**data, "path": {"path": data["path"], "resolved_path": str(path)}, "licence": "CC0-1.0", "title": "T"}
    source: Any = create_from_spec("source", read_kind_spec("source", given), "q", "en")
    source.check()
    outcomes = [unit.outcome for unit in source.read() if isinstance(unit, SourceUnit)]
    kept = [outcome.row for outcome in outcomes if isinstance(outcome, Kept)]
    return kept, [outcome for outcome in outcomes if not isinstance(outcome, Kept)]


def understood(row: Any) -> tuple[str, Any, set[str]]:
    """The question, what is right, and what is wrong, of a row of any kind."""
    payload = getattr(row, "payload", row)
    if hasattr(payload, "answer_keys"):
        right = tuple(option.text for option in payload.options if option.key in payload.answer_keys)
        wrong = {option.text for option in payload.options} - set(right)
        return payload.question, right if len(right) > 1 else right[0], wrong
    if hasattr(payload, "question"):
        return payload.question, payload.right_answers()[0], set(payload.wrong_answers())
    if hasattr(payload, "label"):
        return payload.text, payload.label, set()
    if hasattr(payload, "head"):
        return payload.head, payload.tail, set()
    return payload.title, payload.text.split("\n")[0], set()


@pytest.mark.parametrize("name", [name for name, layout in GALLERY.items() if layout.right is not None])
def test_new_writes_a_source_that_reads_every_key_right(name: str, tmp_path: Path) -> None:
    data, warned = started(name, tmp_path)
    assert not warned
    assert "???" not in str({key: value for key, value in data.items() if key not in ("licence", "title")})
    rows, dropped = rows_of(data, tmp_path)
    right = GALLERY[name].right
    assert right is not None
    assert {question: answer for question, answer, _ in map(understood, rows)} == right
    assert {outcome.reason for outcome in dropped} <= {"label_skipped"}
    for question, answer, wrong in map(understood, rows):
        assert not {answer} & wrong
        assert GALLERY[name].kind not in ("multiple_choice",) or wrong == set(WRONG[question.partition(" (für")[0]])


@pytest.mark.parametrize("name", [name for name, layout in GALLERY.items() if layout.asks])
def test_new_asks_what_cannot_be_told(name: str, tmp_path: Path) -> None:
    data, warned = started(name, tmp_path)
    assert "???" in str(data["columns"]) or "???" in str(data["key_as"])
    recipe = tmp_path / "recipes/recipe/lay.yaml"
    shown = "\n".join(read_back(recipe, ["q"]))
    assert GALLERY[name].asks in warned + recipe.read_text("utf-8")
    assert warned or ("q with key_as: index, as read" in shown and "q with key_as: index_from_1, as read" in shown)


def test_three_rows_are_shown_as_they_are_read(tmp_path: Path) -> None:
    started("cmexam", tmp_path)
    first, place, *lines = read_back(tmp_path / "recipes/recipe/lay.yaml", ["q"])
    assert (first, place.strip()[:8]) == ("q, as read:", "lay/q.cs")
    assert len(lines) == 3 * 4 - 1
    question = lines[0].strip().removeprefix("question: ")
    right, wrong = (line.strip().partition(": ")[2] for line in lines[1:3])
    assert (question, right, wrong.split(" | ")) in QUESTIONS
