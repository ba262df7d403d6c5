"""Forms that write a rule into the draft: an ending into a list, or a new frame."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import yaml
from fastapi import APIRouter, Depends
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from benchbuilder.config import parse_key
from benchbuilder.core import DataError, RecipeError
from benchbuilder.explorer.app.rule_bench import RulesPage, in_trial_threads, rules_page
from benchbuilder.explorer.app.rule_pages import for_script
from benchbuilder.explorer.workbench.rule_drafts import keep_rule_draft
from benchbuilder.explorer.workbench.rule_forms import (
    NewFrame,
    ending_lists,
    frame_mappings,
    frame_names,
    proposed_frame,
    with_entry,
    with_frame,
)
from benchbuilder.explorer.workbench.trials import RowGroup
from benchbuilder.web import PostedForm, posted_form

router = APIRouter()
Form = Annotated[PostedForm, Depends(posted_form)]
_GAP = "%answer%"


@router.get("/b/{name}/work/{step}/rule")
@in_trial_threads
def rule_page(request: Request, name: str, step: str) -> Response:
    """The forms for a rule, filled in for the shape of a group."""
    return _page(rules_page(request, name, step))


@router.post("/b/{name}/work/{step}/add")
@in_trial_threads
def add_entry(request: Request, name: str, step: str, form: Form) -> Response:
    """Write an entry at the end of a list of the draft."""
    rules = rules_page(request, name, step)
    draft = rules.kept_draft(form) if form("text") else rules.draft()
    try:
        text = with_entry(draft.text, step, form("list"), form("entry"))
    except yaml.YAMLError:
        text = None
    if text is None:
        raise HTTPException(400)
    return _written(rules, text)


@router.post("/b/{name}/work/{step}/frame")
@in_trial_threads
def add_frame(request: Request, name: str, step: str, form: Form) -> Response:
    """Write a frame into the draft; a name that is taken or wrong comes back with the form."""
    rules = rules_page(request, name, step)
    frame = NewFrame(form("name").strip(), form("match"), form("write"), form("before"))
    key = parse_key(form("key"))
    if key not in frame_mappings(rules.loaded.recipe.steps[step]) or not frame.match:
        raise HTTPException(400)
    try:
        text = with_frame(rules.draft().text, step, key, frame)
    except yaml.YAMLError:
        text = None
    if text is None:
        return _page(rules, frame, rules.page.texts("workbench.form.refused"), 400)
    return _written(rules, text)


def _written(rules: RulesPage, text: str) -> Response:
    """Keep a draft with this text, and lead back to the line that changed."""
    draft = rules.draft()
    keep_rule_draft(rules.build.folder, rules.file, replace(draft, text=text))
    if for_script(rules.page.request):
        return JSONResponse({"state": "added", "text": text})
    lines = zip(draft.text.splitlines(), text.splitlines(), strict=False)
    changed = next((number for number, (old, new) in enumerate(lines, 1) if old != new), 1)
    return RedirectResponse(rules.address(line=str(changed)), 303)


def _page(rules: RulesPage, typed: NewFrame | None = None, fault: str = "", status: int = 200) -> Response:
    query, text = rules.page.request.query_params, rules.draft().text
    place, words = query.get("place", ""), query.get("words", "")
    frames = {key: frame_names(text, rules.step, key) for key in frame_mappings(rules.loaded.recipe.steps[rules.step])}
    known = [name for names in frames.values() for name in names]
    proposed = typed or proposed_frame(place, words, known, of_statements=_writes_of_statements(rules))
    return rules.page.page(
        "rule_form.j2", status, build=rules.build, here="work", rules=rules, step=rules.step, fault=fault, words=words,
        endings=ending_lists(text, rules.step) if place in ("last", "") else [], frames=frames, proposed=proposed,
        group=_group(rules, place, words),
    )  # fmt: skip


def _group(rules: RulesPage, place: str, words: str) -> RowGroup | None:
    """The rows of a shape that no rule of the draft handles; ``None`` if there are none, or the draft is wrong."""
    try:
        result = rules.process.try_draft(rules.draft().text, whole=True)
    except (RecipeError, DataError):
        return None
    groups = () if result is None else result.groups
    return next((group for group in groups if (group.place, group.words) == (place, words)), None)


def _writes_of_statements(rules: RulesPage) -> bool:
    """Whether the frames of the step get sentences with a gap for the answer, and not questions."""
    return _GAP in rules.file.text and rules.loaded.recipe.steps[rules.step].kind.startswith("ask_")
