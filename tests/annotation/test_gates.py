import pytest
from files_spec import RECIPES, files_spec, raw_files
from pydantic import ValidationError

from benchbuilder.annotation.aggregate import decide
from benchbuilder.annotation.base import Ballot, Subject
from benchbuilder.annotation.gates import Judged, first_failed, funnel, gates, survivors
from benchbuilder.annotation.tasks import Asked

FILES = RECIPES / "annotation" / "files.yaml"
CLAIM = ("single_answer", "medical_norm", "accurate_answer", "wrong_is_wrong", "fluent")


def spec(**changes):
    return files_spec(**changes)


def judged(supporting=3, partition="medqa", **answers):
    return Judged(partition, dict.fromkeys(CLAIM, 1) | answers, supporting)


def test_shipped_recipe_is_on_package_annotation():
    assert FILES.read_text("utf-8").startswith("# @package annotation\n")
    assert FILES.with_name("none.yaml").read_text("utf-8").startswith("# @package annotation\n")


def test_gates_stand_in_the_order_of_the_guiding_questions():
    assert gates(spec()) == [
        "single_answer", "medical_norm", "accurate_answer", "min_evidence", "fluent", "wrong_is_wrong",
    ]  # fmt: skip


def test_the_first_failed_gate_is_named():
    judging = spec()
    assert first_failed(judged(), judging, 3) is None
    assert first_failed(judged(2, fluent=0), judging, 3) == "min_evidence"
    assert first_failed(judged(2, medical_norm=0, fluent=0), judging, 3) == "medical_norm"
    assert first_failed(judged(fluent=0), judging, 3) == "fluent"
    assert first_failed(judged(fluent=0), judging, 3, without=("fluent",)) is None


def test_survivors_and_funnel():
    people = [judged(6), judged(3), judged(2, partition="bios"), judged(0), judged(5, single_answer=0),
              judged(3, fluent=0)]  # fmt: skip
    table = {row["min_evidence"]: row for row in survivors(people, spec())}
    assert [table[n]["kept"] for n in range(7)] == [4, 3, 3, 2, 1, 1, 1]
    assert table[3]["by_partition"] == {"bios": 0, "medqa": 2}
    assert table[3]["without"] == {
        "single_answer": 3, "medical_norm": 2, "accurate_answer": 2, "wrong_is_wrong": 2, "fluent": 3,
    }  # fmt: skip
    assert [(row["gate"], row["dropped"], row["kept"]) for row in funnel(people, spec())] == [
        ("single_answer", 1, 5), ("medical_norm", 0, 5), ("accurate_answer", 0, 5), ("min_evidence", 2, 3),
        ("fluent", 1, 2), ("wrong_is_wrong", 0, 2),
    ]  # fmt: skip


def test_a_question_that_is_null_is_not_asked_and_does_not_gate():
    judging = spec(questions=raw_files()["questions"] | {"wrong_is_wrong": None})
    assert "wrong_is_wrong" not in judging.asked()
    assert "wrong_is_wrong" not in gates(judging)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"adjudicator": "a"}, "must all be different people"),
        ({"annotators": ["a", "a"]}, "must all be different people"),
        ({"keep": {"fluency": 1}}, "there is no question fluency"),
        ({"keep": {"fluent": 2}}, "keep: fluent cannot be 2"),
        ({"min_evidence": -1}, "min_evidence"),
        ({"questions": {}}, "at least one guiding question"),
    ],
)
def test_wrong_recipes(changes, words):
    with pytest.raises(ValidationError, match=words):
        spec(**changes)


def test_decisions():
    judging = spec()
    subjects = [Subject(f"c{n}", "w") for n in range(6)]
    asked = {subject: Asked(subject, "fluent", "claim", subject.key) for subject in subjects}
    cast = {
        subjects[0]: {"a": 1, "b": 1},
        subjects[1]: {"a": 1, "b": 0, "meta": 0},
        subjects[2]: {"a": 1, "b": 0},
        subjects[3]: {"a": 0},
        subjects[4]: {"a": 0, "b": 0, "meta": 1},
        # an adjudicator cannot stand in for an annotator
        subjects[5]: {"meta": 1},
    }
    ballot = Ballot()
    for subject, votes in cast.items():
        for person, value in votes.items():
            judging.cast(ballot, subject, person, value)
    verdicts = decide(asked, ballot, judging)
    assert verdicts.decided == {subjects[0]: 1, subjects[1]: 0, subjects[4]: 0}
    assert verdicts.adjudicated == {subjects[1]}
    assert verdicts.wanting == {subjects[3]: 1, subjects[5]: 2}
    assert verdicts.disputed == [subjects[2]]
    wanted = verdicts.wanted(asked)
    assert {person: judging.wanted_of(person, ballot, wanted) for person in judging.people()} == {
        "a": (subjects[5],), "b": (subjects[3], subjects[5]), "meta": (subjects[2],),
    }  # fmt: skip
    assert verdicts.unneeded == 1
