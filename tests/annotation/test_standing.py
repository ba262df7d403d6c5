import pytest

from benchbuilder.annotation.base import Ballot, ShownParagraph, Subject, Task
from benchbuilder.annotation.progress.annotators import Gold, pace
from benchbuilder.annotation.progress.project import standing
from benchbuilder.annotation.tasks import everything_asked, paragraph_key, task_key, wording_key
from benchbuilder.config.spec.review_project import ProjectSpec

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
    return Subject(key, wording_key(spec().asked()[question.rstrip("01")]))


def vote(ballot, of, **answers):
    """Votes of A1 and A2 (and more): `right=(1, 0)`, `supports0=(1, 1)`."""
    for question, values in answers.items():
        people = {f"A{n}": value for n, value in enumerate(values, start=1) if value is not None}
        ballot.votes[subject(of, question)] = people


def all_yes(**changes):
    return {"right": (1, 1), "supports0": (1, 1), "supports1": (1, 1), "quality": (0.8, 0.7), **changes}


@pytest.fixture
def world():
    """Kept; dropped for its answer; dropped for its evidence; in dispute; partly judged; untouched."""
    tasks = [task(n, ("medqa", "bios")[n % 2]) for n in range(6)]
    ballot = Ballot()
    vote(ballot, tasks[0], **all_yes(remark=("好", None)))
    vote(ballot, tasks[1], **all_yes(right=(0, 0), supports0=(0, 0), supports1=(0, 0)))
    vote(ballot, tasks[2], **all_yes(supports0=(0, 0), supports1=(1, 0)))
    ballot.decisions[subject(tasks[2], "supports1")] = ("J1", 0)
    vote(ballot, tasks[3], **all_yes(right=(1, 0), quality=(0.9, 0.2)))
    ballot.decisions[subject(tasks[3], "quality")] = ("J1", 0.4)
    vote(ballot, tasks[4], right=(1, None), supports0=(1, 1))
    return tasks, ballot


def test_completion(world):
    found = standing(spec(), *world).completion
    assert (found.tasks, found.full, found.partly, found.untouched) == (6, 4, 1, 1)
    assert (found.votes_wanted, found.votes_given) == (6 * 2 * 4, 4 * 8 + 3)
    assert (found.decisions_wanted, found.decisions_given) == (3, 2)


def test_the_fate_of_each_task(world):
    found = standing(spec(), *world)
    rows = [(row.fate, row.gate, row.decided, row.needed, row.votes, row.decisions) for row in found.tasks]
    assert rows == [
        ("kept", "", None, None, 0, 0),
        ("dropped", "right", 0, 1, 0, 0),
        ("dropped", "min_evidence", 0, 1, 0, 0),
        ("open", "", None, None, 0, 1),
        ("open", "", None, None, 5, 0),
        ("open", "", None, None, 8, 0),
    ]
    assert [row.adjudicated for row in found.tasks] == [0, 0, 1, 1, 0, 0]
    assert [found.count(fate) for fate in ("kept", "dropped", "open")] == [1, 2, 3]
    assert (found.tasks[1].number, found.tasks[1].text, found.tasks[1].partition) == (2, "第1题", "bios")


def test_survivors_and_gates_are_of_the_tasks_that_are_not_open(world):
    found = standing(spec(), *world)
    assert [(row.minimum, row.kept) for row in found.thresholds] == [(0, 2), (1, 1), (2, 1)]
    assert found.thresholds[0].by_partition == {"bios": 0, "medqa": 2}
    assert found.thresholds[1].without == {"right": 1, "quality": 1}
    assert [(gate.name, gate.dropped, gate.kept) for gate in found.gates] == [
        ("right", 1, 2), ("min_evidence", 1, 1), ("quality", 0, 1),
    ]  # fmt: skip
    assert found.gating
    nothing = standing(spec(keep={}, min_evidence=0, thresholds=[]), *world)
    assert not nothing.gating


def test_questions_with_their_disputes(world):
    found = {row.name: row for row in standing(spec(), *world).questions}
    assert list(found) == ["right", "supports", "quality", "remark"]
    right, supports, quality, remark = found.values()
    assert (right.judged, right.disputed, right.settled, right.shared, right.raters) == (4, 1, 0, 4, 2)
    assert (supports.judged, supports.disputed, supports.settled, supports.shared) == (9, 1, 1, 9)
    assert (quality.judged, quality.disputed, quality.settled) == (4, 1, 1)
    assert (remark.measures, remark.judged) == ({}, 0)
    assert right.measures["percent"].value == 0.75
    assert right.measures["kappa"].value == 0.5
    assert right.measures["kappa"].low <= 0.5 <= right.measures["kappa"].high
    assert quality.measures["mean_difference"].value == pytest.approx((0.1 * 3 + 0.7) / 4)
    assert (right.common, right.required) == ((1.0, 0.625), 1)


