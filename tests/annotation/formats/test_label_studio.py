import json
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
from export_worlds import (
    PEOPLE,
    QUESTIONS,
    as_set,
    material_of,
    materials,
    read,
    spec_of,
    task_of,
    tasks_of,
    votes_of,
    written,
)
from export_worlds import questions as random_questions
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from label_studio_like import exported, minimal

from benchbuilder.annotation.formats.label_studio import write_label_studio
from benchbuilder.annotation.formats.label_studio_import import read_label_studio, unwrap_answer
from benchbuilder.annotation.formats.models import Rater, SkipRecord
from benchbuilder.annotation.formats.user_table import UserTable, read_user_table
from benchbuilder.annotation.tasks import judgement_requests
from benchbuilder.core.errors import DataError

HERE = Path(__file__).parent
SLOW = settings(suppress_health_check=list(HealthCheck))


def as_bytes(data):
    return json.dumps(data, ensure_ascii=False).encode()


def rich():
    """With a gold task and a skipped one."""
    tasks = [*tasks_of(), task_of("planted", "known", expected=(("factual", 1), ("correct", 0.9)))]
    material = material_of(tasks=tasks)
    return replace(material, skips=[SkipRecord(PEOPLE[0], tasks[1].key, material.votes[0].created_at, 3.0)])


def data_of(material):
    return json.loads(written(write_label_studio, material).files["tasks.json"])


# --- the SDK


def run_sdk(folders):
    if find_spec("label_studio_sdk") is None:
        pytest.skip("label-studio-sdk is not installed")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", HERE / "try_sdk.py", *folders], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.full
def test_its_sdk_takes_the_files_and_makes_the_same_json_min(tmp_path):
    found = [rich(), material_of(votes=[]), material_of(tasks=[], votes=[])]

    @settings(SLOW, max_examples=10, database=None)
    @given(materials())
    def collect(material):
        found.append(material)

    collect()
    folders = []
    for number, material in enumerate(found):
        folder = tmp_path / str(number)
        folder.mkdir()
        folders.append(folder)
        files = written(write_label_studio, material).files
        for name, content in files.items():
            (folder / name).write_bytes(content)
        (folder / "export.json").write_bytes(as_bytes(exported(files["tasks.json"])))
    assert run_sdk(folders) == []
    for folder in folders:
        told = json.loads((folder / "min" / "result.json").read_text("utf-8"))
        assert told == minimal(json.loads((folder / "export.json").read_text("utf-8")))


# --- there and back


@pytest.mark.push
@settings(SLOW, max_examples=15)
@given(materials())
def test_votes_survive_a_round_trip(material):
    tasks = written(write_label_studio, material).files["tasks.json"]
    export = exported(tasks)
    for content in (tasks, as_bytes(export), as_bytes(minimal(export))):
        brought = read(read_label_studio, "export.json", content, material)
        assert brought.problems == []
        assert brought.stale == 0
        assert as_set(brought.votes) == as_set(material.votes)
        assert {vote.seconds for vote in brought.votes} <= {12.0}


@pytest.mark.push
@settings(SLOW, max_examples=15)
@given(materials(), st.randoms(use_true_random=False))
def test_a_missing_key_is_no_answer(material, random):
    rows = minimal(exported(written(write_label_studio, material).files["tasks.json"]))
    gone = 0
    for row in rows:
        for key in [key for key in row if key.startswith("q_")]:
            if random.random() < 0.4:
                gone += 1
                row[key] = random.choice([None, [], ""])
            elif random.random() < 0.4:
                gone += 1
                del row[key]
    brought = read(read_label_studio, "min.json", as_bytes(rows), material)
    assert brought.problems == []
    assert len(brought.votes) == len(material.votes) - gone


