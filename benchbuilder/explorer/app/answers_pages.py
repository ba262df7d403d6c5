"""The pages of answers: scores of models by item, two models side by side, and one item with every answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from benchbuilder.evaluation import ANSWER, systems_of_sample
from benchbuilder.explorer.app.explorer_site import PageRequest, page_request
from benchbuilder.explorer.app.items_pages import address_with, task_of, whole_number
from benchbuilder.explorer.reading.answer_texts import AnswerText, ShownScore, answer_scores, answer_texts
from benchbuilder.explorer.reading.build_folders import BuildFolder
from benchbuilder.explorer.reading.item_columns import BrowsedItems, item_columns, item_steps, read_json_lines
from benchbuilder.explorer.reading.scored_answers import (
    WRONG_BELOW,
    AnswerView,
    MeasuredScores,
    ScoredAnswers,
    evaluation_folder,
    scored_answers,
    sources_of,
)
from benchbuilder.pipeline import Store

router = APIRouter()

_PAGE = 50
_SIDE_BY_SIDE = 20
_STEPS = 5
"""How many shades a score is shown in."""
_RATINGS = "ratings"
"""The step that reads what people rated, for each system."""
_TO_EXPERTS = Path("analysis") / "to_experts.jsonl"


@dataclass(frozen=True)
class ScoredLine:
    """An item with the score of each system, ``None`` where there is none, and the answers of two that are compared."""

    id: str
    question: str
    type: str
    expected: str
    to_experts: int
    scores: Sequence[float | None]
    answers: Sequence[AnswerText | None] = ()


@dataclass(frozen=True)
class MadeUp:
    """The systems whose answers came with a sample, and whether ratings did: nobody gave them."""

    systems: Sequence[str]
    ratings: bool


@router.get("/b/{name}/answers")
def answers_page(request: Request, name: str) -> Response:
    """The scores of every system by item in one measure."""
    page = page_request(request)
    build = page.build(name)
    task = task_of(page, build)
    answers = scored_answers(build.folder, task)
    if answers is None:
        return page.page("answers_none.j2", build=build, here="answers", command=command_of(build, "evaluate"))
    query = page.request.query_params
    measure = answers.measure(query.get("measure", ""))
    if measure is None:
        raise HTTPException(404)
    view = AnswerView(
        measure.key, query.get("type", ""), query.get("source", ""), query.get("wrong", "") == "all",
        query.get("sort", ""), query.get("left", ""), query.get("right", ""),
    )  # fmt: skip
    places = answers.chosen(measure, view)
    beside = view.left in measure.systems and view.right in measure.systems and view.left != view.right
    size = _SIDE_BY_SIDE if beside else _PAGE
    start = min(whole_number(page, "at"), max(len(places) - 1, 0))
    lines = _lines(
        build, task, answers, measure, places[start : start + size], (view.left, view.right) if beside else ()
    )
    return page.page(
        "answers.j2", build=build, here="answers", task=task, tasks=list(item_steps(build)), answers=answers,
        measure=measure, view=view, beside=beside, lines=lines, total=len(places), start=start,
        end=start + len(lines), sources=sources_of(answers), types=sorted(set(answers.types.tolist())),
        disagree=answers.judged_beside_people(measure) is not None, step=_step,
        before=address_with(page, at=max(start - size, 0) or "") if start else "",
        following=address_with(page, at=start + size) if start + size < len(places) else "",
        address=partial(address_with, page, at=""),
        made_up=_made_up(build, task, answers.systems, by_people=measure.by_people),
    )  # fmt: skip


def _made_up(build: BuildFolder, task: str, systems: Iterable[str], *, by_people: bool) -> MadeUp:
    """Which answers, and whether the ratings that are shown, came with a sample."""
    store = Store(evaluation_folder(build.folder, task))
    rated = by_people and systems_of_sample(store, _RATINGS, systems)
    return MadeUp(systems_of_sample(store, ANSWER, systems), bool(rated))


def _step(score: float | None) -> int:
    """The shade of a score, from 0 to 4."""
    return 0 if score is None else min(max(int(score * _STEPS), 0), _STEPS - 1)


def _lines(
    build: BuildFolder, task: str, answers: ScoredAnswers, measure: MeasuredScores, places: Any, pair: Sequence[str]
) -> list[ScoredLine]:
    ids = [answers.ids[place] for place in places]
    items = _items(build, task)
    back = experts_list(build.folder, task)
    texts: dict[tuple[str, str], AnswerText] = {}
    if pair:
        found = answer_texts(evaluation_folder(build.folder, task), set(ids), set(pair))
        texts = {(one.item, one.system): one for one in found}
    asked = _asked(items, ids)
    lines: list[ScoredLine] = []
    for place, name in zip(places, ids, strict=True):
        question, expected = asked.get(name, (name, ""))
        column = measure.values[:, place]
        lines.append(ScoredLine(
            name, question, str(answers.types[place]).lower(), expected, back.get(name, 0),
            [None if np.isnan(value) else float(value) for value in column],
            [texts.get((name, system)) for system in pair],
        ))  # fmt: skip
    return lines


def _items(build: BuildFolder, task: str) -> BrowsedItems | None:
    """The items of a task; none if the build has none as it is now."""
    step = item_steps(build).get(task, "")
    return item_columns(build, step) if step in build.manifests() else None


def _asked(items: BrowsedItems | None, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
    """What the items ask, and their right verdicts, by id; those that the build does not have any more are left out."""
    if items is None:
        return {}
    numbers = [number for name in ids if (number := items.number_of(name)) is not None]
    return {
        item.id: (f"{item.context}{item.question}" or item.answer or item.id, item.expected)
        for item in items.listed(numbers)
    }


def experts_list(folder: Path, task: str) -> dict[str, int]:
    """The items that the newest analysis sends back to experts, with their places in its list from 1."""
    lines = read_json_lines(folder / task / _TO_EXPERTS)
    return {str(line.get("id", "")): number for number, line in enumerate(lines, start=1)}


def command_of(build: BuildFolder, command: str) -> str:
    """The command line that does something with a build; its recipe is named if the explorer knows it."""
    name = str(build.recipe.get("name") or build.name)
    words = " ".join(build.words) or f"recipe={name}"
    return f"benchbuild {command} {words}"


@dataclass(frozen=True)
class FullAnswer:
    """An answer with its scores."""

    system: str
    group: str
    answer: AnswerText | None
    scores: Sequence[ShownScore]

    @property
    def is_wrong(self) -> bool:
        """Whether its first score counts as wrong."""
        first = next((score.value for score in self.scores if score.value is not None), None)
        return first is not None and first < WRONG_BELOW


@router.get("/b/{name}/answers/{item_id}")
def answers_of_item(request: Request, name: str, item_id: str) -> Response:
    """An item with every answer to it in full, and how each was scored."""
    page = page_request(request)
    build = page.build(name)
    for task in item_steps(build):
        answers = scored_answers(build.folder, task)
        if answers is not None and item_id in answers.places:
            return _answers_of(page, build, task, answers, item_id)
    raise HTTPException(404)


def _answers_of(page: PageRequest, build: BuildFolder, task: str, answers: ScoredAnswers, item_id: str) -> Response:
    items = _items(build, task)
    number = items.number_of(item_id) if items else None
    item = items.listed([number])[0] if items is not None and number is not None else None
    folder = evaluation_folder(build.folder, task)
    texts = {one.system: one for one in answer_texts(folder, {item_id})}
    scores: dict[str, list[ShownScore]] = {}
    for score in sorted(
        answer_scores(folder, item_id), key=lambda score: (score.aspect != "verdict", score.raters == 0)
    ):
        if score.value is not None or score.label:
            scores.setdefault(score.system, []).append(score)
    full = [
        FullAnswer(system, group, texts.get(system), scores.get(system, []))
        for system, group in answers.systems.items()
    ]
    return page.page(
        "answers_item.j2", build=build, here="answers", task=task, item=item, item_id=item_id,
        made_up=_made_up(build, task, answers.systems, by_people=True),
        answers=[answer for answer in full if answer.answer is not None or answer.scores],
        place=experts_list(build.folder, task).get(item_id, 0), analyse=command_of(build, "analyse"),
        review=command_of(build, "review"),
        report=command_of(build, f"errata add {item_id} --kind wrong_key --text '…'"),
    )  # fmt: skip