def test_unanimous_answers_are_undefined_and_not_one(world):
    tasks, _ = world
    ballot = Ballot()
    for each in tasks:
        vote(ballot, each, right=(1, 1))
    found = standing(spec(), tasks, ballot).questions[0].measures
    for name in ("kappa", "ac1", "alpha"):
        assert (found[name].value, found[name].why, found[name].only) == (None, "unanimous", 1)
    assert found["percent"].value == 1
    nothing = standing(spec(), tasks, Ballot())
    assert {figure.why for row in nothing.questions for figure in row.measures.values()} == {"nothing"}
    assert nothing.completion.untouched == 6


def test_scalars_that_two_pairs_gave_have_no_icc(world):
    tasks, ballot = world
    ballot.votes[subject(tasks[0], "quality")] = {"A3": 0.8, "A4": 0.7}
    quality = standing(spec(), tasks, ballot).questions[2]
    assert quality.measures["icc2k"].why == "few"
    assert quality.raters == 4


def test_one_task_has_no_interval():
    ballot = Ballot()
    one = task(1)
    vote(ballot, one, right=(1, 0))
    figure = standing(spec(), [one], ballot).questions[0].measures["percent"]
    assert (figure.value, figure.low, figure.without) == (0, None, "single")


def test_the_prevalence_paradox():
    tasks = [task(n) for n in range(40)]
    ballot = Ballot()
    for n, each in enumerate(tasks):
        vote(ballot, each, right=(1, 1) if n > 3 else (n % 2, 1 - n % 2))
    right = standing(spec(), tasks, ballot).questions[0]
    assert right.measures["percent"].value == 0.9
    assert right.measures["kappa"].value < 0 < 0.8 < right.measures["ac1"].value
    assert right.paradox
    assert right.common == (1.0, 0.95)


def test_nothing_but_texts():
    questions = {"remark": {**QUESTIONS["remark"], "required": True}}
    project = spec(questions=questions, per_task=1, keep={}, min_evidence=0, thresholds=[])
    tasks = [task(1), task(2)]
    ballot = Ballot({Subject(tasks[0].key, wording_key(project.asked()["remark"])): {"A1": "长答案"}})
    found = standing(project, tasks, ballot)
    assert [row.fate for row in found.tasks] == ["kept", "open"]
    assert (found.completion.full, found.completion.untouched, found.questions[0].judged) == (1, 1, 1)


def test_by_the_mean_nobody_adjudicates(world):
    tasks, ballot = world
    found = standing(spec(rule="mean"), tasks, ballot)
    assert found.completion.decisions_wanted == 0
    assert [row.fate for row in found.tasks[:4]] == ["kept", "dropped", "dropped", "dropped"]
    assert (found.tasks[3].gate, found.tasks[3].decided) == ("right", 0.0)


def test_gold_counts_nowhere(world):
    tasks, ballot = world
    gold = task(99, expected=(("right", 1), ("quality", 0.8)))
    vote(ballot, gold, right=(1, 0), quality=(0.6, 0.5))
    assert standing(spec(), [*tasks, gold], ballot).completion.tasks == 6
    assert standing(spec(), [*tasks, gold], ballot) == standing(spec(), tasks, ballot)
    assert Gold().share is None
    assert Gold(3, 4).share == 0.75


def test_pace():
    found = pace([10, 20, 30, 40, 200], least=15)
    assert (found.median, found.hasty, found.tasks) == (30, 1, 5)
    assert found.tenth == pytest.approx(14)
    assert found.ninetieth == pytest.approx(136)
    assert found.per_hour == pytest.approx(60)
    assert pace([], least=15).median is None
    assert pace([0.0], least=None).per_hour is None


def test_what_is_asked_may_be_known_already(world):
    tasks, ballot = world
    assert standing(spec(), tasks, ballot, asked=everything_asked(tasks, spec())) == standing(spec(), tasks, ballot)


def test_fewer_resamples_change_intervals_alone(world):
    exact, quick = standing(spec(), *world), standing(spec(), *world, samples=20)
    assert (exact.samples, quick.samples) == (100, 20)
    assert exact.tasks == quick.tasks
    assert exact.questions[0].measures["percent"].value == quick.questions[0].measures["percent"].value
