import pytest
from files_spec import RECIPES, files_spec, raw_files
from pydantic import ValidationError

from benchbuilder.annotation.aggregate import aggregate_votes
from benchbuilder.annotation.base import Subject, Votes
from benchbuilder.annotation.gates import (
    CandidateDecisions,
    first_failed_gate,
    gate_funnel,
    gate_names,
    threshold_table,
)
from benchbuilder.annotation.tasks import JudgementRequest

FILES = RECIPES / "annotation" / "sheets.yaml"
CLAIM = ("single_answer", "norm", "accurate_answer", "wrong_is_wrong", "fluent")


def spec(**changes):
    return files_spec(**changes)


def judged(supporting=3, partition="medqa", **answers):
    return CandidateDecisions(partition, dict.fromkeys(CLAIM, 1) | answers, supporting)


def test_shipped_recipe_is_on_package_annotation():
    assert FILES.read_text("utf-8").startswith("# @package annotation\n")
    assert FILES.with_name("none.yaml").read_text("utf-8").startswith("# @package annotation\n")


def test_gates_follow_the_order_of_the_guiding_questions():
    assert gate_names(spec()) == [
        "single_answer", "norm", "accurate_answer", "min_evidence", "fluent", "wrong_is_wrong",
    ]  # fmt: skip


def test_the_first_failed_gate_is_named():
    judging = spec()
    assert first_failed_gate(judged(), judging, 3) is None
    assert first_failed_gate(judged(2, fluent=0), judging, 3) == "min_evidence"
    assert first_failed_gate(judged(2, norm=0, fluent=0), judging, 3) == "norm"
    assert first_failed_gate(judged(fluent=0), judging, 3) == "fluent"
    assert first_failed_gate(judged(fluent=0), judging, 3, ignored_gates=("fluent",)) is None


def test_with_two_negatives_one_missed_threshold_drops_nothing():
    judging = spec(rule="two_negatives")
    assert first_failed_gate(judged(fluent=0), judging, 3) is None
    assert first_failed_gate(judged(2), judging, 3) is None
    assert first_failed_gate(judged(2, fluent=0), judging, 3) == "min_evidence"
    assert first_failed_gate(judged(norm=0, fluent=0), judging, 3) == "norm"
    assert first_failed_gate(judged(norm=0, fluent=0), judging, 3, ignored_gates=("fluent",)) is None
    people = [judged(3, fluent=0), judged(2, fluent=0), judged(6)]
    assert [row["dropped"] for row in gate_funnel(people, judging)] == [0, 0, 0, 1, 0, 0]
    assert {row["min_evidence"]: row["kept"] for row in threshold_table(people, judging)}[3] == 2


def test_threshold_counts_and_funnel():
    people = [judged(6), judged(3), judged(2, partition="bios"), judged(0), judged(5, single_answer=0),
              judged(3, fluent=0)]  # fmt: skip
    table = {row["min_evidence"]: row for row in threshold_table(people, spec())}
    assert [table[n]["kept"] for n in range(7)] == [4, 3, 3, 2, 1, 1, 1]
    assert table[3]["by_partition"] == {"bios": 0, "medqa": 2}
    assert table[3]["without"] == {
        "single_answer": 3, "norm": 2, "accurate_answer": 2, "wrong_is_wrong": 2, "fluent": 3,
    }  # fmt: skip
    assert [(row["gate"], row["dropped"], row["kept"]) for row in gate_funnel(people, spec())] == [
        ("single_answer", 1, 5), ("norm", 0, 5), ("accurate_answer", 0, 5), ("min_evidence", 2, 3),
        ("fluent", 1, 2), ("wrong_is_wrong", 0, 2),
    ]  # fmt: skip


def test_a_question_that_is_null_is_not_asked_and_does_not_gate():
    judging = spec(questions=raw_files()["questions"] | {"wrong_is_wrong": None})
    assert "wrong_is_wrong" not in judging.questions_about()
    assert "wrong_is_wrong" not in gate_names(judging)


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
    asked = {subject: JudgementRequest(subject, "fluent", "claim", subject.key) for subject in subjects}
    cast = {
        subjects[0]: {"a": 1, "b": 1},
        subjects[1]: {"a": 1, "b": 0, "meta": 0},
        subjects[2]: {"a": 1, "b": 0},
        subjects[3]: {"a": 0},
        subjects[4]: {"a": 0, "b": 0, "meta": 1},
        # an adjudicator cannot stand in for an annotator
        subjects[5]: {"meta": 1},
    }
    collected = Votes()
    for subject, votes in cast.items():
        for person, value in votes.items():
            judging.record_vote(collected, subject, person, value)
    labels = aggregate_votes(asked, collected, judging)
    assert labels.values == {subjects[0]: 1, subjects[1]: 0, subjects[4]: 0}
    assert labels.adjudicated_subjects == {subjects[1]}
    assert labels.missing_votes == {subjects[3]: 1, subjects[5]: 2}
    assert labels.disputed_subjects == [subjects[2]]
    wanted = labels.missing(asked)
    assert {person: judging.missing_for(person, collected, wanted) for person in judging.people()} == {
        "a": (subjects[5],), "b": (subjects[3], subjects[5]), "meta": (subjects[2],),
    }  # fmt: skip
    assert labels.unneeded_decisions == 1