def test_the_other_users_by_a_table():
    material = material_of()
    table = ("role,id,email,person", "annotator,7,lin@example.org,林医生", "annotator,8,,د. سارة",
             'adjudicator,9,m@x.org,"Meta, M."', "")  # fmt: skip
    users, problems = read_user_table("users.csv", "\r\n".join(table).encode())
    assert problems == []
    rows = json.loads(written(write_label_studio, material, users).files["tasks.json"])
    assert {a["completed_by"] for row in rows for a in row["annotations"]} == {7, 8, 9}
    for row in rows:
        for annotation in row["annotations"]:
            one = annotation["completed_by"]
            annotation["completed_by"] = {7: {"id": 7}, 8: "8", 9: {"email": "M@x.org", "first_name": ""}}[one]
    brought = read(read_label_studio, "export.json", as_bytes(rows), material, users)
    assert brought.problems == []
    assert as_set(brought.votes) == as_set(material.votes)
    without = read(read_label_studio, "export.json", as_bytes(rows), material)
    assert len(without.problems) == 7
    assert "export.json:1, annotation 1: there is no user {'id': 7} in this project" in without.problems[0]


def test_ids_made_of_codes_stay_when_people_join():
    later = (*PEOPLE, Rater("New", "A3", "annotator"))
    before = written(write_label_studio, material_of())
    brought = read(read_label_studio, "tasks.json", before.files["tasks.json"], material_of(people=later))
    assert as_set(brought.votes) == as_set(material_of().votes)


# --- frozen files in the shape of real exports


def test_a_json_export():
    material = material_of(votes=[])
    brought = read(read_label_studio, "e.json", (HERE / "label_studio_export.json").read_bytes(), material)
    assert brought.problems == []
    assert brought.stale == 2
    assert brought.omitted == {"skipped annotations": 1, "drafts": 1, "remarks without an answer": 1}
    assert [(v.person, v.role, v.value, v.note, v.seconds, v.where) for v in brought.votes] == [
        ("林医生", "annotator", 1, "同意\n第二条", 33.1, "e.json:1, annotation 1"),
        ("林医生", "annotator", 3, "同意\n第二条", 33.1, "e.json:1, annotation 1"),
        ("林医生", "annotator", 1.0, "同意\n第二条", 33.1, "e.json:1, annotation 1"),
        ("林医生", "annotator", "第一行\n第二行", "同意\n第二条", 33.1, "e.json:1, annotation 1"),
        ("Meta, M.", "adjudicator", 0, "", None, "e.json:1, annotation 3"),
        ("د. سارة", "annotator", 0.35, "", 8.0, "e.json:2, annotation 1"),
    ]


def test_a_json_min_export():
    material = material_of(votes=[])
    brought = read(read_label_studio, "e.json", (HERE / "label_studio_export_min.json").read_bytes(), material)
    assert brought.problems == []
    assert [(v.person, v.value, v.note, v.seconds, v.where) for v in brought.votes] == [
        ("林医生", 0, "ok", 12.3, "e.json:1"),
        ("林医生", 0.75, "ok", 12.3, "e.json:1"),
        ("林医生", 1, "ok", 12.3, "e.json:1"),
        ("د. سارة", "=1+1", "", 4.0, "e.json:2"),
    ]


@pytest.mark.parametrize(
    ("raw", "value"),
    [("1", "1"), (["1"], "1"), ({"choices": ["1"]}, "1"), ([{"choices": ["1"]}], "1"), (3, 3), ([{"number": 3}], 3),
     ({"number": 0}, 0), ([], None), ("", None), ({"text": []}, None), ({"text": ["a", "b"]}, ["a", "b"]),
     ({"taxonomy": [["a"]]}, None), (None, None)],
)  # fmt: skip
def test_what_answers_are_wrapped_in(raw, value):
    assert unwrap_answer(raw) == value


# --- what is refused


def changed(change, material=None):
    material = material or material_of()
    rows = data_of(material)
    change(rows)
    return read(read_label_studio, "e.json", as_bytes(rows), material)


def set_at(row, key, value):
    def change(rows):
        rows[row]["data"][key] = value

    return change


