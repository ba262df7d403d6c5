import json
from dataclasses import replace
from datetime import timedelta

import pytest
from export_worlds import PEOPLE, START, as_set, material_of, read, task_of, written
from hypothesis import given, settings
from hypothesis import strategies as st

from benchbuilder.annotation.database.models import AnnotationEvent, QuestionWording, VoteEvent
from benchbuilder.annotation.formats.history import (
    adjudication_notes,
    build_export_input,
    open_skips,
    read_history,
    write_history,
)
from benchbuilder.annotation.formats.registry import VOTE_FORMATS
from benchbuilder.annotation.tasks import judgement_requests
from benchbuilder.core.errors import DataError


def event(number, kind, task="c1", rater=PEOPLE[0], seconds=10.0, **detail):
    at = START + timedelta(minutes=number)
    return AnnotationEvent(number, "answers", task, rater.person, rater.code, kind, at, seconds, None, detail)


def history_of(material):
    """Each person and task in one submission, and the first vote changed, taken back and given again."""
    lines, events, claims = (
        [],
        {},
        {s: what.task_key for s, what in judgement_requests(material.tasks, material.project.spec).items()},
    )
    for vote in material.votes:
        pair = (vote.code, claims[vote.subject])
        one = events.setdefault(pair, event(len(events) + 1, "submit", pair[1], vote.rater, vote.seconds))
        lines.append(
            VoteEvent(len(lines) + 1, "answers", pair[1], vote.subject, vote.question, vote.person, vote.code,
                      vote.role, vote.value, vote.note, one.created_at, "app", one.id)
        )  # fmt: skip
    undo = event(len(events) + 1, "undo", lines[0].task)
    again = event(len(events) + 2, "submit", lines[0].task)
    lines.append(replace(lines[0], id=len(lines) + 1, value=None, event=undo.id, created_at=undo.created_at))
    lines.append(replace(lines[0], id=len(lines) + 1, value=0, event=again.id, created_at=again.created_at))
    return lines, [*events.values(), undo, again]


def whole():
    material = material_of()
    lines, events = history_of(material)
    return build_export_input(material.project, material.tasks, PEOPLE, lines, events)


def test_votes_are_gathered_in_their_order_with_their_seconds():
    material = whole()
    assert len(material.votes) == len(material_of().votes) + 2
    counting = list(material.counting_votes())
    first = material_of().votes[0]
    assert as_set(counting) == as_set([*material_of().votes[1:], replace(first, value=0)])
    assert {vote.seconds for vote in counting} == {10.0, 41.5, 42.5, 43.5}


def test_the_history_has_everything_in_chronological_order():
    material = whole()
    lines = [json.loads(line) for line in written(write_history, material).files["history.jsonl"].splitlines()]
    assert [line["type"] for line in lines[:4]] == ["project", "task", "task", "task"]
    assert sum(line["type"] == "event" for line in lines) == len(material.events)
    votes = [line for line in lines if line["type"] == "vote"]
    assert [line["value"] for line in votes][-2:] == [None, 0]
    seen = set()
    for line in lines:
        if line["type"] == "event":
            seen.add(line["id"])
        assert line["type"] != "vote" or line["event"] in seen
    assert lines[0]["questions"]["correct"]["answer"] == "scalar"
    assert lines[1]["about"] == {"model": "secret-model-7b"}
    text = written(write_history, material).files["history.jsonl"].decode()
    assert not any(rater.person in text for rater in PEOPLE)


def test_the_votes_that_count_are_read_back():
    material = whole()
    brought = read(read_history, "h.jsonl", written(write_history, material).files["history.jsonl"], material)
    assert brought.problems == []
    assert as_set(brought.votes) == as_set(material.counting_votes())
    assert brought.omitted == {"votes that were replaced or withdrawn": 2}


