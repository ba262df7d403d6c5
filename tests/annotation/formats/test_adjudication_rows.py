import json
from dataclasses import replace
from datetime import timedelta

import pytest
from export_worlds import PEOPLE, QUESTIONS, START, as_set, material_of, materials, read, spec_of, task_of, written
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchbuilder.annotation.formats.adjudication import read_adjudication, write_adjudication
from benchbuilder.annotation.formats.models import AdjudicationNote, SkipRecord, VoteRecord
from benchbuilder.annotation.tasks import judgement_requests

SLOW = settings(suppress_health_check=list(HealthCheck))
NAMES = {"instance_id", "item_data", "labels", "source", "adjudicator", "confidence", "provenance", "num_annotators",
         "notes", "error_taxonomy", "guideline_update_flag", "time_spent_ms"}  # fmt: skip

DETAILS = {"reason": "看指南", "confidence": "high", "error_kinds": ("guideline_gap",), "guideline_gap": True}


def rows_of(material):
    return [json.loads(line) for line in written(write_adjudication, material).files["adjudication.jsonl"].splitlines()]


def small(values, rule="adjudicate", extra=()):
    """One task with a scalar and a binary question: `values` maps code to answers by question."""
    spec = spec_of({name: QUESTIONS[name] for name in ("factual", "correct")}, rule=rule)
    tasks = [task_of("问", "答", about=(("model", "m"),)), *extra]
    subjects = {what.question: s for s, what in judgement_requests(tasks[:1], spec).items()}
    people = {rater.code: rater for rater in PEOPLE}
    votes = [
        VoteRecord(people[code].person, code, people[code].role, subjects[name], name, value, "", START, 30.0)
        for code, answers in values.items()
        for name, value in answers.items()
    ]
    return material_of(spec=spec, tasks=tasks, votes=votes)


def test_the_common_names():
    (row,) = rows_of(small({"A1": {"factual": 1, "correct": 0.7}, "A2": {"factual": 1, "correct": 0.8}}))
    assert set(row) == NAMES
    assert row["labels"] == {"factual": 1, "correct": 0.75}
    assert row["source"] == "unanimous"
    assert row["adjudicator"] is None
    assert row["num_annotators"] == 2
    assert row["provenance"]["factual"] == {"source": "unanimous", "votes": {"A1": 1, "A2": 1}}
    assert row["provenance"]["correct"] == {"source": "unanimous", "votes": {"A1": 0.7, "A2": 0.8}, "by": "mean"}
    assert row["item_data"]["text_question"] == "问"


def test_what_an_adjudicator_decided():
    material = small({"A1": {"factual": 1, "correct": 0.9}, "A2": {"factual": 0, "correct": 0.9}, "J1": {"factual": 0}})
    ruling = AdjudicationNote(PEOPLE[2], material.tasks[0].key, START, 41.5, **DETAILS)
    (row,) = rows_of(replace(material, adjudication_notes=[ruling]))
    assert row["labels"] == {"factual": 0, "correct": 0.9}
    assert row["source"] == "adjudicated"
    assert (row["adjudicator"], row["confidence"], row["notes"]) == ("J1", "high", "看指南")
    assert (row["error_taxonomy"], row["guideline_update_flag"]) == (["guideline_gap"], True)
    assert row["time_spent_ms"] == 41500
    assert row["provenance"]["factual"] == {
        "source": "adjudicated", "votes": {"A1": 1, "A2": 0}, "adjudicator": "J1", "decision": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    "values",
    [{}, {"A1": {"factual": 1}}, {"A1": {"factual": 1, "correct": 0.9}, "A2": {"factual": 0, "correct": 0.9}}],
)
def test_what_is_not_decided(values):
    (row,) = rows_of(small(values))
    assert row["source"] == "unresolved"
    assert "factual" not in row["labels"]
    assert row["provenance"]["factual"]["source"] == "unresolved"


def test_names_of_people_occur_nowhere():
    text = written(write_adjudication, material_of()).files["adjudication.jsonl"].decode()
    assert not any(rater.person in text for rater in PEOPLE)
    assert "secret-model-7b" not in text