def answer(number, value):
    def change(rows):
        rows[0]["annotations"][0]["result"][number]["value"] = value

    return change


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (set_at(0, "text_question", "另一个问题"), "e.json:1: text_question does not match the text of c"),
        (set_at(0, "paragraph_2", "另一段"), "e.json:1: paragraph_2 does not match the text of c"),
        (set_at(1, "bb_task", None), "e.json:2: bb_task or bb_subjects is missing"),
        (lambda rows: rows[2]["data"].pop("bb_subjects"), "e.json:3: bb_task or bb_subjects is missing"),
        (lambda rows: rows[2]["data"]["bb_subjects"].update(q_factual="c1"), "bb_subjects says 'c1' of q_factual"),
        (lambda rows: rows[2]["data"].update(bb_subjects=rows[0]["data"]["bb_subjects"]), "to another task than"),
        (lambda rows: rows[0]["annotations"][0].update(completed_by=4711), "annotation 1: there is no user 4711"),
        (lambda rows: rows[0]["annotations"][0].update(completed_by=None), "annotation 1: there is no user None"),
        (lambda rows: rows[0]["annotations"].append("x"), "annotation 4: it is not an annotation"),
        (answer(0, {"choices": ["2"]}), "q_factual is '2'; allowed are 0, 1"),
        (answer(0, {"choices": ["1", "0"]}), "q_factual is several answers; allowed are 0, 1"),
        (answer(2, {"number": 1.5}), "q_correct is '1.5'; allowed are numbers from 0 to 1"),
        (answer(2, {"number": True}), "q_correct is 'True'; allowed"),
        (answer(3, {"text": ["x" * 4001]}), "longer than 4000"),
        (lambda rows: rows.append(7), "e.json:4: it is no object"),
    ],
)  # fmt: skip
def test_problems_are_reported_with_their_location(change, what):
    brought = changed(change)
    assert any(what in problem for problem in brought.problems), brought.problems
    with pytest.raises(DataError):
        brought.votes_or_raise()


def test_one_person_who_says_two_things():
    def twice(rows):
        again = json.loads(json.dumps(rows[0]["annotations"][0]))
        rows[0]["annotations"].append(again)

    assert changed(twice).problems == []
    assert as_set(changed(twice).votes) == as_set(material_of().votes)

    def against(rows):
        twice(rows)
        rows[0]["annotations"][-1]["result"][0]["value"] = {"choices": ["0"]}

    (problem,) = changed(against).problems
    assert "annotation 4: 林医生 says 0 to q_factual, but 1 at e.json:1, annotation 1; keep one" in problem


def test_all_problems_at_once_but_not_all_shown():
    tasks = [task_of(f"题{n}", "答") for n in range(30)]
    material = material_of(tasks=tasks)

    def spoil(rows):
        for row in rows:
            row["data"]["text_answer"] = "else"

    brought = changed(spoil, material)
    assert len(brought.problems) == 30
    with pytest.raises(DataError) as caught:
        brought.votes_or_raise()
    assert "30 problems" in str(caught.value)
    assert "and 10 more" in str(caught.value)
    assert caught.value.where == "e.json:1"


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 5000, b'"x"', b"[[1]]", b"[null]", b"NaN"])
def test_files_that_are_no_export(content):
    brought = read(read_label_studio, "e.json", content, material_of())
    assert not brought.votes
    assert len(brought.problems) == 1


anything = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["data", "annotations", "result", "value", "from_name", "choices", "completed_by", "bb_task", "drafts"]
    ), inner, max_size=4), max_leaves=12,
)  # fmt: skip


@pytest.mark.push
@settings(SLOW, max_examples=25)
@given(anything, st.sampled_from(["", "data", "annotations", "result", "bb_subjects"]))
def test_arbitrary_content_breaks_nothing(junk, place):
    rows = data_of(material_of())
    first = rows[0]
    holder = {"data": first, "annotations": first, "result": first["annotations"][0], "bb_subjects": first["data"]}
    if place:
        holder[place][place] = junk
    else:
        rows[0] = junk
    brought = read(read_label_studio, "e.json", as_bytes(rows), material_of())
    assert all(problem.startswith("e.json:") for problem in brought.problems)


# --- stale


def test_stale_votes_are_counted_and_left_out():
    then = material_of()
    tasks = written(write_label_studio, then).files["tasks.json"]
    reworded = spec_of({name: q | ({"text": "?"} if name == "factual" else {}) for name, q in QUESTIONS.items()})
    changed_tasks = [replace(then.tasks[0], paragraphs=then.tasks[0].paragraphs[1:]), *then.tasks[2:]]
    now = material_of(spec=reworded, tasks=changed_tasks, votes=[])
    brought = read(read_label_studio, "t.json", tasks, now)
    assert brought.problems == []
    kept = judgement_requests(changed_tasks, reworded)
    assert as_set(brought.votes) == as_set(vote for vote in then.votes if vote.subject in kept)
    assert brought.stale == len(then.votes) - len(brought.votes) > 0