@pytest.mark.parametrize(
    ("change", "what"),
    [({"code": "A9"}, "nobody in this project has the code 'A9'"), ({"role": "lead"}, "A1 is annotator here, not lead"),
     ({"value": 7}, "factual is '7'; allowed are 0, 1"),
     ({"id": "x"}, "a vote needs an id, a code, a key and a wording"),
     ({"value": [1]}, "factual is several answers")],
)  # fmt: skip
def test_problems_are_reported_with_their_line(change, what):
    material = material_of()
    lines, events = history_of(material)
    material = build_export_input(material.project, material.tasks, PEOPLE, lines[:1], events)
    rows = [json.loads(line) for line in written(write_history, material).files["history.jsonl"].splitlines()]
    number = next(number for number, row in enumerate(rows, start=1) if row["type"] == "vote")
    rows[number - 1] |= change
    brought = read(read_history, "h.jsonl", "\n".join(map(json.dumps, rows)).encode(), material)
    assert len(brought.problems) == 1
    assert brought.problems[0].startswith(f"h.jsonl:{number}: ")
    assert what in brought.problems[0]


def test_what_adjudicators_said_last_and_did_not_take_back():
    judge = PEOPLE[2]
    events = [
        event(1, "submit", "c1", judge, 8.0, reason="old", error_kinds=["a"]),
        event(2, "submit", "c1", judge, 9.0, reason="new", confidence="high", guideline_gap=True),
        event(3, "submit", "c2", judge, reason="gone"),
        event(4, "undo", "c2", judge, undone=3),
        event(5, "submit", "c3", PEOPLE[0], reason="no adjudicator"),
    ]
    (ruling,) = adjudication_notes(events, PEOPLE)
    assert (ruling.task, ruling.reason, ruling.confidence, ruling.guideline_gap) == ("c1", "new", "high", True)
    assert (ruling.error_kinds, ruling.seconds) == ((), 9.0)


def test_open_skips():
    events = [event(1, "skip", "c1"), event(2, "skip", "c2"), event(3, "submit", "c2"), event(4, "open", "c1")]
    assert [(skip.task, skip.rater.code) for skip in open_skips(events, PEOPLE)] == [("c1", "A1")]


# --- the list of formats


@pytest.mark.parametrize("name", [name for name, form in VOTE_FORMATS.items() if form.writer])
def test_each_format_goes_there_and_back(name):
    material, form = whole(), VOTE_FORMATS[name]
    export = written(form.writer, material)
    (content,) = [data for file, data in export.files.items() if file.endswith(form.suffix) and file != "settings.json"]
    brought = read(form.reader, f"file{form.suffix.split()[0]}", content, material)
    assert brought.problems == []
    assert brought.votes
    assert form.limitations
    assert form.needs_users == ("users.csv" in export.files)
    assert export.losses
    assert written(form.writer, material).files == export.files


@pytest.mark.push
@pytest.mark.parametrize("name", list(VOTE_FORMATS))
@settings(max_examples=10)
@given(st.binary(max_size=60))
def test_bytes_that_are_no_file_are_problems_or_nothing(name, content):
    form = VOTE_FORMATS[name]
    brought = read(form.reader, f"file{form.suffix.split()[0]}", content, material_of())
    assert not brought.votes
    if brought.problems:
        with pytest.raises(DataError, match="no vote was counted"):
            brought.votes_or_raise()


def test_retired_tasks_and_wordings_are_included():
    material = material_of()
    gone = task_of("旧问题", "旧回答")
    old = QuestionWording("w0", "factual", {"text": "以前怎么问的？"}, START)
    text = written(write_history, replace(material, retired=[gone], wordings=[old])).files["history.jsonl"].decode()
    rows = [json.loads(line) for line in text.splitlines()]
    tasks = {row["key"]: row["live"] for row in rows if row["type"] == "task"}
    assert tasks == {task.key: True for task in material.tasks} | {gone.key: False}
    (wording,) = [row for row in rows if row["type"] == "wording"]
    assert (wording["wording"], wording["definition"]["text"]) == ("w0", "以前怎么问的？")
