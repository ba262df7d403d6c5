import json
from dataclasses import replace
from pathlib import Path

import pytest
from export_worlds import PEOPLE, QUESTIONS, START, as_set, material_of, materials, read, spec_of, task_of, written
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchbuilder.annotation.formats.argilla import read_argilla, to_tenths, write_argilla
from benchbuilder.annotation.formats.models import SkipRecord, VoteRecord
from benchbuilder.annotation.formats.user_table import uuid_id
from benchbuilder.annotation.tasks import judgement_requests
from benchbuilder.core.errors import DataError

HERE = Path(__file__).parent
SLOW = settings(suppress_health_check=list(HealthCheck))


def as_bytes(data):
    return json.dumps(data, ensure_ascii=False).encode()


def records_of(material):
    return json.loads(written(write_argilla, material).files["records.json"])


def flattened(records):
    """What `to_list(flatten=True)` makes of records: all rows with the same keys."""
    rows = []
    for record in records:
        row = {key: record[key] for key in ("id", "status", "_server_id")} | record["fields"] | record["metadata"]
        for name, said in record["responses"].items():
            row[f"{name}.responses"] = [one["value"] for one in said]
            row[f"{name}.responses.users"] = [one["user_id"] for one in said]
            row[f"{name}.responses.status"] = [one["status"] for one in said]
        rows.append(row)
    keys = {key for row in rows for key in row}
    return [dict.fromkeys(keys) | row for row in rows]


def rounded(vote):
    return replace(vote, value=to_tenths(vote.value) / 10) if isinstance(vote.value, float) else vote


def carried(material):
    """The votes that Argilla can take: of annotators who answered whatever is required of every task."""
    spec, kept = material.project.spec, []
    asked = judgement_requests(material.tasks, material.project.spec)
    fewest = min(len(task.paragraphs) for task in material.tasks)
    for task in material.tasks:
        firsts = [task.key, *(paragraph.key for paragraph in task.paragraphs[:fewest])]
        own = [s for s, what in asked.items() if what.task_key == task.key]
        needed = {s for s in own if s.key in firsts and spec.questions_about()[asked[s].question].required}
        if not any(q.required and (q.subject == "claim" or fewest) for q in spec.questions_about().values()):
            claims = list(spec.questions_about("claim"))
            key, name = (
                (task.key, claims[0])
                if claims
                else (
                    task.paragraphs[0].key if task.paragraphs else "",
                    next(iter(spec.questions_about("evidence")), ""),
                )
            )
            needed = {s for s in own if s.key == key and asked[s].question == name} or {None}
        for rater in material.people:
            votes = [v for v in material.votes if v.code == rater.code and v.subject in own]
            if rater.role == "annotator" and needed <= {v.subject for v in votes}:
                kept += map(rounded, votes)
    return kept


@pytest.mark.push
@settings(SLOW, max_examples=15)
@given(materials())
def test_votes_survive_a_round_trip_rounded(material):
    records = records_of(material)
    for content in (as_bytes(records), as_bytes(flattened(records))):
        brought = read(read_argilla, "records.json", content, material)
        assert brought.problems == []
        assert brought.stale == 0
        assert as_set(brought.votes) == as_set(carried(material))


@pytest.mark.push
@given(st.integers(0, 10))
def test_tenths_are_exact(value):
    assert to_tenths(value / 10) == value


@pytest.mark.parametrize(("value", "rating"), [(0.75, 8), (0.25, 3), (0.05, 1), (0.449999, 4), (0.95, 10), (1, 10)])
def test_the_middle_goes_up(value, rating):
    assert to_tenths(value) == rating


# --- the shapes


def test_the_settings_in_the_shape_that_its_client_gives():
    settings_ = json.loads(written(write_argilla, material_of()).files["settings.json"])
    assert settings_ == json.loads((HERE / "argilla_settings.json").read_text("utf-8"))
    assert set(settings_) == {"guidelines", "questions", "fields", "vectors", "metadata", "allow_extra_metadata",
                              "distribution", "mapping"}  # fmt: skip
    assert {q["settings"]["type"] for q in settings_["questions"]} == {"label_selection", "rating", "text"}
    assert settings_["distribution"] == {"strategy": "overlap", "min_submitted": 2}
    names = [part["name"] for part in settings_["questions"] + settings_["fields"] + settings_["metadata"]]
    assert len(set(names)) == len(names)