# --- the configuration


def test_the_controls_that_a_question_becomes():
    config = fromstring(written(write_label_studio, material_of()).files["labeling_config.xml"])
    found = {tag.get("name"): tag for tag in config.iter() if tag.get("toName")}
    assert list(found) == ["q_factual", "q_clarity", "q_correct", "q_advice", "q_support-1", "q_support-2", "bb_note"]
    assert [(c.get("value"), c.get("alias"), c.get("hotkey")) for c in found["q_clarity"]] == [
        ("1: 看不懂", "1", "3"), ("2: 勉强", "2", "4"), ("3: 清楚 <b>&\"'", "3", "5"),
    ]  # fmt: skip
    number = found["q_correct"]
    assert [number.get(name) for name in ("min", "max", "step", "slider")] == ["0", "1", "0.05", "true"]
    assert found["q_advice"].get("required") is None
    assert found["q_support-2"].get("toName") == "paragraph_2"
    keys = [choice.get("hotkey") for choice in config.iter("Choice")]
    assert len(set(keys)) == len(keys)


def test_controls_that_only_some_tasks_have_are_not_required():
    spec = spec_of({"support": QUESTIONS["support"] | {"required": True}})
    tasks = [task_of("一", "a", [("", "p"), ("", "q")]), task_of("二", "b", [("", "r")])]
    config = fromstring(
        written(write_label_studio, material_of(spec=spec, tasks=tasks, votes=[])).files["labeling_config.xml"]
    )
    assert [tag.get("required") for tag in config.iter("Choices")] == ["true", None]


def test_a_control_about_a_field_is_not_required_where_a_task_lacks_the_field():
    asked = QUESTIONS["factual"] | {"field": "answer"}
    material = material_of(spec=spec_of({"factual": asked}), tasks=[task_of("一", "a"), task_of("二", "")])
    export = written(write_label_studio, material)
    config = fromstring(export.files["labeling_config.xml"])
    assert [tag.get("required") for tag in config.iter("Choices")] == [None]
    rows = json.loads(export.files["tasks.json"])
    assert [bool(row["data"]["bb_subjects"]) for row in rows] == [True, False]
    assert [len(row["annotations"]) for row in rows] == [3, 0]


def test_a_gold_task_says_nothing_of_a_field_that_it_lacks():
    asked = {
        name: QUESTIONS["factual"] | {"field": "answer", "text": name, "order": order}
        for order, name in enumerate(("factual", "other"))
    }
    tasks = [task_of("一", "a"), task_of("二", "", expected=(("factual", 1),))]
    export = written(write_label_studio, material_of(spec=spec_of(asked), tasks=tasks, votes=[]))
    gold = json.loads(export.files["tasks.json"])[1]["annotations"]
    assert [one["result"] for one in gold if one["ground_truth"]] == [[]]


def test_nothing_that_annotators_must_not_see_is_in_the_rows():
    text = written(write_label_studio, material_of(votes=[])).files["tasks.json"].decode()
    assert "secret-model-7b" not in text


# --- losses


def losses(material):
    return {loss.description: loss.count for loss in written(write_label_studio, material).losses}


def test_what_always_is_lost():
    found = losses(material_of())
    assert found["each user's own order of the tasks, and whom a task is assigned to"] is None
    assert found["Label Studio Community shows every user the answers of others: judging is not blind there"] is None
    assert found["the queue of disputes with anonymous peers"] is None
    assert found["metadata that annotators do not see (such as the source of a task)"] == 1
    assert found["controls are made for 2 paragraphs: tasks with fewer show empty ones"] == 2
    assert found["guiding questions with text answers: their largest length is not enforced"] == 1


def test_nothing_is_lost_that_is_not_there():
    spec = spec_of({"factual": QUESTIONS["factual"]}, rule="mean")
    assert set(losses(material_of(spec=spec, tasks=[task_of("a", "b")]))) == {
        "Label Studio Community shows every user the answers of others: judging is not blind there",
        "each user's own order of the tasks, and whom a task is assigned to",
        "the aggregation rule, gates and thresholds of the recipe",
    }


