"""Saves rules: shows the difference, then writes it; a file that changed meanwhile is never overwritten."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from benchbuilder.core import BenchbuilderError, DataError, RecipeError
from benchbuilder.explorer.app.rule_bench import RulesPage, in_trial_threads, rules_page
from benchbuilder.explorer.workbench.judged_rows import JudgedResult
from benchbuilder.explorer.workbench.rule_drafts import RuleDraft, drop_rule_draft, keep_rule_draft
from benchbuilder.explorer.workbench.rule_files import text_digest
from benchbuilder.explorer.workbench.rule_saving import (
    ChangedMeanwhileError,
    RulesCopy,
    copy_of_rules,
    save_rules,
    saved_place,
    text_difference,
)
from benchbuilder.web import PostedForm, posted_form

router = APIRouter()
Form = Annotated[PostedForm, Depends(posted_form)]


@router.post("/b/{name}/work/{step}/difference")
@in_trial_threads
def show_difference(request: Request, name: str, step: str, form: Form) -> Response:
    """Keep the draft and show what saving it would change."""
    rules = rules_page(request, name, step)
    draft = rules.kept_draft(form)
    return _conflict(rules, draft) if draft.begun != rules.file.digest else _difference(rules, draft)


@router.post("/b/{name}/work/{step}/save")
@in_trial_threads
def save(request: Request, name: str, step: str, form: Form) -> Response:
    """Write the draft that was shown; rows that were judged good and are broken need a tick."""
    rules = rules_page(request, name, step)
    draft = rules.draft()
    if text_digest(draft.text) != form("shown"):
        return _difference(rules, draft, status=409)
    if form("accept") != "yes" and _broken(rules, draft):
        return _difference(rules, draft, status=409)
    try:
        saved = save_rules(rules.loaded, rules.file, draft, rules.build.folder, rules.page.site.recipes)
    except ChangedMeanwhileError:
        return _conflict(rules, draft)
    except RecipeError as error:
        return _difference(rules, draft, fault=str(error), status=400)
    drop_rule_draft(rules.build.folder, rules.file)
    rules.page.site.trials.forget(rules.settings)
    rules.page.site.memory.forget(rules.build.words, rules.page.site.recipes)
    return rules.page.page("rule_saved.j2", build=rules.build, here="work", rules=rules, step=step, saved=saved)


@router.post("/b/{name}/work/{step}/choose")
def choose(request: Request, name: str, step: str, form: Form) -> Response:
    """After a conflict: forget the draft, or go on with it over the file as it is now."""
    rules = rules_page(request, name, step)
    rules.page.site.trials.forget(rules.settings)
    if form("choice") == "theirs":
        drop_rule_draft(rules.build.folder, rules.file)
        return RedirectResponse(rules.address(), 303)
    draft = replace(rules.draft(), begun=rules.file.digest, base=rules.file.text)
    keep_rule_draft(rules.build.folder, rules.file, draft)
    return RedirectResponse(rules.address(), 303) if form("choice") == "merge" else _difference(rules, draft)


def _judged(rules: RulesPage, draft: RuleDraft) -> tuple[list[JudgedResult], str]:
    """What becomes of judged rows under the draft, and why nobody knows."""
    try:
        result = rules.process.try_draft(draft.text, whole=False)
    except BenchbuilderError as error:
        return [], str(error)
    return (result.judged if result is not None else []), ""


def _broken(rules: RulesPage, draft: RuleDraft) -> bool:
    return any(result.verdict == "broken" for result in _judged(rules, draft)[0])


def _difference(rules: RulesPage, draft: RuleDraft, fault: str = "", status: int = 200) -> Response:
    judged, why = _judged(rules, draft)
    fault = fault or why
    copy: RulesCopy | None = None
    try:
        saved_place(rules.loaded, rules.file, draft.text)
        copy = copy_of_rules(rules.loaded, rules.file)
    except (RecipeError, DataError) as error:
        fault = str(error)
    chosen = "" if copy is None else text_difference(copy.before, copy.after, copy.recipe.name)
    lines = text_difference(rules.file.text, draft.text, rules.file.path.name).splitlines()
    broken = [result for result in judged if result.verdict == "broken"]
    return rules.page.page(
        "rule_difference.j2", status, build=rules.build, here="work", rules=rules, step=rules.step, file=rules.file,
        lines=lines, broken=broken, judged=judged, fault=fault, shown=text_digest(draft.text),
        copy=copy, chosen=chosen.splitlines(),
    )  # fmt: skip


def _conflict(rules: RulesPage, draft: RuleDraft) -> Response:
    name = rules.file.path.name
    return rules.page.page(
        "rule_conflict.j2", 409, build=rules.build, here="work", rules=rules, step=rules.step, file=rules.file,
        theirs=text_difference(draft.base, rules.file.text, name).splitlines(),
        mine=text_difference(draft.base, draft.text, name).splitlines(),
    )  # fmt: skip
