import pytest

from benchbuilder.annotation.app.dashboard import measure_pace
from benchbuilder.annotation.base import ShownParagraph, Subject, Task, Votes
from benchbuilder.annotation.database.models import GoldAccuracy
from benchbuilder.annotation.progress.project import project_progress
from benchbuilder.annotation.tasks import judgement_requests, paragraph_key, task_key, wording_key
from benchbuilder.config.spec.annotation import ProjectSpec

QUESTIONS = {
    "right": {"order": 1, "subject": "claim", "label": "答案正确", "text": "答案是否正确？"},
    "supports": {"order": 2, "subject": "evidence", "label": "段落支持", "text": "段落是否支持答案？"},
    "quality": {"order": 3, "subject": "claim", "label": "质量", "text": "质量如何？", "answer": "scalar"},
    "remark": {
        "order": 4,
        "subject": "claim",
        "label": "说明",
        "text": "请说明。",
        "answer": "text",
        "required": False,
    },
}


def spec(**changes):
    return ProjectSpec.model_validate(
        {"kind": "review", "title": "产科", "fields": {"text": "问题"}, "heading": "问题", "paragraph": "段落",
         "per_task": 2, "questions": QUESTIONS, "keep": {"right": 1, "supports": 1, "quality": 0.5},
         "min_evidence": 1, "thresholds": [0, 1, 2], "bootstrap": {"samples": 100, "level": 0.95, "seed": 1},
         **changes}
    )  # fmt: skip


def task(n, partition="medqa", expected=()):
    fields = (("text", f"第{n}题"),)
    key = task_key(fields)
    shown = tuple(ShownParagraph(paragraph_key(key, text), "教科书", "", text) for text in ("甲", "乙"))
    return Task(key, fields, shown, (("partition", partition), ("candidate", str(n))), expected)


def subject(of, question):
    key = of.paragraphs[int(question[-1])].key if question.startswith("supports") else of.key
    return Subject(key, wording_key(spec().questions_about()[question.rstrip("01")]))


def vote(votes, of, **answers):
    """Votes of A1 and A2 (and more): `right=(1, 0)`, `supports0=(1, 1)`."""
    for question, values in answers.items():
        people = {f"A{n}": value for n, value in enumerate(values, start=1) if value is not None}
        votes.by_subject[subject(of, question)] = people


def all_yes(**changes):
    return {"right": (1, 1), "supports0": (1, 1), "supports1": (1, 1), "quality": (0.8, 0.7), **changes}


@pytest.fixture
def world():
    """Kept; dropped for its answer; dropped for its evidence; in dispute; partly judged; untouched."""
    tasks = [task(n, ("medqa", "bios")[n % 2]) for n in range(6)]
    votes = Votes()
    vote(votes, tasks[0], **all_yes(remark=("好", None)))
    vote(votes, tasks[1], **all_yes(right=(0, 0), supports0=(0, 0), supports1=(0, 0)))
    vote(votes, tasks[2], **all_yes(supports0=(0, 0), supports1=(1, 0)))
    votes.decisions[subject(tasks[2], "supports1")] = ("J1", 0)
    vote(votes, tasks[3], **all_yes(right=(1, 0), quality=(0.9, 0.2)))
    votes.decisions[subject(tasks[3], "quality")] = ("J1", 0.4)
    vote(votes, tasks[4], right=(1, None), supports0=(1, 1))
    return tasks, votes


def test_completion(world):
    found = project_progress(spec(), *world).completion
    assert (found.tasks, found.complete, found.partial) == (6, 4, 1)
    assert (found.votes_required, found.votes_given) == (6 * 2 * 4, 4 * 8 + 3)
    assert (found.decisions_required, found.decisions_given) == (3, 2)


def test_the_fate_of_each_task(world):
    found = project_progress(spec(), *world)
    rows = [
        (row.outcome, row.gate, row.decision, row.required_decision, row.missing_votes, row.missing_decisions)
        for row in found.tasks
    ]
    assert rows == [
        ("kept", "", None, None, 0, 0),
        ("dropped", "right", 0, 1, 0, 0),
        ("dropped", "min_evidence", 0, 1, 0, 0),
        ("open", "", None, None, 0, 1),
        ("open", "", None, None, 5, 0),
        ("open", "", None, None, 8, 0),
    ]
    assert [row.adjudicated_count for row in found.tasks] == [0, 0, 1, 1, 0, 0]
    assert [found.count(outcome) for outcome in ("kept", "dropped", "open")] == [1, 2, 3]
    assert (found.tasks[1].number, found.tasks[1].text, found.tasks[1].partition) == (2, "第1题", "bios")


def test_threshold_counts_and_gates_are_of_the_tasks_that_are_not_open(world):
    found = project_progress(spec(), *world)
    assert [(row["min_evidence"], row["kept"]) for row in found.thresholds] == [(0, 2), (1, 1), (2, 1)]
    assert found.thresholds[0]["by_partition"] == {"bios": 0, "medqa": 2}
    assert found.thresholds[1]["without"] == {"right": 1, "quality": 1}
    assert [(gate["gate"], gate["dropped"], gate["kept"]) for gate in found.gates] == [
        ("right", 1, 2), ("min_evidence", 1, 1), ("quality", 0, 1),
    ]  # fmt: skip
    assert found.has_gates
    nothing = project_progress(spec(keep={}, min_evidence=0, thresholds=[]), *world)
    assert not nothing.has_gates