@pytest.mark.full
@settings(SLOW, max_examples=12)
@given(materials())
def test_votes_and_decisions_survive_a_round_trip(material):
    content = written(write_adjudication, material).files["adjudication.jsonl"]
    brought = read(read_adjudication, "a.jsonl", content, material)
    assert brought.problems == []
    assert as_set(replace(vote, note="") for vote in brought.votes) == as_set(
        replace(vote, note="") for vote in material.votes
    )


def test_what_an_adjudicator_said_comes_back():
    material = small({"A1": {"factual": 1, "correct": 0.9}, "A2": {"factual": 0, "correct": 0.9}, "J1": {"factual": 0}})
    ruling = AdjudicationNote(PEOPLE[2], material.tasks[0].key, START, 41.5, **DETAILS)
    content = written(write_adjudication, replace(material, adjudication_notes=[ruling])).files["adjudication.jsonl"]
    (vote,) = [v for v in read(read_adjudication, "a.jsonl", content, material).votes if v.role == "adjudicator"]
    assert (vote.reason, vote.confidence, vote.error_kinds) == ("看指南", "high", ("guideline_gap",))
    assert (vote.guideline_gap, vote.seconds, vote.where) == (True, 41.5, "a.jsonl:1")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda row: row.pop("provenance"), "a.jsonl:1: it has no item_data and provenance"),
        (lambda row: row["item_data"].update(text_answer="else"), "text_answer does not match the text of c"),
        (lambda row: row["provenance"]["factual"]["votes"].update(A9=1), "nobody in this project has the code 'A9'"),
        (lambda row: row["provenance"]["factual"]["votes"].update(J1=1), "J1 is adjudicator here, not annotator"),
        (lambda row: row["provenance"]["factual"]["votes"].update(A1=3), "factual is '3'; allowed are 0, 1"),
        (lambda row: row["provenance"].update(other={}), "provenance of other is not about what item_data shows"),
    ],
)
def test_problems_are_reported(change, what):
    material = material_of()
    rows = rows_of(material)
    change(rows[0])
    content = "\n".join(map(json.dumps, rows)).encode()
    brought = read(read_adjudication, "a.jsonl", content, material)
    assert any(what in problem for problem in brought.problems), brought.problems


@pytest.mark.push
@settings(SLOW, max_examples=25)
@given(st.recursive(st.none() | st.integers() | st.floats() | st.text(max_size=3), lambda x: st.lists(x, max_size=2)
                    | st.dictionaries(st.sampled_from(["votes", "decision", "adjudicator", "A1"]), x, max_size=3)),
       st.sampled_from(sorted(NAMES)))  # fmt: skip
def test_arbitrary_content_breaks_nothing(junk, place):
    rows = rows_of(material_of())
    rows[0][place] = junk
    brought = read(read_adjudication, "a.jsonl", "\n".join(map(json.dumps, rows)).encode(), material_of())
    assert all(problem.startswith("a.jsonl:1: ") for problem in brought.problems)


def test_losses():
    gold = task_of("x", "y", expected=(("factual", 1),))
    answers = {"A1": {"factual": 1, "correct": 0.7}, "A2": {"factual": 1, "correct": 0.8}, "J1": {"factual": 1}}
    material = small(answers, extra=[gold])
    votes = [replace(material.votes[0], note="n"), *material.votes[1:]]
    again = [replace(votes[0], value=0, created_at=START - timedelta(days=1)), *votes]
    material = replace(material, votes=again, skips=[SkipRecord(PEOPLE[0], material.tasks[0].key, START)])
    found = {loss.description: loss.count for loss in written(write_adjudication, material).losses}
    assert found == {
        "names of people: codes replace them": None,
        "when a vote was given": None,
        "earlier votes of the same person, and withdrawn votes": 1,
        "gold tasks: they decide nothing": 1,
        "decisions that are means of different numbers: they count as unanimous": 1,
        "decisions on subjects that are not in dispute: the annotators decide": 1,
        "remarks of annotators": 1,
        "how long annotators took": 5,
        "tasks that were skipped": 1,
    }
    assert len(rows_of(material)) == 1


def test_by_the_rule_mean_everything_is_decided_by_votes():
    (row,) = rows_of(small({"A1": {"factual": 1, "correct": 0.1}, "A2": {"factual": 0, "correct": 0.9}}, rule="mean"))
    assert row["labels"] == {"factual": 0, "correct": 0.5}
    assert row["provenance"]["factual"]["by"] == "mean"
