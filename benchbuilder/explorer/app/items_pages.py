"""The pages of items: a list with search and facets, families together, and one item in full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from benchbuilder.core import cells_of
from benchbuilder.explorer.app.explorer_site import PageRequest, page_request
from benchbuilder.explorer.reading.audited_items import AuditOfItems, audit_of_items
from benchbuilder.explorer.reading.build_folders import BuildFolder
from benchbuilder.explorer.reading.item_columns import BrowsedItems, ItemFilter, ListedItem, item_columns, item_steps
from benchbuilder.explorer.reading.marked_texts import TextPiece, marked_pieces, occurrences, shared_spans
from benchbuilder.explorer.reading.row_story import inspector_of
from benchbuilder.explorer.reading.scored_answers import scored_answers
from benchbuilder.explorer.reading.vote_counts import vote_counts

router = APIRouter()

_PAGE = 50
_LONGEST_QUERY = 200
_KIN = 20
_TESTED = 12
"""How many tested words of an item are listed."""


@dataclass(frozen=True)
class ShownItem:
    """An item in the list with its marked text; `first` if it begins a family, which has `size` items on this page."""

    item: ListedItem
    pieces: Sequence[TextPiece]
    first: bool
    size: int


def task_of(page: PageRequest, build: BuildFolder) -> str:
    """The task that the address chooses; the first one, if it chooses none. 404 if there is no such task."""
    tasks = item_steps(build)
    if not tasks:
        raise HTTPException(404)
    task = page.request.query_params.get("task", next(iter(tasks)))
    if task not in tasks:
        raise HTTPException(404)
    return task


def whole_number(page: PageRequest, name: str) -> int:
    """A number of the address; 0 if it is none."""
    text = page.request.query_params.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def address_with(page: PageRequest, **changes: object) -> str:
    """The query of this address with some changes; empty values are left out."""
    query = {**page.request.query_params, **{name: str(value) for name, value in changes.items()}}
    return "?" + urlencode({name: value for name, value in query.items() if value})


@router.get("/b/{name}/items")
def items_page(request: Request, name: str) -> Response:
    """The items of a build that the address chooses, families together."""
    page = page_request(request)
    build = page.build(name)
    task = task_of(page, build)
    items = item_columns(build, item_steps(build)[task])
    asked = page.request.query_params
    wanted = ItemFilter(
        q=asked.get("q", "")[:_LONGEST_QUERY],
        **{facet: asked.get(facet, "") for facet in ("source", "type", "form", "expected", "reviewed", "tag")},
    )
    numbers = items.matching(wanted)
    start = min(whole_number(page, "at"), max(len(numbers) - 1, 0))
    listed = items.listed([int(number) for number in numbers[start : start + _PAGE]])
    audit = audit_of_items(build.folder, task)
    leaks = [word.text for word in audit.words if word.leaks] if audit else []
    return page.page(
        "items.j2", build=build, here="items", items=items, wanted=wanted, total=len(numbers), start=start,
        end=start + len(listed), shown=_in_families(listed, wanted.q, leaks), task=task, tasks=list(item_steps(build)),
        before=address_with(page, at=max(start - _PAGE, 0) or "") if start else "",
        following=address_with(page, at=start + _PAGE) if start + _PAGE < len(numbers) else "",
        leaks=leaks, address=partial(address_with, page, at=""),
    )  # fmt: skip


def _in_families(listed: Sequence[ListedItem], q: str, leaks: Sequence[str]) -> list[ShownItem]:
    """The items of a page with what is searched and what leaks marked, each family as one group."""
    shown: list[ShownItem] = []
    sizes: dict[str, int] = {}
    for item in listed:
        sizes[item.family or item.id] = sizes.get(item.family or item.id, 0) + 1
    before = ""
    for item in listed:
        text = f"{item.context}{item.question}" or item.answer or item.id
        spans = list(occurrences(text, q, "hit"))
        spans += [span for word in leaks for span in occurrences(text, word, "leak")]
        family = item.family or item.id
        shown.append(ShownItem(item, marked_pieces(text, spans), family != before, sizes[family]))
        before = family
    return shown


@router.get("/b/{name}/items/{item_id}")
def item_page(request: Request, name: str, item_id: str) -> Response:
    """An item as people and models see it, with its family, its evidence, and what the audit says of it."""
    page = page_request(request)
    build = page.build(name)
    found = _found(build, item_id)
    if found is None:
        raise HTTPException(404)
    task, items, number = found
    listed = items.listed([number])[0]
    row: Any = items.whole_row(number)
    cells = cells_of(row)
    audit = audit_of_items(build.folder, task)
    answers = scored_answers(build.folder, task)
    wants_votes = page.request.query_params.get("votes", "") == "show"
    votes = vote_counts(build, [each for _, each in inspector_of(build).trace(item_id)]) if wants_votes else None
    return page.page(
        "item.j2", votes=votes, build=build, here="items", task=task, item=listed, row=row, cells=_other_cells(cells),
        asked=_asked(row, cells, audit), evidence=_evidence(row, cells), kin=_kin(items, listed, number),
        tested=audit.words_in(_texts(cells))[:_TESTED] if audit else [], audit=audit,
        duplicates=_duplicates(items, audit, item_id), answered=answers is not None and item_id in answers.places,
    )  # fmt: skip


def _found(build: BuildFolder, item_id: str) -> tuple[str, BrowsedItems, int] | None:
    """The task of an item, its columns and its number in them."""
    for task, step in item_steps(build).items():
        if step in build.manifests():
            items = item_columns(build, step)
            number = items.number_of(item_id)
            if number is not None:
                return task, items, number
    return None


_OWN_PLACES = ("q-type", "expected", "full-question", "answer", "answer-wrong", "evidence", "context", "question")


def _other_cells(cells: Mapping[str, str]) -> dict[str, str]:
    """The cells of an item that have no place of their own on the page."""
    return {name: text for name, text in cells.items() if name not in _OWN_PLACES and text}


def _texts(cells: Mapping[str, str]) -> list[str]:
    return [cells.get("full-question") or cells.get("question") or "", cells.get("answer") or ""]


def _asked(row: Any, cells: Mapping[str, str], audit: AuditOfItems | None) -> tuple[list[TextPiece], list[TextPiece]]:
    """The context and the question with the words marked that give the answer away, or are allowed to."""
    context = str(getattr(row.payload, "context", ""))
    question = str(getattr(row.payload, "question", "")) or next(iter(cells.values()), row.id)
    words = [word for word in audit.words if word.leaks or word.allowed] if audit else []

    def marked(text: str) -> list[TextPiece]:
        return marked_pieces(
            text, [span for word in words for span in occurrences(text, word.text, "leak" if word.leaks else "allowed")]
        )

    return marked(context), marked(question)


def _evidence(row: Any, cells: Mapping[str, str]) -> list[tuple[Any, list[TextPiece]]]:
    """The paragraphs of an item, with what they share with its question and its answer marked."""
    texts = [*_texts(cells), cells.get("answer-wrong") or ""]
    return [(support, marked_pieces(support.text, shared_spans(support.text, texts, "shared")))
            for support in getattr(row.payload, "evidence", ())]  # fmt: skip


def _kin(items: BrowsedItems, item: ListedItem, number: int) -> list[ListedItem]:
    """Other items of the same family."""
    if not item.family:
        return []
    return items.listed([other for other in items.family(item.family) if other != number][:_KIN])


def _duplicates(items: BrowsedItems, audit: AuditOfItems | None, item_id: str) -> list[tuple[Any, ListedItem]]:
    """The items that are nearly the same, with what the audit says of them."""
    found: list[tuple[Any, ListedItem]] = []
    for near in (audit.duplicates or {}).get(item_id, ()) if audit else ():
        number = items.number_of(near.other)
        if number is not None:
            found.append((near, items.listed([number])[0]))
    return found