def test_the_records_in_the_shape_that_its_client_gives():
    record = records_of(material_of())[0]
    assert set(record) == {"id", "fields", "metadata", "suggestions", "responses", "vectors", "status", "_server_id"}
    user = uuid_id(PEOPLE[0])
    assert record["responses"]["x10_correct"][0] == {"value": 8, "user_id": user, "status": "submitted"}
    assert record["responses"]["q_clarity"][1]["value"] == "1"
    assert record["status"] == "completed"
    assert user == "f541353d-ede9-58f2-bdde-1abdb9a106de"
    assert "secret-model-7b" not in json.dumps(record)


@pytest.mark.push
@settings(SLOW, max_examples=20)
@given(materials())
def test_nothing_that_its_server_would_refuse(material):
    made = written(write_argilla, material).files
    settings_, records = json.loads(made["settings.json"]), json.loads(made["records.json"])
    required = {q["name"] for q in settings_["questions"] if q["required"]}
    assert required
    assert any(field["required"] for field in settings_["fields"])
    kinds = {q["name"]: q["settings"] for q in settings_["questions"]}
    for question in settings_["questions"]:
        assert 1 <= len(question["name"]) <= 200
        assert 1 <= len(question["title"]) <= 500
        assert question.get("description") is None or 1 <= len(question["description"]) <= 1000
        assert set(question["name"]) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-")
        for option in question["settings"].get("options", []):
            assert "text" not in option or 1 <= len(option["text"]) <= 500
    for record in records:
        said = {}
        for name, responses in record["responses"].items():
            for one in responses:
                said.setdefault((one["user_id"], one["status"]), set()).add(name)
                options = [option["value"] for option in kinds[name].get("options", [])]
                assert one["value"] in options if options else one["value"]
        assert len({user for user, _ in said}) == len(said), "a user's answers have one status"
        assert all(required <= names for (_, status), names in said.items() if status == "submitted")


def test_long_texts_are_cut_and_still_bound():
    spec = spec_of({"factual": QUESTIONS["factual"] | {"text": "长" * 1200, "label": "l" * 600}})
    material = material_of(spec=spec)
    export = written(write_argilla, material)
    (question, _) = json.loads(export.files["settings.json"])["questions"]
    assert len(question["description"]) == 1000
    assert question["description"].endswith("…")
    found = {loss.description: loss.count for loss in export.losses}
    assert found["texts that are too long for the server: they are cut; votes refer to the whole text"] == 2
    assert len(read(read_argilla, "r.json", export.files["records.json"], material).votes) == 6


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ({"x" * 201: QUESTIONS["factual"]}, "is longer than 200 characters"),
        ({"s": QUESTIONS["clarity"] | {"options": dict.fromkeys(range(501), "")}}, "s has 501 options, more than 500"),
    ],
)
def test_what_its_server_would_refuse_is_refused_here(raw, why):
    with pytest.raises(DataError, match="would refuse") as caught:
        written(write_argilla, material_of(spec=spec_of(raw), votes=[]))
    assert why in caught.value.why


# --- frozen records


def test_records_as_its_client_writes_them():
    material = material_of(votes=[])
    brought = read(read_argilla, "r.json", (HERE / "argilla_records.json").read_bytes(), material)
    assert brought.problems == []
    assert brought.stale == 1
    assert [(v.person, v.role, v.value, v.note, v.where) for v in brought.votes] == [
        ("林医生", "annotator", 1, "同意", "r.json:1"),
        ("د. سارة", "annotator", 0, "", "r.json:1"),
        ("林医生", "annotator", 0.8, "同意", "r.json:1"),
    ]


def test_flattened_records():
    material = material_of(votes=[])
    brought = read(read_argilla, "r.json", (HERE / "argilla_records_flat.json").read_bytes(), material)
    assert brought.problems == []
    assert brought.omitted == {"answers that are not submitted": 2}
    assert [(v.person, v.value, v.note, v.where) for v in brought.votes] == [
        ("林医生", 1, "", "r.json:1"), ("林医生", 0.3, "", "r.json:1"), ("د. سارة", "改\n写", "备注", "r.json:2"),
    ]  # fmt: skip


# --- what is refused