def test_questions_with_their_disputes(world):
    found = {row.name: row for row in project_progress(spec(), *world).questions}
    assert list(found) == ["right", "supports", "quality", "remark"]
    right, supports, quality, remark = found.values()
    assert (right.judged_count, right.disputed_count, right.settled_count, right.shared_count, right.raters) == (
        4,
        1,
        0,
        4,
        2,
    )
    assert (supports.judged_count, supports.disputed_count, supports.settled_count, supports.shared_count) == (
        9,
        1,
        1,
        9,
    )
    assert (quality.judged_count, quality.disputed_count, quality.settled_count) == (4, 1, 1)
    assert (remark.measures, remark.judged_count) == ({}, 0)
    assert right.measures["percent"].value == 0.75
    assert right.measures["kappa"].value == 0.5
    assert right.measures["kappa"].low <= 0.5 <= right.measures["kappa"].high
    assert quality.measures["mean_difference"].value == pytest.approx((0.1 * 3 + 0.7) / 4)
    assert (right.most_common, right.required) == ((1.0, 0.625), 1)


def test_unanimous_answers_are_undefined_and_not_one(world):
    tasks, _ = world
    votes = Votes()
    for each in tasks:
        vote(votes, each, right=(1, 1))
    found = project_progress(spec(), tasks, votes).questions[0].measures
    for name in ("kappa", "ac1", "alpha"):
        assert (found[name].value, found[name].undefined_reason, found[name].only_value) == (None, "unanimous", 1)
    assert found["percent"].value == 1
    nothing = project_progress(spec(), tasks, Votes())
    assert {figure.undefined_reason for row in nothing.questions for figure in row.measures.values()} == {"nothing"}
    assert (nothing.completion.complete, nothing.completion.partial) == (0, 0)


def test_scalars_that_two_pairs_gave_have_no_icc(world):
    tasks, votes = world
    votes.by_subject[subject(tasks[0], "quality")] = {"A3": 0.8, "A4": 0.7}
    quality = project_progress(spec(), tasks, votes).questions[2]
    assert quality.measures["icc2k"].undefined_reason == "few"
    assert quality.raters == 4


def test_one_task_has_no_interval():
    votes = Votes()
    one = task(1)
    vote(votes, one, right=(1, 0))
    figure = project_progress(spec(), [one], votes).questions[0].measures["percent"]
    assert (figure.value, figure.low, figure.missing_interval_reason) == (0, None, "single")


def test_the_prevalence_paradox():
    tasks = [task(n) for n in range(40)]
    votes = Votes()
    for n, each in enumerate(tasks):
        vote(votes, each, right=(1, 1) if n > 3 else (n % 2, 1 - n % 2))
    right = project_progress(spec(), tasks, votes).questions[0]
    assert right.measures["percent"].value == 0.9
    assert right.measures["kappa"].value < 0 < 0.8 < right.measures["ac1"].value
    assert right.paradox
    assert right.most_common == (1.0, 0.95)


def test_nothing_but_texts():
    questions = {"remark": {**QUESTIONS["remark"], "required": True}}
    project = spec(questions=questions, per_task=1, keep={}, min_evidence=0, thresholds=[])
    tasks = [task(1), task(2)]
    votes = Votes({Subject(tasks[0].key, wording_key(project.questions_about()["remark"])): {"A1": "长答案"}})
    found = project_progress(project, tasks, votes)
    assert [row.outcome for row in found.tasks] == ["kept", "open"]
    assert (found.completion.complete, found.completion.partial, found.questions[0].judged_count) == (1, 0, 1)


def test_by_the_mean_nobody_adjudicates(world):
    tasks, votes = world
    found = project_progress(spec(rule="mean"), tasks, votes)
    assert found.completion.decisions_required == 0
    assert [row.outcome for row in found.tasks[:4]] == ["kept", "dropped", "dropped", "dropped"]
    assert (found.tasks[3].gate, found.tasks[3].decision) == ("right", 0.0)


def test_gold_counts_nowhere(world):
    tasks, votes = world
    gold = task(99, expected=(("right", 1), ("quality", 0.8)))
    vote(votes, gold, right=(1, 0), quality=(0.6, 0.5))
    assert project_progress(spec(), [*tasks, gold], votes).completion.tasks == 6
    assert project_progress(spec(), [*tasks, gold], votes) == project_progress(spec(), tasks, votes)
    assert GoldAccuracy().proportion is None
    assert GoldAccuracy(3, 4).proportion == 0.75


def test_pace():
    found = measure_pace([10, 20, 30, 40, 200], min_seconds=15)
    assert (found.median, found.hasty, found.tasks) == (30, 1, 5)
    assert found.tenth == pytest.approx(14)
    assert found.ninetieth == pytest.approx(136)
    assert found.per_hour == pytest.approx(60)
    assert measure_pace([], min_seconds=15).median is None
    assert measure_pace([0.0], min_seconds=None).per_hour is None


def test_what_is_asked_may_be_known_already(world):
    tasks, votes = world
    assert project_progress(spec(), tasks, votes, requests=judgement_requests(tasks, spec())) == project_progress(
        spec(), tasks, votes
    )


def test_fewer_resamples_change_intervals_alone(world):
    exact, quick = project_progress(spec(), *world), project_progress(spec(), *world, samples=20)
    assert (exact.samples, quick.samples) == (100, 20)
    assert exact.tasks == quick.tasks
    assert exact.questions[0].measures["percent"].value == quick.questions[0].measures["percent"].value
