"""Votes by way of the review app: what is laid out, what is missing, what people decide."""

import json
import sys

import pytest
from files_spec import RECIPES, app_spec
from judged_world import World

from benchbuilder.annotation.backends.app import AppBackend, open_annotation_store
from benchbuilder.annotation.database.models import Submission
from benchbuilder.annotation.database.project_setup import (
    CLAIMS_PROJECT,
    DATABASE_FILE,
    add_gold_tasks,
    database_url,
    make_task,
)
from benchbuilder.annotation.tasks import judgement_requests
from benchbuilder.config.spec.base import FileRef
from benchbuilder.core.errors import DataError, InstallationError, RecipeError

DRAW = {"samples": 100, "level": 0.95, "seed": 1}


class AppWorld(World):
    """Candidates that are judged in the app."""

    def __init__(self, folder, **annotation):
        super().__init__(folder, count=3)
        self.spec = app_spec(bootstrap=DRAW, **annotation)

    def store(self):
        return open_annotation_store(None, self.folder / "annotation")

    def judge(self, store, person, answer):
        """Let `person` judge all that is assigned to them; `answer` maps (question, task) to a value."""
        while (number := store.next_number(person, CLAIMS_PROJECT)) is not None:
            work = store.assignment(person, CLAIMS_PROJECT, number)
            asked = judgement_requests([work.task], self.spec)
            values = {subject: answer(what.question, work.task) for subject, what in asked.items()}
            assert store.submit(person, work.task_id, Submission(values)) == "kept"


@pytest.fixture
def world(tmp_path):
    return AppWorld(tmp_path)


def yes(question, task):
    return 1


def test_tasks_are_added_and_the_build_waits(world):
    waiting = world.waiting()
    assert waiting.missing == {"annotators: claim": 30, "annotators: evidence": 24}
    assert "invite 2 more" in waiting.next
    with world.store() as store:
        tasks = [task for _, task in store.tasks(CLAIMS_PROJECT)]
    assert {task.text for task in tasks} == {row.context + row.question for row in world.candidates}
    assert all(len(task.paragraphs) == 4 for task in tasks)


@pytest.mark.push
def test_votes_of_the_app_make_items_and_disputes_wait_for_an_adjudicator(world):
    world.waiting()
    disputed = world.candidates[1].answer

    def doubt(question, task):
        return 0 if (question, dict(task.fields)["right"]) == ("fluent", disputed) else 1

    with world.store() as store:
        first, second = (store.invite(name, "annotator")[0] for name in ("wang", "li"))
        world.judge(store, first, yes)
    assert world.waiting().missing == {"annotators: claim": 15, "annotators: evidence": 12}
    with world.store() as store:
        world.judge(store, second, doubt)
    waiting = world.waiting()
    assert waiting.missing == {"adjudicator: claim": 1}
    assert "invite somebody" in waiting.next
    with world.store() as store:
        judge = store.invite("zhao", "adjudicator")[0]
        task = store.next_dispute(judge, CLAIMS_PROJECT)
        dispute = store.dispute(judge, CLAIMS_PROJECT, task)
        ((subject, name),) = dispute.subjects
        assert name == "fluent"
        assert store.submit_decisions(judge, task, Submission({subject: 0}, reason="broken")) == "kept"
    items, outcomes, notes = world.run()
    assert len(items) == 2
    reasons = {line["reason"] for line in outcomes.values() if line["outcome"] == "dropped"}
    assert reasons == {"not_fluent"}
    assert notes["votes"]["annotators"] == {"A1": 27, "A2": 27, "J1": 1}
    assert "wang" not in json.dumps(notes)
    assert notes["votes"]["adjudicated"] == 1


def test_only_changed_tasks_are_asked_again(world):
    world.waiting()
    with world.store() as store:
        people = [store.invite(name, "annotator")[0] for name in ("wang", "li")]
        for person in people:
            world.judge(store, person, yes)
    stage = world.stage()
    assert len(world.run(stage)[0]) == 3
    seen = stage.external_inputs()
    world.candidates[0] = world.candidates[0].model_copy(update={"answer_wrong": "另一个错误答案。"})
    waiting = world.waiting()
    assert waiting.missing == {"annotators: claim": 10, "annotators: evidence": 8}
    assert "18 votes are about something that is no longer shown" in waiting.why
    assert world.stage().external_inputs() == seen  # no vote is lost, and none is new
    with world.store() as store:
        for person in people:
            world.judge(store, person, yes)
    assert len(world.run()[0]) == 3
    assert world.stage().external_inputs() != seen