def respond(name, value, user=None):
    def change(record):
        record["responses"] = {name: [{"value": value, "user_id": user or uuid_id(PEOPLE[0])}]}

    return change


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (respond("x10_correct", 75), "r.json:1: x10_correct is 75; allowed are whole numbers from 0 to 10"),
        (respond("x10_correct", 0.5), "x10_correct is 0.5; allowed"),
        (respond("x10_correct", True), "x10_correct is True; allowed"),
        (respond("q_factual", "2"), "q_factual is '2'; allowed are 0, 1"),
        (respond("q_factual", ["1", "0"]), "q_factual is several answers; allowed are 0, 1"),
        (respond("q_factual", "1", "00000000-0000-0000-0000-000000000000"), "there is no user '00000000"),
        (lambda r: r["fields"].update(text_answer="else"), "text_answer does not match the text of c"),
        (lambda r: r["metadata"].pop("bb_task"), "bb_task or bb_subjects is missing"),
        (lambda r: r["metadata"].update(bb_subjects="{"), "bb_task or bb_subjects is missing"),
        (lambda r: r["responses"].update(q_factual=["1"]), "q_factual has a response that is no object"),
    ],
)
def test_problems_are_reported_with_their_location(change, what):
    material = material_of()
    records = records_of(material)
    change(records[0])
    brought = read(read_argilla, "r.json", as_bytes(records), material)
    assert any(what in problem for problem in brought.problems), brought.problems


def test_flattened_lists_of_different_lengths():
    material = material_of()
    rows = flattened(records_of(material))
    rows[1]["q_factual.responses.users"].pop()
    (problem,) = read(read_argilla, "r.json", as_bytes(rows), material).problems
    assert problem == "r.json:2: q_factual.responses, its users and its status are not lists of one length"


@pytest.mark.push
@settings(SLOW, max_examples=40)
@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=4), lambda x: st.lists(x, max_size=3)
                 | st.dictionaries(st.sampled_from(["value", "user_id", "status"]), x, max_size=3), max_leaves=8),
    st.sampled_from(["responses", "metadata", "fields", "q_factual.responses", "q_factual.responses.users"]),
    st.booleans(),
)  # fmt: skip
def test_arbitrary_content_breaks_nothing(junk, place, flat):
    records = records_of(material_of())
    rows = flattened(records) if flat else records
    rows[0][place] = junk
    brought = read(read_argilla, "r.json", as_bytes(rows), material_of())
    assert all(problem.startswith("r.json:1: ") for problem in brought.problems)


# --- losses


def test_losses():
    material = material_of()
    skip = SkipRecord(PEOPLE[0], material.tasks[0].key, START)
    gold = task_of("x", "y", expected=(("factual", 1),))
    tasks = [*material.tasks, gold]
    votes = [replace(v, value=0.46) if v.question == "correct" and v.code == "A2" else v for v in material.votes]
    votes = [v for v in votes if not (v.code == "A1" and v.question == "clarity" and v.subject.key == tasks[1].key)]
    full = replace(material, tasks=tasks, skips=[skip], votes=votes)
    found = {loss.description: loss.count for loss in written(write_argilla, full).losses}
    assert found["numbers finer than 0.1: they are rounded"] == 6
    assert found["of these, numbers that cross the threshold"] == 3
    assert found["decisions of adjudicators"] == 5
    assert found["answers of people who left a required question open: they are drafts"] == 4
    assert found["tasks that were skipped"] == 1
    assert found["expected answers of gold tasks"] == 1
    assert found["questions are made for 2 paragraphs: tasks with fewer show all of them"] == 3
    assert found["when a vote was given, and how long it took"] is None
    assert found["the order of the guiding questions: those about paragraphs come after all others"] is None


def test_a_recipe_that_requires_nothing():
    spec = spec_of({"advice": QUESTIONS["advice"]})
    export = written(write_argilla, material_of(spec=spec))
    assert json.loads(export.files["settings.json"])["questions"][0]["required"]
    assert "no question is required in the recipe: the first one is required there: 1" in map(str, export.losses)


def test_two_remarks_of_a_person():
    spec = spec_of({name: QUESTIONS[name] for name in ("factual", "clarity")})
    tasks = [task_of("a", "b")]
    subjects = list(judgement_requests(tasks, spec).items())
    votes = [
        VoteRecord("林医生", "A1", "annotator", s, what.question, 1, f"n{number}", START)
        for number, (s, what) in enumerate(subjects)
    ]
    export = written(write_argilla, material_of(spec=spec, tasks=tasks, votes=votes))
    assert "earlier remarks of a person on a task: only the latest is kept: 1" in map(str, export.losses)
