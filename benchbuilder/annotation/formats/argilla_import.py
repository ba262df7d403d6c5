"""Reads votes from Argilla 2: records as its client writes them, nested or flattened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import IO, Any, NamedTuple

from benchbuilder.annotation.base import Subject
from benchbuilder.annotation.formats.models import ExportInput, ParsedVotes
from benchbuilder.annotation.formats.parse_votes import VoteCollector, load_json_rows
from benchbuilder.annotation.formats.questions import NOTE, bind_row
from benchbuilder.annotation.formats.user_table import UserTable, make_user_table, uuid_id

_RESPONSES_SUFFIX = ".responses"
_SUBMITTED = "submitted"


class _Response(NamedTuple):
    """The answer of one user to one question; without a status it counts as submitted."""

    question: str
    value: object
    user: object
    status: object


def read_argilla(name: str, file: IO[bytes], export: ExportInput, users: UserTable | None = None) -> ParsedVotes:
    """Read the votes of `Dataset.records.to_json`, or of ``to_list(flatten=True)`` as JSON.

    Only submitted answers count. The flattened form marks drafts; the nested form marks them only if benchbuilder wrote
    it. `users` identifies the users; without it, ids are those that `write_argilla` makes from codes.
    """
    collector = VoteCollector(export)
    table = users or make_user_table(export.all_raters(), uuid_id)
    for number, row in enumerate(load_json_rows(name, file, collector.parsed), start=1):
        where = f"{name}:{number}"
        if not row:
            continue
        responses = [response for response in _responses(where, row, collector) if response.value is not None]
        if not responses:
            continue
        try:
            subjects = bind_row(_flatten_row(row), collector.task_with)
        except ValueError as error:
            collector.add_problem(where, str(error))
            continue
        _collect_responses(where, responses, table, subjects, collector)
    return collector.parsed


def _flatten_row(row: Mapping[str, Any]) -> dict[str, Any]:
    nested = [row[part] for part in ("fields", "metadata") if isinstance(row.get(part), dict)]
    return {key: value for part in [row, *nested] for key, value in part.items()}


def _responses(where: str, row: Mapping[str, Any], collector: VoteCollector) -> Iterator[_Response]:
    nested = row.get("responses")
    if isinstance(nested, dict):
        for question, answers in nested.items():
            for response in answers if isinstance(answers, list) else [answers]:
                if isinstance(response, dict):
                    status = response.get("status") or _SUBMITTED
                    yield _Response(question, response.get("value"), response.get("user_id"), status)
                else:
                    collector.add_problem(where, f"{question} has a response that is no object")
        return
    for key, values in row.items():
        if not key.endswith(_RESPONSES_SUFFIX) or values is None:
            continue
        question = key.removesuffix(_RESPONSES_SUFFIX)
        people, states = row.get(f"{key}.users"), row.get(f"{key}.status")
        if isinstance(values, list) and states is None:
            states = [_SUBMITTED] * len(values)
        lists: list[list[Any]] = [part for part in (values, people, states) if isinstance(part, list)]
        if len(lists) < 3 or len({len(part) for part in lists}) > 1:
            collector.add_problem(where, f"{key}, its users and its status are not lists of one length")
            continue
        for value, user, status in zip(*lists, strict=True):
            yield _Response(question, value, user, status or _SUBMITTED)


def _collect_responses(
    where: str, responses: list[_Response], table: UserTable, subjects: Mapping[str, Subject], collector: VoteCollector
) -> None:
    notes = {
        str(response.user): response.value
        for response in responses
        if response.question == NOTE and response.status == _SUBMITTED
    }
    answered = {str(response.user) for response in responses if response.question != NOTE}
    strangers: set[str] = set()
    for response in responses:
        control = _control(response.question)
        user = table.find(response.user)
        if response.status != _SUBMITTED:
            collector.parsed.add_omitted("answers that are not submitted")
        elif user is None:
            if str(response.user) not in strangers:
                collector.add_problem(
                    where, f"there is no user {response.user!r} in this project; add them to the table of users"
                )
            strangers.add(str(response.user))
        elif control in subjects:
            raw = response.value
            if response.question.startswith("x10_"):
                raw = _tenth(raw)
                if raw is None:
                    collector.add_problem(
                        where, f"{response.question} is {response.value!r}; allowed are whole numbers from 0 to 10"
                    )
                    continue
            note = notes.get(str(response.user), "")
            collector.add_answer(
                user.rater, subjects[control], raw, where=where, label=response.question,
                note=note if isinstance(note, str) else "",
            )  # fmt: skip
        elif response.question == NOTE and str(response.user) not in answered:
            collector.parsed.add_omitted("remarks without an answer")


def _control(question: str) -> str:
    return f"q_{question.removeprefix('x10_')}" if question.startswith("x10_") else question


def _tenth(raw: object) -> float | None:
    if isinstance(raw, bool) or not isinstance(raw, int | float) or raw not in range(11):
        return None
    return int(raw) / 10