def test_a_vote_during_the_build_is_reported_as_late(world, monkeypatch):
    world.waiting()
    with world.store() as store:
        people = [store.invite(name, "annotator")[0] for name in ("wang", "li")]
        for person in people:
            world.judge(store, person, yes)

    def correct(*given):
        with world.store() as store:
            work = store.assignment(people[0], CLAIMS_PROJECT, 1)
            store.submit(people[0], work.task_id, Submission(dict.fromkeys(work.answers, 0)))
        return {}

    stage = world.stage()
    before = stage.external_inputs()
    monkeypatch.setattr("benchbuilder.steps.review.measure_vote_agreement", correct)
    assert len(world.run(stage)[0]) == 3
    assert stage.external_inputs() != before


def test_a_build_without_people_leaves_no_database_behind(world):
    stage = world.stage()
    assert stage.external_inputs() == {}
    assert stage.backend.collect([], world.folder / "annotation").by_subject == {}
    assert not (world.folder / "annotation").exists()


def test_gold_tasks_decide_nothing_and_are_known_to_be_right_or_wrong(tmp_path):
    gold = RECIPES / "recipe" / "care_mi" / "sample" / "gold.jsonl"
    world = AppWorld(tmp_path, gold={"file": FileRef(path="gold.jsonl", resolved_path=str(gold)), "every": 1})
    assert world.waiting().missing == {"annotators: claim": 30, "annotators: evidence": 24}
    with world.store() as store:
        for name in ("wang", "li"):
            world.judge(store, store.invite(name, "annotator")[0], yes)
        progress = store.staff_progress(CLAIMS_PROJECT)
    items, _, notes = world.run()
    assert len(items) == 3
    assert notes["votes"]["stale"] == 0
    answers = [json.loads(line)["expected"] for line in gold.read_text("utf-8").splitlines()]
    right = [value == 1 for expected in answers for value in expected.values()]
    for share in progress.people:
        assert (share.gold.correct, share.gold.judged) == (sum(right), len(right))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"fields": {"text": "q", "right": "r"}, "expected": {"fluent": 1}}', "fields: wrong; wanted are text, right"),
        ('{"fields": {"text": "q", "right": "r", "wrong": "w"}, "expected": {}}', "at least one guiding question"),
        ('{"fields": {"text": "q", "right": "r", "wrong": "w"}, "expected": {"fluent": 2}}', "expected.fluent: 2"),
        ('{"fields": {"text": "q", "right": "r", "wrong": "w"}, "expected": {"supports": 1}}', "expected.supports"),
        ('{"fields": {"text": "asked", "right": "r", "wrong": "w"}, "expected": {"fluent": 1}}', "asked anyway"),
        ('{"fields"', "gold.jsonl:2:"),
        ("[1]", "gold.jsonl:2:"),
    ],
)
def test_gold_tasks_that_cannot_be_used(tmp_path, line, told):
    (tmp_path / "gold.jsonl").write_text("\n" + line, encoding="utf-8")
    spec = app_spec(gold={"file": FileRef(path="gold.jsonl", resolved_path=str(tmp_path / "gold.jsonl"))})
    shown = make_task([("text", "asked"), ("right", "r"), ("wrong", "w")])
    with pytest.raises(DataError, match="(?s)gold tasks cannot be used.*" + told.replace("[", r"\[")):
        add_gold_tasks([shown], spec)


def test_candidates_are_shown_whole(tmp_path):
    with pytest.raises(RecipeError) as caught:
        World(tmp_path).stage(app_spec(fields={"text": "Q", "right": "R", "wrong": None}))
    (problem,) = caught.value.problems
    assert problem.key == "steps.items.votes.fields"
    assert "a candidate shows just text, right, wrong" in str(problem)


def test_a_shared_database_is_named_by_the_environment(tmp_path):
    assert database_url(None, tmp_path) == f"sqlite:///{tmp_path / DATABASE_FILE}"
    assert database_url("VOTES", tmp_path, {"VOTES": "postgresql://u:secret@host/db"}).endswith("@host/db")
    with pytest.raises(DataError, match="VOTES is not set"):
        database_url("VOTES", tmp_path, {})


def test_without_its_libraries_the_app_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    monkeypatch.delitem(sys.modules, "benchbuilder.annotation.database.store", raising=False)
    with pytest.raises(InstallationError, match=r"benchbuilder\[review\]"):
        AppBackend(app_spec(database_env=None)).ask([], None, {}, World(tmp_path).stage().context)
