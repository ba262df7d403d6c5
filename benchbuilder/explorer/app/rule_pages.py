"""The rule workbench: the steps with rules, and a step's rules with the rows beside them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, cast, get_args

from fastapi import APIRouter, Depends
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from benchbuilder.core import BenchbuilderError, DataError, RecipeError
from benchbuilder.explorer.app.explorer_site import page_request
from benchbuilder.explorer.app.page_templates import render_page
from benchbuilder.explorer.app.rule_bench import RulesPage, drawn_share, in_trial_threads, marked_parts, rules_page
from benchbuilder.explorer.workbench.judged_rows import Drawing, JudgedRow, Judgement, add_judged
from benchbuilder.explorer.workbench.rule_drafts import drop_rule_draft
from benchbuilder.explorer.workbench.rule_files import steps_with_rules
from benchbuilder.explorer.workbench.rule_forms import ending_lists
from benchbuilder.explorer.workbench.trials import ROW_SORTS, TrialResult
from benchbuilder.web import PostedForm, posted_form

router = APIRouter()
Form = Annotated[PostedForm, Depends(posted_form)]
_LONGEST_LINE = 7
"""So many digits, at most, has the number of a line."""


@router.get("/b/{name}/work/")
def work_page(request: Request, name: str) -> Response:
    """The steps that have rules, with how many rows they get and make something of."""
    page = page_request(request)
    build = page.build(name)
    steps: list[dict[str, Any]] = []
    if build.words:
        manifests = build.manifests()
        for step, path in steps_with_rules(page.site.memory.load(build.words, page.site.recipes)).items():
            manifest = manifests.get(step)
            counts = manifest.counts if manifest is not None else ()
            steps.append({
                "name": step, "file": path.name, "built": manifest is not None,
                "kept": sum(n for _, outcome, _, n in counts if outcome == "kept"),
                "lost": sum(n for _, outcome, _, n in counts if outcome == "dropped"),
                "unhandled": sum(n for _, _, reason, n in counts if reason == "needs_model"),
            })  # fmt: skip
    return page.page("rule_steps.j2", build=build, here="work", steps=steps)


@router.get("/b/{name}/work/{step}")
def bench_page(request: Request, name: str, step: str) -> Response:
    """The rules of a step, to be tried."""
    return show_bench(rules_page(request, name, step))


@router.post("/b/{name}/work/{step}/try")
@in_trial_threads
def try_rules(request: Request, name: str, step: str, form: Form) -> Response:
    """Keep a draft and try it, on the first rows or on all; a page, or parts of one for a script."""
    rules = rules_page(request, name, step)
    rules.kept_draft(form)
    return show_trial(rules, whole=form("rows") != "first")


@router.post("/b/{name}/work/{step}/judge")
@in_trial_threads
def judge_row(request: Request, name: str, step: str, form: Form) -> Response:
    """Note whether what the rules make of a row is right, in the file of judged rows beside the rules."""
    rules = rules_page(request, name, step)
    judged, chosen = form("judged"), form("chosen") or "picked"
    if judged not in get_args(Judgement) or chosen not in get_args(Drawing):
        raise HTTPException(400)
    if rules.file.home is None:
        return _refused(rules, "bundled")
    data = rules.process.judgement_data(form("row"))
    if data is None:
        raise HTTPException(404)
    question, answer, row = data
    at = datetime.now(UTC).date().isoformat()
    add_judged(rules.file.judged, JudgedRow(
        step, form("row"), cast("Judgement", judged), cast("Drawing", chosen), at, question, answer, form("made"), row,
    ))  # fmt: skip
    if for_script(request):
        return JSONResponse({"state": "judged", "judged": judged})
    return show_trial(rules, whole=True)


@router.post("/b/{name}/work/{step}/drop")
def drop_draft(request: Request, name: str, step: str, form: Form) -> Response:  # noqa: ARG001
    """Forget the draft, and show the rules as they are saved."""
    rules = rules_page(request, name, step)
    drop_rule_draft(rules.build.folder, rules.file)
    return RedirectResponse(rules.address(), 303)


def for_script(request: Request) -> bool:
    """Whether a script asks for parts of a page."""
    return request.headers.get("accept", "") == "application/json"


def _refused(rules: RulesPage, reason: str) -> Response:
    text = rules.page.texts(f"workbench.refused.{reason}", name=rules.loaded.recipe.name)
    if for_script(rules.page.request):
        return JSONResponse({"state": "refused", "message": text}, 403)
    return show_bench(rules, fault=text, status=403)


def show_trial(rules: RulesPage, *, whole: bool) -> Response:
    """The result of the draft: a page, or for a script its parts."""
    result: TrialResult | None = None
    fault = ""
    try:
        result = rules.process.try_draft(rules.draft().text, whole=whole)
    except (RecipeError, DataError) as error:
        fault = _told(error)
    if not for_script(rules.page.request):
        return show_bench(rules, result, fault)
    if fault:
        return JSONResponse({"state": "fault", "message": fault})
    if result is None:
        return JSONResponse({"state": "superseded"})
    context = _context(rules, result)
    parts = {part: render_page(f"rule_{part}.j2", **context) for part in ("head", "groups", "results")}
    return JSONResponse({"state": "tried", "whole": result.whole, **parts})


def _told(error: BenchbuilderError) -> str:
    """An error in the words of the terminal, without what only a terminal shows."""
    if isinstance(error, RecipeError):
        lines = [f"{problem.where.rpartition('/')[2]}: {problem.key}: {problem.message}"
                 + (f" - {problem.hint}" if problem.hint else "") for problem in error.problems]  # fmt: skip
        return "\n".join(lines)
    return str(error)


def _context(rules: RulesPage, result: TrialResult | None) -> dict[str, Any]:
    page, file, text = rules.page, rules.file, rules.draft().text
    return {
        "t": page.texts, "rules": rules, "step": rules.step, "file": file, "draft": rules.draft(), "result": result,
        "marked": marked_parts, "sorts": ROW_SORTS, "line": _line(rules),
        "endings": ending_lists(text, rules.step),
        "known": _known(result), "build": rules.build,
        "drawn": drawn_share(result.judged) if result is not None else None,
    }  # fmt: skip


def _line(rules: RulesPage) -> int:
    """The line at which the editor begins: that of the address, or the first with rules of the step."""
    given = rules.page.request.query_params.get("line", "")
    return int(given) if given.isdecimal() and len(given) < _LONGEST_LINE else rules.file.line_of(rules.step)


def _known(result: TrialResult | None) -> dict[str, str]:
    """The judgements of rows that the draft makes as they were judged."""
    judged = () if result is None else result.judged
    same = ("kept", "still_wrong", "open")
    return {each.judged.row: each.judged.judged for each in judged if each.verdict in same}


def show_bench(rules: RulesPage, result: TrialResult | None = None, fault: str = "", status: int = 200) -> Response:
    """The page of a step's rules."""
    context = _context(rules, result)
    context.pop("t")
    context.pop("build")
    return rules.page.page("rule_bench.j2", status, build=rules.build, here="work", fault=fault, **context)
