"""The page of a row, and that of a unit of a file: where it comes from, and what became of it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import regex
from fastapi import APIRouter
from markupsafe import Markup, escape
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from benchbuilder.core import printable_text
from benchbuilder.explorer.app.explorer_site import page_request
from benchbuilder.explorer.app.row_addresses import RowsQuery, row_address, rows_address, unit_address
from benchbuilder.explorer.reading.build_folders import BuildFolder, read_again
from benchbuilder.explorer.reading.model_turns import TurnsBehind, turns_behind
from benchbuilder.explorer.reading.row_story import RowStory, read_story, read_unit, texts_of
from benchbuilder.explorer.reading.source_lines import source_lines
from benchbuilder.explorer.reading.vote_counts import CountedVotes, vote_counts
from benchbuilder.explorer.reading.word_weights import word_weights

router = APIRouter()

_ROW_ID = re.compile(r"\b[a-z]+-[0-9a-f]{20}\b")
_LONGEST_FIELD, _LONGEST_WHOLE = 20_000, 500_000
_MOST_VALUES = 200


@router.get("/b/{name}/row/{row_id}.json")
def row_data(request: Request, name: str, row_id: str) -> Response:
    """All fields of a row as a file."""
    build = page_request(request).build(name)
    story = read_again(lambda: read_story(build, row_id))
    text = json.dumps(story.row.model_dump(mode="json"), ensure_ascii=False, indent=1)
    headers = {"Content-Disposition": f'attachment; filename="{story.row.id}.json"'}
    return Response(text.encode("utf-8", "replace"), media_type="application/json", headers=headers)


@router.get("/b/{name}/row/{row_id}")
def row_page(request: Request, name: str, row_id: str, whole: str = "") -> Response:
    """A row: its texts, its way up and down, the prompt and reply behind it, and all its fields."""
    page = page_request(request)
    build = page.build(name)
    story = read_again(lambda: read_story(build, row_id))
    origin = story.row.origin
    return page.page(
        "row.j2", build=build, here="rows", story=story, turns=_turns(build, story),
        line=source_lines(build.folder, origin.file, [origin.line]).get(origin.line, ""),
        fields=shown_data(story.row.model_dump(mode="json"), whole == "1"), is_whole=whole == "1",
        command=_command(build, story.row.id), evidence=_evidence(story),
        votes=_votes(build, story), words=_words_of(story), weights=_weights(build, story), **_links(build),
    )  # fmt: skip


@router.get("/b/{name}/unit/{reference:path}")
def unit_page(request: Request, name: str, reference: str) -> Response:
    """A unit of a file, named FILE:LINE: its line, the rows that were read from it, and what became of them."""
    page = page_request(request)
    build = page.build(name)
    file, _, number = reference.rpartition(":")
    if not (number.isascii() and number.isdigit()) or len(number) > 12:
        raise HTTPException(404)
    branches, rows = read_again(lambda: read_unit(build, file, int(number)))
    return page.page(
        "unit.j2", build=build, here="rows", file=file, number=int(number), branches=branches,
        rows=[(step, row, texts_of(row)) for step, row in rows],
        line=source_lines(build.folder, file, [int(number)]).get(int(number), ""),
        command=_command(build, reference), **_links(build),
    )  # fmt: skip


def _links(build: BuildFolder) -> dict[str, Any]:
    def linked(text: str) -> Markup:
        """A text in which ids of rows are links."""
        pieces, at = list[Markup](), 0
        for found in _ROW_ID.finditer(text):
            pieces.append(escape(printable_text(text[at : found.start()])))
            pieces.append(Markup('<a href="{}">{}</a>').format(row_address(build, found[0]), found[0]))
            at = found.end()
        return Markup("").join([*pieces, escape(printable_text(text[at:]))])

    def rows_of(step: str) -> str:
        return rows_address(build, RowsQuery(step))

    return {
        "row_of": partial(row_address, build), "unit_of": partial(unit_address, build), "linked": linked,
        "rows_of": rows_of,
    }  # fmt: skip


def _turns(build: BuildFolder, story: RowStory) -> TurnsBehind | None:
    """The prompts and replies behind a row that a model made; ``None`` for other rows."""
    return turns_behind(build, story.step, story.row) if "/model" in story.row.produced_by.rule else None


def _votes(build: BuildFolder, story: RowStory) -> Sequence[CountedVotes]:
    """The votes on the candidate that the row is, or that an item was made of."""
    if story.row.name not in ("candidate", "item"):
        return ()
    return vote_counts(build, [story.row, *(step.row for step in (*story.line, *story.beside))])


def _weights(build: BuildFolder, story: RowStory) -> dict[str, list[tuple[str, float]]]:
    """The words that a paragraph was found by, by the id of its passage, those that added most first."""
    if not _evidence(story):
        return {}
    found = word_weights(build, [story.row, *(step.row for step in (*story.line, *story.beside))])
    return {passage: sorted(words.items(), key=lambda pair: -pair[1]) for passage, words in found.items()}


def _evidence(story: RowStory) -> list[dict[str, Any]]:
    """The paragraphs that an item shows."""
    payload: Any = story.row.model_dump(mode="json").get("payload") or {}
    evidence: Any = payload.get("evidence") if isinstance(payload, dict) else None
    return [each for each in evidence or () if isinstance(each, dict)]


def _words_of(story: RowStory) -> Callable[[str, Sequence[tuple[str, float]]], list[tuple[str, bool]]]:
    """Cuts a paragraph into pieces, each with whether it is marked: the words that it was found by.

    Where these are not known, they are those that the question and its answer have too.
    """
    query = " ".join(story.texts.get(name, "") for name in ("question", "answer"))

    def words(text: str, weights: Sequence[tuple[str, float]]) -> list[tuple[str, bool]]:
        return marked_words([word for word, _ in weights], text) if weights else shared_words(query, text)

    return words


def shown_data(data: Any, whole: bool) -> str:
    """The fields of a row as JSON; long texts and lists are cut, those over `_LONGEST_WHOLE` also with `whole`."""
    return json.dumps(_cut(data, _LONGEST_WHOLE if whole else _LONGEST_FIELD), ensure_ascii=False, indent=1)


def _cut(data: Any, most: int) -> Any:
    if isinstance(data, dict):
        return {name: _cut(value, most) for name, value in data.items()}
    if isinstance(data, list):
        return [_cut(value, most) for value in data[:_MOST_VALUES]] + (["…"] if len(data) > _MOST_VALUES else [])
    return f"{data[:most]}…" if isinstance(data, str) and len(data) > most else data


def _command(build: BuildFolder, reference: str) -> str:
    """The command that says the same; without the arguments of the build, those of its last one."""
    words = build.words or (f"recipe={build.recipe.get('name', 'NAME')}",)
    return shlex.join(["benchbuild", "why", reference, *words])


_WORDS = regex.compile(r"[\p{L}\p{M}\p{N}]+")
_NO_BLANKS = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]")
_SHORTEST = 2


def shared_words(query: str, text: str) -> list[tuple[str, bool]]:
    """The pieces of `text`, each with whether `query` has it too: whole words, or runs of two signs and more.

    >>> shared_words("Does aspirin help?", "Aspirin may help.")
    [('Aspirin', True), (' may ', False), ('help', True), ('.', False)]
    """
    held = query.casefold()
    words = set(_WORDS.findall(held))
    pieces: list[tuple[str, bool]] = []
    at = 0
    for word in _WORDS.finditer(text):
        _add(pieces, text[at : word.start()], False)
        at = word.end()
        if _NO_BLANKS.search(word[0]):
            for piece, hit in _shared_runs(held, word[0]):
                _add(pieces, piece, hit)
        else:
            _add(pieces, word[0], word[0].casefold() in words)
    _add(pieces, text[at:], False)
    return pieces


def marked_words(words: Sequence[str], text: str) -> list[tuple[str, bool]]:
    """The pieces of `text`, each with whether it is one of `words`; of two that begin together the longer.

    >>> marked_words(["aspirin", "help"], "Aspirin helps.")
    [('Aspirin', True), (' ', False), ('help', True), ('s.', False)]
    """
    either = "|".join(regex.escape(word) for word in sorted(words, key=len, reverse=True) if word)
    pieces: list[tuple[str, bool]] = []
    at = 0
    for found in regex.finditer(either, text, regex.IGNORECASE) if either else ():
        _add(pieces, text[at : found.start()], False)
        at = found.end()
        _add(pieces, found[0], True)
    _add(pieces, text[at:], False)
    return pieces


def _shared_runs(held: str, word: str) -> list[tuple[str, bool]]:
    """The longest runs of signs from the left that `held` has too."""
    pieces: list[tuple[str, bool]] = []
    at = 0
    while at < len(word):
        end = at
        while end < len(word) and word[at : end + 1].casefold() in held:
            end += 1
        hit = end - at >= _SHORTEST
        end = end if hit else at + 1
        _add(pieces, word[at:end], hit)
        at = end
    return pieces


def _add(pieces: list[tuple[str, bool]], text: str, hit: bool) -> None:
    if not text:
        return
    if pieces and pieces[-1][1] == hit:
        text = pieces.pop()[0] + text
    pieces.append((text, hit))