GIVEN_UP = "earlier votes of the same person, and withdrawn votes"


def with_votes(change):
    material = material_of()
    return replace(material, votes=change(list(material.votes)))


@pytest.mark.parametrize(
    ("change", "what", "count"),
    [
        (lambda v: [replace(v[0], value=0), *v], GIVEN_UP, 1),
        (lambda v: [*v, replace(v[0], value=None)], GIVEN_UP, 2),
        (lambda v: [replace(v[0], subject=replace(v[0].subject, wording="w0")), *v[1:]],
         "votes on texts or questions that are no longer asked", 1),
        (lambda v: [replace(v[0], channel="csv"), *v[1:]], "the channel of votes that were imported", 1),
        (lambda v: [replace(one, note=f"n{i}") for i, one in enumerate(v) if one.code == "A1"][:3],
         "earlier remarks of a person on a task: only the latest is kept", 2),
        (lambda v: [replace(v[0], created_at=v[0].created_at.replace(year=2025)), *v[1:]],
         "votes earlier than the person's latest on the task: they get the time of the latest", 1),
        (lambda v: [replace(one, value=0.333) if one.question == "correct" else one for one in v],
         "numbers between the steps of the slider: it shows the nearest one", 7),
    ],
)  # fmt: skip
def test_what_is_lost_of_votes(change, what, count):
    assert losses(with_votes(change))[what] == count


def test_further_losses():
    material = rich()
    found = losses(material)
    assert found["gold tasks: their answers are visible there as ground truth"] == 1
    dollars = spec_of({"factual": QUESTIONS["factual"] | {"text": "Is $5 right?", "label": "a\x07"}})
    found = losses(material_of(spec=dollars, votes=[]))
    assert found["texts in which $ became ＄, or characters that XML forbids became �"] == 2
    many = {f"q{n}": QUESTIONS["factual"] | {"order": n, "text": f"{n}?"} for n in range(15)}
    found = losses(material_of(spec=spec_of(many), votes=[]))
    assert found["choices beyond the number of hotkeys: they have none"] == 6
    mixed = spec_of({name: QUESTIONS[name] | {"required": True} for name in ("support", "clarity")})
    found = losses(material_of(spec=mixed, votes=[]))
    assert found["the order of the guiding questions: those about paragraphs come after all others"] is None
    assert found["controls about paragraphs that only some tasks have: they cannot be required"] == 2


def test_gold_answers_and_skips():
    rows = data_of(rich())
    truth = [a for row in rows for a in row["annotations"] if a["ground_truth"]]
    assert [[r["value"] for r in a["result"]] for a in truth] == [[{"choices": ["1"]}, {"number": 0.9}]]
    skipped = [a for row in rows for a in row["annotations"] if a["was_cancelled"]]
    assert [(a["completed_by"], a["result"], a["lead_time"]) for a in skipped] == [(361, [], 3.0)]
    brought = read(read_label_studio, "t.json", as_bytes(rows), rich())
    assert brought.omitted == {"skipped annotations": 1, "expected answers of gold tasks": 1}
    assert as_set(brought.votes) == as_set(votes_of(spec_of(), rich().tasks))


# --- the table of users


def test_problems_of_a_user_table():
    text = ("id,email,code,person,role", "1,,A1,Li,annotator", "1,,A2,Wu,annotator", ",,A3,Xu,annotator",
            "4,,A4,Ma,boss", "", "")  # fmt: skip
    users, problems = read_user_table("u.csv", "\r\n".join(text).encode())
    assert [user.rater.person for user in users.users] == ["Li"]
    assert problems == [
        "u.csv:3: 1 is already in row 2",
        "u.csv:4: id (or email) and person must be filled",
        "u.csv:5: role is 'boss'; allowed are annotator, adjudicator, lead",
    ]
    assert read_user_table("u.csv", b"id,name\r\n")[1] == ["u.csv:1: the columns are missing: person, role"]
    assert read_user_table("u.csv", b"\xff")[1] == ["u.csv: it is not CSV in UTF-8"]
    assert UserTable([]).find(None) is None


@settings(SLOW, max_examples=10)
@given(random_questions())
def test_random_questions_are_allowed(raw):
    assert spec_of(raw).questions_about()
